package hypergamma_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/workload/hypergamma"
)

// killed returns a log of 64 processors that follows none of the paper's laws: serial jobs are short, sizes do not
// follow a two-stage law, and a third of the largest jobs end at their time limit of 10 h. Every hundredth job runs for
// 1 s.
func killed(n int) hypergamma.Jobs {
	rng := rand.New(rand.NewPCG(3, 4))
	var j hypergamma.Jobs
	at := 0.0
	for i := range n {
		at += 60 + 1000*rng.ExpFloat64()
		procs, seconds := 1, math.Exp(3+rng.NormFloat64())
		switch rng.IntN(4) {
		case 0:
			procs, seconds = 24, min(36000, math.Exp(9+2*rng.NormFloat64()))
		case 1:
			procs, seconds = 2+rng.IntN(6), math.Exp(6+rng.NormFloat64())
		}
		if i%100 == 0 {
			seconds = 1
		}
		j.Procs, j.Seconds = append(j.Procs, procs), append(j.Seconds, max(1, math.Round(seconds)))
		j.Local = append(j.Local, at)
	}
	return j
}

// TestKeepWork proves that jobs drawn by KeepWork have the log's mean work and mean size within a few percent, where
// jobs of the paper's form are far off. No job runs longer than the log's longest, and a size beyond all groups has the
// last group's law.
func TestKeepWork(t *testing.T) {
	log := killed(8000)
	fit, err := hypergamma.FitModel(log, 64, hypergamma.ArrivalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := fit.KeepWork(log)
	if err != nil || kept.Validate() != nil {
		t.Fatal(err, kept.Validate())
	}
	var size, work, shortest float64
	for i, p := range log.Procs {
		if log.Seconds[i] <= 1 {
			shortest += 1. / 8000
		}
		size, work = size+float64(p)/8000, work+float64(p)*log.Seconds[i]/8000
	}
	const draws = 100_000
	drawn := func(p *hypergamma.Params) (meanSize, meanWork, short float64) {
		rng := rand.New(rand.NewPCG(1, 1))
		for range draws {
			procs := p.Size.Rand(rng)
			seconds := p.Runtime.Rand(rng, procs)
			if seconds > 36000*(1+1e-9) {
				t.Fatalf("a job of %v s", seconds)
			}
			if seconds == 1 {
				short += 1. / draws
			}
			meanSize, meanWork = meanSize+float64(procs)/draws, meanWork+float64(procs)*seconds/draws
		}
		return meanSize, meanWork, short
	}
	gotSize, gotWork, short := drawn(&kept)
	if math.Abs(gotSize/size-1) > .08 || math.Abs(gotWork/work-1) > .1 || math.Abs(short-shortest) > .002 {
		t.Errorf("drawn: mean size %v of %v, work %v of %v, %v of at most 1 s, want %v", gotSize, size, gotWork, work,
			short, shortest)
	}
	if math.Abs(kept.Size.Mean()/gotSize-1) > .02 {
		t.Errorf("the law's mean size is %v, that of %d drawn %v", kept.Size.Mean(), draws, gotSize)
	}
	paper := fit.Params()
	if _, other, _ := drawn(&paper); math.Abs(other/work-1) < .15 {
		t.Errorf("by the paper's form the work is %v of %v: this log shows nothing", other, work)
	}
	last := kept.Runtime.Groups[len(kept.Runtime.Groups)-1]
	a, b := rand.New(rand.NewPCG(5, 5)), rand.New(rand.NewPCG(5, 5))
	if x, y := kept.Runtime.Rand(a, last.To), kept.Runtime.Rand(b, 10*last.To); x != y {
		t.Errorf("%v s on %d processors, %v s on ten times as many", x, last.To, y)
	}
}

// TestKeepWorkOfOddGroups proves that jobs can be drawn from groups whose jobs are too few for a fit, all run equally
// long, or all run for at most 1 s. The drawn runtimes are those of the group's jobs, although the law of all jobs lies
// far above them.
func TestKeepWorkOfOddGroups(t *testing.T) {
	log := killed(4000)
	at := log.Local[len(log.Local)-1]
	add := func(n, procs int, seconds func(i int) float64) {
		for i := range n {
			at += 60
			log.Procs, log.Seconds = append(log.Procs, procs), append(log.Seconds, seconds(i))
			log.Local = append(log.Local, at)
		}
	}
	add(1000, 30, func(int) float64 { return 5 }) // enough jobs for a group of their own
	add(1000, 40, func(int) float64 { return 1 })
	add(30, 64, func(i int) float64 { return 2 + float64(i%3) })
	fit, err := hypergamma.FitModel(log, 64, hypergamma.ArrivalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := fit.KeepWork(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Validate(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for procs, want := range map[int][2]float64{30: {4, 6}, 40: {1, 1}, 64: {1, 5}} {
		for range 1000 {
			if x := kept.Runtime.Rand(rng, procs); x < want[0] || x > want[1] {
				t.Fatalf("%d processors: a job of %v s, want %v to %v", procs, x, want[0], want[1])
			}
		}
	}
}

// TestKeepWorkRefused proves that KeepWork needs the jobs that were fitted, and that an error names an impossible
// group.
func TestKeepWorkRefused(t *testing.T) {
	var fit hypergamma.ModelFit
	if _, err := fit.KeepWork(hypergamma.Jobs{}); !errors.Is(err, hypergamma.ErrTooFew) {
		t.Errorf("no jobs: %v", err)
	}
	law := hypergamma.Law{First: hypergamma.Gamma{Shape: 4, Scale: 1}, Second: hypergamma.Gamma{Shape: 70, Scale: .1}}
	good := hypergamma.GroupLaw{To: 4, Law: law, MaxLog: 11}
	for problem, change := range map[string]func(*hypergamma.GroupLaw){
		"goes to 1 processors": func(g *hypergamma.GroupLaw) { g.To = 1 },
		"short 2":              func(g *hypergamma.GroupLaw) { g.Short = 2 },
		"cap e^0":              func(g *hypergamma.GroupLaw) { g.MaxLog = 0 },
		"first: shape":         func(g *hypergamma.GroupLaw) { g.Law.First.Shape = 0 },
	} {
		p := hypergamma.PaperAll(16)
		bad := good
		change(&bad)
		p.Runtime.Groups = []hypergamma.GroupLaw{{To: 1, Law: law, MaxLog: 11}, bad}
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", problem, err)
		}
	}
}
