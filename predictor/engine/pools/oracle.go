package pools

import (
	"math"
	"slices"
)

// WithRuntimes returns the pool at an instant, with the true runtimes of its running jobs in place of the expected
// ones. It is for research. runtime returns the runtime by the job's id, NaN if unknown.
func (f *Facts) WithRuntimes(runtime func(id uint64) float64, at float64) *Facts {
	known := *f
	known.Running = slices.Clone(f.Running)
	for i := range known.Running {
		r := &known.Running[i]
		if t := runtime(r.key - 1); !math.IsNaN(t) {
			r.Expected = math.Max(t, at-r.Start+1)
		}
	}
	if f.fitted != nil { // Lifetimes would correct the runtimes, which are now exact
		p := *f.fitted
		p.Lifetimes = 0
		known.fitted = &p
	}
	return &known
}
