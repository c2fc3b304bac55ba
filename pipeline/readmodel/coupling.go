package readmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// A start is materially sooner if it is sooner by at least leastGain seconds and by leastShare of the wait.
const (
	leastGain  = 60.
	leastShare = .2
)

// materially reports whether a wait, in seconds, is materially shorter than another one. A finite wait is materially
// shorter than one that never ends.
func materially(shorter, than float64) bool {
	if math.IsInf(than, 1) {
		return !math.IsInf(shorter, 1)
	}
	gain := than - shorter
	return gain >= leastGain && gain >= leastShare*than
}

// coupling is the dependence between the waits of a request and of an option in the simulation. It has pairs of levels
// of equal probability.
type coupling struct {
	request, option []float64 // levels, in (0, 1), of the two waits in their own distributions
	sooner          []bool    // whether the option starts sooner than the request
}

// sameFutures couples two requests that compete for one pool. Elements with the same index in the two lists of
// simulated waits belong to the same future. Only the ranks of the waits count. Equal waits of one request are ranked
// by the waits of the other.
func sameFutures(request, option []float64) coupling {
	c := coupling{levelsByRank(request, option), levelsByRank(option, request), make([]bool, len(request))}
	for i := range c.sooner {
		c.sooner[i] = option[i] < request[i]
	}
	return c
}

// independent couples two requests that compete for different pools, so that their futures are independent. It combines
// every future of one request with every future of the other.
func independent(request, option []float64) coupling {
	var c coupling
	a, b := levelsByRank(request, request), levelsByRank(option, option)
	for i := range request {
		for k := range option {
			c.request, c.option = append(c.request, a[i]), append(c.option, b[k])
			c.sooner = append(c.sooner, option[k] < request[i])
		}
	}
	return c
}

// probability returns the probability that the option starts sooner than the request by any amount.
func (c *coupling) probability() float64 {
	n := 0
	for _, sooner := range c.sooner {
		if sooner {
			n++
		}
	}
	return jeffreys(n, len(c.sooner))
}

// served returns the joint distribution of two served waits. The arguments are the quantiles of the two waits. The
// dependence comes from the coupling, and each wait keeps its own distribution.
func (c *coupling) served(request, option []float64) waitPairs {
	return waitPairs{readAt(c.request, request), readAt(c.option, option), c.sooner}
}

// waitPairs are equally likely pairs of the waits of a request and of an option, in seconds; +Inf means never. sooner
// is true for a pair if the option starts sooner in the simulation.
type waitPairs struct {
	request, option []float64
	sooner          []bool
}

// levelsByRank converts each wait to the level of its rank. The levels are the middles of n equal parts of (0, 1).
// Equal waits are ranked by the elements of others, then by index.
func levelsByRank(waits, others []float64) []float64 {
	order := make([]int, len(waits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(waits[i], waits[j]), cmp.Compare(others[i], others[j]))
	})
	levels := make([]float64, len(waits))
	for rank, i := range order {
		levels[i] = (float64(rank) + .5) / float64(len(waits))
	}
	return levels
}

// readAt returns the waits at the given levels of a served distribution with the given quantiles. It returns +Inf if
// the quantiles do not form a distribution.
func readAt(levels, quantiles []float64) []float64 {
	d, err := waittime.NewDistribution(waittime.Levels(), waittime.Rising(quantiles))
	out := make([]float64, len(levels))
	for i, level := range levels {
		if out[i] = math.Inf(1); err == nil {
			out[i] = d.Quantile(level)
		}
	}
	return out
}

// probability returns the probability, in (0, 1), that the option has a materially shorter wait. It is the Bayes
// estimate with Jeffreys's prior, so that no finite number of futures gives certainty. A pair counts only if the option
// also starts sooner in the simulation.
func (c *waitPairs) probability() float64 {
	n := 0
	for i := range c.request {
		if c.sooner[i] && materially(c.option[i], c.request[i]) {
			n++
		}
	}
	return jeffreys(n, len(c.request))
}

// jeffreys estimates a probability from the number of successes in n trials. The estimate is the mean of the
// posterior distribution with the prior Beta(1/2, 1/2).
func jeffreys(successes, n int) float64 { return (float64(successes) + .5) / (float64(n) + 1) }

// gain returns the median difference of the two waits in seconds, positive if the option starts sooner. It is +Inf if
// only the option ever starts in most pairs, and NaN if the median lies between +Inf and -Inf.
func (c *waitPairs) gain() float64 {
	d := make([]float64, len(c.request))
	for i := range d {
		if c.request[i] != c.option[i] { // both may be +Inf
			d[i] = c.request[i] - c.option[i]
		}
	}
	return median(d)
}

// median sorts values and returns their median: the mean of the middle two if their number is even.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	return values[(n-1)/2]/2 + values[n/2]/2
}
