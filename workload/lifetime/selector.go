package lifetime

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

// Options define how a [Selector] works; a zero field takes its default.
type Options struct {
	Window int // observations that laws are fitted to, the latest; 4,000
	// observations between refits; 500. At the beginning refits come whenever their number has doubled, from 64 on
	Refit  int
	Forget float64 // weight that old scores lose with every new one, in [0, 1); 0 forgets nothing
}

func (o Options) withDefaults() Options {
	const most = 1 << 24
	if o.Window <= 0 {
		o.Window = 4000
	}
	if o.Refit <= 0 {
		o.Refit = 500
	}
	o.Window, o.Refit = min(o.Window, most), min(o.Refit, most)
	if !(o.Forget >= 0 && o.Forget < 1) {
		o.Forget = 0
	}
	return o
}

// Standing is how a candidate has done so far.
type Standing struct {
	Name   string  `json:"name"`
	Mean   float64 `json:"mean"`            // mean log score, see [Score]; only what it predicted beforehand counts
	N      int     `json:"n"`               // observations scored
	Failed int     `json:"failed"`          // of these, with no law because its fit failed
	Error  string  `json:"error,omitempty"` // of its latest fit
}

// Selector scores the candidates on a stream of observations, each before it is learned from (prequentially), and
// refits them as it goes. It is for one goroutine; the laws it returns are for any. The result depends on the
// observations and their order alone.
type Selector struct {
	options    Options
	candidates []Candidate
	laws       []Law
	errors     []string
	sums       []float64
	failed     []int
	weight     float64
	n          int // number of scored observations
	seen       int
	fittedAt   int           // number of observations at the latest fit; 0 if there was none
	recent     []Observation // the latest observations: at least those of the window and those since the latest fit
	starts     []float64     // start of each element of recent
	alive      running       // jobs that were running at the latest fit
}

// firstFit is the number of observations at which the laws are fitted for the first time.
const firstFit = 64

// NewSelector returns a selector among the candidates.
func NewSelector(candidates []Candidate, o Options) *Selector {
	n := len(candidates)
	return &Selector{
		options: o.withDefaults(), candidates: slices.Clone(candidates), laws: make([]Law, n),
		errors: make([]string, n),
		sums:   make([]float64, n), failed: make([]int, n), alive: running{since: always},
	}
}

// Observe scores the candidates on an observation, if they have been fitted, and learns from it. A running job is
// observed once, when it ends or is given up as censored. The error wraps [ErrValue]; the observation is then ignored.
func (s *Selector) Observe(o Observation) error { return s.ObserveAt(o, always, nil) }

// ObserveAt is Observe of a job that began at start, in seconds by any clock, so that laws are fitted to a window by
// start: one by end favors short jobs. Observations must come in the order of ends. At a refit running is asked how
// long the jobs have lived, in seconds, that began at since or later and run still: these count as censored. A window
// by start that keeps less than half of the latest observations, because jobs live longer than the window is, tells too
// little of long lives; then laws are fitted to the observations alone, for in the long run jobs leave by the same law
// by which they come.
func (s *Selector) ObserveAt(o Observation, start float64, running func(since float64) []float64) error {
	if math.IsNaN(start) {
		return fmt.Errorf("lifetime: observation that began at %v: %w", start, ErrValue)
	}
	if !(o.Seconds >= 0 && o.Seconds <= uniformlog.MaxLifetime) {
		return fmt.Errorf("lifetime: observation of %v s: %w (0 to %d expected)", o.Seconds, ErrValue,
			int64(uniformlog.MaxLifetime))
	}
	if s.seen >= firstFit {
		keep := 1 - s.options.Forget
		for i, l := range s.laws {
			s.sums[i] = keep*s.sums[i] + Score(l, o)
			if l == nil {
				s.failed[i]++
			}
		}
		s.weight = keep*s.weight + 1
		s.n++
	}
	s.keep(o, max(start, always))
	if s.seen >= s.nextFit() {
		s.fittedAt = s.seen
		s.askRunning(running)
		s.refit()
	}
	return nil
}

// nextFit returns the number of observations at the next fit: twice the number at the last, but at most Refit more.
func (s *Selector) nextFit() int {
	if s.fittedAt == 0 {
		return firstFit
	}
	return s.fittedAt + min(s.fittedAt, s.options.Refit)
}

// held returns how many observations must be kept to repeat the latest fit.
func (s *Selector) held() int { return s.options.Window + s.options.Refit }

func (s *Selector) keep(o Observation, start float64) {
	if len(s.recent) >= 2*s.held() {
		n := copy(s.recent, s.recent[len(s.recent)-s.held():])
		copy(s.starts, s.starts[len(s.starts)-n:])
		s.recent, s.starts = s.recent[:n], s.starts[:n]
	}
	s.recent, s.starts = append(s.recent, o), append(s.starts, start)
	s.seen++
}

// refit fits all laws to the window as it was after fittedAt observations.
func (s *Selector) refit() {
	window := s.sample()
	for i, c := range s.candidates {
		l, err := c.Fit(window)
		s.laws[i], s.errors[i] = l, ""
		if err != nil {
			s.laws[i], s.errors[i] = nil, err.Error()
		}
	}
}

// Best returns the law with the highest mean score among those whose latest fit succeeded, and its name. ok is false if
// there is none. Before anything was scored, the best law is that of the first candidate with a law.
func (s *Selector) Best() (l Law, name string, ok bool) {
	best := -1
	for i, law := range s.laws {
		if law != nil && (best < 0 || s.sums[i] > s.sums[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil, "", false
	}
	return s.laws[best], s.candidates[best].Name, true
}

// Standings returns how all candidates have done, the best first.
func (s *Selector) Standings() []Standing {
	out := make([]Standing, len(s.candidates))
	for i, c := range s.candidates {
		out[i] = Standing{Name: c.Name, N: s.n, Failed: s.failed[i], Error: s.errors[i]}
		if s.weight > 0 {
			out[i].Mean = s.sums[i] / s.weight
		}
	}
	slices.SortStableFunc(out, func(a, b Standing) int { return cmp.Compare(b.Mean, a.Mean) })
	return out
}

// Compare scores the candidates prequentially on a whole stream, in the order in which jobs ended; the best comes
// first. The error wraps [ErrValue].
func Compare(stream []Observation, candidates []Candidate, o Options) ([]Standing, error) {
	s := NewSelector(candidates, o)
	for i, j := range stream {
		if err := s.Observe(j); err != nil {
			return nil, fmt.Errorf("job %d: %w", i, err)
		}
	}
	return s.Standings(), nil
}
