package forward

import (
	"math"
	"slices"
)

// step reports that from an instant on, a request for up to most processors and within seconds could have started.
type step struct {
	at, within float64
	most       int32
	root       int32 // see Pivots
}

// envelope is what could have started up to now in one replica, and when it first could: the steps that let something
// start that could not before, by time.
type envelope struct {
	steps []step
	now   []stair // the most for every limit: within rises, most falls
	most  int     // nobody asks for more
	root  int32   // of the instant
}

func (e *envelope) reset(most int) { e.steps, e.now, e.most = e.steps[:0], e.now[:0], most }

// least returns the most processors that a request without a limit could have had.
func (e *envelope) least() int {
	if n := len(e.now); n > 0 && math.IsInf(e.now[n-1].within, 1) {
		return e.now[n-1].most
	}
	return 0
}

// take notes what may start at an instant.
func (e *envelope) take(at float64, stairs []stair) {
	floor := e.least()
	for _, s := range stairs {
		if s.most <= floor {
			return
		}
		e.raise(at, stair{s.within, min(s.most, e.most)})
	}
}

func (e *envelope) raise(at float64, s stair) {
	i := 0 // the first that holds for such limits
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
	from := i // those before i that give less are covered
	for from > 0 && e.now[from-1].most <= s.most {
		from--
	}
	e.now = slices.Replace(e.now, from, i, s)
}

// wait returns when a request of a size and limit could start first; false for never.
func wait(steps []step, procs int32, plan float64) (float64, bool) {
	s := admits(steps, procs, plan)
	if s == nil {
		return 0, false
	}
	return s.at, true
}

// admits returns the first step that lets such a request start; nil for none.
func admits(steps []step, procs int32, plan float64) *step {
	for i := range steps {
		if steps[i].most >= procs && steps[i].within >= plan {
			return &steps[i]
		}
	}
	return nil
}
