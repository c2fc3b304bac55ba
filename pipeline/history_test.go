package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// recorded has the events of a log, cut at an instant: the tests import past as a history, and follow live.
type recorded struct{ past, live []job.Event }

// cut returns the log of a simulated machine, in the order of time. The jobs before number first are in the past; all
// of them have ended before the first of the others is submitted.
func cut(t testing.TB, jobs, first int, seed uint64) recorded {
	t.Helper()
	events := workload(t, jobs, seed)
	slices.SortStableFunc(events, func(a, b job.Event) int { return a.Time.Compare(b.Time) })
	var log recorded
	for _, ev := range events {
		if n, err := strconv.Atoi(ev.ID); err != nil {
			t.Fatal(err)
		} else if n < first {
			log.past = append(log.past, ev)
		} else {
			log.live = append(log.live, ev)
		}
	}
	gap := log.past[len(log.past)-1].Time.Sub(log.live[0].Time) + time.Minute
	for i := range log.live {
		log.live[i].Shift(gap)
	}
	return log
}

// putHistory stores events as a history with the given id, 100 in each chunk, and returns its description.
func putHistory(t testing.TB, store modelstore.Store, id string, mode past.Mode, events []job.Event) past.History {
	t.Helper()
	h := past.History{ID: id, Hash: id, Mode: mode, Events: int64(len(events))}
	for n := 0; n*100 < len(events); n++ {
		var chunk []history.Event
		for _, ev := range events[n*100 : min(len(events), (n+1)*100)] {
			ev.Live = false
			chunk = append(chunk, history.Event{Event: ev})
			if ev.Kind == job.Submit {
				h.Submissions++
			}
		}
		data, err := history.EncodeChunk(chunk)
		if err != nil {
			t.Fatal(err)
		}
		c := modelstore.HistoryChunk{Cluster: "c", ID: id, Part: past.EventsPart, N: n, Data: data}
		if err := store.PutHistory(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if len(events) > 0 {
		h.From, h.To = events[0].Time, events[len(events)-1].Time
	}
	return h
}

// teachNow puts a history in force, as a call of Teach does, and so begins the rebuild.
func teachNow(t testing.TB, ctx context.Context, p *Pipeline, h past.History) {
	t.Helper()
	call := &teaching{ctx: ctx, cluster: "c", history: h, done: make(chan error, 1)}
	p.teach(ctx, call)
	if err := <-call.done; err != nil {
		t.Fatal(err)
	}
}

// swapNow waits for the end of a rebuild and replaces the published state by the rebuilt one.
func swapNow(t testing.TB, p *Pipeline) {
	t.Helper()
	select {
	case r := <-p.rebuilt:
		if err := p.swap(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	case <-p.rebuilds.of("c").over:
		t.Fatal(p.rebuilds.of("c").err)
	}
}

// learns imports events as the history "h" and waits until the pipeline has learnt it.
func learns(t testing.TB, p *Pipeline, store modelstore.Store, mode past.Mode, events []job.Event) {
	t.Helper()
	teachNow(t, t.Context(), p, putHistory(t, store, "h", mode, events))
	swapNow(t, p)
}

// follows passes events to the writer in deliveries of random length.
func follows(t testing.TB, p *Pipeline, src *source.Config, events []job.Event) {
	t.Helper()
	take(t, p, deliveries(src, events, 40, 3)...)
}

// laterRows returns the rows of the jobs that were submitted at or after an instant. The numbers of the journal entries
// that completed the rows are left out.
func laterRows(t testing.TB, store modelstore.Store, from time.Time) map[string]modelstore.Row {
	t.Helper()
	rows := map[string]modelstore.Row{}
	err := store.Rows(t.Context(), modelstore.RowQuery{}, func(r modelstore.Row) error {
		if !r.Submit.Before(from) {
			r.Seq = 0
			rows[fmt.Sprint(r.JobID, "/", r.Attempt)] = r
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// learnt returns the saved parts of the state that do not depend on which forecasts were served.
func learnt(t testing.TB, p *Pipeline) map[string]string {
	t.Helper()
	parts := lanes(t, p)
	delete(parts, "c/ledger")
	delete(parts, "c/history")
	return parts
}

// TestHistoryIsExact proves that a daemon that learns a history gets, to the last bit, the same state and the same
// later forecasts as a daemon that followed the whole log. It does not matter whether the daemon learns the history
// before it follows its log or afterwards.
func TestHistoryIsExact(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestHistoryThroughKills")
	}
	log := cut(t, 420, 250, 31)
	const servedLive = 60 // number of events that are followed before the import
	since := log.live[servedLive].Time
	follow := func(p *Pipeline, src *source.Config) {
		follows(t, p, src, log.live[:servedLive])
		follows(t, p, src, log.live[servedLive:])
	}

	all := newStore(t)
	p, src := newPipeline(testConfig(), all, collector.Live)
	restore(t, p, "one")
	follows(t, p, src, log.past)
	follow(p, src)
	want, state := laterRows(t, all, since), learnt(t, p)
	if len(want) < 60 {
		t.Fatalf("only %d later rows: the test proves little", len(want))
	}

	for _, before := range []int{0, servedLive} {
		t.Run(fmt.Sprintf("after %d events", before), func(t *testing.T) {
			store := newStore(t)
			p, src := newPipeline(testConfig(), store, collector.Live)
			restore(t, p, "one")
			follows(t, p, src, log.live[:before])
			learns(t, p, store, past.Exact, log.past)
			follows(t, p, src, log.live[before:servedLive])
			follows(t, p, src, log.live[servedLive:])
			if d := differences(want, laterRows(t, store, since)); d != "" {
				t.Errorf("later rows of a daemon that followed all (-) and of one that learnt the past (+): %.3000s", d)
			}
			if d := differences(state, learnt(t, p)); d != "" {
				t.Errorf("states differ: %.3000s", d)
			}
		})
	}
}

// fastConfig returns a configuration with which a fast replay follows only few jobs of a history in full.
func fastConfig() Config {
	cfg := testConfig()
	cfg.Replay.Newest, cfg.Replay.Older = 100, 60
	return cfg
}

// TestFastHistoryDependsOnNothingElse proves that later rows and the state after a fast replay depend neither on the
// time of the import nor on kills of the daemon during the replay. Jobs that are not replayed in full have no rows, and
// the rows of the others are marked as replayed.
func TestFastHistoryDependsOnNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestHistoryThroughKills")
	}
	log := cut(t, 620, 480, 33)
	const servedLive = 60
	since := log.live[servedLive].Time
	var want map[string]modelstore.Row
	var state map[string]string
	for _, before := range []int{0, 20, servedLive} {
		for _, kills := range []int{0, 2} {
			store := newStore(t)
			p, src := newPipeline(fastConfig(), store, collector.Live)
			restore(t, p, "one")
			follows(t, p, src, log.live[:before])
			teachNow(t, t.Context(), p, putHistory(t, store, "h", past.Fast, log.past))
			for range kills {
				p.rebuilds.of("c").stop()
				p, src = newPipeline(fastConfig(), store, collector.Live)
				restore(t, p, "one")
				if err := p.beginRebuilds(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			swapNow(t, p)
			follows(t, p, src, log.live[before:servedLive])
			follows(t, p, src, log.live[servedLive:])
			rows, parts := laterRows(t, store, since), learnt(t, p)
			if want == nil {
				want, state = rows, parts
			}
			if d := differences(want, rows); d != "" {
				t.Errorf("imported after %d events, killed %d times: later rows differ: %.2000s", before, kills, d)
			}
			if d := differences(state, parts); d != "" {
				t.Errorf("imported after %d events, killed %d times: states differ: %.2000s", before, kills, d)
			}
			light := 0
			old := laterRows(t, store, time.Time{})
			for _, ev := range log.past {
				row, ok := old[ev.ID+"/0"]
				switch {
				case ev.Kind != job.Start:
				case !ok:
					light++
				case !row.Replayed:
					t.Fatalf("the row of job %s is not marked as replayed", ev.ID)
				}
			}
			if light < 200 {
				t.Errorf("%d jobs of the history have no row, want those that are followed lightly", light)
			}
		}
	}
}

// TestHistoryBesideTheLog proves that jobs that are in both a history and the journal count once, no matter which of
// the two has more records of them. The picture and all later rows are those of a daemon that followed everything.
func TestHistoryBesideTheLog(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestHistoryIsExact")
	}
	log := cut(t, 420, 250, 34)
	const both = 120 // events that are in the history and in the log
	since := log.live[both].Time
	all := newStore(t)
	p, src := newPipeline(testConfig(), all, collector.Live)
	restore(t, p, "one")
	follows(t, p, src, log.past)
	follows(t, p, src, log.live[:both])
	follows(t, p, src, log.live[both:])
	want, shown := laterRows(t, all, since), picture(p.View("c"))

	store := newStore(t)
	p, src = newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "one")
	follows(t, p, src, log.live[:both])
	dump := slices.Concat(log.past, log.live[:both])
	learns(t, p, store, past.Exact, dump)
	follows(t, p, src, log.live[both:])
	if d := differences(shown, picture(p.View("c"))); d != "" {
		t.Errorf("the picture differs: %.2000s", d)
	}
	if d := differences(want, laterRows(t, store, since)); d != "" {
		t.Errorf("later rows differ: %.2000s", d)
	}
	jobs := map[string]bool{}
	for _, ev := range slices.Concat(log.past, log.live) {
		jobs[ev.ID] = true
	}
	if n := p.View("c").Counts.Submitted; n != int64(len(jobs)) {
		t.Errorf("%d jobs were counted, want each of %d once", n, len(jobs))
	}
	before := p.View("c").Seq
	follows(t, p, src, log.past) // an old log is read from its beginning
	if n := p.View("c").Seq; n != before {
		t.Errorf("records of jobs that the history has made %d entries", n-before)
	}
}

// TestHistoryKeepsWhatWasServed proves that a state with a history, when it replaces the published state, takes over
// the forecasts that were served: those of waiting jobs, and the outcomes of live forecasts.
func TestHistoryKeepsWhatWasServed(t *testing.T) {
	log := cut(t, 420, 200, 35)
	store := newStore(t)
	p, src := newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "one")
	n := 250
	for ; len(p.View("c").Queued) < 4; n += 10 { // until jobs are waiting
		follows(t, p, src, log.live[:n])
	}
	before := p.View("c")
	learns(t, p, store, past.Exact, log.past)
	after := p.View("c")
	served := 0
	shown := servedByID(after)
	for id, f := range servedByID(before) {
		got := shown[id]
		if f.Quantiles == nil || !slices.ContainsFunc(before.OpenForecasts, func(w *accuracy.Waiting) bool {
			return slices.Equal(w.Quantiles, f.Quantiles)
		}) {
			continue // these forecasts are made after the swap
		}
		served++
		if got == nil || !slices.Equal(f.Quantiles, got.Quantiles) {
			t.Errorf("the forecast %v that was served became %+v", f.Quantiles, got)
		}
	}
	if served < 2 {
		t.Fatalf("only %d jobs wait with a forecast: the test proves little", served)
	}
	for key, was := range before.Decided.Counts {
		if d := differences(was[0], after.Decided.Counts[key][0]); d != "" {
			t.Errorf("what became of the live forecasts of %v changed: %s", key, d)
		}
	}
	replayed := int64(0)
	for _, c := range after.Decided.Counts {
		replayed += c[1][0].Decided()
	}
	if replayed < 100 {
		t.Errorf("%d forecasts of the history were decided", replayed)
	}
	follows(t, p, src, log.live[n:])
	rows := laterRows(t, store, time.Time{})
	for id, f := range servedByID(before) {
		row, ok := rows[id+"/0"]
		if ok && f.Quantiles != nil && (row.Replayed || !slices.Equal(row.Quantiles, f.Quantiles)) {
			t.Errorf("the row of job %s has %v, replayed %t; %v was served", id, row.Quantiles, row.Replayed,
				f.Quantiles)
		}
	}
}

// servedByID returns the forecasts of the waiting jobs, by the ids of the jobs.
func servedByID(v *readmodel.View) map[string]*readmodel.Served {
	out := map[string]*readmodel.Served{}
	for _, j := range v.Queued {
		out[j.ID] = v.Forecasts.Of(readmodel.KeyOf(j))
	}
	return out
}

// TestHistoryAfterConfigChange proves that after a change of the configuration the state is rebuilt with the stored
// history, and then equals the previous state. Until then no state is usable, and none is saved. A restart with a state
// that includes its history rebuilds nothing.
func TestHistoryAfterConfigChange(t *testing.T) {
	log := cut(t, 300, 180, 36)
	store := newStore(t)
	p, src := newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "one")
	follows(t, p, src, log.live[:30])
	learns(t, p, store, past.Exact, log.past)
	follows(t, p, src, log.live[30:])
	want := learnt(t, p)
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}

	p, _ = newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "one")
	if len(p.unlearnt.list()) > 0 || p.View("c").Teaching != nil {
		t.Error("a state that knows its history is built again")
	}
	if d := differences(want, learnt(t, p)); d != "" {
		t.Errorf("the restored state differs: %.2000s", d)
	}
	if _, ok := p.remembered("c", "1"); !ok {
		t.Error("the restored state does not know the jobs of its history")
	}

	p, _ = newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "two")
	if usable, ok := p.unlearnt.of("c"); !ok || usable {
		t.Fatalf("after a change of the configuration, the state is usable (%t)", usable)
	}
	if err := p.finish(); err != nil { // the empty state must not be saved
		t.Fatal(err)
	}
	if err := p.beginRebuilds(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.publish()
	if teaching := p.View("c").Teaching; teaching == nil || teaching.Usable {
		t.Errorf("the view says %+v while nothing can be answered from", teaching)
	}
	swapNow(t, p)
	if err := p.AwaitUsable(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	if d := differences(want, learnt(t, p)); d != "" {
		t.Errorf("the state that was built again differs: %.2000s", d)
	}
}

// TestFollowersBeginAgainAfterAHistory proves that a following process ends when the collecting daemon has learnt a
// history, and that the next following process has the same state as the collecting daemon.
func TestFollowersBeginAgainAfterAHistory(t *testing.T) {
	log := cut(t, 200, 100, 38)
	store := newStore(t)
	p, src := newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "one")
	follows(t, p, src, log.live[:30])
	cfg := testConfig()
	cfg.Follows = true
	reader := &onlyRead{Store: store, t: t}
	f, _ := newPipeline(cfg, reader, collector.Live)
	restore(t, f, "one")
	at := func(context.Context, int64) (string, error) { return "", nil }
	if err := f.followOnce(t.Context(), "one", at, new(string)); err != nil {
		t.Fatal(err)
	}
	learns(t, p, store, past.Exact, log.past)
	if err := f.followOnce(t.Context(), "one", at, new(string)); !errors.Is(err, ErrConfigChanged) {
		t.Fatalf("%v, want that the follower begins again", err)
	}
	follows(t, p, src, log.live[30:])
	f, _ = newPipeline(cfg, reader, collector.Live)
	restore(t, f, "one")
	if err := f.followOnce(t.Context(), "one", at, new(string)); err != nil {
		t.Fatal(err)
	}
	if d := differences(learnt(t, p), learnt(t, f)); d != "" {
		t.Errorf("writer (-) and follower (+) differ: %.2000s", d)
	}
}

