package simulator

import "math"

// Ref is the number that the simulator gives to a job that waits or runs. Numbers are small and begin at 0. After the
// job's end its number is used again.
type Ref int32

// None is the Ref that stands for no job.
const None Ref = -1

// Cause is a set of reasons why a policy must schedule.
type Cause uint8

// These are the causes.
const (
	BySubmit   Cause = 1 << iota // jobs were submitted
	ByEnd                        // jobs ended
	ByCapacity                   // processors became unavailable or available
	ByOverrun                    // a job runs for longer than expected
	ByWake                       // the policy requested it, see Policy.Wake
)

// Policy decides which waiting jobs of one pool start. The simulator passes all events of the pool to the policy, in
// order, and then lets the policy schedule. A policy sees estimates, but not runtimes.
//
// A policy must be deterministic. In an idle pool without outages it must start the first job of the queue. It should
// not allocate once its memory has grown. Package policytest checks the rules that all policies must follow.
type Policy interface {
	// New returns a policy with the same settings and without a pool.
	New() Policy
	// Attach discards all state and prepares the policy for a pool that is empty.
	Attach(p *Pool)
	// CopyFrom copies the state of src, which has the same type, to this policy. Afterwards both are independent.
	CopyFrom(src Policy)

	// Submitted is called for a job that has joined the end of the pool's queue, and for a job whose size molding has
	// changed.
	Submitted(p *Pool, r Ref)
	// Withdrawn is called for a waiting job that is about to be molded. Submitted is called afterwards.
	Withdrawn(p *Pool, r Ref)
	// Started is called for a job that runs, because the policy started it or because it ran in the initial state.
	Started(p *Pool, r Ref)
	// Ended is called for a job whose processors are free again. Its Expected is still the planned end.
	Ended(p *Pool, r Ref)
	// Overran is called for a job that runs beyond was, its expected end so far. Its Expected is a new instant in the
	// future.
	Overran(p *Pool, r Ref, was float64)

	// Schedule starts the jobs that may start now, with Pool.Start. It is called only while jobs wait.
	Schedule(p *Pool, why Cause)
	// Head returns the waiting job that the policy would start first. It returns None if no job waits.
	Head(p *Pool) Ref
	// Wake returns the next instant at which the policy wants to schedule even without other events. It returns +Inf
	// if there is none. It is called after Schedule. An instant that is not in the future counts as none.
	Wake() float64
}

// Base has empty methods. A policy that needs only the pool's own order can embed it.
type Base struct{}

// Attach implements Policy.
func (Base) Attach(*Pool) {}

// Submitted implements Policy.
func (Base) Submitted(*Pool, Ref) {}

// Withdrawn implements Policy.
func (Base) Withdrawn(*Pool, Ref) {}

// Started implements Policy.
func (Base) Started(*Pool, Ref) {}

// Ended implements Policy.
func (Base) Ended(*Pool, Ref) {}

// Overran implements Policy.
func (Base) Overran(*Pool, Ref, float64) {}

// Wake implements Policy.
func (Base) Wake() float64 { return math.Inf(1) }

// Head implements Policy. It returns the first waiting job that is not blocked by the limit of its queue. If all are
// blocked, it returns the first waiting job.
func (Base) Head(p *Pool) Ref {
	for r := p.First(); r != None; r = p.After(r) {
		if p.unhindered(r) {
			return r
		}
	}
	return p.First()
}

// unhindered reports whether the limit of the job's queue has room for the job.
func (p *Pool) unhindered(r Ref) bool {
	n := &p.s.nodes[r]
	return int(n.held) <= p.QueueRoom(int(n.queue))
}
