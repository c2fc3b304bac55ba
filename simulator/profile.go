package simulator

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/byend"
)

// Profile is the number of free processors as a step function of time, from a first instant on. The zero value has no
// free processors; see Reset. An insertion moves the later steps. Every other operation visits only the steps in its
// range.
type Profile struct {
	steps []Step
}

// Step is the number of free processors from an instant on, until the next step.
type Step struct {
	At   float64 // seconds
	Free int     // negative if more processors were taken than are available
}

// Reset makes the profile constant from an instant on.
func (f *Profile) Reset(now float64, free int) {
	f.steps = append(f.steps[:0], Step{now, free})
}

// Steps returns the steps, in order of time; they belong to the profile.
func (f *Profile) Steps() []Step { return f.steps }

// CopyFrom makes the profile a copy.
func (f *Profile) CopyFrom(src *Profile) { f.steps = append(f.steps[:0], src.steps...) }

// at returns the index of the step at t. It returns 0 for a time before the first step.
func (f *Profile) at(t float64) int {
	lo, hi := 0, len(f.steps)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if f.steps[mid].At <= t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return max(0, lo-1)
}

// Forget drops the steps that end at now or before.
func (f *Profile) Forget(now float64) {
	if i := f.at(now); i > 0 {
		f.steps = append(f.steps[:0], f.steps[i:]...)
	}
}

// Take takes processors from an instant on for some seconds, which may be +Inf. A negative number of processors gives
// them back. If the range begins before the profile, it is cut at the profile's beginning. An empty range, or one
// that begins at +Inf, changes nothing.
func (f *Profile) Take(from, seconds float64, procs int) {
	f.Change(from, from+seconds, -procs)
}

// Change adds processors between two instants.
func (f *Profile) Change(from, until float64, procs int) {
	if len(f.steps) == 0 || !(from < until) || procs == 0 || until <= f.steps[0].At {
		return
	}
	first := f.cut(max(from, f.steps[0].At))
	last := len(f.steps)
	if !math.IsInf(until, 1) {
		last = f.cut(until)
	}
	for i := first; i < last; i++ {
		f.steps[i].Free += procs
	}
	if last < len(f.steps) && f.steps[last].Free == f.steps[last-1].Free {
		f.steps = slices.Delete(f.steps, last, last+1)
	}
	if first > 0 && f.steps[first].Free == f.steps[first-1].Free {
		f.steps = slices.Delete(f.steps, first, first+1)
	}
}

// cut makes sure that a step begins at t, and returns the step's index. t must not be before the first step.
func (f *Profile) cut(t float64) int {
	i := f.at(t)
	if f.steps[i].At == t {
		return i
	}
	f.steps = slices.Insert(f.steps, i+1, Step{t, f.steps[i].Free})
	return i + 1
}

// Earliest returns the first instant, not before now, from which procs processors are free for the given seconds
// without interruption. It returns +Inf if there is none.
func (f *Profile) Earliest(now float64, procs int, seconds float64) float64 {
	return f.earlier(now, math.Inf(1), procs, seconds)
}

// earlier is Earliest with an upper bound: the caller knows that the processors are free for these seconds from the
// instant until on.
func (f *Profile) earlier(now, until float64, procs int, seconds float64) float64 {
	start := now
	for i := f.at(now); i < len(f.steps); i++ {
		if at := f.steps[i].At; at >= start+seconds && at > start || at >= until {
			return min(start, until)
		}
		if f.steps[i].Free < procs {
			if i+1 == len(f.steps) {
				return until
			}
			start = max(now, f.steps[i+1].At)
		}
	}
	return min(start, until)
}

// Least returns the minimum number of free processors from an instant on for the given seconds. For an empty range it
// returns the number at the instant.
func (f *Profile) Least(from, seconds float64) int {
	if len(f.steps) == 0 {
		return 0
	}
	i := f.at(from)
	least := f.steps[i].Free
	for i++; i < len(f.steps) && f.steps[i].At < from+seconds; i++ {
		least = min(least, f.steps[i].Free)
	}
	return least
}

// from sets the profile to the plan of a pool's future. In the plan, running jobs end as expected, and outages take
// and return processors.
func (f *Profile) from(p *Pool, e *byend.List) {
	now := p.Now()
	f.Reset(now, p.Free())
	i := p.upcoming
	change := func(t float64, procs int) {
		if last := &f.steps[len(f.steps)-1]; t <= last.At {
			last.Free += procs
		} else if !math.IsInf(t, 1) {
			f.steps = append(f.steps, Step{t, last.Free + procs})
		}
	}
	for k := range e.Blocks() {
		for _, it := range e.Block(k) {
			for ; i < len(p.changes) && p.changes[i].at <= it.At; i++ {
				change(p.changes[i].at, p.changes[i].procs)
			}
			change(it.At, int(it.Held))
		}
	}
	for ; i < len(p.changes); i++ {
		change(p.changes[i].at, p.changes[i].procs)
	}
}
