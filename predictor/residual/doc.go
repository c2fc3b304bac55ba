// Package residual learns online, from past events only, how long a job will run and how long it still runs at a given
// age.
//
// A law is a weighted mixture of the laws of ever closer relatives of the job:
//
//   - all jobs, over a prior that is uniform in log time;
//   - those of its queue, one-processor jobs apart (Downey's classes, UCB/CSD-96-906, 1996, section 3);
//   - those of its class with a time limit, by the part of it that they ran;
//   - those of its class with the same time limit;
//   - the same user's latest runs in that queue, the later and the more alike (executable, time limit, size) the
//     heavier, spread by a kernel in log time.
//
// Each takes the one before as its prior, with the weight of so many runs. Jobs that still run are right-censored: in
// the first four by the product-limit estimate (Kaplan and Meier, 1958), among the user's runs by spreading their
// weight over what the prior leaves beyond their age. The law is cut at the time limit, where those that would run
// longer end (an atom), but for the few that outlive it.
//
// Jobs of one user that run at once end together more than by chance: [Copula] couples their levels.
//
// Times are float64 seconds of any one clock. Laws are tables over ln t with [Bins] cells of an eighth, 1.3 kB each. On
// one core of 2026's small servers a law takes some 6 us, a survival 10 ns, a residual quantile 60 to 90 ns, none with
// an allocation; a start and an end together 8 us with 1,000 jobs running (see the benchmarks). Memory is bounded: by
// default some 8,192 users in queues with 48 runs each (about 30 MB) and 2,048 classes (6 MB) beside the running jobs.
package residual
