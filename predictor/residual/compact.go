package residual

import "math"

// CompactLaw is a Law in less memory, for callers that keep many. Its probabilities have the 24 bits of a float32, it
// lacks Runs, and it has no table beyond the limit, which no result depends on. It is immutable and safe for concurrent
// use.
type CompactLaw struct {
	tail        []float32
	limit, over float64
}

// Compact returns the compact form of the law.
func (l *Law) Compact() *CompactLaw {
	c := &CompactLaw{limit: l.limit, over: l.over, tail: make([]float32, l.used())}
	for i := range c.tail {
		c.tail[i] = float32(l.tail[i])
	}
	return c
}

// used returns the number of leading entries of the table on which results depend: those up to the end of the cell
// after that of the limit.
func (l *Law) used() int {
	if math.IsInf(l.limit, 1) {
		return Bins + 1
	}
	return min(Bins, int(math.Ceil(math.Log(max(1, l.limit))*perUnit))+2) + 1
}

// Into sets a law to the compact one. Runs becomes 0, and so does the table beyond the limit.
func (c *CompactLaw) Into(l *Law) {
	l.limit, l.over, l.Runs = c.limit, c.over, 0
	for i, p := range c.tail {
		l.tail[i] = float64(p)
	}
	clear(l.tail[len(c.tail):])
}
