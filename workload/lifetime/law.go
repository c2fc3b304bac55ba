// Package lifetime has several laws of job lifetimes behind one interface. For each queue it chooses the law with the
// best score on jobs to which the law was not fitted.
//
// Downey's uniform-log law (package uniformlog) does not fit his long queues well (1996, sec. 4.1: R2 0.74). For
// these he suggests "an alternative functional form" (sec. 6.5). The alternatives here are that law cut at the time
// limit, the hyper-Gamma law of Lublin and Feitelson (package hypergamma), and the Kaplan-Meier estimate, which has
// no functional form. All are fitted to ended and running jobs ([Observation]). The score of a law is the logarithm
// of the probability that it gave, before the event, to the event that then happened ([Score], [Selector]).
package lifetime

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// Law is a distribution of lifetimes in seconds. A law never changes, and several goroutines may use it at once.
type Law interface {
	// Survival returns Pr{lifetime > seconds}. It never rises, is 1 below 0, and is continuous from the right.
	Survival(seconds float64) float64
	// Quantile returns the shortest lifetime that a share p of the jobs does not exceed. It returns NaN if p is not
	// in [0, 1].
	Quantile(p float64) float64
	// Sample draws a lifetime.
	Sample(rng *rand.Rand) float64
}

// UniformLog is Downey's law as a [Law].
type UniformLog struct{ uniformlog.Model }

// Sample draws a lifetime.
func (u UniformLog) Sample(rng *rand.Rand) float64 { return u.Rand(rng) }

// AtLimit is Downey's law cut at a time limit: jobs that would run longer end at the limit.
type AtLimit struct {
	uniformlog.Model
	Limit float64 // seconds, above 0
}

// Survival returns Pr{lifetime > seconds}. It is 0 from the limit on.
func (a AtLimit) Survival(seconds float64) float64 {
	if seconds >= a.Limit {
		return 0
	}
	return a.Model.Survival(seconds)
}

// Quantile returns the quantile at p, at most the limit.
func (a AtLimit) Quantile(p float64) float64 { return min(a.Model.Quantile(p), a.Limit) }

// Sample draws a lifetime.
func (a AtLimit) Sample(rng *rand.Rand) float64 { return min(a.Rand(rng), a.Limit) }

// HyperGamma is a law in which ln lifetime is hyper-Gamma. A share Short of the jobs runs for at most 1 s. They count
// as ending at 1 s, because ln 1 = 0 is outside a Gamma law.
type HyperGamma struct {
	Log   hypergamma.Law
	Short float64
}

// Survival returns Pr{lifetime > seconds}.
func (h HyperGamma) Survival(seconds float64) float64 {
	if seconds < 1 {
		return 1
	}
	return (1 - h.Short) * h.Log.Survival(math.Log(seconds))
}

// Quantile returns the quantile at p. It is +Inf for p = 1.
func (h HyperGamma) Quantile(p float64) float64 {
	if p >= 0 && p <= h.Short {
		return 1
	}
	return math.Exp(h.Log.Quantile((p - h.Short) / (1 - h.Short)))
}

// Sample draws a lifetime.
func (h HyperGamma) Sample(rng *rand.Rand) float64 {
	if rng.Float64() < h.Short {
		return 1
	}
	return math.Exp(h.Log.Rand(rng))
}

// KaplanMeier is the product-limit estimate (E. L. Kaplan and P. Meier, "Nonparametric estimation from incomplete
// observations", 1958). Efron's rule completes the distribution: all jobs that have not ended by the longest observed
// time end at that time.
type KaplanMeier struct {
	times []float64 // times at which jobs ended, ascending
	upTo  []float64 // cdf at each time; the last value is 1
}

// Survival returns Pr{lifetime > seconds}.
func (k *KaplanMeier) Survival(seconds float64) float64 {
	// n is the number of times that are at most seconds.
	n := sort.Search(len(k.times), func(i int) bool { return k.times[i] > seconds })
	if n == 0 {
		return 1
	}
	return 1 - k.upTo[n-1]
}

// Quantile returns the first time at which the cdf reaches p.
func (k *KaplanMeier) Quantile(p float64) float64 {
	if !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	i, _ := slices.BinarySearch(k.upTo, p)
	return k.times[min(i, len(k.times)-1)]
}

// Sample draws a lifetime.
func (k *KaplanMeier) Sample(rng *rand.Rand) float64 { return k.Quantile(rng.Float64()) }

// Times returns the number of different times at which the estimate changes.
func (k *KaplanMeier) Times() int { return len(k.times) }
