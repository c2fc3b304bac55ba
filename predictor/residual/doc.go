// Package residual learns online, from past events only, how long a job will run and how long it still runs at a
// given age.
//
// A law is a weighted mixture of the laws of five sets of jobs, each closer to the job than the previous one:
//
//   - all jobs, over a prior that is uniform in log time;
//   - the jobs of its queue with one processor, or those with several (Downey's classes, UCB/CSD-96-906, 1996, section
//     3);
//   - the jobs of that class with a time limit, by the part of the limit that they ran;
//   - the jobs of that class with the same time limit;
//   - the same user's latest runs in that queue, spread by a kernel in log time. Later runs, and runs with the same
//     executable, time limit or size, have more weight.
//
// Each set has the previous one as its prior, with the weight of a number of runs. Jobs that still run are
// right-censored. In the first four sets this is done by the product-limit estimate (Kaplan and Meier, 1958). Among the
// user's runs, the weight of a running job is spread over the later lifetimes in proportion to the prior and the runs.
// The law is cut at the time limit. There the jobs that would run longer end (an atom), except for a few that outlive
// the limit.
//
// Jobs that one user runs at once end together more often than by chance: [Copula] correlates their levels.
//
// Times are float64 seconds of any one clock. Laws are tables over ln t, with [Bins] cells of width 1/8 and 1.3 kB
// each.
//
// These are times on one core of a small server of 2026, all without an allocation (see the benchmarks). A law takes
// about 6 us, a survival 10 ns, and a residual quantile 60 to 90 ns. A start and an end together take 8 us with 1,000
// running jobs. Memory is bounded. By default there are 8,192 users in queues with 48 runs each (about 30 MB) and
// 2,048 classes (6 MB), in addition to the running jobs.
package residual
