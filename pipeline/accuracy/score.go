package accuracy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// recent is the maximum number of forecasts from which the median error is computed: the newest scored ones.
const recent = 1000

// Key identifies the jobs of one queue and size class.
type Key struct {
	Queue string
	// Size is one of waittime.SizeClasses.
	Size string
}

// MarshalText returns the form in which the key is saved: the size, a space, and the queue.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.Size + " " + k.Queue), nil }

// UnmarshalText reads a key that MarshalText wrote.
func (k *Key) UnmarshalText(text []byte) error {
	size, queue, ok := strings.Cut(string(text), " ")
	if !ok {
		return fmt.Errorf("%q is no key of a score", text)
	}
	k.Size, k.Queue = size, queue
	return nil
}

// SizeRank returns the index of a size class, from 0; -1 for an unknown name.
func SizeRank(size string) int { return slices.Index(waittime.SizeClasses(), size) }

// Score has the scores of the forecasts of a group of jobs.
type Score struct {
	// Figures has the errors of the forecasts whose jobs started.
	Figures
	// Live is the number of forecasts in Figures that were made live.
	Live int64 `json:"live"`
	// Left is the number of jobs that left the queue without a start, with or without a forecast.
	Left int64 `json:"censored"`
	// Unforecast is the number of jobs that started without a forecast, because none was possible.
	Unforecast int64 `json:"unforecast"`
	// Peers has the scores of other methods, on the jobs for which they had an answer.
	Peers []PeerScore `json:"peers,omitempty"`
	// Errors are the newest absolute errors of the median, in seconds. Once there are 1000, Next is the index of the
	// oldest, which is overwritten next.
	Errors []float64 `json:"errors"`
	Next   int       `json:"next"`
	// Parts has the scores of the two parts of the wait, for rows that have parts; nil before the first such row. State
	// that older versions saved lacks it.
	Parts *Parts `json:"parts,omitempty"`
}

// PeerScore compares another method with the forecast that was served.
type PeerScore struct {
	Method string `json:"method"`
	Figures
	// Served has the figures of the served forecast on the same jobs.
	Served Figures `json:"served"`
}

// NewScore returns the score of no jobs. levels is the number of levels.
func NewScore(levels int) *Score {
	return &Score{Figures: newFigures(levels)}
}

// parts returns s.Parts, and creates it if it is missing.
func (s *Score) parts() *Parts {
	if s.Parts == nil {
		s.Parts = NewParts(len(s.LogPinball))
	}
	return s.Parts
}

// Add adds one row of the ledger.
func (s *Score) Add(row *modelstore.Row) {
	if row.Parts != nil {
		s.parts().add(row)
	}
	switch {
	case row.Outcome != modelstore.Started:
		s.Left++
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

// PeerScore returns the score of another method. It counts no jobs if the method had no answer for any started job.
func (s *Score) PeerScore(method string) *PeerScore {
	for i := range s.Peers {
		if s.Peers[i].Method == method {
			return &s.Peers[i]
		}
	}
	levels := len(s.LogPinball)
	return &PeerScore{Method: method, Figures: newFigures(levels), Served: newFigures(levels)}
}

// peer returns the score of another method in s.Peers, and adds it if it is missing.
func (s *Score) peer(method string) *PeerScore {
	i := slices.IndexFunc(s.Peers, func(p PeerScore) bool { return p.Method == method })
	if i < 0 {
		i, levels := len(s.Peers), len(s.LogPinball)
		s.Peers = append(s.Peers, PeerScore{Method: method, Figures: newFigures(levels), Served: newFigures(levels)})
		return &s.Peers[i]
	}
	return &s.Peers[i]
}

// Merge adds the score o to s. Errors are not added: those of s stay.
func (s *Score) Merge(o *Score) {
	s.Figures.merge(&o.Figures)
	s.Live += o.Live
	s.Left += o.Left
	s.Unforecast += o.Unforecast
	if o.Parts != nil {
		s.parts().Merge(o.Parts)
	}
	for i := range o.Peers {
		peer := s.peer(o.Peers[i].Method)
		peer.Figures.merge(&o.Peers[i].Figures)
		peer.Served.merge(&o.Peers[i].Served)
	}
}

// Sum returns the sum of the scores of several groups of jobs. There must be at least one group. The result has no
// Errors.
func Sum(scores []*Score) *Score {
	sum := NewScore(len(scores[0].LogPinball))
	for _, s := range scores {
		sum.Merge(s)
	}
	return sum
}

// ByQueue returns the score of each queue, for all sizes together. The results have no Errors.
func ByQueue(scores map[Key]*Score) map[string]*Score {
	out := map[string]*Score{}
	for key, s := range scores {
		if out[key.Queue] == nil {
			out[key.Queue] = NewScore(len(s.LogPinball))
		}
		out[key.Queue].Merge(s)
	}
	return out
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

// Counts returns the number of scored forecasts of all groups, and how many of them were made live.
func Counts(scores map[Key]*Score) (scored, live int64) {
	for _, s := range scores {
		scored += s.N
		live += s.Live
	}
	return scored, live
}

// MedianError returns the median of the newest absolute errors of the medians of all groups, in seconds; NaN if there
// are none.
func MedianError(scores map[Key]*Score) float64 {
	var errors []float64
	for _, s := range scores {
		errors = append(errors, s.Errors...)
	}
	return medianOf(errors)
}

func medianOf(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Clone returns an independent copy.
func (s *Score) Clone() *Score {
	c := *s
	c.Figures = s.Figures.clone()
	c.Errors, c.Peers, c.Parts = slices.Clone(s.Errors), slices.Clone(s.Peers), s.Parts.clone()
	for i := range c.Peers {
		c.Peers[i].Figures, c.Peers[i].Served = c.Peers[i].Figures.clone(), c.Peers[i].Served.clone()
	}
	return &c
}

// sound reports whether a score from saved state is valid and has the given number of levels.
func (s *Score) sound(levels int) bool {
	for i := range s.Peers {
		if !s.Peers[i].Figures.sound(levels) || !s.Peers[i].Served.sound(levels) {
			return false
		}
	}
	return s.Figures.sound(levels) && s.Parts.sound(levels) && s.Next >= 0 && s.Next <= len(s.Errors)
}
