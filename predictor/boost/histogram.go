package boost

// cell counts the rows of one bin. Its upper half has the number of all rows. Its lower half has the number of rows
// whose target is not above the prediction. The sum of gradients follows from both counts: the gradient is the level
// if the target is above, otherwise the level minus 1. One addition counts a row, and the counts are exact in any
// order.
type cell uint64

// oneRow is a cell with one row, whose target is above the prediction.
const oneRow = 1 << 32

// parts returns the rows of a cell and the sum of their gradients.
func (c cell) parts(level float64) (rows int32, gradient float64) {
	rows = int32(c >> 32)
	return rows, level*float64(rows) - float64(uint32(c))
}

// histogram has the cells of every drawn feature, one after the other, in the order of trainer.features. A feature's
// last cell is that of the missing values.
type histogram []cell

// window is the maximum number of cells of a feature. Access goes through an array of this size, which avoids bounds
// checks. So a histogram has this many extra cells at the end.
const window = maxBins + 1

// block is the number of rows whose gradients are gathered before they are summed, so that they stay in the processor's
// first-level cache.
const block = 1024

// sampledFeature is one of the features on which a tree is grown.
type sampledFeature struct {
	feature int
	at      int // index of its first cell in a histogram
	bins    int // number of bins, without that of missing values
}

// cellsOf returns a feature's cells. The cell of the missing values is the last.
func (h histogram) cellsOf(d sampledFeature) []cell { return h[d.at : d.at+d.bins+1] }

// take returns a histogram with any contents, from the spare ones if possible.
func (t *trainer) take() histogram {
	need := t.cells + window
	if n := len(t.spare); n > 0 {
		h := t.spare[n-1]
		t.spare = t.spare[:n-1]
		if cap(h) >= need {
			return h[:need]
		}
	}
	return make(histogram, need, max(need, t.room+window))
}

func (t *trainer) put(h histogram) {
	if h != nil {
		t.spare = append(t.spare, h)
	}
}

// fill counts the rows of a leaf in the leaf's histogram.
func (t *trainer) fill(l *leaf) {
	clear(l.hist[:t.cells])
	t.work += 8*t.cells + (l.to-l.from)*len(t.features) // includes the cost of the search that follows
	for from := l.from; from < l.to; from += block {
		rows := t.order[from:min(l.to, from+block)]
		t.gather(rows)
		i := 0
		for ; i+3 < len(t.features); i += 4 {
			t.addFour(l.hist, rows, (*[4]sampledFeature)(t.features[i:]))
		}
		for ; i < len(t.features); i++ {
			t.addOne(l.hist, rows, t.features[i])
		}
	}
}

// gather collects the contributions of rows to their cells, in order.
func (t *trainer) gather(rows []int32) {
	counts := t.counts[:len(rows)]
	for i, r := range rows {
		counts[i] = oneRow + cell(t.below[r])
	}
}

// addOne adds rows to the cells of one feature.
func (t *trainer) addOne(h histogram, rows []int32, d sampledFeature) {
	bins, cells := t.bins[d.feature], (*[window]cell)(h[d.at:])
	counts := t.counts[:len(rows)]
	for i, r := range rows {
		cells[bins[r]] += counts[i]
	}
}

// addFour adds rows to the cells of four features, whose additions are independent.
func (t *trainer) addFour(h histogram, rows []int32, d *[4]sampledFeature) {
	a, b := t.bins[d[0].feature], t.bins[d[1].feature]
	c, e := t.bins[d[2].feature], t.bins[d[3].feature]
	b, c, e = b[:len(a)], c[:len(a)], e[:len(a)]
	inA, inB := (*[window]cell)(h[d[0].at:]), (*[window]cell)(h[d[1].at:])
	inC, inE := (*[window]cell)(h[d[2].at:]), (*[window]cell)(h[d[3].at:])
	counts := t.counts[:len(rows)]
	for i, r := range rows {
		n := counts[i]
		inA[a[r]] += n
		inB[b[r]] += n
		inC[c[r]] += n
		inE[e[r]] += n
	}
}

// subtract subtracts the histogram part from h.
func (t *trainer) subtract(h, part histogram) {
	h, part = h[:t.cells], part[:t.cells]
	for i := range h {
		h[i] -= part[i]
	}
}

// score returns the score of a part of the rows: the square of the sum of their gradients, divided by their number.
func score(gradient float64, rows int32) float64 {
	if rows <= 0 {
		return 0
	}
	return gradient * gradient / float64(rows)
}

// find finds the best split of a leaf. Of equal splits it takes the first.
func (t *trainer) find(l *leaf) {
	l.best = split{}
	if !t.divisible(l) {
		return
	}
	whole := cell(0)
	for _, c := range l.hist.cellsOf(t.features[0]) { // the sum over the cells of each other feature is the same
		whole += c
	}
	for _, d := range t.features {
		t.findIn(l, d, whole)
	}
}

// divisible reports whether a leaf has enough rows for two leaves.
func (t *trainer) divisible(l *leaf) bool { return l.to-l.from >= 2*t.params.MinLeaf }

// findIn finds a better split by one feature. Much of the training time is spent here.
func (t *trainer) findIn(l *leaf, d sampledFeature, whole cell) {
	least := int32(t.params.MinLeaf)
	all := l.hist.cellsOf(d)
	cells, none := all[:d.bins], all[d.bins]
	rows, gradient := whole.parts(t.level)
	had := score(gradient, rows)
	bar := barOf(had, l.best.gain)
	left := cell(0)
	for i, c := range cells {
		if c == 0 && i > 0 {
			continue // an empty bin gives the same split as before
		}
		left += c
		// At the last bin all rows would be on the left.
		if n := int32((left + none) >> 32); i < len(cells)-1 && n >= least && rows-n >= least {
			_, a := (left + none).parts(t.level)
			if b, m := gradient-a, rows-n; !under(bar, a, b, n, m) {
				if gain := score(a, n) + score(b, m) - had; gain > l.best.gain+1e-12 {
					l.best = split{gain: gain, feature: d.feature, bin: i, missingLeft: true}
					bar = barOf(had, gain)
				}
			}
		}
		// Without missing values, the split is the same as before.
		if n := int32(left >> 32); none != 0 && n >= least && rows-n >= least {
			_, a := left.parts(t.level)
			if b, m := gradient-a, rows-n; !under(bar, a, b, n, m) {
				if gain := score(a, n) + score(b, m) - had; gain > l.best.gain+1e-12 {
					l.best = split{gain: gain, feature: d.feature, bin: i, missingLeft: false}
					bar = barOf(had, gain)
				}
			}
		}
	}
}

// barOf returns the bar of a split: a split is better than the best one so far only if the scores of its two parts sum
// to at least the bar. The bar is reduced by a margin far above rounding errors.
func barOf(whole, best float64) float64 { return (whole + best + 1e-12) * (1 - 1e-12) }

// under reports, without a division, that the scores of two parts do not sum to the bar. Most splits need no closer
// check. If it returns false, the sum may still be below the bar.
func under(bar, a, b float64, rowsA, rowsB int32) bool {
	w, v := float64(rowsA), float64(rowsB)
	return w > 0 && v > 0 && a*a*v+b*b*w < bar*w*v
}
