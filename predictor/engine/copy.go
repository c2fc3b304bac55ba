package engine

import (
	"fmt"
	"slices"
)

// Copy returns an engine that goes on as this one would: what it is told changes nothing here. The rows of waits, most of an engine's memory, the trees, and a training
// under way are shared, where a restored engine has its own, and trains again; so a copy is for being told a little and thrown away. It must be closed, and before that one is.
func (e *Engine) Copy() (*Engine, error) {
	to := &stream{brief: true}
	if err := e.code(to); err != nil {
		return nil, fmt.Errorf("engine: copy: %w", err)
	}
	c, err := New(e.cfg)
	if err != nil {
		return nil, err
	}
	from := &stream{reader: reader{rest: to.writer}, reading: true, brief: true}
	if err := c.code(from); err != nil {
		return nil, fmt.Errorf("engine: copy: %w", err)
	}
	if from.bad || len(from.rest) > 0 {
		return nil, ErrCorrupt
	}
	c.learner.share(e.learner)
	return c, nil
}

// share takes over what another learner knows. The rows themselves are never written to.
func (l *learner) share(of *learner) {
	l.rows, l.targets, l.changes = slices.Clone(of.rows), slices.Clone(of.targets), slices.Clone(of.changes)
	l.seen, l.trained, l.soon, l.models = of.seen, of.trained, of.soon, of.models
	l.next, l.lent = of.next, of.next
}
