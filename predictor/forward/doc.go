// Package forward forecasts the whole wait of a request by simulating a pool of processors from its live state, under
// its policy, many times, each time with other random lifetimes of the running and waiting jobs.
//
// Time is in seconds as float64 from the instant of the [State], which is 0. [Sim.Waits] simulates one request and
// reuses its scratch memory; [NewSurface] computes all sizes and time limits from one set of replicas; [Sim.Plan] is
// the start that follows from the time limits alone, without randomness.
//
// # One set of replicas for every request
//
// A request that joins a queue never disturbs those ahead of it before it starts: under strict first come first served
// because nobody passes it, under EASY backfilling (D. Lifka, JSSPP 1995) because of all the jobs that wait only the
// first one has a reservation. So a replica is played without the request, and keeps at every instant at which
// something changed what a request at that place of the queue could have taken: so many processors for so long (until
// the reservation of the first job that waits, or an outage), and fewer for longer. The request starts at the first of
// these instants at which it may. This is exact where nobody is behind the request. Where somebody is (jobs of lower
// rank, later arrivals), it is exact until nobody ahead waits any more: from then on the request would be the first one
// and have a reservation that the others must respect; a replica lets nobody behind start then. [Sim.Waits] has the
// request itself in the queue and is exact always.
//
// # Nodes
//
// Where State.Nodes has nodes, [Sim] places jobs on them by processors, GPUs and memory. A job takes the first nodes
// that have room for it for as long as planned; without GPUs it prefers nodes that have none. It runs on a number of
// nodes with equal parts on each, so that fragments of several nodes do not make up for one; or on any number, as free
// processors come; or gets nodes for itself. Under EASY the first job that cannot start has a reservation of nodes at
// the earliest instant at which it fits by the plan. Another job that would go on past that instant prefers other
// nodes, and starts if the first job still fits then. Jobs of which it is not known where they run are packed, the most
// demanding ones first. Outages take the last nodes, those that go on already idle ones.
package forward
