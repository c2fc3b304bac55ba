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
	for _, f := range t.features {
		bins := t.bins[f]
		cells := (*[perFeature]cell)(l.hist.cells[f*perFeature:])
		if t.weight == nil {
			for i, r := range rows {
				c := &cells[bins[r]]
				c.gradient += gradients[i]
				c.rows++
			}
			for i := range cells {
				cells[i].weight = float32(cells[i].rows)
			}
			continue
		}
		for i, r := range rows {
			c := &cells[bins[r]]
			c.gradient += gradients[i]
			c.weight += float32(t.weight[r])
			c.rows++
		}
	}
}

// subtract takes another histogram out of h.
func (t *trainer) subtract(h, part *histogram) {
	for _, f := range t.features {
		cells, less := (*[perFeature]cell)(h.cells[f*perFeature:]), (*[perFeature]cell)(part.cells[f*perFeature:])
		for i := range cells {
			c, p := &cells[i], &less[i]
			c.gradient -= p.gradient
			c.weight -= p.weight
			c.rows -= p.rows
		}
	}
}

func (c *cell) add(o cell) {
	c.gradient += o.gradient
	c.weight += o.weight
	c.rows += o.rows
}

// score is what a part of the rows brings: the square of its summed gradient over its weight.
func (c *cell) score() float64 {
	if c.weight <= 0 {
		return 0
	}
	return c.gradient * c.gradient / float64(c.weight)
}

// find finds the best split of a leaf. Of equal ones the first counts.
func (t *trainer) find(l *leaf) {
	l.best = split{}
	least := int32(t.params.MinLeaf)
	if l.to-l.from < 2*t.params.MinLeaf {
		return
	}
	for _, f := range t.features {
		cells := l.hist.cells[f*perFeature : (f+1)*perFeature]
		n := len(t.upper[f]) + 1
		var all cell
		for i := range n {
			all.add(cells[i])
		}
		none := cells[missing]
		all.add(none)
		whole := all.score()
		var left cell
		for i := range n {
			left.add(cells[i])
			for _, missingLeft := range [...]bool{true, false} {
				if none.rows == 0 && !missingLeft || i == n-1 && missingLeft {
					continue // the same as the other, or nothing right
				}
				a := left
				if missingLeft {
					a.add(none)
				}
				b := cell{all.gradient - a.gradient, all.weight - a.weight, all.rows - a.rows}
				if a.rows < least || b.rows < least {
					continue
				}
				if gain := a.score() + b.score() - whole; gain > l.best.gain+1e-12 {
					l.best = split{gain: gain, feature: f, bin: i, missingLeft: missingLeft}
				}
			}
		}
	}
}
