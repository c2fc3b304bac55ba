package pools

import (
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// key returns the key of a pool for learners of priorities; nil means the whole machine.
func (p *Pool) key() string {
	switch {
	case p == nil:
		return ""
	case p.Name != "":
		return "name " + p.Name
	}
	return "queues " + strings.Join(p.Queues, "\n")
}

// inherit copies learnt priorities from the earlier pools, given by queue, to the present ones. Each present pool takes
// over the priority of the earlier pool to which its first queue belonged.
func (m *Machine) inherit(before map[string]*Pool) {
	from := map[string]string{"": ""}
	for _, p := range m.All {
		from[p.key()] = before[p.Queues[0]].key()
	}
	m.Priorities.Regroup(from)
}

// StartRules are the rules by which simulations start the jobs of a pool, with the known rules of the scheduler. They
// can be compared with ==.
type StartRules struct {
	// Policy is the policy by which the pool is simulated. Source is the origin of that policy.
	Policy forward.Policy
	Source PolicySource
	// Queues are the names of the pool's queues in the order of preference, separated by line breaks. It is empty if
	// the order does not matter.
	Queues string
	// Order is the learnt order of starts. InUse is true if simulations use the fitted priority. They do not use it
	// in a large pool.
	Order rules.Known
	InUse bool
	// Gates are the learnt times at which jobs do not start, in all pools together.
	Gates rules.GatesKnown
}

// StartRules returns the rules of a pool; nil is the whole machine. f are the frozen facts of the pool.
func (m *Machine) StartRules(p *Pool, f *Facts) StartRules {
	r := StartRules{Order: m.Priorities.Known(p.key()), InUse: f.fitted != nil, Gates: m.Gates.Known()}
	r.Policy, r.Source = f.PolicyInForce()
	if r.Source != PolicyConfigured && m.reportsPriorities(p) {
		r.Source = PolicyPriorities
	}
	if p.ranked() && f.fitted == nil && r.Source != PolicyPriorities {
		r.Queues = strings.Join(p.order, "\n")
	}
	return r
}

// reportsPriorities reports whether the jobs of a pool have priorities of their own. A nil pool is the whole machine.
func (m *Machine) reportsPriorities(p *Pool) bool {
	has := func(q *track.Queue) bool { return q != nil && q.NewestPriority > 0 }
	if p == nil {
		for _, q := range m.tracker.InOrder {
			if has(q) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(p.Queues, func(name string) bool { return has(m.tracker.Queues[name]) })
}

// situation returns the pool at the submission of a request, in the form from which the order of starts is learnt.
func (f *Facts) situation(at float64, r *RankedRequest) *rules.Situation {
	s := &rules.Situation{At: at, Request: r.ruleJob(f, at)}
	f.rulePool(at, &s.Pool)
	s.Outages = nil
	return s
}

// Submitted records the pool at a submission, so that the order of starts is learnt from the wait. It records nothing
// in large pools, if the jobs' priorities are known, if the policy is configured, or if fitted priorities are disabled.
func (m *Machine) Submitted(at float64, id uint64, f *Facts, r *RankedRequest) {
	if m.cfg.WithoutPriority || f == nil || f.Large || f.prioritized || f.source == PolicyConfigured {
		return
	}
	m.Priorities.Submitted(m.Of[r.Queue].key(), id, func() *rules.Situation { return f.situation(at, r) })
}

// LearnWait learns the order of starts from the wait of a job, given as ln(wait + 60 s). If a pool gets another
// priority, it invalidates the frozen facts of all pools.
func (m *Machine) LearnWait(id uint64, log float64) {
	if m.Priorities.Started(id, log, m.Gates.Gates()) {
		m.TouchAll()
	}
}

// Advance brings the machine up to an instant. It applies the scheduler's computations of priorities until then. The
// learner of gates observes the waiting jobs that would fit into the free processors.
func (m *Machine) Advance(now float64) {
	if m.projection.advance(now, m.tracker.RunningJobs) {
		m.TouchAll()
	}
	if m.cfg.WithoutGates {
		return
	}
	m.Gates.Advance(now, func() *[track.LimitClasses]float64 {
		free := make([]float64, len(m.All)+1)
		for i := range free {
			var p *Pool
			if i > 0 {
				p = m.All[i-1]
			}
			running, _ := m.uses(p)
			free[i] = float64(m.capacityOf(p)) - running.Procs
		}
		var out [track.LimitClasses]float64
		for _, j := range m.tracker.Line.Waiting() {
			if j.State == track.Waiting && float64(j.Procs) <= free[j.QueueState.Pool] {
				out[j.LimitClass]++
			}
		}
		return &out
	})
}

// LearnStart passes a start to the learner of gates. If the gates may have changed, it invalidates the frozen facts of
// all pools.
func (m *Machine) LearnStart(now float64, j *track.Job) {
	if !m.cfg.WithoutGates && m.Gates.Started(now, j.LimitClass) {
		m.TouchAll()
	}
}

func waittimeLog(wait float64) float64 { return waittime.Log(math.Min(wait, waittime.Longest)) }

// Share copies the rules that another machine has learnt, and the inputs of its priorities.
func (m *Machine) Share(of *Machine) {
	m.Gates.Share(&of.Gates)
	m.Priorities.Share(of.Priorities)
	m.projection.share(&of.projection)
	m.TouchAll()
}
