package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// step is one named part of a start.
type step struct {
	// name is in the errors of the step; empty if the step runs named steps itself.
	name string
	// start does it; nil if there is nothing to do. A start that fails leaves nothing behind.
	start func(ctx context.Context) error
	// stop undoes it; nil if there is nothing to undo.
	stop func() error
}

// named returns an error of the step with its name.
func (s *step) named(during string, err error) error {
	if s.name == "" {
		return err
	}
	return fmt.Errorf("%s%s: %w", during, s.name, err)
}

// lifecycle runs steps, and undoes in reverse order those that were done. It is for one goroutine at a time.
type lifecycle struct{ done []step }

// start runs steps in order. After an error, which names the step, everything is undone, steps of earlier calls
// included. A step may start further steps.
func (l *lifecycle) start(ctx context.Context, steps ...step) error {
	for _, s := range steps {
		if s.start != nil {
			if err := s.start(ctx); err != nil {
				return errors.Join(s.named("", err), l.stop())
			}
		}
		l.done = append(l.done, s)
	}
	return nil
}

// stop undoes everything that was done, whatever fails, and returns all errors with the names of their steps. A second
// call does nothing.
func (l *lifecycle) stop() error {
	done := l.done
	l.done = nil
	var errs error
	for _, s := range slices.Backward(done) {
		if s.stop == nil {
			continue
		}
		if err := s.stop(); err != nil {
			errs = errors.Join(errs, s.named("stopping: ", err))
		}
	}
	return errs
}
