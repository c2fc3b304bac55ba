package pools

import (
	"github.com/waitcast/waitcast/predictor/forward"
)

// Openings is what a queue would let start at once.
type Openings struct {
	// Holes are the largest requests that start at once by the processors that are free and the time limits of the jobs
	// that run and wait; larger ones with shorter limits come first.
	Holes []forward.Opening
	// Free is how many processors of the queue's pool are free, Procs how many it has, 0 where that is not known.
	Free, Procs int
	// Age is how old the plan is in seconds, 0 for one of now; NaN where there is none. The holes of an older one may
	// have been filled.
	Age float64
}

// openings returns the largest sizes of a table, up to what is free now, that its plan lets start at once, by limit.
func (t *waitSurface) openings(free int) []forward.Opening {
	var out []forward.Opening
	w := t.width()
	for k, limit := range t.limits {
		most := 0
		for i, size := range t.sizes {
			if plan := t.cells[(k*len(t.sizes)+i)*w:][w-1]; plan == 0 {
				most = size
			}
		}
		most = min(most, free)
		for len(out) > 0 && out[len(out)-1].Procs <= most {
			out = out[:len(out)-1]
		}
		if most > 0 {
			out = append(out, forward.Opening{Procs: most, Limit: limit})
		}
	}
	return out
}
