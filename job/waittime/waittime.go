// Package waittime defines constants and types for waits. It has the quantile levels of a forecast and the
// distribution between them. It also has the logarithmic scale on which waits are learned and scored, the values that
// mean "never", the size classes of scores, and the pinball loss. Every other package uses these definitions.
package waittime

import (
	"math"
	"math/bits"
	"slices"
)

// Levels returns the quantile levels of every forecast, in ascending order. The slice is new.
func Levels() []float64 { return []float64{.10, .25, .50, .75, .90, .95} }

// Median is the index of the median in Levels.
const Median = 2

// ScoredLevels returns the levels that backtests report, in ascending order. The slice is new.
func ScoredLevels() []float64 { return []float64{.5, .75, .9, .95} }

// Horizons returns times in seconds, in ascending order. A forecast has the probability of a start within each of
// them.
func Horizons() []float64 { return []float64{60, 600, 3600, 4 * 3600, 24 * 3600} }

// Shift is the number of seconds that is added to a wait before its logarithm is computed, because a wait may be 0. A
// minute does not matter in waits of hours.
const Shift = 60

// Log returns ln(wait + 60 s). This is the scale on which waits are learned, combined and scored.
func Log(seconds float64) float64 { return math.Log(seconds + Shift) }

// Unlog is the inverse function of Log. Its result is at least 0.
func Unlog(z float64) float64 {
	if w := math.Exp(z) - Shift; w > 0 {
		return w
	}
	return 0
}

// Never is the value of a quantile that is never reached. The ledger and saved state use it, because +Inf cannot be
// written there.
const Never = -1

// Longest is the maximum of every forecast in seconds: ten years. Experts return it for "never".
const Longest = 10 * 365.25 * 86400

// ScoredNever is the number of seconds that replaces Never in a pinball loss: one year.
const ScoredNever = 365 * 86400

// IsNever reports whether the quantile of an expert means that the job never starts. Such a quantile is NaN, or at
// least nine years. The limit is lower than Longest, because rounding on the logarithmic scale may give less than
// Longest.
func IsNever(seconds float64) bool { return !(seconds < 9*365*86400) }

// SizeClasses returns the size classes in which forecasts are scored, as ranges of processors. Each class between the
// first and the last covers three powers of two. The slice is new.
func SizeClasses() []string { return []string{"1", "2-8", "9-64", "65-512", "513-4096", "4097+"} }

// SizeClass returns the class of a number of processors. An unknown number, below 1, counts as 1.
func SizeClass(procs int) string {
	exponent := bits.Len(uint(max(1, procs) - 1)) // exponent of the smallest power of two that is at least procs
	classes := SizeClasses()
	return classes[min((exponent+2)/3, len(classes)-1)]
}

// SizeClassesUpTo returns the size classes of jobs with at most the given number of processors, in ascending order.
func SizeClassesUpTo(procs int) []string {
	classes := SizeClasses()
	return classes[:slices.Index(classes, SizeClass(procs))+1]
}

// Pinball returns the pinball loss of a forecast q of the quantile at the given level if y was observed. The loss is
// level (y-q) if y is above q, and (1-level) (q-y) if y is below q (R. Koenker and G. Bassett, "Regression
// quantiles", Econometrica 46, 1978).
func Pinball(level, q, y float64) float64 {
	if y >= q {
		return level * (y - q)
	}
	return (1 - level) * (q - y)
}
