package ensemble

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/correction"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/linear"
)

// CodeTemplate reads or writes a copy of the experts.
func CodeTemplate(s *codec.Codec, c *ExpertTemplate) {
	x := &c.experts
	if s.Reading {
		*x = OnlineExperts{Linear: &linear.Model{}, Blend: &blend.Blend{}, Correction: &correction.Correction{}}
	}
	x.code(s)
	s.Real(&c.advance)
}

// CodeExperts reads or writes the live experts.
func (e *Ensemble) CodeExperts(s *codec.Codec) { e.live.code(s) }

func (x *OnlineExperts) code(s *codec.Codec) {
	x.Linear.Code(s)
	x.Blend.Code(s)
	x.Correction.Code(s)
	if s.Reading && !s.Bad && x.Blend.Experts() != Count {
		s.Differs("it combines %d experts, not %d", x.Blend.Experts(), Count)
	}
}

// CodeState reads or writes the errors of the simulation, the copy of the experts, and the detectors of changes.
func (e *Ensemble) CodeState(s *codec.Codec) {
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
		CodeTemplate(s, e.Kept)
	}
	e.Monitor.code(s)
}

func codePendingErrors(s *codec.Codec, all *[]PendingError) {
	codec.List(s, all, func(g *PendingError) {
		s.Uint(&g.id)
		s.Finite(&g.submit, &g.said)
	})
}

// CodeEarly reads or writes the inputs of a view's early forecasts.
func CodeEarly(s *codec.Codec, early *[EarlyClasses]EarlyForecast, levels []float64) {
	for c := range early {
		s.Int(&early[c].Known)
		track.CodeKnown(s, &early[c].Errors, levels)
	}
}
