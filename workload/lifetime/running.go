package lifetime

import "math"

// always stands for a start before all others.
const always = -math.MaxFloat64

// running is what a selector knows of jobs that had not ended at its latest fit.
type running struct {
	// every job that began then or later was observed, or runs; always, while nothing has left the window
	since float64
	ages  []float64 // of those that ran
}

// window returns the bounds of the latest observations as they were at the latest fit.
func (s *Selector) window() (from, to int) {
	to = len(s.recent) - (s.seen - s.fittedAt)
	return max(to-s.options.Window, 0), to
}

// askRunning finds out which jobs run at a refit.
func (s *Selector) askRunning(ask func(since float64) []float64) {
	from, _ := s.window()
	for i, o := range s.recent[:from] { // whoever began after they all ended is still in the window
		s.alive.since = max(s.alive.since, s.starts[i]+o.Seconds)
	}
	s.alive.ages = nil
	if ask != nil {
		s.alive.ages = ask(s.alive.since)
	}
}

// sample returns what laws are fitted to.
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

// Law returns a candidate's law by its latest fit, nil if it has none.
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

// Window returns the most observations that laws are fitted to.
func (s *Selector) Window() int { return s.options.Window }
