package pools

import (
	"github.com/waitcast/waitcast/predictor/forward"
)

// Openings are the requests that would start at once in a queue.
type Openings struct {
	// Holes are the largest requests that start at once, by the free processors and the time limits of the jobs that
	// run and wait. Larger ones, which have shorter limits, come first.
	Holes []forward.Opening
	// Free is the number of free processors of the queue's pool. Procs is the number of all its processors. 0 means
	// unknown.
	Free, Procs int
	// Age is the age of the plan in seconds; 0 for the present, NaN without a plan. The holes of an older plan may
	// have been filled.
	Age float64
}

// openings returns the largest requests that start at once by the plan of a table, at most one for each time limit. It
// reduces their sizes to at most the given number of free processors.
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
