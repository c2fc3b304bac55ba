// Package ensemble combines the experts of the forecasting engine. It has the online experts, the weights of all
// experts, and the correction of the served forecasts. It also detects changes after which these learn faster.
package ensemble

import (
	"math"
	"sync"

	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/correction"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/linear"
)

// Config describes an ensemble.
type Config struct {
	// Levels are the quantile levels.
	Levels []float64
	// Features is the number of features that linear quantiles get.
	Features int
	// If Steady is true, the learning rate does not change after a change of behaviour.
	Steady bool
}

// Ensemble holds the experts that learn from every start, their aggregation and correction, and the detectors of
// changes. It is not safe for concurrent use; its templates are.
type Ensemble struct {
	cfg     Config
	live    OnlineExperts
	Kept    *ExpertTemplate // a copy of the live experts; used if they have too many groups to be copied for each view
	mine    *OnlineExperts  // the ensemble's own copy of the template
	Since   int             // number of learnt waits since the template was copied
	Errors  SimulationErrors
	Early   EarlyErrors
	Monitor *DriftMonitor
	frozen  frozenTemplate
}

// frozenTemplate is the template that views share until an event or a wait changes the experts.
type frozenTemplate struct {
	template *ExpertTemplate
	events   uint64 // number of events at the time of the copy
	learned  int    // number of waits at the time of the copy
}

// OnlineExperts are the linear quantiles, the weights of all experts, and the correction.
type OnlineExperts struct {
	Linear     *linear.Model
	Blend      *blend.Blend
	Correction *correction.Correction
}

// New returns a new ensemble. The error names the invalid part of the configuration.
func New(cfg Config) (*Ensemble, error) {
	e := &Ensemble{cfg: cfg, Monitor: NewDriftMonitor(len(cfg.Levels))}
	var err error
	if e.live.Linear, err = linear.New(linear.Config{Levels: cfg.Levels, Features: cfg.Features}); err != nil {
		return nil, err
	}
	if e.live.Blend, err = blend.New(blend.Config{Levels: cfg.Levels, Priors: priors()}); err != nil {
		return nil, err
	}
	if e.live.Correction, err = correction.New(correction.Config{Levels: cfg.Levels}); err != nil {
		return nil, err
	}
	e.live.Correction.Observe(e.Monitor.AddScore)
	return e, nil
}

// copyForOneUser returns a copy of a template's experts with scratch memory of its own. The copy makes forecasts and
// learns nothing, so it shares the weights and the correction with the template. With many groups the weights are by
// far the largest part.
func (x *OnlineExperts) copyForOneUser() *OnlineExperts {
	return &OnlineExperts{Linear: x.Linear.Clone(), Blend: x.Blend.Share(), Correction: x.Correction}
}

// A view needs a copy of the experts, since they learn from every start. The cost of a copy grows with the number of
// groups that have weights of their own. Above TemplateHeavy weights, forecasts at submissions and in views are
// therefore made with an older copy. With n times TemplateHeavy weights it is renewed after n starts.
const (
	TemplateHeavy = 512
	GroupWeights  = 4 // the number of weights of one group
)

// interval returns the number of starts after which the copy is renewed with the given number of groups. It returns 0
// if no copy is needed.
func interval(groups int) int { return GroupWeights * groups / TemplateHeavy }

// RefreshTemplate renews the copy if that is due, and drops it if none is needed. groups is the number of groups with
// weights.
func (e *Ensemble) RefreshTemplate(groups int, clock float64, events uint64, learned int) {
	switch every := interval(groups); {
	case every == 0:
		e.Kept, e.mine = nil, nil
	case e.Kept == nil || e.Since >= every:
		e.Kept, e.mine, e.Since = e.copyTemplate(math.NaN(), clock, events, learned), nil, 0
	}
}

// Current returns the experts for forecasts at submissions.
func (e *Ensemble) Current() *OnlineExperts {
	if e.Kept == nil {
		return &e.live
	}
	if e.mine == nil {
		e.mine = e.Kept.experts.copyForOneUser()
	}
	return e.mine
}

// copyTemplate copies the live experts. It brings the correction of the copy to the instant advance, or to clock if
// advance is NaN.
func (e *Ensemble) copyTemplate(advance, clock float64, events uint64, learned int) *ExpertTemplate {
	c := &ExpertTemplate{advance: advance}
	if old := e.frozen.template; old != nil && e.frozen.learned == learned {
		c.experts.Linear, c.experts.Blend = old.experts.Linear, old.experts.Blend // these two change only with waits
	} else {
		c.experts.Linear, c.experts.Blend = e.live.Linear.Clone(), e.live.Blend.Clone()
	}
	at := advance
	if math.IsNaN(at) {
		at = clock
	}
	c.experts.Correction = e.live.Correction.At(at)
	e.frozen = frozenTemplate{template: c, events: events, learned: learned}
	return c
}

