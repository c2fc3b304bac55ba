package engine

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/qbets"
)

// qbetsSizes is the number of QBETS's size classes.
const qbetsSizes = 4

// mostBounds is how many waits a history of QBETS keeps: at more, the newer half is gone through afresh.
const mostBounds = 50_000

// bounds is the history of a queue and size class in QBETS, with its waits beside it so that it can be saved: gone through again they give the same history, since
// after a change it begins anew from as many as a bound needs, and until then there is none that could be missed.
type bounds struct {
	series *qbets.Series
	waits  []float64
	known  []float64 // by level, NaN where the history is too short; never changed
	fresh  bool      // known is of the present history
}

func newBounds(waits []float64) *bounds {
	b := &bounds{}
	b.series, _ = qbets.New(qbets.Config{Run: qbetsRun}) // it can only complain of its configuration
	for _, w := range waits {
		b.add(w)
	}
	return b
}

func (b *bounds) add(wait float64) {
	trimmed := b.series.Trimmed()
	b.series.Add(wait)
	b.waits = append(b.waits, wait)
	b.fresh = false
	if b.series.Trimmed() > trimmed {
		b.waits = slices.Clone(b.waits[len(b.waits)-b.series.N():])
	}
	if len(b.waits) >= mostBounds {
		*b = *newBounds(b.waits[len(b.waits)/2:])
	}
}

// at returns the bounds on the quantiles of the levels, NaN where the history is too short.
func (b *bounds) at(levels []float64) []float64 {
	if b == nil {
		return nil
	}
	if b.fresh {
		return b.known
	}
	out := make([]float64, len(levels))
	for i, level := range levels {
		v, ok := b.series.Bound(level)
		if !ok {
			v = math.NaN()
		}
		out[i] = v
	}
	b.fresh, b.known = true, out
	return out
}
