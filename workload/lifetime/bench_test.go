package lifetime_test

import (
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/lifetime"
	"github.com/waitcast/waitcast/workload/markov"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

func modelJobs(b *testing.B, n int) hypergamma.Jobs {
	b.Helper()
	g, err := hypergamma.New(rand.New(rand.NewPCG(1, 1)), hypergamma.ProgramAll(128))
	if err != nil {
		b.Fatal(err)
	}
	var j hypergamma.Jobs
	for range n {
		x := g.Next()
		j.Procs, j.Seconds, j.Local = append(j.Procs, x.Procs), append(j.Seconds, math.Floor(x.Runtime)),
			append(j.Local, math.Floor(x.Submit))
	}
	return j
}

func chains(b *testing.B, j hypergamma.Jobs) *markov.Chains {
	b.Helper()
	m, err := markov.New(0)
	if err != nil {
		b.Fatal(err)
	}
	for i, p := range j.Procs {
		if err := m.Append(p, j.Seconds[i]); err != nil {
			b.Fatal(err)
		}
	}
	return m.Chains()
}

// BenchmarkFitAll100k fits every model of the papers to 100,000 jobs. It should take at most a second.
func BenchmarkFitAll100k(b *testing.B) {
	j := modelJobs(b, 100_000)
	jobs := make([]lifetime.Observation, len(j.Seconds))
	for i, t := range j.Seconds {
		jobs[i].Seconds = t
	}
	for b.Loop() {
		if _, err := hypergamma.FitModel(j, 128, hypergamma.ArrivalOptions{}); err != nil {
			b.Fatal(err)
		}
		chains(b, j)
		for _, c := range lifetime.Candidates(36 * 3600) {
			if _, err := c.Fit(jobs); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkUpdateAll measures the cost of one job, from submission to end, if every model of its queue is kept up to
// date: the uniform-log window with a fit each time, the chains, the live Lublin-Feitelson model with a fit every 500
// jobs, and the competing laws. It should be at most 20 us.
func BenchmarkUpdateAll(b *testing.B) {
	j := modelJobs(b, 1<<16)
	window := uniformlog.NewWindow(10_000, 0)
	chain, err := markov.New(.001)
	if err != nil {
		b.Fatal(err)
	}
	live, err := hypergamma.NewLive(.0005)
	if err != nil {
		b.Fatal(err)
	}
	selector := lifetime.NewSelector(lifetime.Candidates(36*3600), lifetime.Options{})
	const week = 7 * 86400
	span := math.Ceil(j.Local[1<<16-1]/week) * week
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	i := 0
	update := func() {
		k := i & (1<<16 - 1)
		at := j.Local[k] + span*float64(i>>16)
		check(live.Submitted(at))
		check(live.Ended(j.Procs[k], j.Seconds[k]))
		check(chain.Append(j.Procs[k], j.Seconds[k]))
		check(window.Add(time.Unix(int64(at), 0), j.Seconds[k]))
		check(selector.Observe(lifetime.Observation{Seconds: j.Seconds[k]}))
		if i++; i > 1000 {
			_, err := window.Fit(time.Unix(int64(at), 0))
			check(err)
		}
		if i%500 == 0 && i > 10_000 {
			_, err := live.Fit(128)
			check(err)
		}
	}
	for range 1 << 16 {
		update()
	}
	b.ReportAllocs()
	for b.Loop() {
		update()
	}
}

// BenchmarkGenerate1M draws a million jobs and writes them as SWF. It should take at most 2 s for any model.
func BenchmarkGenerate1M(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	j := modelJobs(b, 20_000)
	model, err := hypergamma.New(rng, hypergamma.ProgramAll(128))
	if err != nil {
		b.Fatal(err)
	}
	song, err := markov.NewGenerator(chains(b, j), rng)
	if err != nil {
		b.Fatal(err)
	}
	downey, err := uniformlog.NewGenerator(rng, uniformlog.Class{Weight: 1, Model: paragon.Model})
	if err != nil {
		b.Fatal(err)
	}
	p := hypergamma.ProgramAll(128)
	arrivals := hypergamma.NewArrivals(p.Arrival)
	for name, next := range map[string]func() (submit float64, procs int, runtime float64){
		"lublin": func() (float64, int, float64) { x := model.Next(); return x.Submit, x.Procs, x.Runtime },
		"markov": func() (float64, int, float64) {
			procs, runtime := song.Next()
			return arrivals.Next(rng), procs, runtime
		},
		"downey": func() (float64, int, float64) {
			_, runtime := downey.Next()
			return arrivals.Next(rng), p.Size.Rand(rng), runtime
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := swf.NewWriter(io.Discard)
				for id := range int64(1_000_000) {
					submit, procs, runtime := next()
					r := swf.Record{ID: id + 1, Submit: int64(submit), Wait: swf.Unknown, Runtime: int64(runtime),
						Allocated: int64(procs)}
					if err := w.Write(&r); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Flush(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
