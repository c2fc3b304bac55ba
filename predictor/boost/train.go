package boost

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
)

// Train trains a model of the quantile at a level in (0, 1).
func Train(d *Data, level float64, p Params) (*Model, error) {
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
	t := newTrainer(d, level, p)
	m := &Model{Level: level, Features: len(d.bins), Base: t.base(), gain: make([]float64, len(d.bins))}
	for i := range t.prediction {
		t.prediction[i] = m.Base
	}
	for range p.Trees {
		grown, ok := t.grow(m.gain)
		if !ok {
			break // no split is left that gains anything
		}
		m.trees = append(m.trees, grown)
	}
	return m, nil
}

// trainer is what one training needs besides the data.
type trainer struct {
	*Data
	level      float64
	params     Params
	prediction []float64
	gradient   []float64
	order      []int32 // the rows that the tree is grown on, those of one leaf together
	rest       []int32 // the other rows
	features   []int   // those that the tree is grown on
	scratch    []int32
	sorted     []float64 // the gradients of one leaf's rows
	weights    []float32 // and their weights
	rng        *rand.Rand
	residuals  []pair
	spare      []*histogram
}

// pair is a residual with its row's weight.
type pair struct{ value, weight float64 }

func newTrainer(d *Data, level float64, p Params) *trainer {
	t := &trainer{
		Data: d, level: level, params: p, prediction: make([]float64, d.rows), gradient: make([]float64, d.rows),
		order: make([]int32, d.rows), scratch: make([]int32, d.rows), residuals: make([]pair, 0, d.rows),
		sorted: make([]float64, d.rows), rng: rand.New(rand.NewPCG(p.Seed, math.Float64bits(level))),
	}
	if t.weight != nil {
		t.weights = make([]float32, d.rows)
	}
	return t
}

// base returns the quantile of all targets.
func (t *trainer) base() float64 {
	for i := range t.order {
		t.order[i] = int32(i)
	}
	return t.quantile(t.order)
}

// quantile returns the weighted quantile of what is left to explain in some rows: the least value at which the rows up to it weigh at least the level's part. It
// halves the rows that can be it (quickselect), which is what makes it cheap.
func (t *trainer) quantile(rows []int32) float64 {
	rest := t.residuals[:0]
	total := 0.0
	for _, r := range rows {
		w := t.weightOf(r)
		total += w
		rest = append(rest, pair{t.target[r] - t.prediction[r], w})
	}
	want := t.level * total
	for len(rest) > 12 {
		pivot := medianOfThree(rest[0].value, rest[len(rest)/2].value, rest[len(rest)-1].value)
		less, equal, below, same := partition(rest, pivot)
		switch {
		case below >= want:
			rest = rest[:less]
		case below+same >= want:
			return pivot
		case less+equal == len(rest):
			return pivot // only rounding keeps it from being reached
		default:
			rest, want = rest[less+equal:], want-below-same
		}
	}
	slices.SortFunc(rest, func(a, b pair) int { return cmp.Compare(a.value, b.value) })
	sum := 0.0
	for _, p := range rest {
		if sum += p.weight; sum >= want {
			return p.value
		}
	}
	return rest[len(rest)-1].value
}

// partition puts the values below the pivot first, then those equal to it, and returns how many they are and what they weigh.
func partition(all []pair, pivot float64) (less, equal int, below, same float64) {
	high := len(all)
	for i := 0; i < high; {
		switch v := all[i].value; {
		case v < pivot:
			below += all[i].weight
			all[i], all[less] = all[less], all[i]
			less++
			i++
		case v > pivot:
			high--
			all[i], all[high] = all[high], all[i]
		default:
			same += all[i].weight
			i++
		}
	}
	return less, high - less, below, same
}

func medianOfThree(a, b, c float64) float64 {
	return max(min(a, b), min(max(a, b), c))
}

// leaf is a leaf of the tree that grows: a range of t.order.
type leaf struct {
	from, to int
	node     int32
	hist     *histogram
	best     split
}

// split is the best way to cut a leaf in two.
type split struct {
	gain        float64
	feature     int
	bin         int // values up to this bin go left
	missingLeft bool
}

