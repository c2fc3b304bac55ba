package forward

import (
	"fmt"
	"math"
	"slices"
)

// Amounts are what jobs have, or may have, of what limits bound.
type Amounts [amountKinds]int64

// The kinds of amounts.
const (
	Jobs = iota
	Procs
	Nodes
	GPUs
	Memory // bytes
	// Work is the processor-seconds that running jobs may still use by their time limits (Slurm's GrpTRESRunMins). That
	// of a job that runs falls by the second. What a Holding has of it is its processors.
	Work
	amountKinds
)

// Unbounded stands for an amount that is not bounded.
const Unbounded = math.MaxInt64

// NoBounds returns amounts none of which is bounded.
func NoBounds() (out Amounts) {
	for i := range out {
		out[i] = Unbounded
	}
	return out
}

// Limit is what some jobs may have at once: those of a user, of an account, of a quality of service. A job that would
// bring them over it does not start and keeps nobody else from starting: it has no reservation, as in Slurm.
type Limit struct{ Most Amounts }

// Holding is what a job has of what one limit bounds while it runs.
type Holding struct {
	Limit   int32 // index in State.Limits
	Amounts Amounts
}

// checkHoldings reports whether what a job has of some limits makes sense; who names the job.
func checkHoldings(all []Holding, limits int, who string) error {
	for i := range all {
		h := &all[i]
		if h.Limit < 0 || int(h.Limit) >= limits {
			return field(false, fmt.Sprintf("%s.holds[%d].limit", who, i), -1, "", float64(h.Limit),
				fmt.Sprintf("0 up to, not with, %d", limits))
		}
		for k, a := range h.Amounts {
			if a < 0 || k != Memory && a > math.MaxInt32 {
				return field(false, fmt.Sprintf("%s.holds[%d].amounts[%d]", who, i, k), -1, "", float64(a), "0 or more")
			}
		}
	}
	return nil
}

// limitState is what a replica keeps of a limit.
type limitState struct {
	used   Amounts
	work   float64 // processor-seconds, at the instant at
	at     float64
	parked []int32 // positions of waiting jobs that it kept from starting
}

// workAt returns the processor-seconds that the jobs that run may still use.
func (l *limitState) workAt(now float64) float64 {
	return math.Max(0, l.work-float64(l.used[Work])*(now-l.at))
}

// add adds what a job has, or takes it away; left is what is left of its time limit.
func (l *limitState) add(now float64, a *Amounts, sign int64, left float64) {
	l.work, l.at = l.workAt(now)+float64(sign)*float64(a[Work])*left, now
	for k := range l.used {
		l.used[k] += sign * a[k]
	}
	if l.used[Work] == 0 {
		l.work = 0 // without the errors of sums
	}
}

// admits reports whether a job may start beside those that count.
func (l *limitState) admits(most, a *Amounts, now, plan float64) bool {
	for k := range most {
		if most[k] == Unbounded || a[k] == 0 {
			continue
		}
		if k == Work {
			if l.workAt(now)+float64(a[Work])*plan > float64(most[Work])+1e-6 {
				return false
			}
			continue
		}
		if l.used[k]+a[k] > most[k] {
			return false
		}
	}
	return true
}

// prepareLimits counts what runs in the state.
func (c *scene) prepareLimits() {
	c.limits = resize(c.limits, len(c.state.Limits))
	for i := range c.limits {
		c.limits[i] = limitState{}
	}
	if len(c.limits) == 0 {
		return
	}
	for i := range c.state.Running {
		r := &c.state.Running[i]
		for k := range r.Holds {
			h := &r.Holds[k]
			c.limits[h.Limit].add(0, &h.Amounts, 1, math.Max(0, finite(c.state.plan(r.Limit)-r.Age)))
		}
	}
}

// finite returns the seconds that a job without a limit counts for in the work of a limit.
func finite(plan float64) float64 { return math.Min(plan, longest) }

// resetLimits puts the limits into the scene's state.
func (m *machine) resetLimits() {
	m.limitNow = resize(m.limitNow, len(m.scene.limits))
	for i := range m.limitNow {
		from := &m.scene.limits[i]
		m.limitNow[i] = limitState{used: from.used, work: from.work, at: from.at,
			parked: m.limitNow[i].parked[:0]}
	}
	m.opens, m.shutFor, m.shutSince = math.Inf(1), 0, math.NaN()
}

// holds returns what a job has of what limits bound.
func (m *machine) holds(id int32) []Holding {
	s := m.state
	switch {
	case len(m.limitNow) == 0:
		return nil
	case int(id) < len(s.Running):
		return s.Running[id].Holds
	case int(id) < len(s.Running)+len(s.Waiting):
		return s.Waiting[int(id)-len(s.Running)].Holds
	case id == m.asked:
		return m.requestHolds
	}
	return nil
}

