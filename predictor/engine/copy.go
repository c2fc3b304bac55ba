package engine

import (
	"fmt"

	"github.com/waitcast/waitcast/predictor/codec"
)

// Copy returns an engine that continues as this one would: events of the copy change nothing here. The rows of waits,
// most of an engine's memory, the trees, and a training under way are shared, where a restored engine has its own, and
// trains again; so a copy is for a few events, after which it is discarded. It must be closed, and before that one is.
func (e *Engine) Copy() (*Engine, error) {
	to := &codec.Codec{WithoutShared: true}
	if err := e.code(to); err != nil {
		return nil, fmt.Errorf("engine: copy: %w", err)
	}
	c, err := New(e.cfg)
	if err != nil {
		return nil, err
	}
	from := &codec.Codec{Reader: codec.Reader{Rest: to.Writer}, Reading: true, WithoutShared: true}
	if err := c.code(from); err != nil {
		return nil, fmt.Errorf("engine: copy: %w", err)
	}
	if from.Bad || len(from.Rest) > 0 {
		return nil, ErrCorrupt
	}
	c.learner.Share(e.learner)
	c.tracker.Past.Share(&e.tracker.Past)
	c.pools.Share(e.pools)
	return c, nil
}