// grow grows one tree and adds it to the predictions; false if not even the root can be split.
func (t *trainer) grow(gain []float64) (tree, bool) {
	t.gradients()
	t.draw()
	root := &leaf{to: len(t.order), hist: t.take()}
	t.fill(root)
	t.find(root)
	leaves := []*leaf{root}
	grown := tree{nodes: []node{{feature: -1}}}
	for len(leaves) < t.params.Leaves {
		best := 0
		for i, l := range leaves {
			if l.best.gain > leaves[best].best.gain {
				best = i
			}
		}
		l := leaves[best]
		if !(l.best.gain > 0) {
			break
		}
		gain[l.best.feature] += l.best.gain
		right := t.divide(l, &grown)
		if leaves = append(leaves, right); len(leaves) < t.params.Leaves { // the last ones are not divided any more
			t.measure(l, right)
		}
		runtime.Gosched() // who answers requests must not wait for the scheduler's 10 ms slice to be over
	}
	for _, l := range leaves {
		t.put(l.hist)
		rows := t.order[l.from:l.to]
		value := t.params.Rate * t.quantile(rows)
		grown.nodes[l.node].value = value
		for _, r := range rows {
			t.prediction[r] += value
		}
	}
	for _, r := range t.rest {
		t.prediction[r] += t.value(&grown, r)
	}
	for i := range grown.nodes {
		grown.nodes[i].bin = 0
	}
	return grown, len(leaves) > 1
}

// draw draws the rows and features of the next tree.
func (t *trainer) draw() {
	t.order, t.rest = t.order[:0], t.rest[:0]
	for i := range t.rows {
		if t.params.RowShare == 1 || t.rng.Float64() < t.params.RowShare {
			t.order = append(t.order, int32(i))
		} else {
			t.rest = append(t.rest, int32(i))
		}
	}
	t.features = t.features[:0]
	for f := range t.bins {
		if t.params.FeatureShare == 1 || t.rng.Float64() < t.params.FeatureShare {
			t.features = append(t.features, f)
		}
	}
	if len(t.features) == 0 && len(t.bins) > 0 {
		t.features = append(t.features, t.rng.IntN(len(t.bins)))
	}
}

// value returns what a tree says of one of the rows.
func (t *trainer) value(grown *tree, r int32) float64 {
	for i := int32(0); ; {
		n := &grown.nodes[i]
		if n.feature < 0 {
			return n.value
		}
		b := t.bins[n.feature][r]
		left := b <= n.bin
		if b == missing {
			left = n.missingLeft
		}
		if i = n.right; left {
			i = n.left
		}
	}
}

// gradients computes the negative gradient of the pinball loss: the level where the target is above the prediction, else the level less 1.
func (t *trainer) gradients() {
	for i, y := range t.target {
		g := t.level
		if y <= t.prediction[i] {
			g--
		}
		t.gradient[i] = g * t.weightOf(int32(i))
	}
}

// divide cuts a leaf by its best split; the leaf becomes the left part, the right part is returned.
func (t *trainer) divide(l *leaf, grown *tree) *leaf {
	s := l.best
	bins := t.bins[s.feature]
	rows := t.order[l.from:l.to]
	left, right := 0, 0
	for _, r := range rows { // stable, so that the result depends on the data alone
		b := bins[r]
		if int(b) <= s.bin && b != missing || b == missing && s.missingLeft {
			rows[left] = r
			left++
		} else {
			t.scratch[right] = r
			right++
		}
	}
	copy(rows[left:], t.scratch[:right])
	at := int32(len(grown.nodes))
	n := &grown.nodes[l.node]
	n.feature, n.missingLeft, n.threshold, n.bin = int32(s.feature), s.missingLeft, t.threshold(s.feature, s.bin), uint8(s.bin)
	n.left, n.right = at, at+1
	grown.nodes = append(grown.nodes, node{feature: -1}, node{feature: -1})
	other := &leaf{from: l.from + left, to: l.to, node: at + 1, hist: t.take()}
	l.to, l.node = l.from+left, at
	return other
}

// measure finds the best splits of the two parts of a leaf that was divided, of which the left one has the histogram of both.
func (t *trainer) measure(l, other *leaf) {
	small, large := l, other
	if l.to-l.from > other.to-other.from {
		small, large = other, l
	}
	whole := l.hist // the large one's is what the small one's leaves
	small.hist, large.hist = other.hist, whole
	t.fill(small)
	t.subtract(large.hist, small.hist)
	t.find(l)
	t.find(other)
}

// threshold returns the largest value of a bin.
func (t *trainer) threshold(feature, bin int) float64 {
	if upper := t.upper[feature]; bin < len(upper) {
		return upper[bin]
	}
	return math.Inf(1) // all values left, the missing ones right
}
