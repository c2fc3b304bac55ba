package hypergamma

import "maps"

// Clone returns a copy, which another goroutine can fit. Later jobs of the model do not change the copy.
func (l *Live) Clone() *Live {
	c := *l
	c.sizes = maps.Clone(l.sizes)
	for class, b := range l.bins {
		if b != nil {
			own := *b
			c.bins[class] = &own
		}
	}
	return &c
}
