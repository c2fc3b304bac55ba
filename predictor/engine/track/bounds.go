package track

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/qbets"
)

// QbetsSizes is the number of QBETS's size classes.
const QbetsSizes = 4

// mostBounds is the number of waits in a history of QBETS at which the history is rebuilt from its newer half.
const mostBounds = 8_000

// qbetsConfidence is the confidence of QBETS's bounds. Its papers give bounds that hold with a confidence of 0.95. The
// bound of confidence 0.5 is nearer to the quantile itself, and has a lower loss on each of the five logs of
// docs/accuracy.md. This confidence is used because a comparison should show QBETS at its best.
const qbetsConfidence = .5

// qbetsRun returns the number of successive misses of a level's bound after which QBETS assumes a change, at least 3.
// If waits are independent, so many misses are at most as probable as three misses at level 0.95. Three is the papers'
// number. The papers adapt the number to correlated waits by simulated tables. With these tables QBETS is worse on most
// available traces.
func qbetsRun(level float64) int { return max(3, int(math.Ceil(3*math.Log(1-.95)/math.Log(1-level)))) }

// BoundHistory is a history of waits for QBETS: of a queue and size class, of a queue, or of all jobs. Each level's
// bound has a history of its own, because changes are detected for each level separately. All histories end with the
// newest wait, and begin at the last change of the level. waits is kept beside them so that the waits are saved once.
type BoundHistory struct {
	levels []float64
	series []*qbets.Series // by level
	waits  []float64       // waits of the longest history
	known  []float64       // bounds by level, NaN if the history is too short; replaced, never changed
	fresh  bool            // true if known is up to date
}

func newBounds(levels []float64) *BoundHistory {
	b := &BoundHistory{levels: levels, series: make([]*qbets.Series, len(levels))}
	for i := range b.series {
		b.series[i] = b.begin(i, nil)
	}
	return b
}

// begin returns a new history for a level, with the given waits.
func (b *BoundHistory) begin(level int, waits []float64) *qbets.Series {
	p := b.levels[level]
	// The only possible error is a wrong configuration.
	s, _ := qbets.New(qbets.Config{Level: p, Confidence: qbetsConfidence, Run: qbetsRun(p), Most: 2 * mostBounds})
	for _, w := range waits {
		s.Add(w)
	}
	return s
}

// lengths returns the number of waits in each level's history.
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
	if longest := slices.Max(b.lengths()); longest < len(b.waits) { // a change was found in the remaining waits
		b.waits = slices.Clone(b.waits[len(b.waits)-longest:])
	}
}

// misses returns, by level, the number of newest successive waits that missed the level's bound.
func (b *BoundHistory) misses() []int {
	out := make([]int, len(b.series))
	for i, s := range b.series {
		out[i] = s.Misses()
	}
	return out
}

// restore takes over saved waits. lengths has the number of waits in each level's history. It returns false if that
// is impossible.
func (b *BoundHistory) restore(waits []float64, lengths, misses []int) bool {
	for i, n := range lengths {
		if n > len(waits) || b.series[i].Restore(waits[len(waits)-n:], misses[i]) != nil {
			return false
		}
	}
	b.waits = waits
	return true
}

// at returns the bounds on the quantiles of the levels, NaN if the history is too short. The result is nil if b is nil.
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
