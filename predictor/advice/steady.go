package advice

import (
	"fmt"
	"math"
)

// Steady keeps advice that is renewed with every forecast from flapping. An advice stands until another candidate is
// better than it by more than Gain, and for at least Hold. To go back the other has to be better by as much again, so
// under noise that moves gains by less than Gain no advice comes back that was left; and no noise changes it more often
// than once in Hold.
type Steady struct {
	// Gain is the least share by which the score must fall, at least 0 and below 1; under ByDeadline the least rise of
	// the probability.
	Gain float64
	// Hold is how long an advice stands at least, in seconds, 0 or more.
	Hold float64
}

// Standing is an advice that stands. The zero Standing is none.
type Standing struct {
	Name  string  // of the candidate
	Since float64 // seconds, from the caller's origin
}

// ClockError is an instant before the one at which the standing advice was given.
type ClockError struct{ Now, Since float64 }

// Error names both.
func (e *ClockError) Error() string {
	return fmt.Sprintf("the time is %v s, before the standing advice of %v s", e.Now, e.Since)
}

// Settle returns the advice that stands after a new result, with Since = now where it has changed. An advice changes at
// once if there was none, if its candidate is not among the answers any more, or if it has become infinitely bad. The
// error is an *ObjectiveError for settings that cannot be, or a *ClockError.
func (s Steady) Settle(standing Standing, now float64, r *Result) (Standing, error) {
	switch {
	case !(s.Gain >= 0 && s.Gain < 1):
		return standing, &ObjectiveError{"least gain", s.Gain, "a share from 0 to below 1"}
	case !(s.Hold >= 0):
		return standing, &ObjectiveError{"hold time", s.Hold, "seconds, 0 or more"}
	case math.IsNaN(now) || math.IsInf(now, 0):
		return standing, &ObjectiveError{"time", now, "a finite number"}
	}
	best := r.Best()
	old := r.find(standing.Name)
	if standing == (Standing{}) || old == nil {
		return Standing{best.Name, now}, nil
	}
	if now < standing.Since {
		return standing, &ClockError{now, standing.Since}
	}
	if old == best {
		return standing, nil
	}
	if math.IsInf(old.Score, 1) || now-standing.Since >= s.Hold && old.Score-best.Score > s.Gain*unit(r, old) {
		return Standing{best.Name, now}, nil
	}
	return standing, nil
}

// unit returns what the least gain is a share of.
func unit(r *Result, old *Answer) float64 {
	if r.Objective.Kind == ByDeadline {
		return 1
	}
	return old.Score
}

func (r *Result) find(name string) *Answer {
	for i := range r.Answers {
		if r.Answers[i].Name == name {
			return &r.Answers[i]
		}
	}
	return nil
}
