// Package headtest replays a recorded trace under strict first come, first served and scores forecasts of the wait at
// the head of the queue: Downey's own test ("Predicting queue times on space-sharing parallel computers",
// UCB/CSD-96-906, 1996, sections 6.1 to 6.4) on any log, with later methods beside his.
//
// The machine is one pool; jobs that never ran are left out. At the instant at which a job reaches the head of the
// queue and does not fit, every method is asked when it will start, knowing the running jobs and what has ended by
// then, never an end or a submit to come. The methods are
//
//   - downey_a, downey_b, downey_combined: his, medians only, with his uniform-log laws fitted per queue, one-processor
//     jobs apart, to the jobs that have ended;
//   - exact: the exact distribution (his eq. 7) with the same laws;
//   - waitcast: the exact distribution with the laws of package residual (the user's own runs, the time limit),
//     corrected by boosted trees on what became of earlier forecasts, weighed against it by their late losses, and with
//     its coverage kept online.
//
// A start is known at once to all that come behind, since nobody overtakes: each forecast's truth is learnt before the
// next one is asked for.
package headtest
