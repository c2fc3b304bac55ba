// Package head replays a recorded trace under strict first come, first served, and scores forecasts of the wait
// at the head of the queue. This is Downey's own test ("Predicting queue times on space-sharing parallel computers",
// UCB/CSD-96-906, 1996, sections 6.1 to 6.4). Here it can use any log, and it also includes later methods.
//
// The machine is one pool. Jobs that never ran are left out. When a job reaches the head of the queue and cannot start,
// every method forecasts when it will start. The methods use the running jobs and the ends so far, but no later end or
// submission. The methods are
//
//   - downey_a, downey_b, downey_combined: Downey's methods. They forecast only medians, with his uniform-log laws of
//     lifetimes. The laws are fitted to the ended jobs of each queue, with separate laws for one-processor jobs;
//   - exact: the exact distribution of the wait (his eq. 7) with the same laws;
//   - waitcast: the exact distribution with the laws of package residual (which use the user's own runs and the time
//     limit), and the same distribution corrected by boosted trees, which learn from the outcomes of earlier forecasts.
//     The two are weighted by their recent losses, and the result is calibrated online.
//
// No job overtakes another. So when a job reaches the head, the jobs before it have started, and the outcome of each
// forecast is learnt before the next forecast is made.
package head
