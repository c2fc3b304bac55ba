package engine

import (
	"fmt"

	"github.com/waitcast/waitcast/internal/codec"
)

// Copy returns an engine that continues as this one would: events of the copy change nothing here. The rows of waits,
// most of an engine's memory, the trees, and a training under way are shared, where a restored engine has its own, and
// trains again; so a copy is for a few events, after which it is discarded. It must be closed, and before that one is.
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
