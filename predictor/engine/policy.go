package engine

import (
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/forward/learn"
)

// PolicySource says where the policy is known from by which a pool is played.
type PolicySource uint8

// The sources.
const (
	// PolicyAssumed is EASY backfilling, because nothing else is known.
	PolicyAssumed PolicySource = iota
	// PolicyLearnt is found out from the starts.
	PolicyLearnt
	// PolicyTold is from the configuration.
	PolicyTold
	// PolicyPriorities follows from the priorities that the jobs are told with.
	PolicyPriorities
)

// String returns the source as answers write it.
func (s PolicySource) String() string {
	names := [...]string{"assumed", "learnt", "configured", "priorities"}
	return names[min(int(s), len(names)-1)]
}

// decide chooses the policy of a pool: as it is told of the pool, else of the cluster, else as it is learnt.
func (e *Engine) decide(b *pool, told *Pool, f *learn.Finding) {
	order := told.Order
	b.policy = forward.EASY
	switch {
	case told.PolicyKnown:
		b.policy, b.source = told.Policy, PolicyTold
	case e.cfg.PolicyKnown:
		b.policy, b.source, order = e.cfg.Policy, PolicyTold, e.cfg.Order
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

// byPriority reports whether the jobs' priorities count in a pool: not where it is told that they do not.
func (f *poolFacts) byPriority() bool {
	return f.source != PolicyTold || f.policy == forward.PriorityEASY || f.policy == forward.PriorityFCFS
}

// Policy returns by which policy the pool of a queue is played, and where that is known from.
func (v *View) Policy(queue string) (forward.Policy, PolicySource) {
	f := v.poolOf(queue)
	if f == nil {
		return forward.EASY, PolicyAssumed
	}
	if f.prioritized && f.source != PolicyTold {
		return f.policy, PolicyPriorities
	}
	return f.policy, f.source
}
