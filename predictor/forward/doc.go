// Package forward forecasts the whole wait of a request. It simulates a pool of processors from its live state, under
// its policy, many times. Each time the running and waiting jobs have other random lifetimes.
//
// Time is in seconds as float64 from the instant of the [State], which is 0. [Sim.Waits] simulates one request and
// reuses its scratch memory. [NewSurface] computes all sizes and time limits from one set of replicas. [Sim.Plan]
// computes the start that follows from the time limits alone, without randomness.
//
// # One set of replicas for every request
//
// Before it starts, a request that joins a queue does not disturb the jobs ahead of it. Under strict first come,
// first served the reason is that no job passes another. Under EASY backfilling (D. Lifka, JSSPP 1995) the reason is
// that only the first waiting job has a reservation. So a replica is played without the request. At every instant at
// which something changed, it records what a request at that place of the queue could have taken: a number of
// processors for some time (until the reservation of the first waiting job, or an outage), and fewer processors for
// longer. The request starts at the first of these instants at which that suffices. This is exact if no job is behind
// the request. If jobs are behind it (jobs of lower rank, later arrivals), it is exact until no job ahead waits any
// more. From then on the request would be the first one, and the others would have to respect its reservation. A
// replica lets no job behind start then. [Sim.Waits] has the request itself in the queue and is always exact.
//
// # Nodes
//
// If State.Nodes has nodes, [Sim] places jobs on them by processors, GPUs and memory. A job takes the first nodes that
// have room for it during its planned runtime. A job without GPUs prefers nodes that have none. There are three kinds
// of jobs. One runs on a number of nodes with equal parts on each, so that fragments of several nodes do not replace a
// node. One runs on any number of nodes, wherever processors are free. One gets nodes for itself. Under EASY the first
// job that cannot start has a reservation of nodes, at the earliest instant at which it fits by the plan. A later job
// that would run past that instant prefers other nodes, and starts if the first job still fits then. Running jobs whose
// nodes are unknown are packed, the most demanding ones first. An outage whose nodes are unknown takes the last nodes.
// If it has begun, it takes idle nodes first.
package forward
