package boost

// cell sums the rows of one bin.
type cell struct {
	gradient float64
	weight   float32
	rows     int32
}

// histogram has the cells of every feature in a row, 256 of each.
type histogram struct{ cells []cell }

const perFeature = missing + 1

// take returns an empty histogram.
func (t *trainer) take() *histogram {
	if n := len(t.spare); n > 0 {
		h := t.spare[n-1]
		t.spare = t.spare[:n-1]
		clear(h.cells)
		return h
	}
	return &histogram{cells: make([]cell, perFeature*len(t.bins))}
}

func (t *trainer) put(h *histogram) { t.spare = append(t.spare, h) }

// fill sums a leaf's rows.
func (t *trainer) fill(l *leaf) {
	rows := t.order[l.from:l.to]
	gradients := t.sorted[:len(rows)]
	for i, r := range rows {
		gradients[i] = t.gradient[r]
	}
	var weights []float32
	if t.weight != nil {
		weights = t.weights[:len(rows)]
		for i, r := range rows {
			weights[i] = float32(t.weight[r])
		}
	}
	for _, f := range t.features {
		bins := t.bins[f]
		cells := (*[perFeature]cell)(l.hist.cells[f*perFeature:])
		if weights == nil {
			for i, r := range rows {
				c := &cells[bins[r]]
				c.gradient += gradients[i]
				c.rows++
			}
			for i := range len(t.upper[f]) + 1 { // the others are empty
				cells[i].weight = float32(cells[i].rows)
			}
			cells[missing].weight = float32(cells[missing].rows)
			continue
		}
		for i, r := range rows {
			c := &cells[bins[r]]
			c.gradient += gradients[i]
			c.weight += weights[i]
			c.rows++
		}
	}
}

// subtract takes another histogram out of h.
func (t *trainer) subtract(h, part *histogram) {
	for _, f := range t.features {
		cells, less := (*[perFeature]cell)(h.cells[f*perFeature:]), (*[perFeature]cell)(part.cells[f*perFeature:])
		for i := range len(t.upper[f]) + 1 { // the others are empty in both
			cells[i].take(&less[i])
		}
		cells[missing].take(&less[missing])
	}
}

func (c *cell) take(o *cell) {
	c.gradient -= o.gradient
	c.weight -= o.weight
	c.rows -= o.rows
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
	if l.to-l.from < 2*t.params.MinLeaf {
		return
	}
	for _, f := range t.features {
		t.findIn(l, f)
	}
}

// findIn finds a better split by one feature. The sums are local variables of their own, not cells: nearly half of all training is spent here.
func (t *trainer) findIn(l *leaf, f int) {
	least := int32(t.params.MinLeaf)
	all := (*[perFeature]cell)(l.hist.cells[f*perFeature:])
	cells, none := all[:len(t.upper[f])+1], all[missing]
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
	for i := range cells {
		left += cells[i].gradient
		leftWeight += cells[i].weight
		leftRows += cells[i].rows
		if n := leftRows + none.rows; i < len(cells)-1 && n >= least && rows-n >= least { // else nothing would be right
			a, w := left+none.gradient, leftWeight+none.weight
			if gain := score(a, w) + score(sum-a, weight-w) - whole; gain > l.best.gain+1e-12 {
				l.best = split{gain: gain, feature: f, bin: i, missingLeft: true}
			}
		}
		if none.rows != 0 && leftRows >= least && rows-leftRows >= least { // else the same as before
			if gain := score(left, leftWeight) + score(sum-left, weight-leftWeight) - whole; gain > l.best.gain+1e-12 {
				l.best = split{gain: gain, feature: f, bin: i, missingLeft: false}
			}
		}
	}
}
