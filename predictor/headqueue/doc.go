// Package headqueue answers Downey's question exactly: given the jobs that run now, when will n' more processors be
// free?
//
// It holds the predictors of A. B. Downey, "Predicting queue times on space-sharing parallel computers", report
// UCB/CSD-96-906, 1996, section 5 (A: eq. 8, B: eq. 13, both combined: section 6.4). It also computes the exact
// distribution that the report calls infeasible (eq. 7), by one dynamic program over processors instead of the 2^p
// outcomes of p jobs. For the largest states it uses a saddlepoint approximation of that distribution. Behind jobs that
// are queued ahead it simulates strict first come, first served with random lifetimes, from a fixed seed. Beside that
// it computes the extension of B to the queue (section 8.1).
//
// # What is assumed
//
// Jobs end independently of each other. A job gives all its processors back at its end. The queue is strictly first
// come, first served without backfilling. Seconds are float64 and count from now.
//
// # Reuse
//
// A [Calc] owns all scratch memory, so that later forecasts allocate nothing. It is not safe for concurrent use. Keep
// a sync.Pool of them in the type that makes forecasts, not in a package variable:
//
//	var calcs = sync.Pool{New: func() any { return new(headqueue.Calc) }}
//
//	c := calcs.Get().(*headqueue.Calc)
//	defer calcs.Put(c)
//	err := c.ForecastInto(&result, &state, procs, levels, within)
//
// The zero value is ready.
package headqueue
