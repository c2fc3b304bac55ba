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

// materially reports whether a wait, in seconds, is materially shorter than another one. A start at all is materially
// sooner than none.
func materially(shorter, than float64) bool {
	if math.IsInf(than, 1) {
		return !math.IsInf(shorter, 1)
	}
	gain := than - shorter
	return gain >= leastGain && gain >= leastShare*than
}

// coupling is the joint distribution of the served waits of a request and of an option, as pairs that are equally
// likely. The waits of both have their served distributions, and go together as the simulation lets them.
type coupling struct {
	request, option []float64 // seconds; +Inf for never
	sooner          []bool    // whether the simulation starts the option sooner than the request there
}

// sameFutures couples two requests that compete for one pool. Number i of both simulated waits is of the same future.
// In each future, the rank of a simulated wait among those of all futures is the level at which the served distribution
// is read. So the served waits are in the order of the simulated ones, and only that order counts. Futures in which a
// request starts at the same time are put in the order in which the other one starts.
func sameFutures(request, option, servedRequest, servedOption []float64) coupling {
	n := len(request)
	c := coupling{
		request: readAt(levelsByRank(request, option), servedRequest),
		option:  readAt(levelsByRank(option, request), servedOption),
		sooner:  make([]bool, n),
	}
	for i := range n {
		c.sooner[i] = option[i] < request[i]
	}
	return c
}

// strata is the number of waits that stand for a distribution where futures are independent.
const strata = 48

// independent couples two requests that compete for different pools: nothing is known of one from the other.
func independent(servedRequest, servedOption []float64) coupling {
	levels := make([]float64, strata)
	for i := range levels {
		levels[i] = (float64(i) + .5) / strata
	}
	var c coupling
	a, b := readAt(levels, servedRequest), readAt(levels, servedOption)
	for _, x := range a {
		for _, y := range b {
			c.request, c.option, c.sooner = append(c.request, x), append(c.option, y), append(c.sooner, y < x)
		}
	}
	return c
}

// levelsByRank returns the rank of each wait as a level: the middles of n equal parts of (0, 1). Equal waits are in the
// order of others, then of their index.
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

// readAt returns the waits at levels of a served distribution, given by its quantiles. It is +Inf where these make no
// distribution.
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

// probability returns that of a materially shorter wait of the option, in (0, 1): the Bayes estimate with Jeffreys's
// prior from the number of pairs, so that no finite number of futures makes it certain. Where the simulation starts the
// option no sooner, it gains nothing, whatever the two distributions say.
func (c *coupling) probability() float64 {
	n := 0
	for i := range c.request {
		if c.sooner[i] && materially(c.option[i], c.request[i]) {
			n++
		}
	}
	return jeffreys(n, len(c.request))
}

// jeffreys estimates a probability from the number of successes in n trials: the mean of the posterior distribution,
// with the prior Beta(1/2, 1/2).
func jeffreys(successes, n int) float64 { return (float64(successes) + .5) / (float64(n) + 1) }

// gain returns the median of the difference in seconds, positive where the option starts sooner: +Inf where it starts
// and the request never does, NaN where that and the opposite are as likely.
func (c *coupling) gain() float64 {
	d := make([]float64, len(c.request))
	for i := range d {
		if c.request[i] != c.option[i] { // both may be +Inf
			d[i] = c.request[i] - c.option[i]
		}
	}
	return median(d)
}

// median sorts values and returns their median: the middle between two where their number is even.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	return values[(n-1)/2]/2 + values[n/2]/2
}
