package boost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
)

// Trainer trains models one after the other in the same memory: some 40 bytes for each row, and the sums of a tree's
// leaves. Its zero value is ready. It is not safe for concurrent use.
type Trainer struct{ t trainer }

// Train trains a model of the quantile at a level in (0, 1). What was trained before makes no difference.
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
			break // no split is left that gains anything
		}
		if m.trees.add(&t.tree); m.Trees() == 1 {
			m.trees.grow(p.Trees - 1)
		}
	}
	return m, nil
}

// trainer is what one training needs besides the data.
type trainer struct {
	*Data
	level      float64
	params     Params
	prediction []float64
	below      []uint8 // 1 for the rows whose target is not above the prediction
	all        []int32 // the rows: first order, then rest
	order      []int32 // the rows that the tree is grown on, those of one leaf together
	rest       []int32 // the other rows, those of one leaf together
	scratch    []int32
	shares     []float64        // each feature's chance to be drawn
	features   []sampledFeature // those that the tree is grown on
	cells      int              // in a histogram
	room       int              // for the cells of nearly every draw
	spare      []histogram
	leaves     []leaf
	tree
	values    []float64 // of the rows of one leaf: what is left to explain
	residuals []pair    // the same, with weights
	counts    []cell    // of a block of rows
	chances   []uint64  // of each row to be drawn, in 2^-53; nil where they are all the same
	work      int       // sums since others last had the processor
	source    *rand.PCG
	rng       *rand.Rand
}

// begin makes the trainer ready for a training; the slices of the one before are used again.
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
	t.room = int(mean + 4*math.Sqrt(variance)) // one draw in 30,000 has more, as the normal law goes
}

// resize returns a slice of n, in the same memory where it has room. Its contents are not defined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// base returns the quantile of all targets.
func (t *trainer) base() float64 {
	for i := range t.all {
		t.all[i] = int32(i)
	}
	if t.weight != nil {
		return t.weighted(t.all, t.weight)
	}
	return t.quantile(t.all)
}

// leaf is a leaf of the tree that grows: a range of t.order, and one of t.rest.
type leaf struct {
	from, to         int
	restFrom, restTo int
	node             int32
	hist             histogram // nil where it is not to be divided
	best             split
}

// split is the best way to cut a leaf in two.
type split struct {
	gain        float64
	feature     int
	bin         int // values up to this bin go left
	missingLeft bool
}

// grow grows t.tree and adds it to the predictions; false if not even the root can be split.
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
		if len(t.leaves) < t.params.Leaves { // the last ones are not divided any more
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

// turn is after how many sums another goroutine may have the processor, some .2 ms.
const turn = 1 << 17

// rested lets others have the processor now and then: who answers requests must not wait for the scheduler's 10 ms
// slice to be over.
func (t *trainer) rested() {
	if t.work >= turn {
		t.work = 0
		runtime.Gosched()
	}
}

// root begins the tree with its root.
func (t *trainer) root() {
	t.plant()
	t.leaves = append(t.leaves[:0], leaf{to: len(t.order), restTo: len(t.rest), hist: t.take()})
	root := &t.leaves[0]
	t.fill(root)
	t.find(root)
}

// focus sets the chance of each feature to be drawn by what it has gained, see Params.Focus.
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

// chanceBits is the bits of rand's Float64.
const chanceBits = 53

// chance returns a probability as the number of values of rand's Float64 that are less.
func chance(p float64) uint64 { return uint64(math.Ceil(p * (1 << chanceBits))) }

// drawRows puts the rows that are drawn first, in their order, and returns how many they are. A row is drawn where
// rand's Float64 would be less than its chance: computed with whole numbers, and without a branch, half of which would
// be predicted wrongly.
func (t *trainer) drawRows() int {
	const bits = chanceBits
	limit := chance(t.params.RowShare)
	n, last := 0, len(t.all)-1
	for i := range t.all {
		if t.weight != nil {
			limit = t.chances[i]
		}
		is := one(t.source.Uint64()<<(64-bits)>>(64-bits) < limit)
		t.all[n], t.all[last] = int32(i), int32(i) // one of the two is written over by the next
		n += is
		last += is - 1
	}
	return n
}

// compare records on which side of its prediction each target is. The negative gradient of the pinball loss is the
// level where it is above, else the level less 1.
func (t *trainer) compare() {
	prediction, below := t.prediction[:len(t.target)], t.below[:len(t.target)]
	for i, y := range t.target {
		below[i] = uint8(one(y <= prediction[i]))
	}
}

// divide cuts a leaf by its best split; the leaf becomes the left part, the right part is returned.
func (t *trainer) divide(l *leaf) leaf {
	s := l.best
	left := t.part(t.order[l.from:l.to], s)
	restLeft := t.part(t.rest[l.restFrom:l.restTo], s)
	at := t.split(l.node, s.feature, s.missingLeft, t.threshold(s.feature, s.bin))
	other := leaf{from: l.from + left, to: l.to, restFrom: l.restFrom + restLeft, restTo: l.restTo, node: at + 1}
	l.to, l.restTo, l.node = other.from, other.restFrom, at
	return other
}

// part puts the rows that a split sends left first, and returns how many they are. The order of either part stays, so
// that the result depends on the data alone.
func (t *trainer) part(rows []int32, s split) int {
	bins, scratch := t.bins[s.feature], t.scratch[:len(rows)]
	var shift uint8
	if s.missingLeft { // makes the missing values' bin, the last, the first
		shift = -uint8(t.missing(s.feature))
	}
	limit := uint8(s.bin) + shift
	left := 0
	for i, r := range rows { // no branch hangs on the bin: half of those would be foretold wrongly
		rows[left], scratch[i-left] = r, r
		left += one(bins[r]+shift <= limit)
	}
	copy(rows[left:], scratch)
	return left
}

// measure finds the best splits of the two parts of a leaf that was divided, of which the left one has the histogram of
// both.
func (t *trainer) measure(l, other *leaf) {
	small, large := l, other
	if l.to-l.from > other.to-other.from {
		small, large = other, l
	}
	whole := l.hist // the large one's is what the small one's leaves
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
	return math.Inf(1) // all values left, the missing ones right
}
