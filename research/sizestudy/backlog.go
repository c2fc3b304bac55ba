package sizestudy

import "math"

// memory is the time constant of a backlog in seconds: a day.
const memory = 86400

// backlog computes the recent mean number of waiting jobs: an average over time in which the number t seconds ago has
// the weight exp(-t/memory). Weights.Lately is the weight of this mean.
type backlog struct {
	at, sum, weight float64
	waiting         int
	seen            bool
}

// observe records that the given number of jobs wait from an instant on. Instants must not decrease.
func (b *backlog) observe(at float64, waiting int) {
	b.pass(at)
	b.waiting = waiting
}

// mean returns the recent mean at an instant. If no time has passed since the first observation, it is the present
// number.
func (b *backlog) mean(at float64) float64 {
	c := *b
	c.pass(at)
	if c.weight == 0 {
		return float64(c.waiting)
	}
	return c.sum / c.weight
}

// pass updates the sums for the time up to an instant.
func (b *backlog) pass(at float64) {
	if b.seen {
		fresh := -math.Expm1(-max(0, at-b.at) / memory)
		b.sum += fresh * (float64(b.waiting) - b.sum)
		b.weight += fresh * (1 - b.weight)
	}
	b.at, b.seen = at, true
}
