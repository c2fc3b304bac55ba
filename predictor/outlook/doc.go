// Package outlook forecasts the load of a cluster for the next hour to the next week, as quantiles. The load is
// arrivals, queued work, queue length and utilization, for the cluster and each queue, and the waits of standard jobs
// for each pool.
//
// A [Forecaster] learns from the submissions, starts and ends of jobs, and from the [State] at regular instants
// (Observe). Forecast returns the future of any State. The package reads no clock: all times are seconds of one clock
// of the caller.
//
// # How
//
// The first step plays the State forward many times, with the event-driven simulator. Running jobs end by the residual
// law of package residual (age, limit, the user's own runs); the lifetimes of one user's jobs are correlated. Waiting
// jobs run by the same law from age 0. Future jobs come from one of two live models. The first is Markov chains (Song,
// Ernemann and Yahyapour 2004) at the instants of Lublin and Feitelson's daily cycle (2003). The second resamples users
// week by week (Zakay and Feitelson 2013). The model with the lower pinball loss of the arrived jobs and work is used.
// The arrivals of each replica are shaken (Ouaknine 2007).
//
// The second step learns quantiles of the outcome from the results of the replicas, from the present value and last
// week's, and from features of the cluster at the instant: see corrector.
//
// The third step moves the lowest and the highest level, each by its own record of hits. This is adaptive conformal
// inference (I. Gibbs and E. Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021). It acts on
// the value rather than on the level, as in A. Angelopoulos, E. Candes and R. Tibshirani, "Conformal PID control",
// NeurIPS 2023, sec. 2.1. An outcome is learnt when it is known, a horizon after its forecast, and never before.
//
// A job that waits at a horizon waits now, becomes eligible by then, or arrives by then. So each level of the queued
// work, or of the queue length, is at most the present value plus that level of the arrivals: see bound.
//
// # What is forecast
//
// Queued work is the requested work of the jobs that compete for processors. It is the sum of procs times time limit,
// in processor-seconds. For a job without a limit, the mean runtime that the residual law gave at the submission
// replaces the limit. A log has this work at the very instant, so every forecast is scored as soon as its horizon is
// reached. (The work that jobs turn out to need is known only when the last of them has ended. It is smaller, because
// users over-estimate.) Held jobs do not compete and do not count. Losses and learning are on a log scale: ln(1 +
// work/(60 s x procs of the machine)) and ln(1 + jobs).
//
// # Jobs that wait although there is room
//
// A state often has waiting jobs that the policy would start at once. The scheduler did not start them, for a reason
// that is not in the log: memory, a kind of node, a limit, or a priority. A replica that started them would empty the
// queue. They are assumed to be blocked, and released after a time. That time is drawn from a law that depends on how
// long they have waited already. Without this, the replicas' loss of KTH-SP2's queued work an hour ahead was seven
// times as large (0.365 instead of 0.052).
//
// # How well
//
// The table is about queued work at 2,000 random instants from the ninth week of each log on, observed every hour
// (TestBeatsPersistenceAndLastWeek). It has the mean pinball loss over the five levels on the log scale, and the
// share of outcomes in the band from 0.05 to 0.95. "With errors" is the present value with the quantiles of its past
// changes.
//
//	log       ahead  waitcast  present value  with errors  same time last week  covered
//	KTH-SP2    1 h     .0364       .0454         .0413          .4298           .900
//	           6 h     .1091       .1824         .1503          .4607           .925
//	          24 h     .1765       .3144         .2419          .4213           .910
//	CTC-SP2    1 h     .0123       .0166         .0133           .1550           .908
//	           6 h     .0321       .0541         .0371           .1573           .915
//	          24 h     .0577       .0921         .0611           .1564           .914
//	SDSC-SP2   1 h     .0349       .0453         .0417           .4104           .907
//	           6 h     .0951       .1605         .1347           .4120           .905
//	          24 h     .1540       .2521         .2050           .3840           .915
//
// waitcast is better than the present value and last week's value at every level, with one exception: the median an
// hour ahead is only as good as the present value. In a third of the hours of KTH-SP2 and SDSC-SP2 nothing changes at
// all. On the hourly grid of the same logs, the uncorrected replicas lose 3 to 15 % more than the served forecast,
// and less than the present value at every horizon. So the simulation has the largest effect, and the correction
// improves it. Resampled users forecast arrivals better than Markov chains on all three logs (loss of the arrived
// jobs and work 0.218 and 0.258, 0.281 and 0.313, 0.257 and 0.276). The step of the bands, the snaps and the size of
// the trees were chosen by these three logs. TestAnotherLog repeats the measurement on another log.
//
// # Cost
//
// These are times on one core, with 1,000 running and 1,000 waiting jobs on a machine with 6,000 arrivals a day (see
// the benchmarks). A forecast of a week takes 1.1 s of processor time, with 64 replicas and three standard jobs in 16
// of them. A forecast of a day without standard jobs takes 0.2 s. An Observe that makes a lesson for every horizon of
// a week takes 0.4 s (long horizons get one every h/48). It takes up to 1 s more at the instants when one corrector's
// trees are trained. The saved state has about 4 MB at first, and 35 MB once the rows for the trees are full, after
// 250 days. That is too much to save it every minute.
package outlook
