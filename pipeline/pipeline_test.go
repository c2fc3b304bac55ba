package pipeline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// TestBatchesLeaveNoTrace proves that entries, rows and saved bytes do not depend on how the events are split into
// deliveries and transactions.
func TestBatchesLeaveNoTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestRestartLeavesNoTrace")
	}
	forecasts, seeds := 0, uint64(2)
	if os.Getenv("WAITCAST_LONG") != "" {
		seeds = 6
	}
	for seed := range seeds {
		events := mangle(workload(t, 200, seed), seed)
		rng := rand.New(rand.NewPCG(seed, 17))
		for _, order := range []collector.Order{collector.Live, collector.BySubmit} {
			run := func(most int, grouped bool) kept {
				store := &memory{}
				p, src := newPipeline(testConfig(), store, order)
				ds := deliveries(src, events, most, seed)
				if !grouped {
					take(t, p, ds...)
				} else {
					all := make(chan *source.Delivery, len(ds))
					for _, d := range ds {
						all <- d
					}
					close(all)
					if err := p.Run(context.Background(), all); err != nil {
						t.Fatal(err)
					}
				}
				return kept{store.entries, store.rows, lanes(t, p)}
			}
			one := run(1, false)
			for _, grouped := range []bool{false, true} {
				most := 2 + rng.IntN(len(events))
				if d := differences(one, run(most, grouped)); d != "" {
					t.Fatalf("seed %d: one event a transaction (-) and up to %d (+) differ: %.3000s", seed, most, d)
				}
			}
			forecasts += forecast(one.Rows)
			closedByTheirEvents(t, one)
		}
	}
	if forecasts < 200 {
		t.Fatalf("only %d rows have a forecast: the test proves little", forecasts)
	}
}

// closedByTheirEvents checks that each row has the number of the event that completed it. That is the job's own start
// or cancellation or, if the job started or left at the instant of its submission, the first event after that instant.
func closedByTheirEvents(t *testing.T, k kept) {
	t.Helper()
	for _, r := range k.Rows {
		ev := k.Entries[r.Seq-1].Event
		own := ev.ID == r.JobID && ev.Attempt == r.Attempt && (ev.Kind == job.Start || ev.Kind == job.Cancel)
		if !own && !(r.WaitSeconds == 0 && ev.Time.After(r.Submit)) {
			t.Errorf("job %s attempt %d, submitted %v, is closed by %+v", r.JobID, r.Attempt, r.Submit, ev)
		}
	}
}

// forecast returns the number of rows that have a forecast.
func forecast(rows []modelstore.Row) (n int) {
	for i := range rows {
		if rows[i].Quantiles != nil {
			n++
		}
	}
	return n
}

// TestUnstorableEventIsRefused proves that an event that no store can keep is put into the quarantine, and that later
// events are processed.
func TestUnstorableEventIsRefused(t *testing.T) {
	store := &memory{}
	p, src := newPipeline(testConfig(), store, collector.Live)
	far := event(job.Submit, "2", 0)
	far.Times.Submit = time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		event(job.Submit, "\xff", 0), event(job.Submit, "", 0), far, {Kind: job.Submit, Cluster: "c", ID: "3"},
		event(job.Submit, "1", 0),
	}})
	if len(store.bad) != 4 || len(store.entries) != 1 || store.entries[0].Event.ID != "1" {
		t.Fatalf("%d bad lines, entries %v; want 4 and job 1 alone", len(store.bad), store.entries)
	}
}

