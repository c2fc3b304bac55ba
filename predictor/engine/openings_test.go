package engine_test

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// full returns a view of an EASY pool of 1000 processors. The given number of jobs of the given size run, with a limit
// of 4 h, and one job for all processors waits.
func full(t *testing.T, jobs, procs int) *engine.View {
	t.Helper()
	e, err := engine.New(engine.Config{Synchronous: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	e.SetPool("q", pools.PoolConfig{Name: "p", Procs: 1000, Policy: forward.EASY, PolicyKnown: true})
	for i := range jobs {
		id, now := uint64(i+1), float64(i)
		e.Submit(now, id, track.Request{Queue: "q", Procs: procs, Limit: 4 * 3600})
		e.Start(now, id, true)
	}
	e.Submit(500, 1000, track.Request{Queue: "q", Procs: 1000, Limit: 3600})
	for i := range 40 { // enough events for new tables
		id, now := uint64(2000+i), 600+2*float64(i)
		e.Submit(now, id, track.Request{Queue: "q", Procs: 1, Limit: 60})
		e.Start(now, id, true)
		e.End(now+1, id)
	}
	return e.View(700)
}

// TestOpenings proves that behind a job for the whole pool, a request for the free processors starts at once if its
// limit ends no later than the last limit of the running jobs. The opening is exact to the second if the pool is
// simulated. If it comes from a table, size and limit are rounded down to those of the table.
func TestOpenings(t *testing.T) {
	small := full(t, 45, 20).Openings(&track.Request{Queue: "q", Procs: 1})
	if len(small.Holes) != 1 || small.Holes[0] != (forward.Opening{Procs: 100, Limit: 4*3600 - 700 + 44}) ||
		small.Free != 100 || small.Procs != 1000 || small.Age != 0 {
		t.Errorf("45 jobs: %+v, want 100 processors until the last of them ends", small)
	}
	large := full(t, 450, 2).Openings(&track.Request{Queue: "q", Procs: 1})
	if large.Free != 100 || !(large.Age > 0) || len(large.Holes) == 0 {
		t.Fatalf("450 jobs: %+v", large)
	}
	for _, h := range large.Holes {
		if h.Procs != 96 || h.Limit != 7200 { // the table's next size is 128, and its next limit 4 h
			t.Errorf("450 jobs: %+v, want 96 processors for 2 h", large.Holes)
		}
	}
	e, err := engine.New(engine.Config{Synchronous: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if none := e.View(0).Openings(&track.Request{Queue: "q"}); len(none.Holes) != 0 || none.Free != 0 {
		t.Errorf("nothing known: %+v", none)
	}
	e.SetPool("q", pools.PoolConfig{Name: "p", Procs: 8, Policy: forward.EASY, PolicyKnown: true})
	if idle := e.View(0).Openings(&track.Request{Queue: "q"}); len(idle.Holes) != 1 || idle.Holes[0].Procs != 8 ||
		!math.IsInf(idle.Holes[0].Limit, 1) {
		t.Errorf("an idle pool: %+v, want all of it for any time", idle)
	}
}
