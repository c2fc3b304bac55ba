package hypergamma

import "maps"

// Clone returns a copy that the model's later jobs do not change, for another goroutine to fit.
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
