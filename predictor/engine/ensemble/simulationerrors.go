package ensemble

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// A simulation that knows nothing of later arrivals, nodes that do not fit together and the scheduler's own pace is off
// by a factor that lasts for a while. The corrected simulation gives its median the errors of the newest jobs.

const (
	// CorrectedJobs is how many started jobs' errors count, and at most how many of those that still wait.
	CorrectedJobs = 150
	// correctedLeast is how many must have started.
	correctedLeast = 20
)

// PendingError is the logarithm of the simulation's median for a job that waits.
type PendingError struct {
	id           uint64
	submit, said float64
}

// SimulationErrors are the errors of the simulation: of the newest jobs that started, and of those that still wait.
type SimulationErrors struct {
	Known   []float64
	Waiting []PendingError
}

// Add records the simulation's forecast for a job.
func (s *SimulationErrors) Add(id uint64, submit, said float64) {
	if len(s.Waiting) == CorrectedJobs {
		s.Waiting = slices.Delete(s.Waiting, 0, 1)
	}
	s.Waiting = append(s.Waiting, PendingError{id, submit, said})
}

// Gone forgets a job that left without a start to learn from.
func (s *SimulationErrors) Gone(id uint64) (PendingError, bool) {
	i := slices.IndexFunc(s.Waiting, func(g PendingError) bool { return g.id == id })
	if i < 0 {
		return PendingError{}, false
	}
	g := s.Waiting[i]
	s.Waiting = slices.Delete(s.Waiting, i, i+1)
	return g, true
}

// Started scores that forecast by the logarithm of the wait.
func (s *SimulationErrors) Started(id uint64, z float64) {
	g, ok := s.Gone(id)
	if !ok {
		return
	}
	if len(s.Known) == CorrectedJobs {
		s.Known = slices.Delete(s.Known, 0, 1)
	}
	s.Known = append(s.Known, z-g.said)
}

// Quantiles returns those of the errors at the levels; nil where too few are known. Jobs that still wait are
// right-censored (E. Kaplan and P. Meier, "Nonparametric estimation from incomplete observations", JASA 53, 1958):
// short waits report first.
func (s *SimulationErrors) Quantiles(now float64, levels []float64) []float64 {
	if len(s.Known) < correctedLeast {
		return nil
	}
	type observed struct {
		off  float64
		done bool
	}
	all := make([]observed, 0, len(s.Known)+len(s.Waiting))
	for _, off := range s.Known {
		all = append(all, observed{off, true})
	}
	for _, g := range s.Waiting {
		all = append(all, observed{waittime.Log(math.Max(0, now-g.submit)) - g.said, false})
	}
	slices.SortFunc(all, func(a, b observed) int {
		if c := cmp.Compare(a.off, b.off); c != 0 || a.done == b.done {
			return c
		}
		if a.done { // of equal ones a start comes before what is only known to be longer
			return -1
		}
		return 1
	})
	out := make([]float64, 0, len(levels))
	survive, last := 1.0, math.NaN()
	for i, o := range all {
		if !o.done {
			continue
		}
		survive *= 1 - 1/float64(len(all)-i)
		last = o.off
		for len(out) < len(levels) && 1-survive >= levels[len(out)]-1e-12 {
			out = append(out, last)
		}
	}
	for len(out) < len(levels) { // beyond what has been seen: the longest
		out = append(out, last)
	}
	return out
}
