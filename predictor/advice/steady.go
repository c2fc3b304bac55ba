package advice

import (
	"fmt"
	"math"
)

// Steady keeps advice that is renewed with every forecast from changing too often. Advice stands for at least Hold, and
// until another candidate is better by more than Gain. To return, the old candidate must be better by Gain in turn. So
// noise that changes gains by less than Gain cannot make advice alternate. No noise changes advice more often than once
// per Hold, unless the advised candidate is gone or has an infinite score, see Settle.
type Steady struct {
	// Gain is the minimum relative decrease of the score, at least 0 and below 1. Under ByDeadline it is the minimum
	// increase of the probability.
	Gain float64
	// Hold is the minimum time for which advice stands, in seconds, 0 or more.
	Hold float64
}

// Standing is the advice that stands at present. The zero value means none.
type Standing struct {
	Name  string  // name of the candidate
	Since float64 // seconds, from the caller's origin
}

// ClockError reports an instant before the instant of the standing advice.
type ClockError struct{ Now, Since float64 }

// Error names both instants.
func (e *ClockError) Error() string {
	return fmt.Sprintf("the time is %v s, before the standing advice of %v s", e.Now, e.Since)
}

// Settle returns the standing advice after a new result. If the advice has changed, Since is now. Advice changes at
// once if there was none, if its candidate is no longer among the answers, or if its score has become infinite. The
// error is an *ObjectiveError for invalid settings, or a *ClockError.
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

// unit returns the value to which the minimum gain is relative.
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
