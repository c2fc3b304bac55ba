package track

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
)

// useHistory estimates the number of processors of a machine from how many were in use for how long. The highest use so
// far is no estimate. In most recorded logs some jobs overlap, because ends and starts are rounded or wrong, and the
// highest use is up to twice the size of the machine. So rare use does not count, and older use counts less and less.
// The growth of a machine is noticed after a day of use, and its shrinking after some months.
type useHistory struct {
	levels   []useLevel // in rising order
	widest   int        // size of the largest job that ran: the machine has at least this number of processors
	total    float64    // sum of the seconds of all levels
	now      float64    // the instant up to which use was added
	estimate int        // the present estimate, which changes at most once an hour after the first day
}

// useLevel has the time for which nearly equal numbers of processors were in use.
type useLevel struct {
	lowest  int     // the lowest possible use of the level
	highest int     // the highest observed use of the level
	seconds float64 // time at this level, in seconds; older time counts less
}

const (
	// rareUse is the part of the time in which more processors may be in use than the machine has. On the first half
	// of SDSC-SP2 the loss of the simulation's median was 0.703 with the highest use as the estimate. It was 0.691
	// with a rareUse of 0.001, and 0.671 with 0.01.
	rareUse = .01
	// useHalfLife is the half-life of the weight of use, in days.
	useHalfLife = 30
	// firstUse is the time in seconds in which the highest use is the estimate, because the observations are too few to
	// call any use rare.
	firstUse = secondsPerDay
	// Each use below exactUse is a level of its own. From exactUse on, values with equal first nine bits form a level.
	// So there are few levels, and the values of one level differ by at most 1/256.
	exactUse = 512

	secondsPerHour = 3600
	secondsPerDay  = 24 * secondsPerHour
)

// lowestOf returns the lowest use of the level to which a use belongs.
func lowestOf(use int) int {
	drop := max(0, bits.Len(uint(use))-bits.Len(uint(exactUse-1)))
	return use >> drop << drop
}

// add records that the given number of processors was in use from the last call until now. Time in which nothing runs
// does not count.
func (h *useHistory) add(use int, now float64) {
	lasted := now - h.now
	switch {
	case !(lasted > 0) && len(h.levels) > 0:
		return
	case use == 0 || len(h.levels) == 0:
		lasted = 0
	}
	days := math.Floor(now/secondsPerDay) - math.Floor(h.now/secondsPerDay)
	newHour := math.Floor(now/secondsPerHour) > math.Floor(h.now/secondsPerHour)
	h.now = now
	lowest := lowestOf(use)
	i, found := slices.BinarySearchFunc(h.levels, lowest,
		func(l useLevel, at int) int { return cmp.Compare(l.lowest, at) })
	if !found {
		h.levels = slices.Insert(h.levels, i, useLevel{lowest: lowest})
	}
	l := &h.levels[i]
	l.highest, l.seconds, h.total = max(l.highest, use), l.seconds+lasted, h.total+lasted
	if days > 0 && h.total > firstUse {
		h.decay(days)
	}
	switch {
	case h.total <= firstUse:
		h.estimate = max(h.estimate, use)
	case newHour:
		h.estimate = h.usual()
	}
}

// decay reduces the weight of use after some days. It forgets levels with less than a second.
func (h *useHistory) decay(days float64) {
	factor := math.Exp2(-days / useHalfLife)
	h.total = 0
	for i := range h.levels {
		h.levels[i].seconds *= factor
	}
	h.levels = slices.DeleteFunc(h.levels, func(l useLevel) bool { return l.seconds < 1 })
	for i := range h.levels {
		h.total += h.levels[i].seconds
	}
}

// usual returns the lowest use that was exceeded for at most rareUse of the time.
func (h *useHistory) usual() int {
	above := 0.0
	for _, l := range slices.Backward(h.levels) {
		if above += l.seconds; above > rareUse*h.total {
			return l.highest
		}
	}
	return 0
}

// code reads or writes the history.
func (h *useHistory) code(s *codec.Codec) {
	codec.List(s, &h.levels, func(l *useLevel) {
		s.Int(&l.lowest, &l.highest)
		s.Finite(&l.seconds)
	})
	s.Int(&h.widest, &h.estimate)
	s.Finite(&h.total, &h.now)
	rising := slices.IsSortedFunc(h.levels, func(a, b useLevel) int { return cmp.Compare(a.lowest, b.lowest) })
	s.Check(rising, "levels of use in the order %v", h.levels)
}

// procs returns the estimate, given the number of processors in use now.
func (h *useHistory) procs(use int) int { return max(h.estimate, h.widest, use) }
