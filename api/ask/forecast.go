package ask

import (
	"errors"
	"slices"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// playedJobs is up to how many running and waiting jobs an answer is explained by playing first come, first served:
// behind more that takes milliseconds.
const playedJobs = 300

// forecast asks the engine, and strict first come, first served for what explains the answer. If the engine has no
// forecast yet, the other is the answer; it is an error if neither has one.
func (s *Service) forecast(v *readmodel.View, now time.Time, request job.Attributes) (*predictor.Scene,
	*predictor.Forecast, *engine.Forecast, error) {
	out := &engine.Forecast{}
	if v.Engine != nil {
		r := v.PrioritizedRequest(&request)
		*out = v.Engine.Forecast(&r)
	}
	scene, explained, err := s.explain(v, now, request, out)
	var cannot *headqueue.CannotSay
	refused := errors.As(err, &cannot) && (cannot.Reason == headqueue.LargerThanMachine ||
		cannot.Reason == predictor.ReasonUnknownSize)
	if refused || out.Quantiles == nil {
		return scene, explained, out, err
	}
	if err != nil {
		free := max(0, scene.Capacity()-explained.Used)
		explained.Need, explained.Medians = explained.AheadProcs+scene.Size-free, nil
	}
	explained.Method = accuracy.Waitcast
	return scene, explained, out, explained.Serve(scene, out.Quantiles)
}

// explain reports what is ahead of a request, what is free and what is needed.
func (s *Service) explain(v *readmodel.View, now time.Time, request job.Attributes,
	out *engine.Forecast) (*predictor.Scene, *predictor.Forecast, error) {
	scene := v.Pooled(now, request)
	if out.Quantiles == nil || len(v.Running)+len(v.Queued) <= playedJobs || scene.Dimension != cluster.Procs {
		scene = v.Scene(now, request)
		f := s.forecasters.Get().(*predictor.Forecaster)
		defer s.forecasters.Put(f)
		explained, err := f.Forecast(scene)
		return scene, &explained, err
	}
	procs, free := scene.Pool.Room() // the engine's pool may be a learnt one of another size
	explained := &predictor.Forecast{Dimension: scene.Dimension, Used: procs - free, AheadJobs: out.JobsAhead,
		AheadProcs: out.ProcsAhead}
	explained.Need = max(0, out.ProcsAhead+scene.Size-free)
	return scene, explained, nil
}

// addExperts adds to an answer what it rests on, and the forecasts of the experts.
func addExperts(w *wire.Wait, s *engine.Forecast) {
	w.Basis = wire.Basis{Learnt: s.Learnt, Similar: s.Similar, RestsOn: s.Basis}
	names := ensemble.Names()
	w.Methods = slices.Grow(w.Methods, len(names))
	for i, name := range names {
		if i >= len(s.Experts) || slices.ContainsFunc(w.Methods, func(m wire.Method) bool { return m.Name == name }) {
			continue
		}
		m := wire.Method{Name: name}
		if q := s.Experts[i]; q != nil {
			if median := q[waittime.Median]; !waittime.IsNever(median) {
				m.MedianSeconds = seconds(median)
			}
		} else {
			m.CannotSay = &wire.CannotSay{Reason: string(headqueue.NotFitted), Detail: "it has nothing to go by yet"}
		}
		w.Methods = append(w.Methods, m)
	}
}

// TypicalWait forecasts the wait of a typical job as GET /v1/wait does: +Inf is a level that is not reached, nil that
// no forecast is possible.
func (s *Service) TypicalWait(v *readmodel.View, now time.Time, t *readmodel.Typical) []float64 {
	_, f, _, err := s.forecast(v, now, job.Attributes{Queue: t.Queue, Procs: t.Procs, TimeLimit: t.TimeLimit})
	if err != nil || f == nil {
		return nil
	}
	return f.Quantiles
}
