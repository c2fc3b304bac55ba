package residual

// CompactLaw is a Law in half of its memory, for callers that keep many. Its probabilities have the 24 bits of a
// float32, and it lacks Runs. It is immutable and safe for concurrent use.
type CompactLaw struct {
	tail        [Bins + 1]float32
	limit, over float64
}

// Compact returns the compact form of the law.
func (l *Law) Compact() *CompactLaw {
	c := &CompactLaw{limit: l.limit, over: l.over}
	for i, p := range l.tail {
		c.tail[i] = float32(p)
	}
	return c
}

// Into sets a law to the compact one. Runs becomes 0.
func (c *CompactLaw) Into(l *Law) {
	l.limit, l.over, l.Runs = c.limit, c.over, 0
	for i, p := range c.tail {
		l.tail[i] = float64(p)
	}
}
