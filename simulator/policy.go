package simulator

import "math"

// Ref is the simulator's handle of a job that waits or runs. It is small, from 0, and used again after the job's end.
type Ref int32

// None is the Ref of no job.
const None Ref = -1

// Cause is a set of reasons why a policy must schedule.
type Cause uint8

// The causes.
const (
	BySubmit   Cause = 1 << iota // jobs were submitted
	ByEnd                        // jobs ended
	ByCapacity                   // processors went away or came back
	ByOverrun                    // a job runs for longer than expected
	ByWake                       // the policy's own wish, see Policy.Wake
)

// Policy decides which waiting jobs of one pool start. The simulator passes everything that happens in the pool to it,
// in order, and then lets it schedule. A policy sees estimates only, not runtimes.
//
// A policy must be deterministic, must start the first job of the queue in a pool that is idle and without outages, and
// should not allocate once its memory has grown. Package policytest checks what is common to all policies.
type Policy interface {
	// New returns a policy with the same settings and without a pool.
	New() Policy
	// Attach forgets everything and gets ready for a pool that is empty.
	Attach(p *Pool)
	// CopyFrom makes this policy's state a copy of that of src, which is of the same type, so that both are independent
	// afterwards.
	CopyFrom(src Policy)

	// Submitted is called for a job that has joined the end of the pool's queue, or that has been molded to another
	// size.
	Submitted(p *Pool, r Ref)
	// Withdrawn is called for a waiting job that is about to be molded: Submitted follows.
	Withdrawn(p *Pool, r Ref)
	// Started is called for a job that runs: the policy started it, or the state that the simulation began with has it.
	Started(p *Pool, r Ref)
	// Ended is called for a job whose processors are free again. Its Expected is still that of the plan.
	Ended(p *Pool, r Ref)
	// Overran is called for a job that is past the end expected so far, was; Expected is a new one in the future.
	Overran(p *Pool, r Ref, was float64)

	// Schedule starts the jobs that may start now, with Pool.Start. It is called only while jobs wait.
	Schedule(p *Pool, why Cause)
	// Head returns the waiting job that the policy would start first, None if no job waits.
	Head(p *Pool) Ref
	// Wake returns the next instant at which the policy wants to schedule even without other events, +Inf for none. It
	// is called after Schedule; an instant that is not in the future counts as none.
	Wake() float64
}

// Base has empty methods for a policy that uses only the pool's own order: to be embedded.
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

// Head implements Policy: the first waiting job that its queue's limit does not hold up, or the first if it holds up
// all.
func (Base) Head(p *Pool) Ref {
	for r := p.First(); r != None; r = p.After(r) {
		if p.unhindered(r) {
			return r
		}
	}
	return p.First()
}

// unhindered reports whether the limit of the job's queue leaves room for it.
func (p *Pool) unhindered(r Ref) bool {
	n := &p.s.nodes[r]
	return int(n.held) <= p.QueueRoom(int(n.queue))
}
