package forward

import (
	"math"
	"slices"
)

// Sim forecasts one request at a time in memory that it keeps: once that has grown, nothing is allocated. It is not
// safe for use by several goroutines.
type Sim struct {
	scene   scene
	machine machine
	follows bool // the causes of starts
}

// Waits appends to dst[:0] the waits of a request, in seconds, in so many replicas of the state, sorted, and returns
// it. Equal input gives equal output, and a job that is in two states with the same Key has the same luck in both.
//
// The error is a *TooLargeError, a *NeverError, a *LawError or wraps ErrBadInput.
func (s *Sim) Waits(state *State, request Request, replicas int, seed uint64, dst []float64) ([]float64, error) {
	dst = dst[:0]
	if err := field(replicas > 0, "replicas", -1, "", float64(replicas), "1 or more"); err != nil {
		return dst, err
	}
	s.scene.plans = false
	if err := s.ready(state, &request); err != nil {
		return dst, err
	}
	for i := range replicas {
		w, err := s.one(&request, i, seed)
		if err != nil {
			return dst[:0], err
		}
		dst = append(dst, w)
	}
	slices.Sort(dst)
	return dst, nil
}

// Plan returns the wait of a request, in seconds, that follows from the time limits alone: every job runs to its limit,
// an unknown one being State.DefaultLimit (100 years, if that is 0 too), one past its limit for another minute. Laws
// and arrivals are not used. This is what schedulers show (squeue --start); as jobs end before their limits, it is
// mostly too late. Errors are those of Waits.
func (s *Sim) Plan(state *State, request Request) (float64, error) {
	s.scene.plans = true
	if err := s.ready(state, &request); err != nil {
		return 0, err
	}
	return s.one(&request, 0, 0)
}

func (s *Sim) ready(state *State, request *Request) error {
	if err := s.scene.prepare(state); err != nil {
		return err
	}
	return request.check(s.scene.most, len(state.Waiting))
}

// one plays one replica with the request.
func (s *Sim) one(request *Request, replica int, seed uint64) (float64, error) {
	m := &s.machine
	m.reset(&s.scene, replica, seed)
	m.ask(request)
	if s.follows {
		m.follow()
	}
	w := m.play()
	switch {
	case m.failed != nil:
		return 0, m.failed
	case math.IsInf(w, 1):
		return 0, &NeverError{Procs: request.Procs, Limit: request.Limit}
	}
	return w, nil
}
