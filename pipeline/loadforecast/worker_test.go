package loadforecast

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"
	"github.com/waitcast/waitcast/internal/panics"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/eventtest"
)

// TestFailuresAreCounted proves that every failure is counted, and that a cancellation is not.
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

// history returns the events as if they had been read from a log later than they happened.
func history(events []job.Event) []job.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].Live = false
	}
	return out
}

// TestStop proves that Stop ends the work in the background, and that later events do not begin any.
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

// TestAPanicOfTheGoroutine proves that after a panic of the goroutine the next notification panics, that no goroutine
// begins, and that the learner can be stopped.
func TestAPanicOfTheGoroutine(t *testing.T) {
	l, s := newLearner(t, zap.NewNop()), cluster.New("c", 128)
	events := history(eventtest.Workload(t, 300, 4))
	l.worker.model.forecaster = nil
	caught := panics.Catch(func() {
		for i := range events {
			play(l, s, events[i])
			l.Wait()
		}
	})
	if caught == nil || l.worker.working != nil || !l.worker.closed {
		t.Errorf("caught %v; a goroutine %v, closed %v", caught, l.worker.working != nil, l.worker.closed)
	}
	l.Stop()
}

// TestRestore proves that after a restart a learner has the jobs of the cluster and makes forecasts, whether its saved
// state is missing, damaged or older than the cluster's state. A warning is logged only for a damaged state.
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
		{"damaged", damaged, true}, {"older", whole, false}, {"of another version", anotherVersion(t, whole), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			core, logs := observer.New(zapcore.WarnLevel)
			l, s := newLearner(t, zap.New(core)), cluster.New("c", 128)
			defer l.Stop()
			play(newLearner(t, zap.NewNop()), s, events[:len(events)/2]...) // s is then as a snapshot has it
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

// anotherVersion returns the saved state data as another version of the program would save it.
func anotherVersion(t *testing.T, data []byte) []byte {
	kind, version, fields := codectest.Split(t, data)
	return codectest.Seal(t, kind, version+1, fields)
}

// TestUnusableStateIsLearntFromTheJournal proves that a learner whose saved state is damaged or of another version
// learns the same from the journal as a learner without saved state.
func TestUnusableStateIsLearntFromTheJournal(t *testing.T) {
	events := history(eventtest.Workload(t, 300, 4))
	learn := func(saved []byte) []byte {
		l, s := newLearner(t, zap.NewNop()), cluster.New("c", 128)
		defer l.Stop()
		l.BeginReplay(saved)
		play(l, s, events...)
		l.EndReplay(1000, s)
		l.Wait()
		l.Finish()
		return l.TakeSaved().Data
	}
	want := learn(nil)
	for name, saved := range map[string][]byte{
		"of another version": anotherVersion(t, want), "damaged": want[:len(want)/2],
		"of an old program": []byte("\x1f\x8b"),
	} {
		if got := learn(saved); !bytes.Equal(got, want) {
			t.Errorf("%s: it learnt %d other bytes; without saved state it learns %d", name, len(got), len(want))
		}
	}
}

// TestSavedState proves that a saved model is refused if it is damaged or of another version.
func TestSavedState(t *testing.T) {
	events := history(eventtest.Workload(t, 120, 4))
	l, s := newLearner(t, zap.NewNop()), cluster.New("c", 128)
	defer l.Stop()
	play(l, s, events...)
	l.Wait()
	l.Finish()
	codectest.Check(t, l.TakeSaved().Data, func() codec.Savable {
		return &savable{newLearner(t, zap.NewNop()).worker.model}
	})
	unpacked := codectest.Seal(t, kind, version, codectest.Fields((&savedModel{packed: []byte("x")}).fields))
	if err := (&savable{l.worker.model}).UnmarshalBinary(unpacked); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("a forecaster that is not compressed: %v", err)
	}
}

// savable is a model with methods to save and restore it.
type savable struct{ *model }

