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

// limited returns an engine with two pools of 100 processors, for the queues q and r. Each user may run two jobs, and
// the account "lab" may use 8 processors. Two of ann's jobs run, one in each pool. Both end after at most 1,000 s.
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

// simulated returns the simulation's median of the wait in a forecast, in seconds.
func simulated(t *testing.T, f *Forecast) float64 {
	t.Helper()
	q := f.Experts[ensemble.Simulation]
	if q == nil {
		t.Fatal("no simulation")
	}
	return q[len(q)/2]
}

// TestJobsCountBesidePrecedence proves that jobs count in the limit of their account even if a limit of their QOS takes
// precedence for them: they keep other jobs of the account waiting, but not each other.
func TestJobsCountBesidePrecedence(t *testing.T) {
	e := quick(t, Config{Capacity: 100})
	e.SetPool("q", pools.PoolConfig{Name: "q", Procs: 100, PolicyKnown: true})
	e.SetLimits(joblimits.New(&job.Facts{Enforced: job.Enforced{Limits: true}, Limits: []job.Limit{
		{QOS: "normal", Procs: 50}, {Account: "lab", Procs: 8}}}))
	in := func(qos string) track.Request {
		r := of("ann", "q", 4)
		r.Account, r.QOS = "lab", qos
		return r
	}
	for id := range uint64(3) {
		e.Submit(0, id+1, in("normal"))
		e.Start(0, id+1, true)
	}
	ask := in("normal")
	if f := e.View(10).Forecast(&ask); simulated(t, &f) != 0 || f.Kept != nil {
		t.Errorf("of the QOS: %v s, kept by %+v; want to start at once", simulated(t, &f), f.Kept)
	}
	ask = in("other")
	f := e.View(10).Forecast(&ask)
	if k := f.Kept; k == nil || k.Limit != 1 || k.Most != 8 || k.Used != 12 || simulated(t, &f) < 1 {
		t.Errorf("of the account alone: %v s, kept by %+v; want by 12 processors of 8", simulated(t, &f), f.Kept)
	}
	if freed := e.View(10).Freed("q", f.Kept); freed == nil || freed.Jobs != 2 || freed.Amount != 8 {
		t.Errorf("%+v comes free, want the 8 processors of two jobs", freed)
	}
}

