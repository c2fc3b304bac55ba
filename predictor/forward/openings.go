package forward

import (
	"cmp"
	"math"
	"slices"
)

// Opening is a largest request that starts at once. With more processors or a longer limit it would not start at
// once.
type Opening struct {
	Procs int
	Limit float64 // seconds; +Inf also stands for no limit
}

// Openings returns the requests that would start at once if they joined the queue now, with the given rank and number
// of jobs behind (see Request). It decides by the free processors and the time limits of the running and waiting
// jobs, as Sim.Plan does. Larger requests with shorter limits come first. The result is empty if nothing would start
// at once. The error is one of Sim.Plan's.
func Openings(state *State, rank, behind int) ([]Opening, error) {
	c := scene{plans: true}
	if err := c.prepare(state, nil); err != nil {
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
		course, err := p.play(&c, &SurfaceOptions{Ranked: Ranked{Rank: rank}, Behind: behind}, c.most, nil, 0, gate)
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
	return slices.DeleteFunc(all, func(o Opening) bool { // drop the requests that a larger one includes
		covered := o.Limit <= longest
		longest = math.Max(longest, o.Limit)
		return covered
	}), nil
}

// StartsNow reports whether a request that joins the queue now starts at once, by the free processors and the time
// limits of the running and waiting jobs. The error is one of Plan's.
func (s *Sim) StartsNow(state *State, request Request) (bool, error) {
	s.scene.plans = true
	if err := s.ready(state, &request); err != nil {
		return false, err
	}
	m := &s.machine
	m.reset(&s.scene, 0, 0)
	m.addRequest(&request)
	const over = -1
	m.horizon = over // stop after the first instant
	w := m.play()
	return w >= 0, m.failed
}
