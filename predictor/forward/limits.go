package forward

import (
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/cluster/joblimits"
)

// Amounts are amounts of limited resources: what a job has, or the most that the jobs of a limit may have. A limit of
// Work bounds the processor-seconds that running jobs may still use by their time limits. While a job runs, they
// decrease in each second by the number of the job's processors. So the amount of Work that a job has is the number of
// its processors.
type Amounts = joblimits.Amounts

// These are the kinds of amounts, see package joblimits.
const (
	Jobs      = joblimits.Jobs
	Procs     = joblimits.Procs
	Nodes     = joblimits.Nodes
	GPUs      = joblimits.GPUs
	Memory    = joblimits.Memory
	Work      = joblimits.Work
	Unbounded = joblimits.Unbounded
)

// NoBounds returns amounts without any bound.
func NoBounds() (out Amounts) {
	for i := range out {
		out[i] = Unbounded
	}
	return out
}

// Limit is the maximum amount of the running jobs of a user, an account or a quality of service. A job that would
// exceed the limit does not start. As in Slurm this job has no reservation, so it does not block other jobs.
type Limit struct{ Most Amounts }

// Holding has the amounts of a job in one limit, while it runs.
type Holding struct {
	Limit   int32 // index in State.Limits
	Amounts Amounts
	// Exempt are the kinds of amounts that count in the limit, but do not keep the job from starting: another limit
	// takes precedence for them.
	Exempt joblimits.Kinds
}

// checkHoldings returns an error if a job's amounts in limits are invalid. who names the job in the error.
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

// limitState holds the state of a limit in a replica.
type limitState struct {
	used   Amounts
	work   float64 // processor-seconds that the running jobs may still use, at the instant at
	at     float64
	parked []int32 // positions of the waiting jobs that the limit keeps from starting
}

// workAt returns the processor-seconds that the running jobs may still use.
func (l *limitState) workAt(now float64) float64 {
	return math.Max(0, l.work-float64(l.used[Work])*(now-l.at))
}

// add adds the amounts of a job, or subtracts them if sign is -1. left is the rest of the job's time limit.
func (l *limitState) add(now float64, a *Amounts, sign int64, left float64) {
	l.work, l.at = l.workAt(now)+float64(sign)*float64(a[Work])*left, now
	for k := range l.used {
		l.used[k] += sign * a[k]
	}
	if l.used[Work] == 0 {
		l.work = 0 // sums have rounding errors, which must not add up
	}
}

// admits reports whether a job may start beside the jobs that count already.
func (l *limitState) admits(most *Amounts, h *Holding, now, plan float64) bool {
	a := &h.Amounts
	for k := range most {
		if most[k] == Unbounded || a[k] == 0 || h.Exempt[k] {
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

// addRunningToLimits adds the amounts of the state's running jobs to its limits.
func (c *scene) addRunningToLimits() {
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

// finite returns the seconds for which a job counts in the work of a limit. It is finite even without a time limit.
func finite(plan float64) float64 { return math.Min(plan, longest) }

// resetLimits resets the limits to the scene's state.
func (m *machine) resetLimits() {
	m.limitNow = resize(m.limitNow, len(m.scene.limits))
	for i := range m.limitNow {
		from := &m.scene.limits[i]
		m.limitNow[i] = limitState{used: from.used, work: from.work, at: from.at,
			parked: m.limitNow[i].parked[:0]}
	}
	m.opens, m.shutFor, m.shutSoon, m.shutSince = math.Inf(1), 0, 0, math.NaN()
}

// holds returns the amounts of a job in limits.
func (m *machine) holds(id int32) []Holding {
	s := m.state
	switch {
	case len(m.limitNow) == 0:
		return nil
	case int(id) < len(s.Running):
		return s.Running[id].Holds
	case int(id) < len(s.Running)+len(s.Waiting):
		return s.Waiting[int(id)-len(s.Running)].Holds
	case id == m.requestID:
		return m.requestHolds
	}
	return nil
}

// stopper returns the first of the job's limits that keeps it from starting now, nil if there is none.
func (m *machine) stopper(holds []Holding, plan float64) *Holding {
	for i := range holds {
		h := &holds[i]
		if !m.limitNow[h.Limit].admits(&m.state.Limits[h.Limit].Most, h, m.now, finite(plan)) {
			return h
		}
	}
	return nil
}

// admitted reports whether the limits let a waiting job of the state start now. If not, it sets the job aside. If the
// work of the limit falls with time, it lowers m.opens to the instant at which the job may start.
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

// opensAt returns the instant at which the work of a limit has fallen so far that a job may start, if no other job ends
// before. It is +Inf if waiting does not help, for example because another kind of amount keeps the job.
func (m *machine) opensAt(h *Holding, plan float64) float64 {
	l, most := &m.limitNow[h.Limit], &m.state.Limits[h.Limit].Most
	if most[Work] == Unbounded || l.used[Work] == 0 {
		return math.Inf(1)
	}
	left, own := l.workAt(m.now), float64(h.Amounts[Work])*finite(plan)
	over := left + own - float64(most[Work])
	if over <= 0 || left <= 0 || own > float64(most[Work]) { // waiting alone does not help
		return math.Inf(1)
	}
	return m.now + math.Max(over/float64(l.used[Work]), 1e-3)
}

// count adds a job's amounts to its limits as it starts, or subtracts them as it ends. After an end the jobs that these
// limits kept from starting compete again.
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

// planOf returns the planned runtime of a running job.
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

// unpark lets the jobs that a limit kept from starting compete again. Each is examined in its turn.
func (m *machine) unpark(limit int32) {
	l := &m.limitNow[limit]
	for _, at := range l.parked {
		if !park(m.gateNow, m.gateOf, int(at)) {
			m.waiting.add(&m.layout, int(at))
		}
	}
	l.parked = l.parked[:0]
}

// openLimits lets jobs compete again if the work of their limit has fallen far enough.
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

// isHeadKept reports whether the job that had a reservation in the last pass is now kept from starting by a limit. A
// job that started since then has filled the limit. Other jobs no longer need to leave room for the kept job.
func (m *machine) isHeadKept() bool {
	return len(m.limitNow) > 0 && m.reserver.id != none &&
		m.stopper(m.holds(m.reserver.id), m.reserver.plan) != nil
}

// watch records for how long the request is kept from starting by limits, by other jobs that must end, or because it is
// not eligible yet. It is called after every pass. waits is false once the request has started.
func (m *machine) watch(waits bool) {
	if m.requestID == none {
		return
	}
	shut := waits && m.isKept()
	switch {
	case shut && math.IsNaN(m.shutSince):
		m.shutSince = m.now
	case !shut && !math.IsNaN(m.shutSince):
		m.shutFor += m.now - m.shutSince
		m.shutSoon += min(m.now, SoonSeconds) - min(m.shutSince, SoonSeconds)
		m.shutSince = math.NaN()
	}
}

// isKept reports whether the request is not eligible yet, waits for other jobs to end, or is kept from starting by a
// limit. If the work of that limit falls with time, it lowers m.opens to the instant at which the request may start.
func (m *machine) isKept() bool {
	if m.awaits || !math.IsInf(m.joinsAt, 1) {
		return true
	}
	h := m.stopper(m.requestHolds, m.request.plan)
	if h == nil {
		return false
	}
	m.opens = math.Min(m.opens, m.opensAt(h, m.request.plan))
	return true
}

// checkLimits returns an error if the limits of a state, or the jobs' amounts in them, are invalid.
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
