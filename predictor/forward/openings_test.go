package forward_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// TestOpeningsAreThePlansThatNeedNoWait proves that by the plan a request starts at once if and only if one of the
// openings covers it, and that no opening covers another.
func TestOpeningsAreThePlansThatNeedNoWait(t *testing.T) {
	w := small
	w.outages, w.past, w.blocked, w.ranks, w.gates = true, true, true, true, true
	w.policies = []forward.Policy{forward.FCFS, forward.EASY, forward.Conservative, forward.PriorityFCFS,
		forward.PriorityEASY}
	var sim forward.Sim
	some, none := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		s := w.draw(rt)
		r := w.request(rt, &s)
		r.Behind = s.Behind(r.Rank)
		openings, err := forward.Openings(&s, r.Rank, r.Behind)
		check(t, err)
		for i, o := range openings {
			if o.Procs < 1 || !(o.Limit > 0) ||
				i > 0 && (o.Procs >= openings[i-1].Procs || o.Limit <= openings[i-1].Limit) {
				rt.Fatalf("openings %v: sizes must fall and limits rise", openings)
			}
		}
		for procs := 1; procs <= s.Capacity; procs++ {
			for _, limit := range []float64{1, 2, 3, 5, 7, 10, 19, 40, 1000} {
				held := false
				for _, o := range openings {
					held = held || procs <= o.Procs && limit <= o.Limit
				}
				r.Procs, r.Limit, r.Eligible = procs, limit, 0
				plan, err := sim.Plan(&s, r)
				if err != nil {
					plan = math.Inf(1)
				}
				if held != (plan == 0) {
					rt.Fatalf("%d processors for %v s: held by %v is %v, the plan's wait is %v", procs, limit,
						openings, held, plan)
				}
				if held {
					some++
				} else {
					none++
				}
			}
		}
	})
	if some == 0 || none == 0 {
		t.Errorf("%d requests started at once, %d did not: both must be seen", some, none)
	}
}
