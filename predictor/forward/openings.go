package forward

import (
	"cmp"
	"math"
	"slices"
)

// Opening is a largest request that starts at once: neither more processors nor a longer limit would.
type Opening struct {
	Procs int
	Limit float64 // seconds; +Inf for any, and for none
}

// Openings returns what a request that joins a queue now, of a rank and so many jobs behind it (see Request), may ask
// for to start at once: by the free processors and the time limits of the jobs that run and wait, as Sim.Plan has them.
// Larger ones with shorter limits come first; none where nothing starts at once. The error is one of Sim.Plan.
func Openings(state *State, rank, behind int) ([]Opening, error) {
	c := scene{plans: true}
	if err := c.prepare(state); err != nil {
		return nil, err
	}
	if c.most < 1 {
		return nil, nil
	}
	probe := Request{Procs: 1, Rank: rank, Behind: behind}
	if err := probe.check(c.most, len(state.Waiting)); err != nil {
		return nil, err
	}
	var p player
	var all []Opening
	for gate := noGate; int(gate) < len(state.Gates); gate++ {
		over, upTo := state.limitsOf(gate)
		course, err := p.play(&c, &SurfaceOptions{Rank: rank, Behind: behind}, c.most, 0, gate)
		if err != nil {
			return nil, err
		}
		for _, s := range course.steps {
			if s.at <= 0 && s.most > 0 && s.within > over {
				all = append(all, Opening{int(s.most), math.Min(s.within, upTo)})
			}
		}
	}
	slices.SortFunc(all, func(a, b Opening) int {
		return cmp.Or(-cmp.Compare(a.Procs, b.Procs), -cmp.Compare(a.Limit, b.Limit))
	})
	longest := 0.
	return slices.DeleteFunc(all, func(o Opening) bool { // what a larger one covers
		covered := o.Limit <= longest
		longest = math.Max(longest, o.Limit)
		return covered
	}), nil
}
