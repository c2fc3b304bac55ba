package forward_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// naive plays a state one second after the other, with everything worked out anew from the definitions at every one.
// All its times are whole seconds. It knows eligibility, places in the queue, outages and limits, but for those on
// work.
type naive struct {
	s        *forward.State
	running  []holder
	waiting  []waits
	capacity func(t float64) int
	blocked  float64 // seconds for which the request could not have started with all processors free
}

type holder struct {
	procs              int
	start, end, expect float64
	holds              []forward.Holding
}

type waits struct {
	procs          int
	plan, eligible float64
	runtime        float64
	place          int
	request        bool
	holds          []forward.Holding
}

func plan(s *forward.State, limit float64) float64 {
	switch {
	case limit > 0:
		return limit
	case s.DefaultLimit > 0:
		return s.DefaultLimit
	}
	return math.Inf(1)
}

func newNaive(s *forward.State, r forward.Request) *naive {
	n := &naive{s: s}
	for _, j := range s.Running {
		n.running = append(n.running, holder{j.Procs, -j.Age, j.Law.Residual(j.Age, .5), plan(s, j.Limit) - j.Age,
			j.Holds})
	}
	for i, j := range s.Waiting {
		n.waiting = append(n.waiting, waits{procs: j.Procs, plan: plan(s, j.Limit), eligible: j.Eligible,
			runtime: j.Law.Residual(0, .5), place: 2 * i, holds: j.Holds})
	}
	n.waiting = append(n.waiting, waits{
		procs: r.Procs, plan: plan(s, r.Limit), eligible: r.Eligible, place: 2*(len(s.Waiting)-r.Behind) - 1,
		request: true, holds: r.Holds,
	})
	slices.SortFunc(n.waiting, func(a, b waits) int { return cmp.Compare(a.place, b.place) })
	n.capacity = func(t float64) int {
		c := s.Capacity
		for _, o := range s.Outages {
			if o.From <= t && t < o.Until {
				c -= o.Procs
			}
		}
		return c
	}
	return n
}

// free returns what the plan has free at an instant not before now.
func (n *naive) free(t, now float64) int {
	c := n.capacity(t)
	for _, h := range n.running {
		if h.expect > t || t == now {
			c -= h.procs
		}
	}
	return c
}

// shut reports whether the gate of such a plan is shut, in the first week.
func (n *naive) shut(plan, now float64) bool {
	shut := false
	for _, g := range n.s.Gates {
		if plan <= g.Over {
			break
		}
		shut = g.Shut
		for _, at := range g.Flips {
			if at <= now {
				shut = !shut
			}
		}
	}
	return shut
}

// kept reports whether a limit keeps a job from starting: what those that run have, counted anew.
func (n *naive) kept(holds []forward.Holding) bool {
	for _, h := range holds {
		for k, most := range n.s.Limits[h.Limit].Most {
			if most == forward.Unbounded || h.Amounts[k] == 0 {
				continue
			}
			has := h.Amounts[k]
			for _, r := range n.running {
				for _, o := range r.holds {
					if o.Limit == h.Limit {
						has += o.Amounts[k]
					}
				}
			}
			if has > most {
				return true
			}
		}
	}
	return false
}

// fits reports whether the plan has so many processors, and those reserved for another, for so long.
func (n *naive) fits(at, now, plan float64, procs int, reserved *holder, end float64) bool {
	for t := at; t == at || t < min(at+plan, end); t++ {
		free := n.free(t, now)
		if reserved != nil && t >= reserved.start && t < reserved.end {
			free -= reserved.procs
		}
		if free < procs {
			return false
		}
	}
	return true
}

// play returns when the request starts; end is an instant after which nothing changes by any plan.
func (n *naive) play(end float64) float64 {
	for now := 0.; now <= 4*end; now++ {
		for again := true; again; {
			n.running = slices.DeleteFunc(n.running, func(h holder) bool { return h.end <= now })
			for i := range n.running {
				if h := &n.running[i]; h.expect <= now {
					h.expect = now + max(60, now-h.start)
				}
			}
			again = n.schedule(now, now+end)
			if n.waiting == nil {
				return now
			}
		}
		for _, w := range n.waiting {
			if w.request && (w.eligible > now || n.kept(w.holds)) {
				n.blocked++
			}
		}
	}
	return math.Inf(1)
}

// schedule starts what may start and reports whether anything did that ends at once. It empties the queue when the
// request starts.
func (n *naive) schedule(now, end float64) (again bool) {
	var reserved *holder
	for i := 0; i < len(n.waiting); i++ {
		w := n.waiting[i]
		if w.eligible > now || n.shut(w.plan, now) || n.kept(w.holds) {
			continue
		}
		if n.fits(now, now, w.plan, w.procs, reserved, end) {
			if w.request {
				n.waiting = nil
				return false
			}
			h := holder{w.procs, now, now + w.runtime, now + w.plan, w.holds}
			n.running = append(n.running, h)
			n.waiting = slices.Delete(n.waiting, i, i+1)
			i--
			again = again || w.runtime == 0
			continue
		}
		if n.s.Policy == forward.FCFS || n.s.Policy == forward.PriorityFCFS {
			return again
		}
		if reserved == nil {
			at := now + 1
			for at < end && !n.fits(at, now, w.plan, w.procs, nil, end) {
				at++
			}
			if at >= end {
				at = math.Inf(1)
			}
			reserved = &holder{procs: w.procs, start: at, end: at + w.plan}
		}
	}
	return again
}
