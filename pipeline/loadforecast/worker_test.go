package loadforecast

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/eventtest"
)

// TestFailuresAreCounted proves that every failure counts, though only the first is logged, and that a cancellation is
// none.
func TestFailuresAreCounted(t *testing.T) {
	l := newLearner(t, zap.NewNop())
	defer l.Stop()
	for i, step := range []struct {
		err  error
		want int64
	}{{nil, 0}, {errors.New("refused"), 1}, {errors.New("refused"), 2}, {context.Canceled, 2}} {
		if failed := l.worker.failed(step.err); failed != (step.err != nil) {
			t.Errorf("step %d: failed is %v", i, failed)
		}
		if _, got := l.Published().Counts(); got != step.want {
			t.Errorf("step %d: %d failures, want %d", i, got, step.want)
		}
	}
}

// history returns the events as those of a log that is read later.
func history(events []job.Event) []job.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].Live = false
	}
	return out
}

// TestStop proves that Stop ends the work under way, and that later events begin none.
func TestStop(t *testing.T) {
	l, s := newLearner(t, zap.NewNop()), cluster.New("c", 128)
	events := history(eventtest.Workload(t, 300, 4))
	play(l, s, events[:500]...)
	l.Stop()
	if l.worker.working != nil {
		t.Fatal("it goes on after Stop")
	}
	play(l, s, events[500:]...)
	l.CaughtUp(s)
	if l.worker.working != nil {
		t.Error("it begins again after Stop")
	}
}

// TestRestore proves that a learner knows the jobs of the cluster after a restart, whether its saved state is missing,
// damaged or older than the cluster's state, and that it forecasts. It complains only of a damaged state.
func TestRestore(t *testing.T) {
	events := history(eventtest.Workload(t, 120, 4))
	s := cluster.New("c", 128)
	first := newLearner(t, zap.NewNop())
	play(first, s, events[:len(events)/2]...)
	first.CaughtUp(s)
	first.Wait()
	first.Finish()
	saved := first.TakeSaved()
	first.Stop()
	if saved == nil || saved.Seq != first.seq || first.TakeSaved() != nil {
		t.Fatalf("after event %d %+v is saved at an orderly end, then more", first.seq, saved)
	}
	whole := saved.Data
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	for _, c := range []struct {
		name      string
		saved     []byte
		complains bool
	}{
		{"missing", nil, false}, {"no state", []byte("x"), true}, {"cut", whole[:len(whole)/2], true},
		{"damaged", damaged, true}, {"older", whole, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			core, logs := observer.New(zapcore.WarnLevel)
			l, s := newLearner(t, zap.New(core)), cluster.New("c", 128)
			defer l.Stop()
			play(newLearner(t, zap.NewNop()), s, events[:len(events)/2]...) // a snapshot has it
			l.BeginReplay(c.saved)
			play(l, s, events[len(events)/2:]...)
			l.EndReplay(1000, s)
			l.Wait()
			compareLive(t, l, s)
			l.Finish()
			if got := l.TakeSaved(); got == nil || got.Seq != 1000 {
				t.Errorf("after event 1000 %+v is saved", got)
			}
			if o := l.Published().Newest(); o == nil || !o.At.Equal(s.Now()) {
				t.Errorf("the newest forecast is %+v, want one for %v", o, s.Now())
			}
			if (logs.Len() > 0) != c.complains {
				t.Errorf("logged %v", logs.All())
			}
		})
	}
}

// TestRestoredLearnerGoesOn proves that a learner that is restored at the instant of the saved state knows the same
// jobs as before and forecasts the same.
func TestRestoredLearnerGoesOn(t *testing.T) {
	events := history(eventtest.Workload(t, 120, 4))
	s := cluster.New("c", 128)
	first := newLearner(t, zap.NewNop())
	play(first, s, events...)
	first.CaughtUp(s)
	first.Wait()
	first.Finish()
	first.Stop()
	before := first.Published().Newest()
	again := newLearner(t, zap.NewNop())
	defer again.Stop()
	again.BeginReplay(first.TakeSaved().Data)
	again.EndReplay(first.seq, s)
	again.Wait()
	compareLive(t, again, s)
	after := again.Published().Newest()
	if before == nil || after == nil || !slices.Equal(before.Outcomes, after.Outcomes) {
		t.Fatalf("before it has %+v, after %+v", before, after)
	}
}
