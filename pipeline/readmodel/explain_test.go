package readmodel

import (
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// TestCandidates proves that the options with fewer processors, and those with shorter time limits, come from the
// smallest change to the largest, down to a sixteenth of the request. The processors per node stay the same, and for a
// request that cannot be scaled there is no option.
func TestCandidates(t *testing.T) {
	sizes := func(a job.Attributes) (out [][2]int) {
		for _, o := range smaller(&a, 1./16, nil) {
			out = append(out, [2]int{o.Procs, o.Nodes})
		}
		return out
	}
	limits := func(limit time.Duration) (out []time.Duration) {
		for _, o := range shorter(&job.Attributes{TimeLimit: limit}, 1./16, nil) {
			out = append(out, o.TimeLimit)
		}
		return out
	}
	if got, want := sizes(job.Attributes{Procs: 24}),
		[][2]int{{16, 0}, {12, 0}, {8, 0}, {6, 0}, {4, 0}, {3, 0}, {2, 0}}; !slices.Equal(got, want) {
		t.Errorf("of 24: %v, want %v", got, want)
	}
	if got, want := sizes(job.Attributes{Procs: 48, Nodes: 3}), [][2]int{{32, 2}, {16, 1}}; !slices.Equal(got, want) {
		t.Errorf("of 3 nodes with 16: %v, want %v", got, want)
	}
	if got := append(sizes(job.Attributes{Procs: 1}), sizes(job.Attributes{Procs: 8, GPUs: 2})...); got != nil {
		t.Errorf("of 1, and with GPUs: %v", got)
	}
	if got, want := limits(3*time.Hour),
		[]time.Duration{2 * time.Hour, time.Hour, 30 * time.Minute, 15 * time.Minute}; !slices.Equal(got, want) {
		t.Errorf("below 3 h: %v, want %v", got, want)
	}
	if got := limits(0); len(got) != 9 || got[8] != time.Hour {
		t.Errorf("below none: %v", got)
	}
}

// TestMaterial proves that the median of an option must be shorter by at least a minute and a fifth, and that its
// quantiles at 0.75 and 0.9 must not be longer.
func TestMaterial(t *testing.T) {
	than := []float64{0, 100, 1000, 2000, 4000, 8000}
	for _, c := range []struct {
		median, p75, p90 float64
		want             bool
	}{
		{800, 2000, 4000, true}, {801, 2000, 4000, false}, {800, 2001, 4000, false}, {800, 2000, 4001, false},
		{0, 0, 0, true},
	} {
		if got := material(than, []float64{0, 0, c.median, c.p75, c.p90, 9000}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if material([]float64{0, 0, 70, 80, 90, 100}, []float64{0, 0, 11, 12, 13, 14}) {
		t.Error("59 s are worth telling")
	}
}

// TestElsewhere proves that another queue is an option if its limits allow the request or, if the scheduler does not
// report its limits, if the queue has a job that is at least as large and as long.
func TestElsewhere(t *testing.T) {
	view := func() *View {
		return &View{Models: &livemodels.View{}, Declared: []string{"a", "b", "c"},
			View: &cluster.View{Pools: []*cluster.Pool{{Has: cluster.Vector{16}}}, Running: []*cluster.Job{
				{Attributes: job.Attributes{Queue: "b", Procs: 8, TimeLimit: time.Hour}},
				{Attributes: job.Attributes{Queue: "c", Procs: 3, TimeLimit: time.Hour}},
			}}}
	}
	takes := func(*job.Attributes) bool { return true }
	names := func(v *View, a job.Attributes) (out []string) {
		for _, o := range v.elsewhere(&a, func(o *job.Attributes) bool { return takes(o) }, nil) {
			out = append(out, o.Queue)
		}
		return out
	}
	a := job.Attributes{Queue: "a", Procs: 4, TimeLimit: time.Hour}
	if got := names(view(), a); !slices.Equal(got, []string{"b"}) {
		t.Errorf("by what they hold: %v, want b", got)
	}
	takes = func(o *job.Attributes) bool { return o.Queue != "b" }
	if got := names(view(), a); got != nil {
		t.Errorf("%v, want none, since b is refused", got)
	}
	takes = func(*job.Attributes) bool { return true }
	v := view()
	v.Facts = &job.Facts{Queues: []job.QueueFacts{{Name: "b", MaxTime: time.Minute},
		{Name: "c", MaxTime: 2 * time.Hour}}}
	if got := names(v, a); !slices.Equal(got, []string{"c"}) {
		t.Errorf("by their bounds: %v, want c", got)
	}
	for name, q := range map[string]job.QueueFacts{
		"down": {Down: true}, "closed": {Closed: true}, "too long": {MaxTime: time.Minute},
		"too many nodes": {MaxNodes: 1}, "too few": {MinNodes: 3},
	} {
		if admits(&q, &job.Attributes{Procs: 4, Nodes: 2, TimeLimit: time.Hour}) {
			t.Errorf("%s: admitted", name)
		}
	}
}

// TestMove proves that the main cause is the change by the most processors. A running job counts as an overrun if it
// ran at the submission and has outlived nine in ten such jobs, but not if it started later.
func TestMove(t *testing.T) {
	now := time.Unix(10_000, 0).UTC()
	v := &View{View: &cluster.View{Pools: []*cluster.Pool{{Has: cluster.Vector{90}}}}}
	e, _ := engine.New(engine.Config{Capacity: 90})
	t.Cleanup(e.Close)
	e.Submit(1, 1, engine.Request{Queue: "q", Procs: 20, Limit: 5000}) // its law ends at the limit
	e.Start(1, 1, true)
	overdue := Pivot{Pivot: e.View(10_000).Pivots(&engine.Request{Queue: "q", Procs: 90})[0],
		Job: &cluster.Job{ID: "1"}}
	for _, c := range []struct {
		name          string
		then          Served
		ahead, procs  int
		priority      int64
		held          bool
		submit        int64
		pivots        []Pivot
		want          MoveCause
		lost, overrun int
	}{
		{"nothing", Served{Capacity: 90, Ahead: 1, AheadProcs: 5}, 1, 5, 0, false, 9000, nil, MovedTime, 0, 0},
		{"others started", Served{Capacity: 90, Ahead: 3, AheadProcs: 5}, 1, 5, 0, false, 9000, nil, MovedOn, 0, 0},
		{"others came", Served{Capacity: 90, Ahead: 1, AheadProcs: 5}, 2, 9, 0, false, 9000, nil, MovedPassed, 0, 0},
		{"priority", Served{Capacity: 90, Ahead: 1, AheadProcs: 5, Priority: 9}, 2, 9, 8, false, 9000, nil,
			MovedPriority, 0, 0},
		{"capacity", Served{Capacity: 120, Ahead: 1, AheadProcs: 5}, 2, 9, 0, false, 9000, nil, MovedCapacity, 30, 0},
		{"capacity unknown then", Served{Ahead: 1, AheadProcs: 5}, 1, 5, 0, false, 9000, nil, MovedTime, 0, 0},
		{"held", Served{Capacity: 120}, 0, 0, 0, true, 9000, nil, MovedHeld, 30, 0},
		{"overrun", Served{Capacity: 90}, 0, 0, 0, false, 2000, []Pivot{overdue}, MovedOverrun, 0, 1},
		{"overrun, but fewer processors than lost", Served{Capacity: 120}, 0, 0, 0, false, 2000, []Pivot{overdue},
			MovedCapacity, 30, 1},
		{"over its limit before", Served{Capacity: 90}, 0, 0, 0, false, 9990, []Pivot{overdue}, MovedTime, 0, 0},
		{"started since", Served{Capacity: 90}, 0, 0, 0, false, 0, []Pivot{overdue}, MovedTime, 0, 0},
	} {
		w := Waiting{Job: &cluster.Job{Submit: time.Unix(c.submit, 0).UTC(), Held: c.held,
			Attributes: job.Attributes{Priority: c.priority}}, Ahead: c.ahead, AheadProcs: c.procs}
		if m := v.Move(&w, &c.then, c.pivots, now); m.Cause != c.want || m.Lost != c.lost ||
			len(m.Overrun) != c.overrun {
			t.Errorf("%s: %+v, want %s", c.name, m, c.want)
		}
	}
}
