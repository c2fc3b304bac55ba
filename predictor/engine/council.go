package engine

import (
	"math"

	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/conformal"
	"github.com/waitcast/waitcast/predictor/linear"
)

// A view has copies of the experts that learn from every start and of the correction. They are made by saving them, which grows with the groups that have weights of their own. Above a weight of councilHeavy forecasts are therefore made, at submits as in views, with a copy that is renewed after so many starts
// as that weight is reached times.
const (
	councilHeavy = 512
	councilGroup = 4 // what a group weighs
)

// interval returns after how many starts the copy is renewed, 0 for no copy.
func (e *Engine) interval() int {
	return councilGroup * (len(e.inOrder) + sizeClasses/2) / councilHeavy
}

// renew renews the copy where that is due.
func (e *Engine) renew() {
	switch every := e.interval(); {
	case every == 0:
		e.kept, e.mine = nil, nil
	case e.kept == nil || e.since >= every:
		e.kept, e.mine, e.since = e.save(math.NaN()), nil, 0
	}
}

// voices returns the experts that forecasts are made with now.
func (e *Engine) voices() *voices {
	if e.kept == nil {
		return &e.live
	}
	if e.mine == nil {
		if e.mine = e.kept.bench(); e.mine == nil {
			return &e.live
		}
	}
	return &e.mine.voices
}

// save copies the experts; one that cannot be saved is missing, and so is what it says.
func (e *Engine) save(advance float64) *council {
	c := &council{advance: advance}
	if old := e.frozen.council; old != nil && e.frozen.learnt == e.learner.seen {
		c.linear, c.blend = old.linear, old.blend // they change with waits only
	} else {
		c.linear, _ = e.live.linear.MarshalBinary()
		c.blend, _ = e.live.blend.MarshalBinary()
	}
	at := advance
	if math.IsNaN(at) {
		at = e.clock
	}
	c.calibrator, _ = e.live.calibrator.At(at).MarshalBinary()
	e.frozen.council, e.frozen.stamp, e.frozen.learnt = c, e.events, e.learner.seen
	return c
}

// council returns the experts of a view at an instant.
func (e *Engine) council(at float64) *council {
	if e.kept != nil {
		return e.kept
	}
	if c := e.frozen.council; c == nil || e.frozen.stamp != e.events || c.advance != at {
		return e.save(at)
	}
	return e.frozen.council
}

// voices restores the experts.
func (c *council) voices() (voices, error) {
	v := voices{linear: &linear.Model{}, blend: &blend.Blend{}, calibrator: &conformal.Calibrator{}}
	if err := v.linear.UnmarshalBinary(c.linear); err != nil {
		return v, err
	}
	if err := v.blend.UnmarshalBinary(c.blend); err != nil {
		return v, err
	}
	if err := v.calibrator.UnmarshalBinary(c.calibrator); err != nil {
		return v, err
	}
	return v, nil
}