// TestTimeThatRemains proves that the estimate of the remaining time of a fast replay considers that the newest jobs,
// which are replayed in full, take longer.
func TestTimeThatRemains(t *testing.T) {
	r := &rebuild{history: past.History{Mode: past.Fast, Events: 3000, Submissions: 1000}, began: time.Now()}
	r.plans.Newest = 100
	r.total.Store(3000)
	left := func(done int64) float64 {
		r.done.Store(done)
		r.began = time.Now().Add(-time.Minute)
		return r.progress(true).Remaining.Minutes()
	}
	for done, want := range map[int64]float64{2700: 15 * 300. / 2700, 3000: 0, 2850: 15 * 150. / (2700 + 15*150)} {
		if got := left(done); math.Abs(got-want) > .01 {
			t.Errorf("after %d of 3000 events in a minute, %.3f minutes remain, want %.3f", done, got, want)
		}
	}
}

// TestHistoryInventsNoPresent proves that jobs that are open at the end of a history stay out of the live picture,
// unless a followed log has reported them: before the import, or later. It does not matter where the daemon is
// restarted, or whether the rebuild is repeated. No job that only the history has gets a row.
func TestHistoryInventsNoPresent(t *testing.T) {
	old := func(kind job.Kind, id string, second float64) job.Event {
		return sized(event(kind, id, second), 32)
	}
	dump := []job.Event{
		old(job.Submit, "10", 0), old(job.Start, "10", 1), old(job.End, "10", 1800), old(job.Submit, "11", 3600),
		old(job.Start, "11", 3601), old(job.Submit, "12", 3602), old(job.Start, "12", 3603),
		old(job.Submit, "13", 4000), old(job.Submit, "14", 4001), old(job.Submit, "15", 4002),
		old(job.Start, "15", 4003),
	}
	before := []job.Event{sized(event(job.Submit, "1", 1e6), 4), sized(event(job.Start, "1", 1e6+1), 4),
		old(job.Start, "15", 1e6+2)} // job 15 still runs: a listing shows it
	before[2].Times.Start = at(4003)
	after := []job.Event{old(job.Start, "14", 1e6+60), old(job.End, "12", 1e6+70)}

	store := newStore(t)
	p, src := newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "one")
	follows(t, p, src, before)
	learns(t, p, store, past.Exact, dump)
	check := func(when, want string) {
		t.Helper()
		v := p.View("c")
		if got := fmt.Sprint(ids(v.Running), ids(v.Queued), v.Used); got != want {
			t.Errorf("%s: running, waiting and used are %s, want %s", when, got, want)
		}
	}
	check("after the import", "[15 1] [] 36")
	again := func() {
		p, src = newPipeline(testConfig(), store, collector.Live)
		restore(t, p, "one")
	}
	again()
	check("after a restart", "[15 1] [] 36")
	follows(t, p, src, after)
	check("after later records", "[15 1 14] [] 68")
	again()
	check("after another restart", "[15 1 14] [] 68")
	var rows []string
	err := store.Rows(t.Context(), modelstore.RowQuery{}, func(r modelstore.Row) error {
		rows = append(rows, r.JobID)
		return nil
	})
	slices.Sort(rows)
	if want := []string{"1", "10", "11", "12", "15"}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("rows of jobs %q, want %q (%v)", rows, want, err)
	}
}
