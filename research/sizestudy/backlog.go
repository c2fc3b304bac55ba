package sizestudy

import "math"

// memory is over how many seconds a backlog looks back: a day.
const memory = 86400

// backlog is the mean number of jobs that waited lately: an average over time in which what was t seconds ago weighs
// exp(-t/memory). Weights.Lately tries it.
type backlog struct {
	at, sum, weight float64
	waiting         int
	seen            bool
}

// observe records that so many jobs wait from an instant on, not before the last one.
func (b *backlog) observe(at float64, waiting int) {
	b.pass(at)
	b.waiting = waiting
}

// mean returns the mean as of an instant; where no time has passed it is the number that waits.
func (b *backlog) mean(at float64) float64 {
	c := *b
	c.pass(at)
	if c.weight == 0 {
		return float64(c.waiting)
	}
	return c.sum / c.weight
}

// pass lets the time go on to an instant.
func (b *backlog) pass(at float64) {
	if b.seen {
		fresh := -math.Expm1(-max(0, at-b.at) / memory)
		b.sum += fresh * (float64(b.waiting) - b.sum)
		b.weight += fresh * (1 - b.weight)
	}
	b.at, b.seen = at, true
}
