package pipeline

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/modelstore"
)

// recent is the number of newest scored forecasts over which the median error is taken.
const recent = 1000

// neverSeconds stands for a quantile that is never reached when its pinball loss is taken: one year.
const neverSeconds = 365 * 86400

// logShift is added to a wait before its logarithm is taken, in seconds, so that the many waits of 0 count alike.
const logShift = 60

// Score says how the forecasts of one queue turned out.
type Score struct {
	// Scored is the number of forecasts whose job started; Live of them were made as it happened.
	Scored int64 `json:"scored"`
	Live   int64 `json:"live"`
	// Censored is the number of forecasts whose job left the queue without a start.
	Censored int64 `json:"censored"`
	// Unforecast is the number of jobs that started without a forecast, because none was possible.
	Unforecast int64 `json:"unforecast"`
	// Hits counts, per level, the waits that were not longer than the quantile.
	Hits []int64 `json:"hits"`
	// LogPinball is the sum, per level, of the pinball loss of ln(wait + 60 s).
	LogPinball []float64 `json:"log_pinball"`
	// Errors are the newest absolute errors of the median, in seconds, oldest overwritten first.
	Errors []float64 `json:"errors"`
	Next   int       `json:"next"`
}

func newScore(levels int) *Score {
	return &Score{Hits: make([]int64, levels), LogPinball: make([]float64, levels)}
}

func (s *Score) add(row *modelstore.Row) {
	switch {
	case row.Outcome != modelstore.Started:
		s.Censored++
		return
	case row.Quantiles == nil:
		s.Unforecast++
		return
	}
	s.Scored++
	if !row.Replayed {
		s.Live++
	}
	for i, q := range row.Quantiles {
		if q == never {
			q = neverSeconds
		}
		// A log of whole seconds tells a wait to the second.
		if row.WaitSeconds <= math.Ceil(q) {
			s.Hits[i]++
		}
		s.LogPinball[i] += Pinball(row.Levels[i], math.Log(q+logShift), math.Log(row.WaitSeconds+logShift))
		if row.Levels[i] == .5 {
			s.remember(math.Abs(q - row.WaitSeconds))
		}
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

// Pinball is the pinball (quantile) loss of forecasting the quantile of a level as q when y came: level*(y-q) above,
// (1-level)*(q-y) below.
func Pinball(level, q, y float64) float64 {
	if y >= q {
		return level * (y - q)
	}
	return (1 - level) * (q - y)
}

// clone returns an independent copy for a view.
func (s *Score) clone() *Score {
	c := *s
	c.Hits, c.LogPinball, c.Errors = slices.Clone(s.Hits), slices.Clone(s.LogPinball), slices.Clone(s.Errors)
	return &c
}
