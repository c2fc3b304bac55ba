package forward_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// naive plays a state one second after the other, and computes everything from the definitions at every second. All its
// times are whole seconds. It handles eligibility, jobs that wait for the ends of others, places in the queue, moving
// ranks, outages, gates and limits, but no limits on work.
type naive struct {
	s        *forward.State
	running  []holder
	waiting  []waits
	capacity func(t float64) int
	blocked  float64 // the seconds for which the request could not have started with all processors free
	soon     float64 // the part of blocked within the first SoonSeconds
	// ranks returns the rank of a job by the processors that its owner's jobs have at a computation. It is nil if ranks
	// do not change.
	ranks func(j *waits, procs int, at float64) int
}

type holder struct {
	procs              int
	start, end, expect float64
	holds              []forward.Holding
	key                uint64
	owner              int32
}

type waits struct {
	procs          int
	plan, eligible float64
	runtime        float64
	place          int
	request        bool
	holds          []forward.Holding
	key            uint64
	after          []uint64
	// rank is that of the state, and moved that of the newest computation.
	rank, moved int
	owner       int32
	since       float64
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
			j.Holds, j.Key, j.Owner})
	}
	for i, j := range s.Waiting {
		n.waiting = append(n.waiting, waits{procs: j.Procs, plan: plan(s, j.Limit), eligible: j.Eligible,
			runtime: j.Law.Residual(0, .5), place: 2 * i, holds: j.Holds, key: j.Key,
			after: j.After, rank: j.Rank, owner: j.Owner, since: j.Since})
	}
	n.waiting = append(n.waiting, waits{
		procs: r.Procs, plan: plan(s, r.Limit), eligible: r.Eligible, place: 2*(len(s.Waiting)-r.Behind) - 1,
		request: true, holds: r.Holds, after: r.After, rank: r.Rank, owner: r.Owner, since: r.Since,
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

// free returns the free processors by the plan, at an instant not before now.
func (n *naive) free(t, now float64) int {
	c := n.capacity(t)
	for _, h := range n.running {
		if h.expect > t || t == now {
			c -= h.procs
		}
	}
	return c
}

// shut reports whether the gate for a job with this plan is shut, in the first week.
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

// awaits reports whether a job waits for the end of a running or waiting one.
func (n *naive) awaits(w waits) bool {
	return slices.ContainsFunc(n.running, func(h holder) bool { return slices.Contains(w.after, h.key) }) ||
		slices.ContainsFunc(n.waiting, func(o waits) bool { return !o.request && slices.Contains(w.after, o.key) })
}

// kept reports whether a limit keeps a job from starting. It adds up the amounts of the running jobs again.
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

// fits reports whether the plan has that many processors for that long, in addition to the reserved ones.
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

// play returns when the request starts. end is an instant after which no plan changes anything.
func (n *naive) play(end float64) float64 {
	for now := 0.; now <= 4*end; now++ {
		n.rank(now)
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
			if w.request && (w.eligible > now || n.awaits(w) || n.kept(w.holds)) {
				n.blocked++
				if now < forward.SoonSeconds {
					n.soon++
				}
			}
		}
	}
	return math.Inf(1)
}

// rank changes the ranks of the waiting jobs if they are computed now.
func (n *naive) rank(now float64) {
	if n.ranks == nil || now == 0 || math.Mod(now, rankEvery) != 0 {
		return
	}
	for i := range n.waiting {
		w, procs := &n.waiting[i], 0
		for _, h := range n.running {
			if h.owner == w.owner && h.end > now {
				procs += h.procs
			}
		}
		w.moved = n.ranks(w, procs, now)
	}
	slices.SortFunc(n.waiting, byMovedRank)
}

// schedule starts the jobs that may start. It reports whether one of them ends at once, or a limit now keeps the job
// with the reservation. It empties the queue when the request starts.
func (n *naive) schedule(now, end float64) (again bool) {
	var reserved *holder
	var head waits
	for i := 0; i < len(n.waiting); i++ {
		w := n.waiting[i]
		if w.eligible > now || n.awaits(w) || n.shut(w.plan, now) || n.kept(w.holds) {
			continue
		}
		if n.fits(now, now, w.plan, w.procs, reserved, end) {
			if w.request {
				n.waiting = nil
				return false
			}
			h := holder{w.procs, now, now + w.runtime, now + w.plan, w.holds, w.key, w.owner}
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
			reserved, head = &holder{procs: w.procs, start: at, end: at + w.plan}, w
		}
	}
	return again || n.kept(head.holds)
}
