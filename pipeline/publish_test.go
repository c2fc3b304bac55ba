package pipeline

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// fullMachine returns the events of a machine of 128 processors on which no processor is free at the end of any
// instant. Each minute the running job ends, the job that has waited longest starts, and another job is submitted.
func fullMachine(minutes int) []job.Event {
	of := func(kind job.Kind, id, minute int) job.Event {
		ev := sized(event(kind, fmt.Sprint(id), float64(60*minute)), 128)
		ev.Queue, ev.TimeLimit = "a", time.Hour
		return ev
	}
	var out []job.Event
	for id := range 20 {
		out = append(out, of(job.Submit, id, 0))
	}
	out = append(out, of(job.Start, 0, 0))
	for m := 1; m < minutes; m++ {
		out = append(out, of(job.End, m-1, m), of(job.Submit, m+19, m), of(job.Start, m, m))
	}
	return out
}

// contradiction returns a text that describes how a view mixes two instants, "" if all of the view belongs to one
// instant.
func contradiction(v *readmodel.View) string {
	if v.At.IsZero() {
		return ""
	}
	f := v.Engine.Forecast(&engine.Request{Queue: "a", Procs: 128, Limit: 3600})
	free := v.Free()
	switch {
	case v.Engine.At() != clock(v.At):
		return fmt.Sprintf("as of %s, but the engine's view is of %s", v.At, time.Unix(int64(v.Engine.At()), 0).UTC())
	case f.JobsAhead != len(v.Queued):
		return fmt.Sprintf("%d jobs wait, but %d are ahead of a request", len(v.Queued), f.JobsAhead)
	case f.Free != free:
		return fmt.Sprintf("%d processors are free, but %d for a request", free, f.Free)
	}
	for _, j := range v.Queued {
		if v.Served(j) == nil {
			return fmt.Sprintf("job %s waits, but the view has no forecast of it", j.ID)
		}
	}
	return ""
}

// TestViewIsOfOneInstant proves that the state and the forecasts of every view belong to one instant, even if a log
// grows by many lines at once and other work keeps the processors busy. Finally the newest instant is published.
func TestViewIsOfOneInstant(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	defer p.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var others, run sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		others.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
			}
		})
	}
	to := make(chan *source.Delivery)
	run.Go(func() {
		if err := p.Run(ctx, to); err != nil {
			t.Error(err)
		}
	})
	seen, published := 0, p.Published()
	look := func() *readmodel.View {
		v := p.View("c")
		if seen++; t.Failed() {
			return v
		}
		if what := contradiction(v); what != "" {
			t.Errorf("view %d: %s", seen, what)
		}
		return v
	}
	minutes := 80 // few, because the other work makes each minute slow
	if testing.Short() {
		minutes = 40 // enough for the race detector
	}
	if os.Getenv("WAITCAST_LONG") != "" {
		minutes = 600
	}
	events := fullMachine(minutes)
	for i, d := range deliveries(src, events, 30, 3) {
		select {
		case to <- d:
		case <-time.After(time.Minute):
			t.Fatalf("delivery %d is not taken", i)
		}
		look()
	}
	newest := events[len(events)-1].Time
	for !look().At.Equal(newest) {
		select {
		case <-published:
			published = p.Published()
		case <-time.After(time.Minute):
			t.Fatalf("the newest instant is not published: %s", p.View("c").At)
		}
	}
	cancel()
	run.Wait()
	others.Wait()
}

// TestInstantOver proves that a view is at most one instant older than the newest one, even if newer views are delayed
// because a copy of the engine would cost too much. The same holds after saving and restoring.
func TestInstantOver(t *testing.T) {
	t.Run("begun", func(t *testing.T) { instantOver(t, false) })
	t.Run("restored", func(t *testing.T) { instantOver(t, true) })
}

func instantOver(t *testing.T, restored bool) {
	t.Helper()
	p, src := newPipeline(testConfig(), nil, collector.Live)
	defer p.Close()
	events := fullMachine(50)
	step := func(events []job.Event) *readmodel.View {
		p.writers["c"].ledger.preview.made, p.writers["c"].ledger.preview.took = time.Now(), time.Hour
		if err := p.step(context.Background(), &source.Delivery{Source: src, Events: events}, nil); err != nil {
			t.Fatal(err)
		}
		v := p.View("c")
		if what := contradiction(v); what != "" {
			t.Error(what)
		}
		return v
	}
	step(events[:21])
	if restored {
		if err := p.writers["c"].restore(savedParts(t, p)); err != nil {
			t.Fatal(err)
		}
	}
	for m := 1; m < 50; m++ {
		v := step(events[18+3*m : 21+3*m])
		if want := at(float64(60 * (m - 1))); !v.At.Equal(want) {
			t.Fatalf("minute %d: the view is of %s, want %s", m, v.At, want)
		}
		if want := int64(18 + 3*m); v.Seq != want {
			t.Errorf("minute %d: the view is of event %d, want %d", m, v.Seq, want)
		}
	}
	p.publishAtOnce()
	if v := p.View("c"); !v.At.Equal(at(60*49)) || contradiction(v) != "" {
		t.Errorf("at once: the view is of %s %s", v.At, contradiction(v))
	}
}

// slowStore is a store whose commits take some time.
type slowStore struct {
	*memory
	takes time.Duration
}

func (s *slowStore) Commit(ctx context.Context, b modelstore.Batch) error {
	time.Sleep(s.takes) //nolint:forbidigo // in a bubble it takes no time
	return s.memory.Commit(ctx, b)
}

// TestPublishedWhileBehind proves that views are published while the writer cannot keep up with a log that never ends,
// even if each delivery takes longer than groupTime and is committed in parts.
func TestPublishedWhileBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Forecasts = false
		p, src := newPipeline(cfg, &slowStore{&memory{}, groupTime}, collector.Live)
		defer p.Close()
		p.partEvents = 1
		all := deliveries(src, fullMachine(100), 10, 1)
		more := make(chan *source.Delivery, len(all))
		for _, d := range all {
			more <- d
		}
		if err := p.step(t.Context(), <-more, more); err != nil {
			t.Fatal(err)
		}
		if v := p.View("c"); v == nil || v.At.IsZero() || len(more) < len(all)-2 {
			t.Errorf("%d of %d deliveries were taken in before the first view", len(all)-len(more), len(all))
		}
	})
}