// Template returns the experts of a view at an instant. With many groups these are the older copy that is also used at
// submissions.
func (e *Ensemble) Template(at, clock float64, events uint64, learned int) *ExpertTemplate {
	if e.Kept != nil {
		return e.Kept
	}
	if c := e.frozen.template; c == nil || e.frozen.events != events || c.advance != at {
		return e.copyTemplate(at, clock, events, learned)
	}
	return e.frozen.template
}

// ExpertTemplate is an immutable copy of the experts. Each goroutine works with a copy of its own, since the experts
// have scratch memory.
type ExpertTemplate struct {
	experts OnlineExperts
	advance float64 // the view's instant, to which the correction was brought; NaN if not made for a view
	copies  sync.Pool
}

// Borrow returns a copy for one goroutine, which must give it back with GiveBack.
func (c *ExpertTemplate) Borrow() *OnlineExperts {
	if x, ok := c.copies.Get().(*OnlineExperts); ok {
		return x
	}
	return c.experts.copyForOneUser()
}

// GiveBack returns a borrowed copy.
func (c *ExpertTemplate) GiveBack(x *OnlineExperts) { c.copies.Put(x) }

// Advance brings the correction to an instant.
func (e *Ensemble) Advance(now float64) { e.live.Correction.Advance(now) }

// Served records the quantiles that were served for a job at its submission.
func (e *Ensemble) Served(id uint64, submitted float64, j correction.Job, combined, quantiles []float64) {
	e.live.Correction.Watch(int64(id), submitted, j, combined, quantiles)
}

// Started records the start of a job for the correction.
func (e *Ensemble) Started(id uint64, at float64) { e.live.Correction.Started(int64(id), at) }

// Cancelled records that a job left the queue without a start, or by a start from which the engine does not learn.
func (e *Ensemble) Cancelled(id uint64, at float64) { e.live.Correction.Cancelled(int64(id), at) }

// Weights writes the weights of the experts for all jobs together into w, at the level with the given index. They sum
// to 1.
func (e *Ensemble) Weights(level int, w []float64) { e.live.Blend.Weights(level, w) }

// Learn learns from the wait of a job, given as its logarithm.
func (e *Ensemble) Learn(queue string, p *track.PendingForecast, row []float64, z float64) {
	e.live.Linear.Learn(row, z)
	e.live.Blend.Learn(p.Groups, p.Answers, z)
	e.Monitor.Learned(queue, e.cfg.Levels, p.Said, z)
	e.Since++
}

// LearnRow learns from the wait of a job that was not forecast, given as its logarithm.
func (e *Ensemble) LearnRow(row []float64, z float64) {
	e.live.Linear.Learn(row, z)
	e.Since++
}

// QueueAppeared raises the alarm NewQueue for a queue. It must not be called before trees were first trained.
func (e *Ensemble) QueueAppeared(name string) {
	e.Monitor.Raised = append(e.Monitor.Raised, alarm{queue: name, reason: NewQueue})
}

// ForgetQueue drops the detectors of a queue.
func (e *Ensemble) ForgetQueue(name string) { delete(e.Monitor.queues, name) }

// React counts the changes that were noticed since the last call, with now as their time. The affected experts learn
// faster for a while. That is not so with Config.Steady, for new queues, and for changes within quietWaits waits after
// an earlier one. began has, for each change in all jobs that has an effect, the number of waits since it began. grown
// is true if trees should be trained soon because a new queue has enough waits.
func (e *Ensemble) React(now float64) (began []int, grown bool) {
	w := e.Monitor
	for _, a := range w.Raised {
		s := w.all
		if !a.whole {
			s = w.of(a.queue)
		}
		if s == nil {
			continue
		}
		s.Alarms[a.reason]++
		s.Last, s.Reason = now, a.reason
		if e.cfg.Steady || a.reason == NewQueue || s.waits < s.calm {
			continue
		}
		s.calm = s.waits + quietWaits
		e.hasten(a)
		if a.whole {
			began = append(began, a.began)
		}
	}
	w.Raised = w.Raised[:0]
	grown, w.grown = w.grown, false
	return began, grown
}

// hasten makes the experts learn faster for a while, in all jobs or in one queue.
func (e *Ensemble) hasten(a alarm) {
	group := ""
	if !a.whole {
		group = QueuePrefix + a.queue
	}
	e.live.Blend.Forget(group, forgottenPart)
	if a.whole {
		e.live.Linear.Hasten(hastenedLinear)
	}
	e.frozen.template = nil // the experts have changed without a wait
}
