// Package advice chooses among requests: sizes, queues and clusters, each with a wait and a runtime. It finds the
// request that finishes soonest, or most surely by a deadline, or at the lowest cost. It also decides whether a
// running malleable job should expand, shrink or keep its size.
//
// A. Downey, "Predicting queue times on space-sharing parallel computers", 1996, sec. 1.1, seeks the size n that
// minimizes E[Q(n)] + R(n). In sec. 8.1 he seeks the same among machines. [Choose] solves both, [Resize] handles
// running jobs, and [Steady] keeps repeated advice from changing too often.
//
// # How certain the order is
//
// Advice is best on average, not in every future. How often it is best depends on the dependence between the
// candidates' waits. Candidates of one pool queue for the same processors, so a long job that does not end delays all
// of them. They are compared future by future. The futures are those of the simulation that made the waits. If only
// quantiles are known, all waits of a future are at the same level (comonotone). It would be wrong to assume that
// these waits are independent, because every order would then look random. Candidates of different pools share no
// processors and are assumed to be independent. That is exact for pools without common users. If the pools have
// common peaks of submissions, the true dependence is stronger.
//
// The deviation of the runtime from its median is common to all candidates, because the job is the same. It is
// independent of the wait.
//
// Seconds are float64, from the instant of the request.
package advice
