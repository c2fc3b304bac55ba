package forward

import (
	"math"
	"slices"
)

// step describes requests that could have started at an instant (at): most is their maximum size, and within is their
// maximum limit in seconds.
type step struct {
	at, within float64
	most       int32
	root       int32 // the pivot of these starts, see Pivots
}

// envelope has the requests that could have started so far in one replica, with their first possible starts. It has
// them as steps, by time: at each step further requests could start.
type envelope struct {
	steps []step
	now   []stair // the largest request for every limit: within rises while most falls
	most  int     // maximum size of a request
	sizes []int   // the requested sizes, rising, the last is most; nil for all
	root  int32   // the pivot of starts at this instant, see Pivots
}

func (e *envelope) reset(most int, sizes []int) {
	e.steps, e.now, e.most, e.sizes = e.steps[:0], e.now[:0], most, sizes
}

// floor returns the largest requested size up to procs, or 0 if there is none.
func (e *envelope) floor(procs int) int {
	procs = min(procs, e.most)
	if e.sizes == nil {
		return max(0, procs)
	}
	i, found := slices.BinarySearch(e.sizes, procs)
	switch {
	case found:
		return procs
	case i == 0:
		return 0
	}
	return e.sizes[i-1]
}

// least returns the largest size for which a request without a limit could have started.
func (e *envelope) least() int {
	if n := len(e.now); n > 0 && math.IsInf(e.now[n-1].within, 1) {
		return e.now[n-1].most
	}
	return 0
}

// take records the requests that may start at an instant.
func (e *envelope) take(at float64, stairs []stair) {
	floor := e.least()
	for _, s := range stairs {
		if s.most <= floor {
			return
		}
		if most := e.floor(s.most); most > floor {
			e.raise(at, stair{s.within, most})
		}
	}
}

func (e *envelope) raise(at float64, s stair) {
	i := 0 // index of the first stair for limits of s.within or more
	for i < len(e.now) && e.now[i].within < s.within {
		i++
	}
	if i < len(e.now) && e.now[i].most >= s.most {
		return
	}
	e.steps = append(e.steps, step{at, s.within, int32(s.most), e.root})
	if i < len(e.now) && e.now[i].within == s.within {
		i++
	}
	from := i // earlier stairs that allow less are replaced
	for from > 0 && e.now[from-1].most <= s.most {
		from--
	}
	e.now = slices.Replace(e.now, from, i, s)
}

// wait returns the time at which a request of a size and limit could first start. It returns false if it never could.
func wait(steps []step, procs int32, plan float64) (float64, bool) {
	s := admits(steps, procs, plan)
	if s == nil {
		return 0, false
	}
	return s.at, true
}

// admits returns the first step that lets a request of a size and limit start, nil if there is none.
func admits(steps []step, procs int32, plan float64) *step {
	for i := range steps {
		if steps[i].most >= procs && steps[i].within >= plan {
			return &steps[i]
		}
	}
	return nil
}
