package engine

import (
	"fmt"

	"github.com/waitcast/waitcast/internal/codec"
)

// Copy returns an engine that continues like this one. Events of the copy do not change the original. Unlike a restored
// engine, the copy shares the rows of waits (most of the memory), the trees and a running training with the original.
// It is meant for a few events, and is then discarded. It must be closed before the original.
func (e *Engine) Copy() (*Engine, error) {
	c, err := New(e.cfg)
	if err != nil {
		return nil, err
	}
	if err := codec.Copy(e.fields, c.fields); err != nil {
		c.Close()
		return nil, fmt.Errorf("engine: copy: %w", err)
	}
	c.learner.Share(e.learner)
	c.tracker.ShareLimits(e.tracker)
	c.tracker.Past.Share(&e.tracker.Past)
	c.pools.Share(e.pools)
	return c, nil
}
