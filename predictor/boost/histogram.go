package boost

// cell sums the rows of one bin.
type cell struct {
	gradient float64
	weight   float32
	rows     int32
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

// fill sums a leaf's rows. The rows of a cell are added in their order, so the sums are the same to the last bit.
func (t *trainer) fill(l *leaf) {
	clear(l.hist[:t.cells])
	t.work += 8*t.cells + (l.to-l.from)*len(t.features) // with the search that follows
	for from := l.from; from < l.to; from += block {
		rows := t.order[from:min(l.to, from+block)]
		t.gather(rows)
		i := 0
		for ; i+3 < len(t.features); i += 4 {
			if four := (*[4]sampledFeature)(t.features[i:]); t.weight == nil {
				t.addFour(l.hist, rows, four)
			} else {
				t.addFourWeighted(l.hist, rows, four)
			}
		}
		for ; i < len(t.features); i++ {
			t.addOne(l.hist, rows, t.features[i])
		}
	}
	if t.weight == nil {
		for i := range l.hist[:t.cells] {
			c := &l.hist[i]
			c.weight = float32(c.rows)
		}
	}
}

// gather puts the gradients and weights of rows in order.
func (t *trainer) gather(rows []int32) {
	gradients := t.gradients[:len(rows)]
	side := [2]float64{t.level, t.level - 1}
	if t.weight == nil {
		for i, r := range rows {
			gradients[i] = side[t.below[r]&1]
		}
		return
	}
	weights := t.weights[:len(rows)]
	for i, r := range rows {
		w := t.weight[r]
		gradients[i], weights[i] = side[t.below[r]&1]*w, float32(w)
	}
}

// addOne adds rows to the cells of one feature.
func (t *trainer) addOne(h histogram, rows []int32, d sampledFeature) {
	bins, cells := t.bins[d.feature], (*[window]cell)(h[d.at:])
	gradients, weights := t.gradients[:len(rows)], t.weights[:len(rows)]
	for i, r := range rows {
		c := &cells[bins[r]]
		c.gradient += gradients[i]
		c.weight += weights[i] // without weights these are 0, and the cells' are set at the end
		c.rows++
	}
}

// addFour adds rows that have no weights to the cells of four features: one's need not wait for the other's.
func (t *trainer) addFour(h histogram, rows []int32, d *[4]sampledFeature) {
	a, b := t.bins[d[0].feature], t.bins[d[1].feature]
	c, e := t.bins[d[2].feature], t.bins[d[3].feature]
	b, c, e = b[:len(a)], c[:len(a)], e[:len(a)]
	inA, inB := (*[window]cell)(h[d[0].at:]), (*[window]cell)(h[d[1].at:])
	inC, inE := (*[window]cell)(h[d[2].at:]), (*[window]cell)(h[d[3].at:])
	gradients := t.gradients[:len(rows)]
	for i, r := range rows {
		g := gradients[i]
		x := &inA[a[r]]
		x.gradient += g
		x.rows++
		x = &inB[b[r]]
		x.gradient += g
		x.rows++
		x = &inC[c[r]]
		x.gradient += g
		x.rows++
		x = &inE[e[r]]
		x.gradient += g
		x.rows++
	}
}

// addFourWeighted is addFour of rows that have weights.
func (t *trainer) addFourWeighted(h histogram, rows []int32, d *[4]sampledFeature) {
	a, b := t.bins[d[0].feature], t.bins[d[1].feature]
	c, e := t.bins[d[2].feature], t.bins[d[3].feature]
	b, c, e = b[:len(a)], c[:len(a)], e[:len(a)]
	inA, inB := (*[window]cell)(h[d[0].at:]), (*[window]cell)(h[d[1].at:])
	inC, inE := (*[window]cell)(h[d[2].at:]), (*[window]cell)(h[d[3].at:])
	gradients, weights := t.gradients[:len(rows)], t.weights[:len(rows)]
	for i, r := range rows {
		g, w := gradients[i], weights[i]
		x := &inA[a[r]]
		x.gradient += g
		x.weight += w
		x.rows++
		x = &inB[b[r]]
		x.gradient += g
		x.weight += w
		x.rows++
		x = &inC[c[r]]
		x.gradient += g
		x.weight += w
		x.rows++
		x = &inE[e[r]]
		x.gradient += g
		x.weight += w
		x.rows++
	}
}

// subtract takes another histogram out of h.
func (t *trainer) subtract(h, part histogram) {
	h, part = h[:t.cells], part[:t.cells]
	for i := range h {
		c, o := &h[i], &part[i]
		c.gradient -= o.gradient
		c.weight -= o.weight
		c.rows -= o.rows
	}
}

// score is what a part of the rows brings: the square of its summed gradient over its weight.
func score(gradient float64, weight float32) float64 {
	if weight <= 0 {
		return 0
	}
	return gradient * gradient / float64(weight)
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

// findIn finds a better split by one feature. The sums are local variables of their own, not cells: much of all
// training is spent here.
func (t *trainer) findIn(l *leaf, d sampledFeature) {
	least := int32(t.params.MinLeaf)
	all := l.hist.cellsOf(d)
	cells, none := all[:d.bins], all[d.bins]
	var sum, left float64 // gradients
	var weight, leftWeight float32
	var rows, leftRows int32
	for i := range cells {
		sum += cells[i].gradient
		weight += cells[i].weight
		rows += cells[i].rows
	}
	sum, weight, rows = sum+none.gradient, weight+none.weight, rows+none.rows
	whole := score(sum, weight)
	bar := barOf(whole, l.best.gain)
	for i := range cells {
		c := &cells[i]
		left += c.gradient
		leftWeight += c.weight
		leftRows += c.rows
		if n := leftRows + none.rows; i < len(cells)-1 && n >= least && rows-n >= least { // else nothing would be right
			a, w := left+none.gradient, leftWeight+none.weight
			if b, v := sum-a, weight-w; !under(bar, a, b, w, v) {
				if gain := score(a, w) + score(b, v) - whole; gain > l.best.gain+1e-12 {
					l.best = split{gain: gain, feature: d.feature, bin: i, missingLeft: true}
					bar = barOf(whole, gain)
				}
			}
		}
		if none.rows != 0 && leftRows >= least && rows-leftRows >= least { // else the same as before
			if b, v := sum-left, weight-leftWeight; !under(bar, left, b, leftWeight, v) {
				if gain := score(left, leftWeight) + score(b, v) - whole; gain > l.best.gain+1e-12 {
					l.best = split{gain: gain, feature: d.feature, bin: i, missingLeft: false}
					bar = barOf(whole, gain)
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
func under(bar, a, b float64, weightA, weightB float32) bool {
	w, v := float64(weightA), float64(weightB)
	return w > 0 && v > 0 && a*a*v+b*b*w < bar*w*v
}
