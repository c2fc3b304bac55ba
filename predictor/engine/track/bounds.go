package track

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/qbets"
)

// QbetsSizes is the number of QBETS's size classes.
const QbetsSizes = 4

// mostBounds is how many waits a history of QBETS keeps: at more, the newer half is gone through afresh.
const mostBounds = 8_000

// qbetsConfidence is that of QBETS's bounds. Its papers give bounds that hold with a confidence of .95; the bound of
// confidence .5 is nearer to the quantile itself, and a peer is to be compared with at its best: it loses less on each
// of the five logs of docs/accuracy.md.
const qbetsConfidence = .5

// qbetsRun is how many misses in a row of a level's bound QBETS takes for a change: as improbable by chance as the
// papers' three at the level .95, which are for waits that are independent. Adapted to their correlation, as the papers
// do it with simulated tables, QBETS is worse on most traces in reach.
func qbetsRun(level float64) int { return max(3, int(math.Ceil(3*math.Log(1-.95)/math.Log(1-level)))) }

// BoundHistory is the history of a queue and size class in QBETS. Each level's bound has a history of its own, since
// each finds its changes itself: all end with the newest wait, and begin where the level's last change was. The waits
// are beside them so that they are saved once.
type BoundHistory struct {
	levels []float64
	series []*qbets.Series // by level
	waits  []float64       // those of the longest history
	known  []float64       // by level, NaN where the history is too short; never changed
	fresh  bool            // known is of the present histories
}

func newBounds(levels []float64) *BoundHistory {
	b := &BoundHistory{levels: levels, series: make([]*qbets.Series, len(levels))}
	for i := range b.series {
		b.series[i] = b.begin(i, nil)
	}
	return b
}

// begin returns a level's history of waits.
func (b *BoundHistory) begin(level int, waits []float64) *qbets.Series {
	p := b.levels[level]
	// it can only complain of its configuration
	s, _ := qbets.New(qbets.Config{Level: p, Confidence: qbetsConfidence, Run: qbetsRun(p), Most: 2 * mostBounds})
	for _, w := range waits {
		s.Add(w)
	}
	return s
}

// lengths returns how many waits each level's history has.
func (b *BoundHistory) lengths() []int {
	out := make([]int, len(b.series))
	for i, s := range b.series {
		out[i] = s.N()
	}
	return out
}

func (b *BoundHistory) add(wait float64) {
	for _, s := range b.series {
		s.Add(wait)
	}
	b.waits = append(b.waits, wait)
	b.fresh = false
	if longest := slices.Max(b.lengths()); longest < len(b.waits) {
		b.waits = slices.Clone(b.waits[len(b.waits)-longest:])
	}
	if len(b.waits) >= mostBounds {
		b.halve()
	}
}

// halve forgets the older half of the waits.
func (b *BoundHistory) halve() {
	b.waits = slices.Clone(b.waits[len(b.waits)/2:])
	b.fresh = false
	for i, s := range b.series {
		if s.N() > len(b.waits) {
			b.series[i] = b.begin(i, b.waits)
		}
	}
	if longest := slices.Max(b.lengths()); longest < len(b.waits) { // a change was found in what is left
		b.waits = slices.Clone(b.waits[len(b.waits)-longest:])
	}
}

// misses returns how many of the newest waits in a row missed each level's bound.
func (b *BoundHistory) misses() []int {
	out := make([]int, len(b.series))
	for i, s := range b.series {
		out[i] = s.Misses()
	}
	return out
}

// restore takes saved waits, of which each level's history has so many of the newest; false if that cannot be.
func (b *BoundHistory) restore(waits []float64, lengths, misses []int) bool {
	for i, n := range lengths {
		if n > len(waits) || b.series[i].Restore(waits[len(waits)-n:], misses[i]) != nil {
			return false
		}
	}
	b.waits = waits
	return true
}

// at returns the bounds on the quantiles of the levels, NaN where the history is too short.
func (b *BoundHistory) at(levels []float64) []float64 {
	if b == nil {
		return nil
	}
	if b.fresh {
		return b.known
	}
	out := make([]float64, len(levels))
	for i := range levels {
		v, ok := b.series[i].Bound(levels[i])
		if !ok {
			v = math.NaN()
		}
		out[i] = v
	}
	b.fresh, b.known = true, out
	return out
}