func (s *savable) MarshalBinary() ([]byte, error) { return s.marshal() }

func (s *savable) UnmarshalBinary(data []byte) error {
	m, err := unmarshal(s.options, data)
	if err == nil {
		s.model = m
	}
	return err
}

// TestRestoredLearnerGoesOn proves that a restored learner has the same jobs and the same numbers of outcomes as the
// one that was saved, if the cluster is restored at the instant of the saved state.
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

// expensiveForecast returns a learner that seems to have just made a forecast that took the given time, and the state
// of its cluster.
func expensiveForecast(t *testing.T, took time.Duration) (*Learner, *cluster.State) {
	t.Helper()
	l, s := newLearner(t, zap.NewNop()), cluster.New("c", 8)
	play(l, s, sized(event(job.Submit, "1", 10), 4), event(job.Start, "1", 20))
	l.CaughtUp(s)
	l.Wait()
	if made, failed := l.Published().Counts(); made != 1 || failed != 0 {
		t.Fatalf("%d forecasts were made and %d failed, want the first", made, failed)
	}
	l.worker.ended, l.worker.took = time.Now(), took
	return l, s
}

// elapse lets time pass in a bubble of testing/synctest, and waits for the work that becomes due.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestForecastAfterThePause proves that a pause follows an expensive forecast, as long as loadShare demands. At its end
// one forecast is made, from the newest sample of the pause, even if the log has no further events.
func TestForecastAfterThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took, pause = 10 * time.Second, 40 * time.Second
		l, s := expensiveForecast(t, took)
		defer l.Stop()
		for i, second := range []float64{210, 510, 820} { // at(0) is 100 s after a multiple of 15 minutes
			play(l, s, sized(event(job.Submit, string(rune('a'+i)), second), 4))
			elapse(time.Second)
		}
		elapse(pause - 3*time.Second - 1)
		if made, _ := l.Published().Counts(); made != 1 {
			t.Fatalf("%d forecasts were made before the pause is over, want 1", made)
		}
		elapse(1)
		made, failed := l.Published().Counts()
		if got := l.Published().Newest().At; made != 2 || failed != 0 || !got.Equal(at(800)) {
			t.Errorf("after the pause %d forecasts were made, the newest for %v, and %d failed; want a second for %v",
				made, got, failed, at(800))
		}
		elapse(time.Hour)
		if made, _ := l.Published().Counts(); made != 2 {
			t.Errorf("%d forecasts were made from a log that has gone silent, want 2", made)
		}
	})
}

// TestNoForecastBehindANewer proves that no forecast is made from a postponed sample once one was made from a newer
// sample.
func TestNoForecastBehindANewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := expensiveForecast(t, 10*time.Second)
		defer l.Stop()
		play(l, s, sized(event(job.Submit, "2", 210), 4))
		synctest.Wait()
		l.EndReplay(l.seq, s) // this sample waits for no pause
		synctest.Wait()
		elapse(time.Hour)
		made, _ := l.Published().Counts()
		if got := l.Published().Newest().At; made != 2 || !got.Equal(at(210)) {
			t.Errorf("%d forecasts were made, the newest for %v, want 2 and %v", made, got, at(210))
		}
	})
}

// TestStopInThePause proves that a learner that is stopped during a pause makes no forecast when the pause ends.
func TestStopInThePause(t *testing.T) {
	for name, stop := range map[string]func(*Learner){"stopped": (*Learner).Stop, "finished": (*Learner).Finish} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, s := expensiveForecast(t, 10*time.Second)
				play(l, s, sized(event(job.Submit, "2", 210), 4))
				synctest.Wait()
				stop(l)
				if l.worker.timer != nil {
					t.Error("the timer runs on")
				}
				elapse(time.Hour)
				if made, _ := l.Published().Counts(); made != 1 || l.worker.working != nil {
					t.Errorf("%d forecasts were made, want 1", made)
				}
			})
		})
	}
}
