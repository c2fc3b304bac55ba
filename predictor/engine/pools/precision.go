package pools

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// A table is made from as many futures as its quantiles need. The quantiles of a pool whose futures agree are known
// after a few futures.
const (
	// leastFuturesOfTable is the minimum number of futures of a table. With n futures, all of them lie below the
	// quantile 0.9 with probability 0.9^n. Then no estimate from the futures notices how wide its error is. With 16 the
	// probability is 0.19, about that of a deviation by more than one standard error to one side.
	leastFuturesOfTable = 16
	// A quantile is precise if its standard error is below preciseError on the scale ln(wait + 60 s), which is a tenth
	// of a wait that is much longer than a minute. A table has enough futures if precisePart of the quantiles are
	// precise that the pool's own jobs would get.
	preciseError = .1
	precisePart  = .95
)

// precision decides whether futures are enough for the tables of a pool.
type precision struct {
	facts   *Facts
	levels  []float64
	most    int // maximum size of a request
	cells   []weightedCell
	weights [][]float64 // by level, see orderWeights
	waits   []float64
}

// weightedCell is a cell of a table with the number of jobs of the pool that would get its waits.
type weightedCell struct {
	procs int
	limit float64 // 0 for none
	jobs  int
}

// find finds the cells for requests like the running and waiting jobs of the pool.
func (p *precision) find(most int) {
	t := &waitSurface{most: most, sizes: forward.CoarseSizes(most), limits: surfaceLimits()}
	jobs := make([]int, len(t.sizes)*len(t.limits))
	for _, all := range [][]Member{p.facts.Running, p.facts.Waiting} {
		for i := range all {
			if k, ok := t.index(&track.Request{Procs: all[i].Procs, Limit: all[i].Limit}); ok {
				jobs[k]++
			}
		}
	}
	p.most, p.cells = most, p.cells[:0]
	for k, n := range jobs {
		if n == 0 {
			continue
		}
		limit := t.limits[k/len(t.sizes)]
		if math.IsInf(limit, 1) {
			limit = 0
		}
		p.cells = append(p.cells, weightedCell{t.sizes[k%len(t.sizes)], limit, n})
	}
}

// isEnough reports whether the futures of a surface are enough.
func (p *precision) isEnough(s *forward.Surface) bool {
	n := s.Replicas()
	if n < leastFuturesOfTable {
		return false
	}
	if p.most != s.Capacity() {
		p.find(s.Capacity())
	}
	p.weights = p.weights[:0]
	for _, level := range p.levels {
		p.weights = append(p.weights, orderWeights(n, orderOf(n, level)))
	}
	precise, all := 0, 0
	for _, a := range p.cells {
		waits, err := s.WaitsByReplica(a.procs, a.limit, p.waits)
		if err != nil { // such requests never start
			continue
		}
		for i := range waits {
			waits[i] = waittime.Log(waits[i])
		}
		slices.Sort(waits)
		for _, w := range p.weights {
			if all += a.jobs; orderError(waits, w) < preciseError {
				precise += a.jobs
			}
		}
		p.waits = waits
	}
	return all > 0 && float64(precise) >= precisePart*float64(all)
}

// orderWeights returns, for each of n sorted values, the probability that the value is the k-th smallest (k from 0) of
// a new sample of n values, if each of these is drawn from the n values with equal probability.
//
// Source: J. S. Maritz and R. G. Jarrett, "A note on estimating the variance of the sample median", Journal of the
// American Statistical Association 73, 1978. For any k: B. Efron, "Bootstrap methods: another look at the jackknife",
// Annals of Statistics 7, 1979. The new sample need not be drawn, so the result has no error of its own.
func orderWeights(n, k int) []float64 {
	out, below := make([]float64, n), 0.
	for i := range out {
		upTo := mathext.RegIncBeta(float64(k+1), float64(n-k), float64(i+1)/float64(n))
		out[i], below = upTo-below, upTo
	}
	return out
}

// orderError returns the standard error of an order statistic of sorted values, given its orderWeights.
func orderError(sorted, weights []float64) float64 {
	mean, variance := 0., 0.
	for i, w := range weights {
		mean += w * sorted[i]
	}
	for i, w := range weights {
		variance += w * (sorted[i] - mean) * (sorted[i] - mean)
	}
	return math.Sqrt(variance)
}
