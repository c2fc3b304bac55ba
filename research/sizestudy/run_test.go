package sizestudy

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/workload/moldable"
)

func kth(t testing.TB) *Trace {
	t.Helper()
	return must(Open("KTH-SP2", refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz")))(t)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func stretch(t testing.TB, jobs int, load float64, seed uint64) *Workload {
	t.Helper()
	return must(kth(t).Make(SecondHalf, jobs, load, seed, Model{}))(t)
}

// TestMake proves that a workload has the requested load and number of jobs, and consists of consecutive jobs of the
// requested part of the trace.
func TestMake(t *testing.T) {
	trace := kth(t)
	half := len(trace.Jobs) / 2
	for _, c := range []struct {
		part     Part
		jobs     int
		from, to int // bounds of the indexes of its jobs in the trace
	}{{Whole, 0, 0, len(trace.Jobs)}, {FirstHalf, 500, 0, half}, {SecondHalf, 500, half, len(trace.Jobs)}} {
		w := must(trace.Make(c.part, c.jobs, .8, 3, Model{}))(t)
		if got := simulator.OfferedLoad(w.Jobs, w.Procs); math.Abs(got-.8) > 1e-9 {
			t.Errorf("part %d offers %v", c.part, got)
		}
		if n := len(w.Jobs); c.jobs > 0 && n != c.jobs || c.jobs == 0 && n != len(trace.Jobs) {
			t.Errorf("part %d has %d jobs", c.part, n)
		}
		runtimes := func(jobs []simulator.Job) (all []float64) {
			for i := range jobs {
				all = append(all, jobs[i].Runtime)
			}
			return all
		}
		if at := index(runtimes(trace.Jobs), runtimes(w.Jobs)); at < c.from || at+len(w.Jobs) > c.to {
			t.Errorf("part %d begins at job %d", c.part, at)
		}
	}
	if _, err := trace.Make(Whole, 1, .8, 0, Model{}); err == nil {
		t.Error("one job has a load")
	}
	if _, err := trace.Make(Whole, 10, math.NaN(), 0, Model{}); err == nil {
		t.Error("load NaN was taken")
	}
}

// index returns the index at which part begins in all, -1 if all does not contain it.
func index(all, part []float64) int {
	for i := range len(all) - len(part) + 1 {
		if slices.Equal(all[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// TestAsks proves that jobs that ask for advice at one share also ask at a higher share, that the share of the jobs
// that ask is as given, and that a job with only one size never asks.
func TestAsks(t *testing.T) {
	w := stretch(t, 8000, .7, 1)
	can, few, half := 0, 0, 0
	for id := range int64(len(w.Jobs)) {
		from, to := w.Molds[id].Range()
		if w.Asks(id, 1) != (from < to) {
			t.Fatalf("job %d of %d to %d processors", id, from, to)
		}
		if w.Asks(id, .2) && !w.Asks(id, .5) {
			t.Fatalf("job %d asks where a fifth does, not where half do", id)
		}
		if from < to {
			can++
			if w.Asks(id, .2) {
				few++
			}
			if w.Asks(id, .5) {
				half++
			}
		}
	}
	// The bound is 4 standard deviations.
	for _, c := range []struct{ share, n float64 }{{.2, float64(few)}, {.5, float64(half)}} {
		if want := c.share * float64(can); math.Abs(c.n-want) > 4*math.Sqrt(want*(1-c.share)) {
			t.Errorf("%v of %d ask, want a share of %v", c.n, can, c.share)
		}
	}
}

// TestRulesGive proves that a fixed rule gives its size to the jobs that ask, and that no rule changes a job that does
// not ask.
func TestRulesGive(t *testing.T) {
	w := stretch(t, 1500, .7, 2)
	for rule, want := range map[Rule]func(*moldable.Job) int{
		Request:   func(m *moldable.Job) int { return m.Recorded().Procs },
		Efficient: (*moldable.Job).Thriftiest, Knee: (*moldable.Job).Knee, Largest: (*moldable.Job).Largest,
		AtSubmit: nil, AtHead: nil, AtBoth: nil,
	} {
		s := must(w.Play(Settings{Rule: rule, Share: .5}))(t)
		changed := 0
		for id := range int64(len(w.Jobs)) {
			procs, m := s.Procs[id], &w.Molds[id]
			asks := w.Asks(id, .5)
			if asks && want != nil && procs != want(m) || !asks && procs != w.Jobs[id].Procs {
				t.Fatalf("%v: job %d runs on %d", rule, id, procs)
			}
			if procs != w.Jobs[id].Procs {
				changed++
			}
			run, _, err := m.At(procs)
			if err != nil || math.Abs(s.Turnaround[id]-s.Wait[id]-run) > 1e-6*(1+run)+1e-6*s.Wait[id] {
				t.Fatalf("%v: job %d on %d waits %v of %v, and runs %v (%v)", rule, id, procs, s.Wait[id],
					s.Turnaround[id], run, err)
			}
		}
		if (changed == 0) != (rule == Request) {
			t.Errorf("%v changed %d jobs", rule, changed)
		}
	}
}

// TestDeterministic proves that the same settings give the same schedule, and that the advice changes with the seed of
// the forecasts.
func TestDeterministic(t *testing.T) {
	w := stretch(t, 1000, .8, 3)
	for _, rule := range []Rule{AtSubmit, AtHead, AtBoth} {
		a, b := must(w.Play(Settings{Rule: rule, Share: 1}))(t), must(w.Play(Settings{Rule: rule, Share: 1}))(t)
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%v differs from itself:\n%s", rule, d)
		}
		if c := must(w.Play(Settings{Rule: rule, Share: 1, Seed: 1}))(t); slices.Equal(a.Procs, c.Procs) {
			t.Errorf("%v: the seed of the forecasts changes nothing", rule)
		}
	}
}

// TestNoForesight proves that advice uses only data that are known at the time. The test lets the jobs that run at some
// instant and cannot choose a size end right after it. No start up to that instant changes.
func TestNoForesight(t *testing.T) {
	w := stretch(t, 2500, .8, 4)
	for _, rule := range []Rule{AtSubmit, AtHead, AtBoth} {
		s := must(w.Play(Settings{Rule: rule, Share: 1}))(t)
		at := w.Jobs[len(w.Jobs)/2].Submit
		other := *w
		other.Jobs = slices.Clone(w.Jobs)
		cut := 0
		for id := range other.Jobs {
			j := &other.Jobs[id]
			if start := j.Submit + s.Wait[id]; !w.moldable(j.ID) && start <= at && start+j.Runtime > at+2 {
				j.Runtime = at + 1 - start
				cut++
			}
		}
		if cut == 0 {
			t.Fatal("no job was cut")
		}
		o := must(other.Play(Settings{Rule: rule, Share: 1}))(t)
		same, later := 0, 0
		for id := range w.Jobs {
			switch start := w.Jobs[id].Submit + s.Wait[id]; {
			case start <= at && (o.Procs[id] != s.Procs[id] || o.Wait[id] != s.Wait[id]):
				t.Fatalf("%v: job %d started at %v on %d, and now waits %v instead of %v and has %d", rule, id, start,
					s.Procs[id], o.Wait[id], s.Wait[id], o.Procs[id])
			case start <= at:
				same++
			case o.Wait[id] != s.Wait[id]:
				later++
			}
		}
		if same == 0 || later == 0 {
			t.Errorf("%v: %d jobs by the instant, %d changed after it", rule, same, later)
		}
	}
}
