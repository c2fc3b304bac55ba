package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// recent is the number of newest scored forecasts over which the median error is taken.
const recent = 1000

// resolution is that of the waits that logs tell, in seconds.
const resolution = 1

// ScoreKey says whose forecasts a Score tells of.
type ScoreKey struct {
	Queue string
	// Size is one of SizeClasses.
	Size string
}

// MarshalText writes the key of a saved score.
func (k ScoreKey) MarshalText() ([]byte, error) { return []byte(k.Size + " " + k.Queue), nil }

// UnmarshalText reads it.
func (k *ScoreKey) UnmarshalText(text []byte) error {
	size, queue, ok := strings.Cut(string(text), " ")
	if !ok {
		return fmt.Errorf("%q is no key of a score", text)
	}
	k.Size, k.Queue = size, queue
	return nil
}

// Figures tell how quantiles turned out, by level.
type Figures struct {
	// N is the number of jobs.
	N int64 `json:"n"`
	// Below counts the waits below the quantile rounded down to whole seconds, UpTo those up to the quantile rounded up: a perfect forecast's level lies between the two shares.
	Below []int64 `json:"below"`
	UpTo  []int64 `json:"up_to"`
	// LogPinball is the sum of the pinball loss of ln(wait + 60 s).
	LogPinball []float64 `json:"log_pinball"`
	// Within2 counts the waits of which the median is within a factor 2, both with 60 s added.
	Within2 int64 `json:"within_2"`
}

func newFigures(levels int) Figures {
	return Figures{Below: make([]int64, levels), UpTo: make([]int64, levels), LogPinball: make([]float64, levels)}
}

func (f *Figures) add(levels, quantiles []float64, wait float64) {
	f.N++
	for i, q := range quantiles {
		if q == never {
			q = waittime.ScoredNever
		}
		below, upTo := coverage.Covered(wait, q, resolution)
		f.Below[i] += count(below)
		f.UpTo[i] += count(upTo)
		f.LogPinball[i] += loss(levels[i], q, wait)
		if levels[i] == .5 && math.Abs(math.Log(q+waittime.Shift)-math.Log(wait+waittime.Shift)) <= math.Ln2+1e-12 { // exactly twice is within
			f.Within2++
		}
	}
}

func (f *Figures) merge(o *Figures) {
	f.N += o.N
	f.Within2 += o.Within2
	for i := range o.Below {
		f.Below[i] += o.Below[i]
		f.UpTo[i] += o.UpTo[i]
		f.LogPinball[i] += o.LogPinball[i]
	}
}

// sound reports whether saved figures are of so many levels.
func (f *Figures) sound(levels int) bool {
	return len(f.Below) == levels && len(f.UpTo) == levels && len(f.LogPinball) == levels
}

func (f *Figures) clone() Figures {
	c := *f
	c.Below, c.UpTo, c.LogPinball = slices.Clone(f.Below), slices.Clone(f.UpTo), slices.Clone(f.LogPinball)
	return c
}

func count(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// loss is the pinball loss of ln(wait + 60 s).
func loss(level, quantile, wait float64) float64 {
	return waittime.Pinball(level, math.Log(quantile+waittime.Shift), math.Log(wait+waittime.Shift))
}

// Score says how the forecasts of some jobs turned out.
type Score struct {
	// Figures are of the forecasts whose job started.
	Figures
	// Live is how many of them were made as it happened.
	Live int64 `json:"live"`
	// Censored is the number of forecasts whose job left the queue without a start, Outlived how many of those had waited longer than the quantile: known
	// misses.
	Censored int64   `json:"censored"`
	Outlived []int64 `json:"outlived"`
	// Unforecast is the number of jobs that started without a forecast, because none was possible.
	Unforecast int64 `json:"unforecast"`
	// Peers are other methods on the jobs for which they had an answer.
	Peers []PeerScore `json:"peers,omitempty"`
	// Errors are the newest absolute errors of the median, in seconds, oldest overwritten first.
	Errors []float64 `json:"errors"`
	Next   int       `json:"next"`
}

// PeerScore compares another method with the forecast that was served.
type PeerScore struct {
	Method string `json:"method"`
	Figures
	// Served is the forecast on the same jobs.
	Served Figures `json:"served"`
}

// NewScore returns the score of no forecasts.
func NewScore(levels int) *Score { return newScore(levels) }

func newScore(levels int) *Score {
	return &Score{Figures: newFigures(levels), Outlived: make([]int64, levels)}
}

func (s *Score) add(row *modelstore.Row) {
	switch {
	case row.Outcome != modelstore.Started:
		s.Censored++
		for i, q := range row.Quantiles {
			s.Outlived[i] += count(q != never && row.WaitSeconds > math.Ceil(q))
		}
		return
	case row.Quantiles == nil:
		s.Unforecast++
		return
	}
	s.Figures.add(row.Levels, row.Quantiles, row.WaitSeconds)
	if !row.Replayed {
		s.Live++
	}
	for i, level := range row.Levels {
		if level == .5 {
			s.remember(math.Abs(row.Quantiles[i] - row.WaitSeconds))
		}
	}
	for _, p := range row.Peers {
		peer := s.peer(p.Method)
		peer.Figures.add(row.Levels, p.Quantiles, row.WaitSeconds)
		peer.Served.add(row.Levels, row.Quantiles, row.WaitSeconds)
	}
}

// peer returns the score of another method.
func (s *Score) peer(method string) *PeerScore {
	i := slices.IndexFunc(s.Peers, func(p PeerScore) bool { return p.Method == method })
	if i < 0 {
		i = len(s.Peers)
		s.Peers = append(s.Peers, PeerScore{Method: method, Figures: newFigures(len(s.Below)), Served: newFigures(len(s.Below))})
	}
	return &s.Peers[i]
}

// merge adds another score; of errors it keeps its own.
func (s *Score) merge(o *Score) {
	s.Figures.merge(&o.Figures)
	s.Live += o.Live
	s.Censored += o.Censored
	s.Unforecast += o.Unforecast
	for i := range o.Outlived {
		s.Outlived[i] += o.Outlived[i]
	}
	for i := range o.Peers {
		peer := s.peer(o.Peers[i].Method)
		peer.Figures.merge(&o.Peers[i].Figures)
		peer.Served.merge(&o.Peers[i].Served)
	}
}

func (s *Score) remember(err float64) {
	if len(s.Errors) < recent {
		s.Errors = append(s.Errors, err)
		return
	}
	s.Errors[s.Next] = err
	s.Next = (s.Next + 1) % recent
}

// MedianError returns the median of the newest absolute errors of the median, in seconds; NaN if there are none.
func (s *Score) MedianError() float64 { return medianOf(s.Errors) }

func medianOf(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// clone returns an independent copy for a view.
func (s *Score) clone() *Score {
	c := *s
	c.Figures, c.Outlived, c.Errors, c.Peers = s.Figures.clone(), slices.Clone(s.Outlived), slices.Clone(s.Errors), slices.Clone(s.Peers)
	for i := range c.Peers {
		c.Peers[i].Figures, c.Peers[i].Served = c.Peers[i].Figures.clone(), c.Peers[i].Served.clone()
	}
	return &c
}

// sound reports whether a saved score is of so many levels.
func (s *Score) sound(levels int) bool {
	for i := range s.Peers {
		if !s.Peers[i].Figures.sound(levels) || !s.Peers[i].Served.sound(levels) {
			return false
		}
	}
	return s.Figures.sound(levels) && len(s.Outlived) == levels && s.Next >= 0 && s.Next <= len(s.Errors)
}
