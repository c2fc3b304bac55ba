// Package advice chooses among requests: sizes, queues and clusters, each with a wait and a runtime. It finds the
// request that finishes soonest, or most surely by a deadline, or at the lowest cost. It also decides whether a running
// malleable job should expand, shrink or keep its size.
//
// A. Downey, "Predicting queue times on space-sharing parallel computers", 1996, sec. 1.1, seeks the size n that
// minimizes E[Q(n)] + R(n), and in sec. 8.1 for external resource selection: the same among machines. [Choose] solves
// both, [Resize] handles running jobs, and [Steady] keeps repeated advice from changing too often.
//
// # How certain the order is
//
// Advice is best on average, not in every future. How often it is best depends on the dependence between the
// candidates' waits. Candidates of one pool queue for the same processors: a long job that does not end delays all of
// them. So they are compared future by future: in those of the simulation that made them or, if only quantiles are
// known, in futures in which all waits are at the same level (comonotone). Assuming independence there would be wrong:
// it would make every order look random. Candidates of different pools share no processors and are taken as
// independent, which is exact for pools without common users; common peaks of submissions would make the true
// dependence stronger.
//
// The deviation of the runtime is common to all candidates, because the job is the same, and independent of the wait.
//
// Seconds are float64, from the instant of the request.
package advice
