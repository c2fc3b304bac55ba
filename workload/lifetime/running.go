package lifetime

import "math"

// always stands for an unknown start, which is before all known ones.
const always = -math.MaxFloat64

// running has a selector's knowledge of jobs that had not ended at its latest fit.
type running struct {
	// since is an instant such that every job that began then or later is in the window or is running. As long as no
	// observation has left the window, it is the constant always.
	since float64
	ages  []float64 // ages of the jobs that were running
}

// window returns the range of s.recent from which laws were fitted at the latest fit. It begins at the index from and
// ends before the index to.
func (s *Selector) window() (from, to int) {
	to = len(s.recent) - (s.seen - s.fittedAt)
	return max(to-s.options.Window, 0), to
}

// askRunning sets s.alive for a refit. ask returns the ages of the jobs that began at since or later and still run; it
// may be nil.
func (s *Selector) askRunning(ask func(since float64) []float64) {
	from, _ := s.window()
	for i, o := range s.recent[:from] { // jobs that began after all of these had ended are still in the window
		s.alive.since = max(s.alive.since, s.starts[i]+o.Seconds)
	}
	s.alive.ages = nil
	if ask != nil {
		s.alive.ages = ask(s.alive.since)
	}
}

// sample returns the observations for a fit: those in the window that began at s.alive.since or later, and the running
// jobs as censored ones. It returns the whole window if this leaves less than half of it (see ObserveAt).
func (s *Selector) sample() []Observation {
	from, to := s.window()
	var out []Observation
	for i, start := range s.starts[from:to] {
		if start >= s.alive.since {
			out = append(out, s.recent[from+i])
		}
	}
	if 2*len(out) < to-from || len(out) == to-from && len(s.alive.ages) == 0 {
		return s.recent[from:to]
	}
	for _, age := range s.alive.ages {
		out = append(out, Observation{age, true})
	}
	return out
}

// Law returns the law of a candidate from its latest fit. It returns nil if there is none.
func (s *Selector) Law(name string) Law {
	for i, c := range s.candidates {
		if c.Name == name {
			return s.laws[i]
		}
	}
	return nil
}

// Seen returns the number of observations.
func (s *Selector) Seen() int { return s.seen }

// Window returns the maximum number of observations to which laws are fitted.
func (s *Selector) Window() int { return s.options.Window }
