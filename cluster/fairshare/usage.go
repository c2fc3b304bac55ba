package fairshare

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
)

// Usage holds the usage of the associations of a tree, in processor-seconds. Older usage has less weight: half after
// PriorityDecayHalfLife.
type Usage struct {
	tree *Tree
	// values are by node, in units of scale. A decay makes scale smaller, so that not every value must change.
	values []float64
	scale  float64
	keep   float64 // factor of decay per second
	period float64 // seconds between two computations
}

// defaultPeriod is Slurm's default time between two computations (PriorityCalcPeriod), in seconds.
const defaultPeriod = 300

// least is the value of scale below which all values are rescaled. It is far above the underflow to 0.
const least = 1e-100

// NewUsage returns the usage that the scheduler reported.
func NewUsage(t *Tree) *Usage {
	w := t.facts.Weights
	u := &Usage{tree: t, values: make([]float64, len(t.nodes)), scale: 1, keep: 1, period: w.Period.Seconds()}
	if !(u.period > 0) {
		u.period = defaultPeriod
	}
	if half := w.HalfLife.Seconds(); half > 0 {
		u.keep = math.Max(0, 1-math.Ln2/half) // Slurm uses the first terms of the series of 2^(-1/half)
	}
	for i := range t.nodes {
		u.values[i] = t.nodes[i].reported
	}
	return u
}

// Tree returns the associations.
func (u *Usage) Tree() *Tree { return u.tree }

// Period returns the seconds between two computations of the scheduler.
func (u *Usage) Period() float64 { return u.period }

// CopyFrom copies other into u. It reuses u's memory.
func (u *Usage) CopyFrom(other *Usage) {
	values := append(u.values[:0], other.values...)
	*u = *other
	u.values = values
}

// Of returns the usage of an owner.
func (u *Usage) Of(owner int32) float64 { return u.values[u.tree.users[owner-1]] * u.scale }

// Decay reduces all usage by the decay of the given number of seconds.
func (u *Usage) Decay(seconds float64) {
	u.scale *= math.Pow(u.keep, seconds)
	if u.scale >= least {
		return
	}
	for i := range u.values {
		u.values[i] *= u.scale
	}
	u.scale = 1
}

// Grow adds the usage of an owner's job that has run until now for the given number of seconds at a rate (Tree.Rate).
// Slurm adds the usage of a period at the end of the period, as if all of it was from the beginning. A time longer
// than one period is split into periods.
func (u *Usage) Grow(owner int32, rate, seconds float64) { u.add(owner, rate*u.counted(seconds)) }

// GrowAt adds the usage of a job that ran for the given number of seconds. `after` is the time in seconds from the last
// computation to the end of the job. A Decay over the whole time from the last to the next computation must follow the
// call. GrowAt reverts the part of that decay that belongs to the periods before the job's end. Slurm counts the usage
// between its last computation and the job's end only if it enforces limits (only then does acct_policy.c call the
// priority plugin).
func (u *Usage) GrowAt(owner int32, rate, seconds, after float64) {
	whole := math.Floor(after/u.period) * u.period
	rest := math.Min(seconds, after-whole)
	used := u.counted(seconds - rest)
	if u.tree.countsEnds {
		used += u.counted(rest)
	}
	u.add(owner, rate*used/math.Max(math.Pow(u.keep, whole), least))
}

func (u *Usage) add(owner int32, used float64) {
	if owner == None || !(used > 0) {
		return
	}
	for n := u.tree.users[owner-1]; n != none; n = u.tree.nodes[n].parent {
		u.values[n] += used / u.scale
	}
}

// counted returns the number of seconds that count after decay, if a job ran for the given number of seconds. The
// seconds of a period count as in Grow.
func (u *Usage) counted(seconds float64) float64 {
	if u.keep == 1 || seconds <= u.period {
		return seconds * math.Pow(u.keep, seconds)
	}
	kept := math.Pow(u.keep, u.period)
	return u.period * kept * (1 - math.Pow(kept, seconds/u.period)) / (1 - kept)
}

// Code encodes or decodes the usage of a known tree.
func (u *Usage) Code(s *codec.Codec) {
	s.Reals(&u.values)
	s.Finite(&u.scale)
	s.Check(!s.Reading || u.scale > 0, "usage in units of %v", u.scale)
}

// Attach sets the tree of usage that was just decoded. It returns false if the usage does not fit the tree.
func (u *Usage) Attach(t *Tree) bool {
	if len(u.values) != len(t.nodes) {
		return false
	}
	fresh := NewUsage(t)
	u.tree, u.keep, u.period = t, fresh.keep, fresh.period
	return true
}
