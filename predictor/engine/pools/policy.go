package pools

import (
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/forward/learn"
)

// PolicySource is the origin of the policy in simulations of a pool.
type PolicySource uint8

// The sources.
const (
	// PolicyAssumed is EASY backfilling, because nothing else is known, or a policy that was found from too few starts.
	PolicyAssumed PolicySource = iota
	// PolicyLearnt is learnt from the starts.
	PolicyLearnt
	// PolicyConfigured comes from the configuration.
	PolicyConfigured
	// PolicyPriorities follows from the reported priorities of the jobs.
	PolicyPriorities
)

// String returns the source as answers write it.
func (s PolicySource) String() string {
	names := [...]string{"assumed", "learnt", "configured", "priorities"}
	return names[min(int(s), len(names)-1)]
}

// choosePolicy chooses the policy of a pool. The pool's configured policy comes first, then the cluster's, then the
// learnt one, then EASY. The order of the queues has the same origin. If that has none, the learnt order is used.
func (m *Machine) choosePolicy(b *Pool, told *PoolConfig, f *learn.Finding) {
	order := told.Order
	b.policy = forward.EASY
	switch {
	case told.PolicyKnown:
		b.policy, b.source = told.Policy, PolicyConfigured
	case m.cfg.PolicyKnown:
		b.policy, b.source, order = m.cfg.Policy, PolicyConfigured, m.cfg.Order
	case f != nil:
		b.policy, order = f.Policy, f.Order
		if f.Enough {
			b.source = PolicyLearnt
		}
	}
	if len(order) == 0 && f != nil {
		order = f.Order
	}
	b.order = slices.Clone(order)
}

// byPriority reports whether the jobs' priorities count in a pool. They do unless a policy without priorities is
// configured.
func (f *Facts) byPriority() bool { return f.source != PolicyConfigured || f.policy.ByRank() }
