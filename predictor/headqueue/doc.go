// Package headqueue answers Downey's question exactly: given the jobs running
// now, when will n' more processors be free?
//
// It holds the predictors of A. B. Downey, "Predicting queue times on
// space-sharing parallel computers", report UCB/CSD-96-906, 1996, section 5
// (A: eq. 8, B: eq. 13, both combined: section 6.4), the exact distribution that
// the report calls infeasible (eq. 7; one dynamic program over processors
// instead of 2^p outcomes), and a saddlepoint approximation of it for the largest
// states. Behind jobs queued ahead it simulates strict first come, first served with
// random lifetimes, from a fixed seed; the extension of B to the queue (section 8.1) is
// worked out beside it.
//
// # What is assumed
//
// Jobs end independently of each other, a job gives all its processors back at
// its end, and the queue is strictly first come, first served without backfill.
// Seconds are float64 and count from now.
//
// # Reuse
//
// A [Calc] owns all scratch memory, so that a forecast in steady state allocates
// nothing. It is not safe for concurrent use: keep a sync.Pool of them,
//
//	var calcs = sync.Pool{New: func() any { return new(headqueue.Calc) }}
//
//	c := calcs.Get().(*headqueue.Calc)
//	defer calcs.Put(c)
//	err := c.ForecastInto(&result, &state, procs, levels, within)
//
// as a local of the owning type rather than a package variable. The zero value is
// ready.
package headqueue
