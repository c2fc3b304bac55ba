package engine

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/job"
)

// TestEarlierJobs covers jobs that bob submits within a second. The log first reports only their submissions. Once
// their details are known, each is forecast from the view of its submission, and counts as waiting ahead of the later
// ones. bob may run two jobs at once, so the third one waits for the end of one of the two before it.
func TestEarlierJobs(t *testing.T) {
	e := limited(t)
	v := e.View(10)
	submit := func(id uint64, at float64, r Request) Forecast {
		return e.SubmitAt(e.WithEarlier(v, at, id, r.Queue), at, 12, id, r)
	}
	first, second := submit(200, 10, of("bob", "q", 1)), submit(202, 10.2, of("bob", "q", 1))
	for i, f := range []*Forecast{&first, &second} {
		if w := simulated(t, f); w != 0 || f.JobsAhead != i && i == 0 {
			t.Errorf("job %d waits for %v s behind %d jobs", i+1, w, f.JobsAhead)
		}
	}
	e.Start(12, 200, true) // the later report of its start does not count: it waits in the view
	third := submit(204, 10.4, of("bob", "q", 1))
	if w := simulated(t, &third); w < 1 || third.Cause() != job.LimitReached {
		t.Errorf("the third waits for %v s because of %v, want until one of the two before it has ended", w,
			third.Cause())
	}
	alone := v.Forecast(&Request{Queue: "q", User: "bob", Account: "boblab", QOS: "normal", Procs: 1, Limit: 1000})
	if said := e.tracker.Jobs[204].Pending.Said; !slices.Equal(said, logAll(slices.Clone(alone.Quantiles))) {
		t.Errorf("learnt from %v, want from the forecast that a request had got: %v", said, alone.Quantiles)
	}
	if f := submit(206, 10.1, of("bob", "q", 1)); simulated(t, &f) != 0 {
		t.Errorf("a job between the first and the second waits for %v s", simulated(t, &f))
	}
	if f := submit(208, 11, of("eve", "q", 1)); simulated(t, &f) != 0 {
		t.Errorf("a job of eve's behind them waits for %v s", simulated(t, &f))
	}
}

// TestEarlierJobsAreFew proves that nothing changes if no job has become known since the view was made, and that the
// tasks of one array are not counted twice.
func TestEarlierJobsAreFew(t *testing.T) {
	e := limited(t)
	v := e.View(10)
	if e.WithEarlier(v, 11, 200, "q") != v {
		t.Error("another view though nothing was submitted")
	}
	e.SubmitAt(v, 10, 12, 200, of("bob", "q", 1))
	if e.WithEarlier(v, 10, 201, "q") != v {
		t.Error("the first task of an array goes before its others, which are forecast with it")
	}
	if e.WithEarlier(v, 11, 202, "r") != v {
		t.Error("a job of another pool goes before")
	}
	if e.WithEarlier(v, 9, 202, "q") != v {
		t.Error("a job goes before one that was submitted sooner")
	}
	if e.WithEarlier(v, 11, 202, "q") == v {
		t.Error("an earlier job does not go before")
	}
}
