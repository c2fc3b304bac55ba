package daemon

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestLifecycle proves that steps are done in order and undone in reverse order. An error names its step, and undoes
// the steps before it, including those of earlier calls. An error in undoing a step does not prevent other steps from
// being undone.
func TestLifecycle(t *testing.T) {
	var log []string
	broken, worse := errors.New("broken"), errors.New("worse")
	named := func(name string, startErr, stopErr error) step {
		return step{
			name: name,
			start: func(context.Context) error {
				log = append(log, "+"+name)
				return startErr
			},
			stop: func() error {
				log = append(log, "-"+name)
				return stopErr
			},
		}
	}
	var l lifecycle
	want := func(what string, err error, text string, steps ...string) {
		t.Helper()
		if err == nil && text != "" || err != nil && err.Error() != text {
			t.Errorf("%s: %v, want %q", what, err, text)
		}
		if !slices.Equal(log, steps) {
			t.Errorf("%s: %v, want %v", what, log, steps)
		}
		log = nil
	}
	nested := step{name: "outer", start: func(ctx context.Context) error {
		return l.start(ctx, named("inner", nil, nil))
	}}
	want("start", l.start(t.Context(), named("a", nil, nil), nested, step{name: "nothing"}, named("b", nil, nil)), "",
		"+a", "+inner", "+b")
	want("stop", l.stop(), "", "-b", "-inner", "-a")
	want("stop again", l.stop(), "")

	want("start", l.start(t.Context(), named("a", nil, worse), named("b", nil, nil)), "", "+a", "+b")
	err := l.start(t.Context(), named("c", nil, nil), named("d", broken, nil), named("e", nil, nil))
	if !errors.Is(err, broken) || !errors.Is(err, worse) {
		t.Errorf("%v is not both errors", err)
	}
	want("failed start", err, "d: broken\nstopping: a: worse", "+c", "+d", "-c", "-b", "-a")

	err = l.start(t.Context(), step{start: func(context.Context) error { return broken },
		stop: func() error { return worse }})
	want("failed start without a name", err, "broken")

	want("start", l.start(t.Context(), named("a", nil, broken), named("b", nil, worse)), "", "+a", "+b")
	want("failed stop", l.stop(), "stopping: b: worse\nstopping: a: broken", "-b", "-a")
}
