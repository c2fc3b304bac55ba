package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// step is one named part of a start.
type step struct {
	// name is the name of the step in its errors. It is empty if the step runs steps that have names.
	name string
	// start does the work of the step; nil if the step has none. If start fails, it leaves nothing to undo.
	start func(ctx context.Context) error
	// stop undoes start; nil if nothing is to be undone.
	stop func() error
}

// named returns an error with the name of the step.
func (s *step) named(during string, err error) error {
	if s.name == "" {
		return err
	}
	return fmt.Errorf("%s%s: %w", during, s.name, err)
}

// lifecycle runs steps and can undo them in reverse order. Only one goroutine at a time may use it.
type lifecycle struct{ done []step }

// start runs steps in order. On error it undoes all steps, including those of earlier calls; the error names the step
// that failed. A step may start further steps.
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

// stop undoes all steps that were done, even if some cannot be undone. It returns all errors with the names of their
// steps. A second call has no effect.
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