// TestStoreFailsForAWhile proves that readers keep a view, which shows only committed events, while the store fails,
// and that no event is lost or processed twice when the store works again.
func TestStoreFailsForAWhile(t *testing.T) {
	events := mangle(workload(t, 150, 3), 3)
	undisturbed := &memory{}
	p, src := newPipeline(testConfig(), undisturbed, collector.Live)
	take(t, p, deliveries(src, events, 40, 3)...)
	want := kept{undisturbed.entries, undisturbed.rows, lanes(t, p)}

	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		p, src := newPipeline(testConfig(), store, collector.Live)
		calls, failures := 0, 0
		store.fail = func(string) error {
			if calls++; calls%7 < 3 {
				failures++
				if v := p.View("c"); v == nil || v.Seq > int64(len(store.entries)) {
					t.Errorf("view %+v is published before it is committed, %d entries are", v, len(store.entries))
				}
				return errors.New("disk on fire")
			}
			return nil
		}
		ds := make(chan *source.Delivery)
		go func() {
			defer close(ds)
			for _, d := range deliveries(src, events, 40, 3) {
				ds <- d
			}
		}()
		// The store may fail when Run saves the last snapshot.
		if err := p.Run(t.Context(), ds); err != nil && !strings.Contains(err.Error(), "fire") {
			t.Fatal(err)
		}
		if d := differences(want, kept{store.entries, store.rows, lanes(t, p)}); d != "" {
			t.Errorf("undisturbed (-) and disturbed (+) differ: %.3000s", d)
		}
		if failures < 10 {
			t.Errorf("only %d operations failed: the test proves little", failures)
		}
	})
}

// TestHopelessStoreEndsRun proves that Run ends with the store's error if the store is damaged or closed or refuses the
// data, both when it is written and when it is read.
func TestHopelessStoreEndsRun(t *testing.T) {
	invalid := &modelstore.InvalidError{What: "x", Field: "y", Problem: "z"}
	for _, cause := range []error{modelstore.ErrCorrupt, modelstore.ErrClosed, invalid} {
		for _, broken := range []string{"commit", "known"} {
			store := &memory{fail: func(operation string) error {
				if operation == broken {
					return cause
				}
				return nil
			}}
			p, src := newPipeline(testConfig(), store, collector.Live)
			ds := make(chan *source.Delivery, 1)
			ds <- &source.Delivery{Source: src, Events: []job.Event{event(job.Submit, "1", 0)}}
			if err := p.Run(t.Context(), ds); !errors.Is(err, cause) {
				t.Errorf("%s fails with %v: Run returned %v", broken, cause, err)
			}
			if len(store.entries) > 0 {
				t.Errorf("%s fails with %v: %d entries are committed", broken, cause, len(store.entries))
			}
		}
	}
}

// TestViewsDoNotChange proves that a published view is not changed by later events.
func TestViewsDoNotChange(t *testing.T) {
	p, src := newPipeline(testConfig(), &memory{}, collector.Live)
	type seen struct {
		view   *readmodel.View
		scores map[accuracy.Key]accuracy.Score
		open   int
		laws   map[string]float64
	}
	look := func(v *readmodel.View) seen {
		s := seen{view: v, scores: map[accuracy.Key]accuracy.Score{}, open: v.Open, laws: map[string]float64{}}
		for queue, score := range v.Scores {
			s.scores[queue] = *score.Clone()
		}
		for _, queue := range v.Queues() {
			if law, ok := v.Models.Law(queue, 2); ok {
				s.laws[queue] = law.B1
			}
			if q := v.Models.Queue(queue); q != nil {
				s.laws["ks "+queue] = q.Lifetimes[1].Sample.KS(q.Lifetimes[1].Law.Model)
			}
		}
		return s
	}
	var before []seen
	for _, d := range deliveries(src, mangle(workload(t, 300, 5), 5), 40, 5) {
		take(t, p, d)
		p.publish()
		before = append(before, look(p.View("c")))
	}
	for i, b := range before {
		opt := cmp.Comparer(func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
		after := look(b.view)
		if d := cmp.Diff(b.scores, after.scores, opt) + cmp.Diff(b.laws, after.laws, opt); d != "" ||
			b.open != after.open {
			t.Fatalf("view %d changed after publication: %s", i, d)
		}
	}
	if last := before[len(before)-1]; len(last.laws) == 0 || len(last.scores) == 0 {
		t.Fatal("the views have neither laws nor scores: the test proves little")
	}
}
