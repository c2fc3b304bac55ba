// Package advice chooses what to ask for: among sizes, queues and clusters, each with a wait and a runtime, the one
// that finishes soonest, or most surely by a deadline, or at the least cost; and whether a running malleable job had
// better expand, shrink or stay as it is.
//
// A. Downey, "Predicting queue times on space-sharing parallel computers", 1996, sec. 1.1, asks for the size n that
// minimizes E[Q(n)] + R(n), and in sec. 8.1 for external resource selection: the same among machines. [Choose] answers
// both, [Resize] the question about running jobs, and [Steady] keeps advice that is asked for again and again from
// flapping.
//
// # How sure the order is
//
// An advice is the best on the average, and not in every future. How often it is follows from how the candidates' waits
// hang together. Those of one pool queue for the same processors: a long job that does not end delays all of them. So
// they are compared in the same futures, one by one: those of the simulation that made them, or, where only quantiles
// are known, those in which all waits are at the same level at once (comonotone). Independence would be wrong there: it
// has the smaller size wait for the larger one's bad luck, and makes every order look like a toss-up. Those of
// different pools share no processors and are taken as independent, which is exact for pools without common users; a
// common rush would make the true dependence stronger.
//
// The runtime's deviation is common to all candidates, as it is the same job, and independent of the wait.
//
// Seconds are float64, from the instant of the question.
package advice
