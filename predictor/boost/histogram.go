package boost

// cell counts the rows of one bin in its upper half, and in its lower half those whose target is not above the
// prediction. All that is known of a gradient follows from these: it is the level where the target is above, else the
// level less 1. One addition counts a row, and counts are exact in any order.
type cell uint64

// oneRow is a cell with one row, whose target is above the prediction.
const oneRow = 1 << 32

// parts returns the rows of a cell and the sum of their gradients.
func (c cell) parts(level float64) (rows int32, gradient float64) {
	rows = int32(c >> 32)
	return rows, level*float64(rows) - float64(uint32(c))
}

// histogram has the cells of every drawn feature, one after the other, at the places in trainer.cells; those of the
// missing values are a feature's last.
type histogram []cell

// window is the most cells of a feature. Each feature's are looked at through one of this size, which spares the test
// whether a bin lies within; there are so many more cells at the end.
const window = maxBins + 1

// block is how many rows' gradients are gathered before they are summed: they stay in the processor's first cache
// meanwhile.
const block = 1024

// sampledFeature is one of the features that a tree is grown on.
type sampledFeature struct {
	feature int
	at      int // its first cell in a histogram
	bins    int // without that of the missing values
}

// cellsOf returns a feature's cells, those of the missing values last.
func (h histogram) cellsOf(d sampledFeature) []cell { return h[d.at : d.at+d.bins+1] }

// take returns a histogram that is to be filled.
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

// fill counts a leaf's rows.
func (t *trainer) fill(l *leaf) {
	clear(l.hist[:t.cells])
	t.work += 8*t.cells + (l.to-l.from)*len(t.features) // with the search that follows
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

// gather puts what rows add to their cells in order.
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

// addFour adds rows to the cells of four features: one's need not wait for the other's.
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

// subtract takes another histogram out of h.
func (t *trainer) subtract(h, part histogram) {
	h, part = h[:t.cells], part[:t.cells]
	for i := range h {
		h[i] -= part[i]
	}
}

// score is what a part of the rows brings: the square of its summed gradient over their number.
func score(gradient float64, rows int32) float64 {
	if rows <= 0 {
		return 0
	}
	return gradient * gradient / float64(rows)
}

// find finds the best split of a leaf. Of equal ones the first counts.
func (t *trainer) find(l *leaf) {
	l.best = split{}
	if !t.divisible(l) {
		return
	}
	for _, d := range t.features {
		t.findIn(l, d)
	}
}

// divisible reports whether a leaf has rows enough for two.
func (t *trainer) divisible(l *leaf) bool { return l.to-l.from >= 2*t.params.MinLeaf }

// findIn finds a better split by one feature. Much of all training is spent here.
func (t *trainer) findIn(l *leaf, d sampledFeature) {
	least := int32(t.params.MinLeaf)
	all := l.hist.cellsOf(d)
	cells, none := all[:d.bins], all[d.bins]
	whole := none
	for _, c := range cells {
		whole += c
	}
	rows, gradient := whole.parts(t.level)
	had := score(gradient, rows)
	bar := barOf(had, l.best.gain)
	left := cell(0)
	for i, c := range cells {
		if c == 0 && i > 0 {
			continue // the same as before
		}
		left += c
		// to the left of the last bin all would be left, and nothing right
		if n := int32((left + none) >> 32); i < len(cells)-1 && n >= least && rows-n >= least {
			_, a := (left + none).parts(t.level)
			if b, m := gradient-a, rows-n; !under(bar, a, b, n, m) {
				if gain := score(a, n) + score(b, m) - had; gain > l.best.gain+1e-12 {
					l.best = split{gain: gain, feature: d.feature, bin: i, missingLeft: true}
					bar = barOf(had, gain)
				}
			}
		}
		if n := int32(left >> 32); none != 0 && n >= least && rows-n >= least { // else the same as before
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

// barOf returns what two parts' scores must come to together, if they are to be better than the best yet; less by a
// part that is far more than what rounding takes or gives.
func barOf(whole, best float64) float64 { return (whole + best + 1e-12) * (1 - 1e-12) }

// under reports that two parts' scores do not come to the bar, without dividing: most splits need not be looked at any
// closer. False has no meaning.
func under(bar, a, b float64, rowsA, rowsB int32) bool {
	w, v := float64(rowsA), float64(rowsB)
	return w > 0 && v > 0 && a*a*v+b*b*w < bar*w*v
}
