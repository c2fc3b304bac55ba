package lifetime

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

// Options define how a [Selector] works. A zero field means its default.
type Options struct {
	Window int // maximum number of observations, the latest ones, to which laws are fitted; 0 means 4,000
	// number of observations between two refits; 0 means 500. At the beginning there is a refit each time the number
	// of observations has doubled, from 64 on
	Refit int
	// In [0, 1): share of their weight that old scores lose with each new score; 0 means that nothing is forgotten.
	Forget float64
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

// Standing is the score of a candidate so far.
type Standing struct {
	Name   string  `json:"name"`
	Mean   float64 `json:"mean"`            // mean log score, see [Score], of predictions made before the event
	N      int     `json:"n"`               // number of scored observations
	Failed int     `json:"failed"`          // number of these for which there was no law because its fit had failed
	Error  string  `json:"error,omitempty"` // error of its latest fit
}

// Selector scores the candidates on a stream of observations, each before the candidates learn from it
// (prequentially). It refits them from time to time. Only one goroutine may use a Selector; several may use the
// returned laws. The result depends only on the observations and their order.
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
	recent     []Observation // the latest observations: those of the window and those since the latest fit
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

// Observe scores the candidates on an observation, if they have been fitted. Then they learn from it. A running job
// is observed once: when it ends, or when it is given up as censored. The error wraps [ErrValue]; then the
// observation is ignored.
func (s *Selector) Observe(o Observation) error { return s.ObserveAt(o, always, nil) }

// ObserveAt does the same as Observe for a job that began at start, in seconds of any clock. Laws are then fitted to
// the jobs that began after a certain instant (a window by start). A window of the jobs that ended last would favor
// short jobs. Observations must come in the order of ends. At a refit, running is called, unless it is nil: it returns
// the ages in seconds of the jobs that began at since or later and still run. These count as censored. If jobs live
// longer than the window, a window by start may keep less than half of the latest observations, and then has too little
// information about long lives. In that case laws are fitted to the observations alone, because in the long run jobs
// end by the same law by which they start.
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

// nextFit returns the number of observations at the next fit. It is twice the number at the latest fit, but at most
// Refit more than it.
func (s *Selector) nextFit() int {
	if s.fittedAt == 0 {
		return firstFit
	}
	return s.fittedAt + min(s.fittedAt, s.options.Refit)
}

// held returns the number of observations that must be kept to repeat the latest fit.
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

// refit fits all laws to the window that existed after fittedAt observations.
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

// Best returns the law with the highest mean score among the laws whose latest fit succeeded, and its name. ok is
// false if there is none. Before any score exists, it returns the law of the first candidate that has one.
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

// Standings returns the scores of all candidates, the best first.
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

// Compare scores the candidates prequentially on a whole stream, in the order in which jobs ended. The best candidate
// is the first in the result. The error wraps [ErrValue].
func Compare(stream []Observation, candidates []Candidate, o Options) ([]Standing, error) {
	s := NewSelector(candidates, o)
	for i, j := range stream {
		if err := s.Observe(j); err != nil {
			return nil, fmt.Errorf("job %d: %w", i, err)
		}
	}
	return s.Standings(), nil
}
