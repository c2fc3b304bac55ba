package readmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// A start is materially sooner if it is sooner by at least leastGain seconds and by at least the share leastShare of
// the wait.
const (
	leastGain  = 60.
	leastShare = .2
)

// materially reports whether the wait shorter is materially shorter than the other wait, called than. Both are in
// seconds. A finite wait is materially shorter than one that never ends.
func materially(shorter, than float64) bool {
	if math.IsInf(than, 1) {
		return !math.IsInf(shorter, 1)
	}
	gain := than - shorter
	return gain >= leastGain && gain >= leastShare*than
}

// coupling has the simulated waits of a request and of an option, one for each future, in seconds. It shows how the two
// waits depend on each other.
type coupling struct {
	request, option []float64
	same            bool // elements with the same index belong to the same future
}

// sameFutures couples a request and an option that compete for the same pool. Elements with the same index in the two
// lists of simulated waits belong to the same future. The lengths of the waits do not matter, only the rank of each
// wait in its list, and which of the two waits of a future is shorter. Equal waits in one list are ranked by the waits
// in the other.
func sameFutures(request, option []float64) coupling { return coupling{request, option, true} }

// independent couples a request and an option that compete for different pools, so that their futures are independent:
// every future of one is combined with every future of the other.
func independent(request, option []float64) coupling { return coupling{request, option, false} }

// probability returns the probability that the option starts sooner than the request in the simulation, by any amount.
func (c *coupling) probability() float64 {
	n := 0
	if c.same {
		for i, wait := range c.option {
			n += one(wait < c.request[i])
		}
		return jeffreys(n, len(c.request))
	}
	for _, than := range c.request {
		for _, wait := range c.option {
			n += one(wait < than)
		}
	}
	return jeffreys(n, len(c.request)*len(c.option))
}

// one returns 1 for true and 0 for false.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// served returns the joint distribution of the served waits of the request and the option, whose quantiles are the
// arguments. Each wait keeps its served distribution. The dependence between the two comes from the coupling.
func (c *coupling) served(request, option []float64) waitPairs {
	if c.same {
		p := waitPairs{readAt(levelsByRank(c.request, c.option), request),
			readAt(levelsByRank(c.option, c.request), option), make([]bool, len(c.request))}
		for i, wait := range c.option {
			p.sooner[i] = wait < c.request[i]
		}
		return p
	}
	a, b := readAt(levelsByRank(c.request, c.request), request), readAt(levelsByRank(c.option, c.option), option)
	n := len(a) * len(b)
	p := waitPairs{make([]float64, 0, n), make([]float64, 0, n), make([]bool, 0, n)}
	for i, than := range c.request {
		for k, wait := range c.option {
			p.request, p.option = append(p.request, a[i]), append(p.option, b[k])
			p.sooner = append(p.sooner, wait < than)
		}
	}
	return p
}

// waitPairs are equally likely pairs of the waits of a request and of an option, in seconds; +Inf means never. sooner
// is true for those pairs in which the option starts sooner in the simulation.
type waitPairs struct {
	request, option []float64
	sooner          []bool
}

// levelsByRank returns, for each of n waits, the level that belongs to its rank. The levels are the middles of n equal
// parts of (0, 1). Equal waits are ranked by the elements of others, then by index.
func levelsByRank(waits, others []float64) []float64 {
	type ranked struct {
		wait, other float64
		index       int
	}
	var room [128]ranked // enough for the futures of one pool
	order := room[:0]
	for i, wait := range waits {
		order = append(order, ranked{wait, others[i], i})
	}
	slices.SortFunc(order, func(a, b ranked) int {
		switch {
		case a.wait != b.wait:
			return cmp.Compare(a.wait, b.wait)
		case a.other != b.other:
			return cmp.Compare(a.other, b.other)
		}
		return a.index - b.index
	})
	levels := make([]float64, len(waits))
	for rank := range order {
		levels[order[rank].index] = (float64(rank) + .5) / float64(len(waits))
	}
	return levels
}

// readAt returns the waits, in seconds, that the distribution with the given served quantiles has at the given levels.
// All are +Inf if the quantiles do not form a distribution.
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

// probability returns the probability, in (0, 1), that the option has a materially shorter wait. A pair counts only if
// the option also starts sooner in the simulation. The probability is the Bayes estimate with Jeffreys's prior, so that
// no finite number of pairs gives certainty.
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

// gain returns the median of the differences between the waits of request and option in seconds, positive if the option
// starts sooner. If neither ever starts, the difference is 0. It is +Inf if in most pairs only the option ever starts,
// and NaN if the two middle differences are -Inf and +Inf.
func (c *waitPairs) gain() float64 {
	d := make([]float64, len(c.request))
	for i := range d {
		if c.request[i] != c.option[i] { // both may be +Inf
			d[i] = c.request[i] - c.option[i]
		}
	}
	return median(d)
}

// median sorts values and returns their median, the mean of the two middle values if their number is even; NaN if there
// are none.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	return values[(n-1)/2]/2 + values[n/2]/2
}
