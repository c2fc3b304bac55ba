package ensemble

import (
	"errors"
	"math"

	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/codec"
	"github.com/waitcast/waitcast/predictor/conformal"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/linear"
)

// CodeTemplate passes a copy of the experts.
func CodeTemplate(s *codec.Codec, c *ExpertTemplate) error {
	x := &c.experts
	if s.Reading {
		*x = OnlineExperts{Linear: &linear.Model{}, Blend: &blend.Blend{}, Calibrator: &conformal.Calibrator{}}
	}
	err := errors.Join(s.Own(x.Linear), s.Own(x.Blend), s.Own(x.Calibrator))
	s.Real(&c.advance)
	if err == nil && s.Reading && x.Blend.Experts() != Count {
		err = ErrShape
	}
	return err
}

// CodeExperts passes the live experts.
func (e *Ensemble) CodeExperts(s *codec.Codec) error {
	err := errors.Join(s.Own(e.live.Linear), s.Own(e.live.Blend), s.Own(e.live.Calibrator))
	if err == nil && s.Reading && e.live.Blend.Experts() != Count {
		err = ErrShape
	}
	return err
}

// CodeState passes the errors of the simulation, the copy of the experts, and the detectors of changes.
func (e *Ensemble) CodeState(s *codec.Codec) error {
	var err error
	s.Reals(&e.Errors.Known)
	codePendingErrors(s, &e.Errors.Waiting)
	if s.Reading && (len(e.Errors.Known) > CorrectedJobs || len(e.Errors.Waiting) > CorrectedJobs) {
		s.Fail()
	}
	for c := range e.Early.Known {
		s.Reals(&e.Early.Known[c])
		if s.Reading && len(e.Early.Known[c]) > EarlyWaits {
			s.Fail()
		}
	}
	codePendingErrors(s, &e.Early.Waiting)
	kept := e.Kept != nil
	if s.Flag(&kept); kept {
		if s.Reading {
			e.Kept = &ExpertTemplate{advance: math.NaN()}
		}
		err = errors.Join(err, CodeTemplate(s, e.Kept))
	}
	return errors.Join(err, e.Monitor.code(s))
}

func codePendingErrors(s *codec.Codec, all *[]PendingError) {
	codec.List(s, all, func(g *PendingError) {
		s.Uint(&g.id)
		s.Finite(&g.submit, &g.said)
	})
}

// CodeEarly passes what early forecasts of a view are made from.
func CodeEarly(s *codec.Codec, early *[EarlyClasses]EarlyForecast, levels []float64) {
	for c := range early {
		s.Int(&early[c].Known)
		track.CodeKnown(s, &early[c].Errors, levels)
	}
}

// ErrShape is the error for state that was saved with other levels, features or experts.
var ErrShape = errors.New("it was saved with other levels, features or experts: start afresh")
