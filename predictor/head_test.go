package predictor_test

import (
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// TestHeadOfQueue repeats Downey's own test (1996, sections 6.1 to 6.4) on other machines. The trace is scheduled
// strictly first come, first served. Every job that reaches the head of the queue and cannot start gets a forecast.
// The test correlates the logarithms of the forecast and true waits at the head. Laws are fitted to the jobs that had
// ended by then.
//
// The expected figures come from independent prototypes: KTH-SP2 0.61 (combined) and 0.65 (exact), SDSC-SP2 0.64 and
// 0.69, SDSC-Par-96 0.77 and 0.80. Their exact settings (queues, windows) are not known, so the test allows a
// difference of 0.03.
func TestHeadOfQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("replays traces; left out by -short")
	}
	for _, tc := range []struct {
		trace           string
		procs           int
		combined, exact float64
	}{
		{"KTH-SP2-1996-2.1-cln", 100, .61, .65},
		{"SDSC-SP2-1998-4.2-cln", 128, .64, .69},
		{"SDSC-Par-1996-3.1-cln", 400, .77, .80},
	} {
		t.Run(tc.trace, func(t *testing.T) {
			jobs := schedule(t, refdata.Shared(t, "traces/"+tc.trace+".swf.gz"), tc.procs)
			got := atHead(t, jobs, tc.procs)
			t.Logf("%d forecasts: r of logs A %.3f, B %.3f, combined %.3f, exact %.3f", got.n, got.a, got.b,
				got.combined, got.exact)
			if math.Abs(got.combined-tc.combined) > .03 || math.Abs(got.exact-tc.exact) > .03 {
				t.Errorf("combined %.3f, exact %.3f; want %.2f and %.2f within .03", got.combined, got.exact,
					tc.combined, tc.exact)
			}
		})
	}
}

// schedule returns the trace's jobs in order of submission, with the starts under strict first come, first served.
func schedule(t *testing.T, path string, procs int) []simulator.Job {
	t.Helper()
	file, err := swf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var in []simulator.Job
	var rec swf.Record
	r := file.Reader
	for {
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			continue
		}
		if !rec.Ran() || rec.Procs() < 1 {
			continue
		}
		in = append(in, simulator.Job{
			ID: int64(len(in)), Submit: float64(rec.Submit), Procs: min(procs, int(rec.Procs())),
			Runtime: math.Max(1, float64(rec.Runtime)), Queue: r.Header().QueueName(&rec),
		})
	}
	sim, err := simulator.New(simulator.Config{Procs: procs})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range in {
		if err := sim.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	var out []simulator.Job
	if err := sim.Advance(math.Inf(1), func(e simulator.Event) {
		if e.Kind == simulator.Started {
			out = append(out, *e.Job) // in order of start, which is the order of submission
		}
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

type correlations struct {
	n                     int
	a, b, combined, exact float64
}

// atHead makes a forecast for every job that has to wait at the head.
func atHead(t *testing.T, jobs []simulator.Job, procs int) correlations {
	t.Helper()
	laws := newLaws()
	var calc headqueue.Calc
	logs := map[string][2][]float64{}
	var running []simulator.Job
	for i := 1; i < len(jobs); i++ {
		running = append(running, jobs[i-1])
		head := math.Max(jobs[i].Submit, jobs[i-1].Start)
		kept := running[:0]
		state := headqueue.State{Capacity: procs, Free: procs}
		for _, r := range running {
			if r.End <= head {
				laws.ended(r)
				continue
			}
			kept = append(kept, r)
		}
		running = kept
		wait := jobs[i].Start - head
		if wait <= 0 || i < 200 { // some jobs must have ended before laws can be fitted
			continue
		}
		fitted := true
		for _, r := range running {
			law, ok := laws.of(r)
			fitted = fitted && ok
			state.Free -= r.Procs
			state.Running = append(state.Running, headqueue.Holder{Procs: r.Procs, Age: head - r.Start, Law: law})
		}
		if !fitted {
			continue
		}
		result, err := calc.Forecast(&state, jobs[i].Procs, []float64{.5}, nil)
		if err != nil {
			continue
		}
		for _, m := range result.Medians {
			if m.Cannot == nil && !math.IsInf(m.Seconds, 1) {
				pair := logs[m.Name]
				logs[m.Name] = [2][]float64{append(pair[0], math.Log(math.Max(1, m.Seconds))),
					append(pair[1], math.Log(wait))}
			}
		}
	}
	r := func(name string) float64 { return stat.Correlation(logs[name][0], logs[name][1], nil) }
	return correlations{
		n: len(logs[headqueue.NameExact][0]), a: r(headqueue.NameA), b: r(headqueue.NameB),
		combined: r(headqueue.NameCombined), exact: r(headqueue.NameExact),
	}
}

// laws has the lifetimes of jobs that have ended, for each queue and class, as in the daemon.
type laws struct {
	windows map[[2]string]*uniformlog.Window
	fits    map[[2]string]predictor.Law
}

func newLaws() *laws {
	return &laws{windows: map[[2]string]*uniformlog.Window{}, fits: map[[2]string]predictor.Law{}}
}

func (l *laws) ended(j simulator.Job) {
	for _, key := range keys(j) {
		w := l.windows[key]
		if w == nil {
			w = uniformlog.NewWindow(0, 0)
			l.windows[key] = w
		}
		_ = w.Add(unixTime(j.Start), j.End-j.Start)
		delete(l.fits, key)
	}
}

func keys(j simulator.Job) [][2]string {
	class := job.Class(j.Procs)
	return [][2]string{{j.Queue, class}, {"", class}}
}

// of returns the law of a job's queue and class, or else that of all queues together.
func (l *laws) of(j simulator.Job) (headqueue.Lifetime, bool) {
	for _, key := range keys(j) {
		law, ok := l.fits[key]
		if !ok {
			w := l.windows[key]
			if w == nil || w.N() < 30 {
				continue
			}
			fit, err := w.Fit(unixTime(j.Start))
			if err != nil {
				continue
			}
			law = predictor.NewLaw(fit, key[0], key[1])
			l.fits[key] = law
		}
		return law.Lifetime, true
	}
	return nil, false
}

func unixTime(seconds float64) time.Time { return time.Unix(int64(seconds), 0) }