// TestLimitsKeepRequests proves that a limit on running jobs keeps a request waiting although processors are free, and
// does not keep requests to which it does not apply.
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
	if !slices.Equal(own.Blocked, own.Quantiles) || slices.Max(own.Eligible) != 0 || own.Cause() != job.LimitReached {
		t.Errorf("blocked for %v of %v and eligible for %v, because of %v; want for the whole wait, because of a "+
			"limit: processors are free", own.Blocked, own.Quantiles, own.Eligible, own.Cause())
	}
	if other.Blocked != nil && slices.Max(other.Blocked) != 0 {
		t.Errorf("a job of bob's is blocked for %v, want not at all", other.Blocked)
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

// TestLimitsInHints proves that limits count in pivots, in the waits of futures and in openings.
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
	own, other := futures.Waits(&ann, nil), futures.Waits(&bob, nil)
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

// TestKeptJobsArePlayed proves that a job that a limit keeps delays a later job of the same user, but no other user.
func TestKeptJobsArePlayed(t *testing.T) {
	e := limited(t)
	before := e.View(10).Forecast(new(of("ann", "q", 1)))
	for id := uint64(3); id < 7; id++ {
		e.Submit(10, id, of("ann", "q", 90))
		e.Hold(11, id, Hold{Limit: true})
	}
	e.Update(11, 4, of("ann", "q", 91)) // it is still kept
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
	for i, w := range e.View(12).WaitsOfJob("q", 3) {
		if w <= 0 {
			t.Fatalf("future %d: the first kept job starts at once", i)
		}
	}
	if n := len(e.View(12).WaitsOfJob("q", 3)); n == 0 {
		t.Error("no futures of the first kept job")
	}
	if pivots := e.View(12).PivotsOf("q", 3); len(pivots) != 2 {
		t.Errorf("the first kept job waits for %+v, want ann's jobs 1 and 2", pivots)
	}
	e.Submit(12, 9, of("cy", "q", 99))
	e.Hold(12, 9, Hold{Until: 5000})
	if f := e.View(13).Forecast(new(of("bob", "q", 90))); simulated(t, &f) != 0 {
		t.Errorf("it waits for %v s for a job that begins in 5,000 s", simulated(t, &f))
	}
}

// TestLimitsAreSaved proves that a restored engine forecasts as before, also from a view that was kept.
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

// TestFreedOfLimits proves that Freed returns the jobs that end first, as many as must end for the request, and no
// more.
func TestFreedOfLimits(t *testing.T) {
	e := quick(t, Config{Capacity: 200})
	e.SetPool("q", pools.PoolConfig{Name: "q", Procs: 100, PolicyKnown: true})
	e.SetPool("r", pools.PoolConfig{Name: "r", Procs: 100, PolicyKnown: true})
	e.SetLimits(joblimits.New(&job.Facts{Enforced: job.Enforced{Limits: true},
		Limits: []job.Limit{{Account: "lab", Procs: 32}}}))
	run := func(id uint64, queue string, procs int, limit float64) {
		r := of("ann", queue, procs)
		r.Account, r.Limit = "lab", limit
		e.Submit(0, id, r)
		e.Start(0, id, true)
	}
	run(1, "q", 16, 30_000)
	run(2, "r", 8, 3_000) // in another pool
	run(3, "q", 4, 300)
	view := e.View(10)
	for _, c := range []struct {
		procs  int
		amount int64
		last   uint64
		jobs   int
	}{{8, 4, 3, 1}, {9, 12, 2, 2}, {16, 12, 2, 2}, {17, 28, 1, 3}} { // 28 of 32 are in use
		r := of("bob", "q", c.procs)
		r.Account = "lab"
		k := view.Kept(&r)
		if k == nil || k.Used != 28 || k.Wants != int64(c.procs) {
			t.Fatalf("%d processors are kept by %+v", c.procs, k)
		}
		f := view.Freed("q", k)
		if f == nil || f.Amount != c.amount || f.ID != c.last || f.Jobs != c.jobs {
			t.Errorf("%d processors wait for %+v, want %d of %d jobs, of which %d is the last", c.procs, f, c.amount,
				c.jobs, c.last)
			continue
		}
		left := map[uint64]float64{1: 29_990, 2: 2_990, 3: 290}[c.last]
		if !(f.Seconds > 0) || f.Seconds > left {
			t.Errorf("job %d ends after %v s, want within its time limit, %v s from now", c.last, f.Seconds, left)
		}
	}
	free := of("bob", "q", 4)
	free.Account = "lab"
	if k := view.Kept(&free); k != nil || view.Freed("q", k) != nil {
		t.Errorf("what is within the limit is kept by %+v", k)
	}
}

// TestKeptBeside covers jobs that wait ahead of a request and that the engine does not know yet. It proves that they
// count in the limits that they share with the request.
func TestKeptBeside(t *testing.T) {
	v := limited(t).View(10)
	bob, ann, lab := of("bob", "q", 1), of("ann", "q", 1), of("bob", "q", 5)
	lab.Account = "lab"
	ofLab := func(procs int) []Request {
		r := lab
		r.Procs, r.User = procs, "eve"
		return []Request{r}
	}
	for name, c := range map[string]struct {
		r      Request
		others []Request
		want   bool
	}{
		"nobody":                        {bob, nil, false},
		"one of his own, of two":        {bob, []Request{bob}, false},
		"two of his own":                {bob, []Request{bob, bob}, true},
		"two of ann's":                  {bob, []Request{ann, ann}, false},
		"ann has two already":           {ann, nil, true},
		"four processors of an account": {lab, ofLab(4), true},
		"three":                         {lab, ofLab(3), false},
	} {
		if got := v.KeptBeside(&c.r, c.others); got != c.want {
			t.Errorf("%s: kept %v, want %v", name, got, c.want)
		}
	}
}