// stopper returns the first of its limits that keeps a job from starting now; nil if there is none.
func (m *machine) stopper(holds []Holding, plan float64) *Holding {
	for i := range holds {
		h := &holds[i]
		if !m.limitNow[h.Limit].admits(&m.state.Limits[h.Limit].Most, &h.Amounts, m.now, finite(plan)) {
			return h
		}
	}
	return nil
}

// admitted reports whether the limits let a job of the state that waits start now, and puts it aside where they do not.
func (m *machine) admitted(at int) bool {
	if len(m.limitNow) == 0 {
		return true
	}
	plan := m.layout.plan[at]
	h := m.stopper(m.state.Waiting[at].Holds, plan)
	if h == nil {
		return true
	}
	m.waiting.remove(&m.layout, at)
	l := &m.limitNow[h.Limit]
	l.parked = append(l.parked, int32(at)) //nolint:gosec // one of the jobs that wait
	m.opens = math.Min(m.opens, m.opensAt(h, plan))
	return false
}

// opensAt returns the instant at which the work of a limit has fallen so far that a job may start, if no job ends
// before; +Inf where another amount keeps it.
func (m *machine) opensAt(h *Holding, plan float64) float64 {
	l, most := &m.limitNow[h.Limit], &m.state.Limits[h.Limit].Most
	if most[Work] == Unbounded || l.used[Work] == 0 {
		return math.Inf(1)
	}
	left, own := l.workAt(m.now), float64(h.Amounts[Work])*finite(plan)
	over := left + own - float64(most[Work])
	if over <= 0 || left <= 0 || own > float64(most[Work]) { // time alone does not help
		return math.Inf(1)
	}
	return m.now + math.Max(over/float64(l.used[Work]), 1e-3)
}

// count adds what a job has to its limits as it starts, or takes it away as it ends.
func (m *machine) count(id int32, sign int64) {
	holds := m.holds(id)
	for i := range holds {
		h := &holds[i]
		left := 0.
		if h.Amounts[Work] > 0 {
			left = math.Max(0, finite(m.planOf(id))-(m.now-m.jobs[id].start))
		}
		m.limitNow[h.Limit].add(m.now, &h.Amounts, sign, left)
		if sign < 0 {
			m.unpark(h.Limit)
		}
	}
}

// planOf returns the planned runtime of a job that runs.
func (m *machine) planOf(id int32) float64 {
	s := m.state
	switch {
	case int(id) < len(s.Running):
		return s.plan(s.Running[id].Limit)
	case int(id) < len(s.Running)+len(s.Waiting):
		return s.plan(s.Waiting[int(id)-len(s.Running)].Limit)
	}
	return m.request.plan
}

// unpark lets the jobs that a limit kept compete again: each is looked at when its turn comes.
func (m *machine) unpark(limit int32) {
	l := &m.limitNow[limit]
	for _, at := range l.parked {
		if !park(m.gateNow, m.gateOf, int(at)) {
			m.waiting.add(&m.layout, int(at))
		}
	}
	l.parked = l.parked[:0]
}

// openLimits lets jobs compete whose limit was a matter of time.
func (m *machine) openLimits() {
	if m.opens > m.now {
		return
	}
	m.opens = math.Inf(1)
	for l := range m.limitNow {
		if m.state.Limits[l].Most[Work] != Unbounded {
			m.unpark(int32(l)) //nolint:gosec // one of the limits
		}
	}
}

// watch notes for how long the request's own limits, or its eligibility, keep it from starting. It is called after
// every pass; waits is false once the request has started.
func (m *machine) watch(waits bool) {
	if m.asked == none {
		return
	}
	shut := waits && m.isKept()
	switch {
	case shut && math.IsNaN(m.shutSince):
		m.shutSince = m.now
	case !shut && !math.IsNaN(m.shutSince):
		m.shutFor += m.now - m.shutSince
		m.shutSince = math.NaN()
	}
}

// isKept reports whether the request is not eligible yet, or a limit keeps it from starting.
func (m *machine) isKept() bool {
	if !math.IsInf(m.asks, 1) {
		return true
	}
	h := m.stopper(m.requestHolds, m.request.plan)
	if h == nil {
		return false
	}
	m.opens = math.Min(m.opens, m.opensAt(h, m.request.plan))
	return true
}

// checkLimits reports whether the limits of a state, and what jobs have of them, make sense.
func (s *State) checkLimits() error {
	for i := range s.Limits {
		if k := slices.IndexFunc(s.Limits[i].Most[:], func(a int64) bool { return a < 0 }); k >= 0 {
			return field(false, "limits", i, fmt.Sprintf("most[%d]", k), float64(s.Limits[i].Most[k]), "0 or more")
		}
	}
	for i := range s.Running {
		if h := s.Running[i].Holds; h != nil {
			if err := checkHoldings(h, len(s.Limits), fmt.Sprintf("running[%d]", i)); err != nil {
				return err
			}
		}
	}
	for i := range s.Waiting {
		if h := s.Waiting[i].Holds; h != nil {
			if err := checkHoldings(h, len(s.Limits), fmt.Sprintf("waiting[%d]", i)); err != nil {
				return err
			}
		}
	}
	return nil
}
