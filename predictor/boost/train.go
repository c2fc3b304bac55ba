package boost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
)

// Trainer trains models one after the other and reuses its memory: about 40 bytes per row, and the histograms of a
// tree's leaves. The zero value is ready. It is not safe for concurrent use.
type Trainer struct{ t trainer }

// Train trains a model of the quantile at a level in (0, 1). Earlier trainings do not influence the result.
func (r *Trainer) Train(d *Data, level float64, p Params) (*Model, error) {
	p = p.withDefaults()
	if err := p.check(); err != nil {
		return nil, err
	}
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("boost: level %v: want more than 0, less than 1", level)
	}
	if d == nil || d.rows == 0 {
		return nil, ErrNoRows
	}
	t := &r.t
	t.begin(d, level, p)
	defer func() { t.Data = nil }()
	m := &Model{Level: level, Features: len(d.bins), Base: t.base(), gain: make([]float64, len(d.bins))}
	for i := range t.prediction {
		t.prediction[i] = m.Base
	}
	for range p.Trees {
		if !t.grow(m.gain) {
			break // no remaining split reduces the loss
		}
		if m.trees.add(&t.tree); m.Trees() == 1 {
			m.trees.grow(p.Trees - 1)
		}
	}
	return m, nil
}

// trainer is the working state of one training.
type trainer struct {
	*Data
	level      float64
	params     Params
	prediction []float64
	below      []uint8 // 1 for the rows whose target is not above the prediction
	all        []int32 // all rows: first those of order, then those of rest
	order      []int32 // the rows on which the tree is grown; those of a leaf are contiguous
	rest       []int32 // the other rows; those of a leaf are contiguous
	scratch    []int32
	shares     []float64        // by feature: its probability to be drawn
	features   []sampledFeature // the features on which the tree is grown
	cells      int              // number of cells in a histogram
	room       int              // number of cells that suffices for nearly every draw
	spare      []histogram
	leaves     []leaf
	tree
	values    []float64 // residuals of the rows of one leaf
	residuals []pair    // the same residuals, with weights
	counts    []cell    // contributions of a block of rows
	chances   []uint64  // by row: its probability to be drawn, in units of 2^-53; nil if all are equal
	work      int       // number of additions since the goroutine last yielded
	source    *rand.PCG
	rng       *rand.Rand
}

// begin prepares the trainer for a training. It reuses the slices of the previous one.
func (t *trainer) begin(d *Data, level float64, p Params) {
	t.Data, t.level, t.params = d, level, p
	t.prediction, t.below = resize(t.prediction, d.rows), resize(t.below, d.rows)
	t.all, t.scratch = resize(t.all, d.rows), resize(t.scratch, d.rows)
	t.counts = resize(t.counts, block)
	clear(t.prediction)
	t.chances = t.chances[:0]
	for _, w := range d.weight {
		t.chances = append(t.chances, chance(p.RowShare*w))
	}
	t.source = rand.NewPCG(p.Seed, math.Float64bits(level))
	t.rng = rand.New(t.source)
	mean, variance := 0.0, 0.0
	for f := range t.bins {
		n, share := float64(t.missing(f)+1), p.FeatureShare
		mean += share * n
		variance += share * (1 - share) * n * n
	}
	t.room = int(mean + 4*math.Sqrt(variance)) // by the normal law, one draw in 30,000 has more
}

// resize returns a slice of length n, in the same memory if that is large enough. Its contents are undefined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// base returns the quantile of all targets, by their weights.
func (t *trainer) base() float64 {
	for i := range t.all {
		t.all[i] = int32(i)
	}
	if t.weight != nil {
		return t.weighted(t.all, t.weight)
	}
	return t.quantile(t.all)
}

// leaf is a leaf of the growing tree: a range of t.order, and one of t.rest.
type leaf struct {
	from, to         int
	restFrom, restTo int
	node             int32
	hist             histogram // nil if the leaf will not be divided
	best             split
}

// split is the best way to divide a leaf in two.
type split struct {
	gain        float64
	feature     int
	bin         int // values up to this bin go left
	missingLeft bool
}

// grow grows t.tree and adds it to the predictions. It returns false if not even the root can be split.
func (t *trainer) grow(gain []float64) bool {
	t.compare()
	t.focus(gain)
	t.draw()
	t.root()
	for len(t.leaves) < t.params.Leaves {
		best := 0
		for i := range t.leaves {
			if t.leaves[i].best.gain > t.leaves[best].best.gain {
				best = i
			}
		}
		l := &t.leaves[best]
		if !(l.best.gain > 0) {
			break
		}
		gain[l.best.feature] += l.best.gain
		t.leaves = append(t.leaves, t.divide(l))
		if len(t.leaves) < t.params.Leaves { // the leaves that complete the tree are not divided any more
			t.measure(&t.leaves[best], &t.leaves[len(t.leaves)-1])
		}
		t.rested()
	}
	for i := range t.leaves {
		l := &t.leaves[i]
		t.put(l.hist)
		rows := t.order[l.from:l.to]
		value := t.params.Rate * t.quantile(rows)
		t.leafValues[l.node] = value
		for _, r := range rows {
			t.prediction[r] += value
		}
		for _, r := range t.rest[l.restFrom:l.restTo] {
			t.prediction[r] += value
		}
	}
	return len(t.leaves) > 1
}

// turn is the number of additions, about 0.2 ms, after which the goroutine yields.
const turn = 1 << 17

