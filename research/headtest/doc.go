// Package headtest replays a recorded trace under strict first come, first served and scores forecasts of the wait at
// the head of the queue. This is Downey's own test ("Predicting queue times on space-sharing parallel computers",
// UCB/CSD-96-906, 1996, sections 6.1 to 6.4) on any log, with later methods beside his.
//
// The machine is one pool. Jobs that never ran are left out. When a job reaches the head of the queue and does not fit,
// every method forecasts its start. The methods know the running jobs and the ends so far, but no later end or
// submission. The methods are
//
//   - downey_a, downey_b, downey_combined: Downey's methods, medians only, with his uniform-log laws, fitted to the
//     ended jobs of each queue, with separate laws for one-processor jobs;
//   - exact: the exact distribution (his eq. 7) with the same laws;
//   - waitcast: the exact distribution with the laws of package residual (the user's own runs, the time limit),
//     corrected by boosted trees that are trained on the outcomes of earlier forecasts, weighted against it by their
//     recent losses, and calibrated online.
//
// All later jobs know a start at once, because no job overtakes another: the outcome of each forecast is learnt before
// the next one is made.
package headtest
