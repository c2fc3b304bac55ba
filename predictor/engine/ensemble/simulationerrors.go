package ensemble

import (
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

// takePending removes the forecast of a job and returns it.
func takePending(waiting *[]PendingError, id uint64) (PendingError, bool) {
	i := slices.IndexFunc(*waiting, func(g PendingError) bool { return g.id == id })
	if i < 0 {
		return PendingError{}, false
	}
	g := (*waiting)[i]
	*waiting = slices.Delete(*waiting, i, i+1)
	return g, true
}

// atLeast returns how far a job's wait exceeds its forecast by now, at least: the job still waits.
func (g *PendingError) atLeast(now float64) observedError {
	return observedError{waittime.Log(math.Max(0, now-g.submit)) - g.said, 1, false}
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
func (s *SimulationErrors) Gone(id uint64) (PendingError, bool) { return takePending(&s.Waiting, id) }

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
	all := make([]observedError, 0, len(s.Known)+len(s.Waiting))
	for _, off := range s.Known {
		all = append(all, observedError{off, 1, true})
	}
	for i := range s.Waiting {
		all = append(all, s.Waiting[i].atLeast(now))
	}
	return censoredQuantiles(all, levels)
}