// rested yields the processor at intervals. Otherwise goroutines that answer requests would wait for the end of the
// Go scheduler's 10 ms time slice.
func (t *trainer) rested() {
	if t.work >= turn {
		t.work = 0
		runtime.Gosched()
	}
}

// root begins a new tree with its root, and finds the best split of the root.
func (t *trainer) root() {
	t.plant()
	t.leaves = append(t.leaves[:0], leaf{to: len(t.order), restTo: len(t.rest), hist: t.take()})
	root := &t.leaves[0]
	t.fill(root)
	t.find(root)
}

// focus computes each feature's probability to be drawn from its gain so far, see Params.Focus.
func (t *trainer) focus(gain []float64) {
	t.shares = resize(t.shares, len(gain))
	all := 0.0
	for _, g := range gain {
		all += math.Sqrt(g)
	}
	for f, g := range gain {
		t.shares[f] = t.params.FeatureShare
		if all > 0 {
			part := math.Sqrt(g) / all * float64(len(gain))
			t.shares[f] *= 1 - t.params.Focus + t.params.Focus*part
		}
	}
}

// draw draws the rows and features of the next tree.
func (t *trainer) draw() {
	n := len(t.all)
	if t.params.RowShare == 1 && t.weight == nil {
		for i := range t.all {
			t.all[i] = int32(i)
		}
	} else {
		n = t.drawRows()
	}
	t.order, t.rest = t.all[:n], t.all[n:]
	t.features, t.cells = t.features[:0], 0
	for f := range t.bins {
		if share := t.shares[f]; share >= 1 || t.rng.Float64() < share {
			t.features = append(t.features, sampledFeature{feature: f})
		}
	}
	if len(t.features) == 0 && len(t.bins) > 0 {
		t.features = append(t.features, sampledFeature{feature: t.rng.IntN(len(t.bins))})
	}
	for i := range t.features {
		d := &t.features[i]
		d.at, d.bins = t.cells, t.missing(d.feature)
		t.cells += d.bins + 1
	}
}

// chanceBits is the number of random bits of rand's Float64.
const chanceBits = 53

// chance converts a probability to an integer: the number of possible values of rand's Float64 below it.
func chance(p float64) uint64 { return uint64(math.Ceil(p * (1 << chanceBits))) }

// drawRows moves the drawn rows to the front, in their order, and returns their number. A row is drawn if rand's
// Float64 would be below its probability. This is computed with integers and without a branch, because such a branch
// would often be mispredicted.
func (t *trainer) drawRows() int {
	const bits = chanceBits
	limit := chance(t.params.RowShare)
	n, last := 0, len(t.all)-1
	for i := range t.all {
		if t.weight != nil {
			limit = t.chances[i]
		}
		is := one(t.source.Uint64()<<(64-bits)>>(64-bits) < limit)
		t.all[n], t.all[last] = int32(i), int32(i) // the next iteration overwrites one of the two
		n += is
		last += is - 1
	}
	return n
}

// compare records on which side of its prediction each target lies. The negative gradient of the pinball loss is the
// level if the target is above, otherwise the level minus 1.
func (t *trainer) compare() {
	prediction, below := t.prediction[:len(t.target)], t.below[:len(t.target)]
	for i, y := range t.target {
		below[i] = uint8(one(y <= prediction[i]))
	}
}

// divide divides a leaf by its best split. The leaf becomes the left part; divide returns the right part.
func (t *trainer) divide(l *leaf) leaf {
	s := l.best
	left := t.part(t.order[l.from:l.to], s)
	restLeft := t.part(t.rest[l.restFrom:l.restTo], s)
	at := t.split(l.node, s.feature, s.missingLeft, t.threshold(s.feature, s.bin))
	other := leaf{from: l.from + left, to: l.to, restFrom: l.restFrom + restLeft, restTo: l.restTo, node: at + 1}
	l.to, l.restTo, l.node = other.from, other.restFrom, at
	return other
}

// part moves the rows that a split sends left to the front, and returns their number. It keeps the order within both
// parts, so that the result depends only on the data.
func (t *trainer) part(rows []int32, s split) int {
	bins, scratch := t.bins[s.feature], t.scratch[:len(rows)]
	var shift uint8
	if s.missingLeft { // shift the bins, so that the last one (of missing values) becomes the first
		shift = -uint8(t.missing(s.feature))
	}
	limit := uint8(s.bin) + shift
	left := 0
	for i, r := range rows { // no branch that depends on the data, because half of such branches would be mispredicted
		rows[left], scratch[i-left] = r, r
		left += one(bins[r]+shift <= limit)
	}
	copy(rows[left:], scratch)
	return left
}

// measure finds the best splits of the two parts of a divided leaf. l, the left part, still has the histogram of both
// parts.
func (t *trainer) measure(l, other *leaf) {
	small, large := l, other
	if l.to-l.from > other.to-other.from {
		small, large = other, l
	}
	whole := l.hist // the histogram of the larger part is the difference of two others
	l.hist, l.best, other.best = nil, split{}, split{}
	if !t.divisible(large) {
		t.put(whole)
		return
	}
	small.hist, large.hist = t.take(), whole
	t.fill(small)
	t.subtract(large.hist, small.hist)
	for _, l := range [...]*leaf{small, large} {
		if t.find(l); !(l.best.gain > 0) {
			t.put(l.hist)
			l.hist = nil
		}
	}
}

// threshold returns the largest value of a bin.
func (t *trainer) threshold(feature, bin int) float64 {
	if upper := t.upper[feature]; bin < len(upper) {
		return upper[bin]
	}
	return math.Inf(1) // all values go left, and missing ones go right
}
