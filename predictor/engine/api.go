package engine

import "github.com/waitcast/waitcast/predictor/forward"

// Pool is what is told of a pool: a part of the machine whose processors some queues share.
type Pool struct {
	// Name is the pool's: queues that are told the same name compete for the same processors.
	Name string
	// Procs is its number of processors; 0 for the highest use seen.
	Procs int
	// Policy is the order of its starts where PolicyKnown, else it is learnt.
	Policy      forward.Policy
	PolicyKnown bool
	// Order is its queues, the one preferred most first, for the policies by priority; those not named come last.
	Order []string
}

// Outage is processors of a pool that are away for a time. From and Until are instants, Until may be +Inf.
type Outage struct {
	From, Until float64
	Procs       int
}
