package engine

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// limited is an engine of 100 processors on which each user may run two jobs and the account "lab" 8 processors, with
// two jobs of ann's that end after 1,000 s at most, one of them in another pool.
func limited(t *testing.T) *Engine {
	e := quick(t, Config{Capacity: 200})
	for _, q := range []string{"q", "r"} {
		e.SetPool(q, pools.PoolConfig{Name: q, Procs: 100, PolicyKnown: true})
	}
	e.SetLimits(joblimits.New(&job.Facts{Enforced: job.Enforced{Limits: true}, Limits: []job.Limit{
		{QOS: "normal", PerUser: true, Jobs: 2}, {Account: "lab", Procs: 8}}}))
	for i, q := range []string{"q", "r"} {
		id := uint64(i + 1)
		e.Submit(0, id, of("ann", q, 4))
		e.Start(0, id, true)
	}
	return e
}

func of(user, queue string, procs int) track.Request {
	return track.Request{Queue: queue, User: user, Account: user + "lab", QOS: "normal", Procs: procs, Limit: 1000}
}

// simulated returns the simulation's median of a request, in seconds.
func simulated(t *testing.T, f *Forecast) float64 {
	t.Helper()
	q := f.Experts[ensemble.Simulation]
	if q == nil {
		t.Fatal("no simulation")
	}
	return q[len(q)/2]
}

// A limit on what runs at once keeps a request waiting beside free processors, and those that it does not hold for not.
func TestLimitsKeepRequests(t *testing.T) {
	e := limited(t)
	ask := func(r track.Request) Forecast { return e.View(10).Forecast(&r) }
	own, other := ask(of("ann", "q", 1)), ask(of("bob", "q", 1))
	if w := simulated(t, &own); w < 1 || w > 990 {
		t.Errorf("a third job of ann's waits for %v s, want until one of her two has ended", w)
	}
	if k := own.Kept; k == nil || k.Of != "ann" || k.Kind != joblimits.Jobs || k.Most != 2 || k.Used != 2 ||
		k.Wants != 1 {
		t.Errorf("kept by %+v, want by ann's 2 jobs", k)
	}
	if own.Blocked == nil || own.Blocked[len(own.Blocked)/2] != simulated(t, &own) {
		t.Errorf("blocked for %v, want for the whole wait: processors are free", own.Blocked)
	}
	if w := simulated(t, &other); w != 0 || other.Kept != nil {
		t.Errorf("a job of bob's waits for %v s, kept by %+v; want a start at once", w, other.Kept)
	}
	lab := of("bob", "q", 9)
	lab.Account = "lab"
	if f := ask(lab); f.Experts[ensemble.Simulation] != nil {
		t.Errorf("9 processors of an account that may have 8 start after %v", f.Experts[ensemble.Simulation])
	}
}

// What a kept request waits for, what would start sooner and what starts at once follow from the limits too.
func TestLimitsInHints(t *testing.T) {
	e := limited(t)
	v := e.View(10)
	ann, bob := of("ann", "q", 1), of("bob", "q", 1)
	ids := map[uint64]bool{}
	for _, p := range v.Pivots(&ann) {
		ids[p.ID] = true
	}
	if !ids[1] || !ids[2] || len(ids) != 2 {
		t.Errorf("ann's request waits for %v, want her jobs 1 and 2, one of them in another pool", ids)
	}
	futures := v.Futures()
	own, other := futures.Waits(&ann), futures.Waits(&bob)
	if len(own) == 0 || len(own) != len(other) {
		t.Fatalf("%d and %d futures", len(own), len(other))
	}
	for i := range own {
		if own[i] <= 0 || other[i] != 0 {
			t.Fatalf("future %d: ann's request starts after %v s, bob's after %v; want hers later", i, own[i], other[i])
		}
	}
	if holes := v.Openings(&ann).Holes; len(holes) != 0 {
		t.Errorf("%+v starts at once for ann, who may run no third job", holes)
	}
	lab := bob
	lab.Account = "lab"
	for name, want := range map[string]struct {
		r     *track.Request
		procs int
	}{"bob": {&bob, 96}, "bob of an account that may have 8 processors": {&lab, 8}} {
		if holes := v.Openings(want.r).Holes; len(holes) != 1 || holes[0].Procs != want.procs {
			t.Errorf("%+v start at once for %s, want %d processors", holes, name, want.procs)
		}
	}
}

// A job that a limit keeps goes before a later one of the same user, and delays nobody else.
func TestKeptJobsArePlayed(t *testing.T) {
	e := limited(t)
	before := e.View(10).Forecast(new(of("ann", "q", 1)))
	for id := uint64(3); id < 7; id++ {
		e.Submit(10, id, of("ann", "q", 90))
		e.Hold(11, id, Hold{Limit: true})
	}
	e.Update(11, 4, of("ann", "q", 91)) // it goes on being kept
	kept := 0
	e.tracker.KeptJobs(func(*track.Job) bool { kept++; return true })
	if kept != 4 {
		t.Errorf("%d jobs are kept, want four", kept)
	}
	after, other := e.View(12).Forecast(new(of("ann", "q", 1))), e.View(12).Forecast(new(of("bob", "q", 90)))
	if a, b := simulated(t, &after), simulated(t, &before); !(a > b) {
		t.Errorf("behind four kept jobs of the same user it waits for %v s, without them for %v", a, b)
	}
	if w := simulated(t, &other); w != 0 {
		t.Errorf("another user's job waits for %v s behind jobs that a limit keeps", w)
	}
	e.Submit(12, 9, of("cy", "q", 99))
	e.Hold(12, 9, Hold{Until: 5000})
	if f := e.View(13).Forecast(new(of("bob", "q", 90))); simulated(t, &f) != 0 {
		t.Errorf("it waits for %v s for a job that begins in 5,000 s", simulated(t, &f))
	}
}

// What is restored forecasts as before, also from a view that was kept.
func TestLimitsAreSaved(t *testing.T) {
	e := limited(t)
	e.Submit(10, 3, of("ann", "q", 4))
	e.Hold(11, 3, Hold{Limit: true})
	view := e.View(12)
	want := view.Forecast(new(of("ann", "q", 1)))
	data, err := e.MarshalBinary()
	check(t, err)
	kept, err := view.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Capacity: 200})
	check(t, again.UnmarshalBinary(data))
	restored, err := again.RestoreView(kept)
	check(t, err)
	copied, err := e.Copy()
	check(t, err)
	defer copied.Close()
	for name, v := range map[string]*View{"engine": again.View(12), "view": restored, "copy": copied.View(12)} {
		got := v.Forecast(new(of("ann", "q", 1)))
		if !slices.Equal(got.Blocked, want.Blocked) || !slices.Equal(got.Quantiles, want.Quantiles) ||
			*got.Kept != *want.Kept {
			t.Errorf("%s: %v blocked for %v, want %v for %v", name, got.Quantiles, got.Blocked, want.Quantiles,
				want.Blocked)
		}
	}
}
