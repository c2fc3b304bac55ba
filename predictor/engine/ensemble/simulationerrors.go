package ensemble

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// The simulation knows neither the true arrivals to come nor the scheduler's own delays, and often not the nodes. So
// its waits are wrong by a factor that persists for a while. The corrected simulation applies the errors of the newest
// jobs to the simulation's median.

const (
	// CorrectedJobs is the number of started jobs whose errors count. It is also the maximum number of waiting jobs
	// that count.
	CorrectedJobs = 150
	// correctedLeast is the minimum number of jobs that must have started.
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

// atLeast returns a lower bound of the error of a job that still waits, from its wait so far.
func (g *PendingError) atLeast(now float64) observedError {
	return observedError{waittime.Log(math.Max(0, now-g.submit)) - g.said, 1, false}
}

// SimulationErrors are the errors of the simulation: of the newest jobs that started, and of those that still wait.
type SimulationErrors struct {
	Known   []float64
	Waiting []PendingError
}

// Add records the simulation's forecast for a job. If too many jobs wait, it drops the one that was added first.
func (s *SimulationErrors) Add(id uint64, submit, said float64) {
	if len(s.Waiting) == CorrectedJobs {
		s.Waiting = slices.Delete(s.Waiting, 0, 1)
	}
	s.Waiting = append(s.Waiting, PendingError{id, submit, said})
}

// Gone drops a job that left without a start to learn from.
func (s *SimulationErrors) Gone(id uint64) (PendingError, bool) { return takePending(&s.Waiting, id) }

// Started scores the simulation's forecast for a job by the logarithm of the wait.
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

// Quantiles returns the quantiles of the errors at the levels; nil if too few are known. Short waits become known
// first, so jobs that still wait count as right-censored (E. Kaplan and P. Meier, "Nonparametric estimation from
// incomplete observations", JASA 53, 1958).
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
