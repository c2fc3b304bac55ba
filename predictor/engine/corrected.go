package engine

import (
	"cmp"
	"math"
	"slices"
)

// A simulation that knows nothing of later arrivals, nodes that do not fit together and the scheduler's own pace is off by a factor that lasts for a while. The corrected
// simulation gives its median the errors of the newest jobs.

const (
	// correctedJobs is how many started jobs' errors count, and at most how many of those that still wait.
	correctedJobs = 150
	// correctedLeast is how many must have started.
	correctedLeast = 20
)

// guess is the logarithm of the simulation's median for a job that waits.
type guess struct {
	id           uint64
	submit, said float64
}

// errors of the simulation: of the newest jobs that started, and the guesses for those that still wait, both in order.
type simulationErrors struct {
	known   []float64
	waiting []guess
}

// ask notes what the simulation said of a job.
func (s *simulationErrors) ask(id uint64, submit, said float64) {
	if len(s.waiting) == correctedJobs {
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
	s.waiting = append(s.waiting, guess{id, submit, said})
}

// gone forgets a job that left without a start to learn from.
func (s *simulationErrors) gone(id uint64) (guess, bool) {
	i := slices.IndexFunc(s.waiting, func(g guess) bool { return g.id == id })
	if i < 0 {
		return guess{}, false
	}
	g := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return g, true
}

// started takes in the logarithm of a wait.
func (s *simulationErrors) started(id uint64, z float64) {
	g, ok := s.gone(id)
	if !ok {
		return
	}
	if len(s.known) == correctedJobs {
		s.known = slices.Delete(s.known, 0, 1)
	}
	s.known = append(s.known, z-g.said)
}

// quantiles returns those of the errors at the levels; nil where too few are known. Jobs that still wait are right-censored (E. Kaplan and P. Meier, "Nonparametric
// estimation from incomplete observations", JASA 53, 1958): short waits report first.
func (s *simulationErrors) quantiles(now float64, levels []float64) []float64 {
	if len(s.known) < correctedLeast {
		return nil
	}
	type observed struct {
		off  float64
		done bool
	}
	all := make([]observed, 0, len(s.known)+len(s.waiting))
	for _, off := range s.known {
		all = append(all, observed{off, true})
	}
	for _, g := range s.waiting {
		all = append(all, observed{Log(math.Max(0, now-g.submit)) - g.said, false})
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

// askCorrected corrects the simulation's median.
func (v *View) askCorrected(g *given) {
	q := g.Experts[simulation]
	if q == nil || v.errors == nil {
		return
	}
	said := Log(q[v.median])
	out := make([]float64, len(v.levels))
	for i, off := range v.errors {
		out[i] = math.Min(Unlog(said+off), longest)
	}
	g.Experts[corrected] = out
}
