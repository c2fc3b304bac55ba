// Package forward forecasts the whole wait of a request by playing a pool of processors forward from its live state,
// under its policy, many times, each time with other lifetimes of the jobs that run and wait.
//
// Time is in seconds as float64 from the instant of the [State], which is 0. [Sim.Waits] answers one request at once,
// with scratch memory that it keeps; [NewSurface] answers every size and time limit from one set of replicas;
// [Sim.Plan] is the start that follows from the time limits alone, without chance.
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
package forward
