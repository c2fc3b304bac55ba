// Package waittime defines constants and types for waits: the quantile levels of a forecast and the distribution
// between them, the logarithmic scale on which waits are learned and scored, the values that stand for "never", the
// size classes of scores, and the pinball loss. Every other package takes them from here.
package waittime

import (
	"math"
	"math/bits"
	"slices"
)

// Levels returns the quantile levels of every forecast, rising. The slice is new.
func Levels() []float64 { return []float64{.10, .25, .50, .75, .90, .95} }

// Median is the index of the median in Levels.
const Median = 2

// ScoredLevels returns the levels that backtests report, rising. The slice is new.
func ScoredLevels() []float64 { return []float64{.5, .75, .9, .95} }

// Horizons returns the times, in seconds and rising, for which a forecast has the probability of a start within them.
func Horizons() []float64 { return []float64{60, 600, 3600, 4 * 3600, 24 * 3600} }

// Shift is added to a wait, in seconds, before its logarithm is taken. A minute does not matter in waits of hours, and
// a wait may be 0.
const Shift = 60

// Log returns ln(wait + 60 s), the scale on which waits are learned, combined and scored.
func Log(seconds float64) float64 { return math.Log(seconds + Shift) }

// Unlog is the inverse of Log; the result is at least 0.
func Unlog(z float64) float64 {
	if w := math.Exp(z) - Shift; w > 0 {
		return w
	}
	return 0
}

// Never is the value of a quantile that is never reached, in the ledger and in saved state, where +Inf cannot be
// written.
const Never = -1

// Longest bounds every forecast, in seconds: ten years. Experts that mean "never" return it.
const Longest = 10 * 365.25 * 86400

// ScoredNever replaces Never in a pinball loss, in seconds: one year.
const ScoredNever = 365 * 86400

// IsNever reports whether the quantile of an expert means that the job never starts: NaN, or nine years and more.
// Rounding on the logarithmic scale may leave less than Longest, so the bound is lower.
func IsNever(seconds float64) bool { return !(seconds < 9*365*86400) }

// SizeClasses returns the size classes in which forecasts are scored: processors, three powers of two in a class.
// The slice is new.
func SizeClasses() []string { return []string{"1", "2-8", "9-64", "65-512", "513-4096", "4097+"} }

// SizeClass returns the class of a number of processors. An unknown number, below 1, counts as 1.
func SizeClass(procs int) string {
	exponent := bits.Len(uint(max(1, procs) - 1)) // of the smallest power of two that holds procs
	classes := SizeClasses()
	return classes[min((exponent+2)/3, len(classes)-1)]
}

// SizeClassesUpTo returns the size classes of jobs of at most the given number of processors, rising.
func SizeClassesUpTo(procs int) []string {
	classes := SizeClasses()
	return classes[:slices.Index(classes, SizeClass(procs))+1]
}

// Pinball returns the pinball loss of the forecast q of the quantile at the given level when y was observed:
// level (y-q) above the forecast, (1-level) (q-y) below it (R. Koenker and G. Bassett, "Regression quantiles",
// Econometrica 46, 1978).
func Pinball(level, q, y float64) float64 {
	if y >= q {
		return level * (y - q)
	}
	return (1 - level) * (q - y)
}
