package engine

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
)

// split computes the quantiles of the two parts of the served wait, blocked and eligible, from the simulated futures.
// shares are the blocked shares of the futures' waits, sorted by wait. Each future is mapped to the served wait of the
// same rank, so that the parts of a wait add up to the served wait. split also sets mostlyBlocked. Without shares it
// does nothing, and without served quantiles it sets only mostlyBlocked.
func (g *pendingForecast) split(levels, shares []float64) {
	if len(shares) == 0 {
		return
	}
	mostly := 0
	for _, share := range shares {
		if share >= .5 {
			mostly++
		}
	}
	g.mostlyBlocked = 2*mostly >= len(shares)
	if g.Quantiles == nil {
		return
	}
	d, err := waittime.NewDistribution(levels, waittime.Rising(g.Quantiles))
	if err != nil {
		return
	}
	g.Blocked, g.Eligible = make([]float64, len(levels)), make([]float64, len(levels))
	if least := slices.Min(shares); least == slices.Max(shares) {
		for l, q := range g.Quantiles {
			g.Blocked[l], g.Eligible[l] = parts(q, least)
		}
		return
	}
	n := len(shares)
	blocked, eligible := make([]float64, n), make([]float64, n)
	for i, share := range shares {
		blocked[i], eligible[i] = parts(d.Quantile((float64(i)+.5)/float64(n)), share)
	}
	slices.Sort(blocked)
	slices.Sort(eligible)
	for l, level := range levels {
		g.Blocked[l] = math.Min(quantileBetween(blocked, level), g.Quantiles[l])
		g.Eligible[l] = math.Min(quantileBetween(eligible, level), g.Quantiles[l])
	}
}

// notBefore raises the served quantiles at least to the quantiles of the simulated time for which limits, or jobs in
// Request.After, keep the request from competing. Most experts ignore both, and could outvote the simulation while
// little is learnt. Learning uses the quantiles before this change, which notBefore keeps in g.learnt. So experts are
// judged by their own forecasts.
func (g *pendingForecast) notBefore(blocked []float64) {
	g.learnt = g.Quantiles
	if g.Quantiles == nil || blocked == nil {
		return
	}
	g.Quantiles = slices.Clone(g.Quantiles)
	for l, seconds := range blocked {
		g.Quantiles[l] = math.Max(g.Quantiles[l], math.Min(seconds, waittime.Longest))
	}
}

// delayed returns the forecast of a job that may not start for some seconds. f is the forecast of the wait after that
// time.
func (f *Forecast) delayed(seconds float64) Forecast {
	out := *f
	if seconds <= 0 {
		return out
	}
	if out.begins = true; f.Quantiles == nil {
		return out
	}
	later := func(waits []float64) []float64 {
		waits = slices.Clone(waits)
		for i, w := range waits {
			if !waittime.IsNever(w) {
				waits[i] = math.Min(w+seconds, waittime.Longest)
			}
		}
		return waits
	}
	if f.Eligible == nil {
		out.Eligible, out.Blocked = f.Quantiles, make([]float64, len(f.Quantiles))
	}
	out.Quantiles, out.Combined, out.Blocked = later(f.Quantiles), later(f.Combined), later(out.Blocked)
	out.Experts = slices.Clone(f.Experts)
	for i, waits := range f.Experts {
		out.Experts[i] = later(waits)
	}
	return out
}

// parts splits a wait into the given blocked share and the rest. If the wait is infinite, each part that is not empty
// is infinite, too.
func parts(wait, share float64) (blocked, eligible float64) {
	if share > 0 {
		blocked = wait * share
	}
	if share < 1 {
		eligible = wait * (1 - share)
	}
	return blocked, eligible
}

// quantileBetween returns a quantile of sorted waits. Of n waits, number i from 0 is the quantile at (i + 0.5)/n.
// Between these levels it interpolates linearly.
func quantileBetween(sorted []float64, level float64) float64 {
	at := math.Max(0, math.Min(level*float64(len(sorted))-.5, float64(len(sorted)-1)))
	low := int(at)
	high := min(low+1, len(sorted)-1)
	part := at - float64(low)
	if part == 0 || sorted[low] == sorted[high] { // two endless waits have no difference
		return sorted[low]
	}
	return math.Min(sorted[low]+part*(sorted[high]-sorted[low]), sorted[high])
}

// Cause returns the cause that keeps the request from starting if it does not start at once. It is the cause that a
// scheduler reports after examining all waiting jobs. The first of these that applies counts:
//
//   - a begin time, or jobs that must end before the start;
//   - a limit that blocks the request now, or in the first simulated seconds when jobs ahead have started;
//   - the jobs ahead;
//   - a limit that, in at least half of the futures, blocks the request for at least half of the wait;
//   - the running jobs.
func (f *Forecast) Cause() job.Cause {
	switch {
	case f.begins || f.waitsForOthers:
		return job.OnHold
	case f.Kept != nil || f.keptSoon:
		return job.LimitReached
	case f.JobsAhead > 0:
		return job.Priority
	case f.mostlyBlocked:
		return job.LimitReached
	}
	return job.Resources
}
