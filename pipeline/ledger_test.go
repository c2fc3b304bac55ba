package pipeline

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/swflog"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// forecasts returns, as text, the forecasts of all jobs submitted before a second: the quantiles, or the reason why
// there are none. It includes both the jobs with rows and the waiting ones.
func forecasts(p *Pipeline, rows []modelstore.Row, before float64) map[string]string {
	all := map[string]string{}
	for _, r := range rows {
		if r.Submit.Before(at(before)) {
			all[fmt.Sprintf("%s/%d", r.JobID, r.Attempt)] = fmt.Sprint(r.Method, r.Quantiles, r.Reason)
		}
	}
	for _, o := range p.writers["c"].ledger.open {
		if o.Made && o.Job.Submit.Before(at(before)) && len(o.Answers) == 1 {
			a := o.Answers[0]
			all[fmt.Sprintf("%s/%d", o.Job.ID, o.Job.Attempt)] = fmt.Sprint(a.Method, a.Quantiles, a.Reason)
		}
	}
	return all
}

// cutOff checks, for each of the given instants, that the forecasts made before the instant do not change if the log is
// cut off there. At least the given number of forecasts must be compared.
func cutOff(t *testing.T, order collector.Order, events []job.Event, cuts []float64, least int) {
	run := func(events []job.Event) (before func(cut float64) map[string]string) {
		store := &memory{}
		cfg := testConfig()
		cfg.SnapshotEvents = 0
		p, src := newPipeline(cfg, store, order)
		take(t, p, deliveries(src, events, 5000, 1)...)
		return func(cut float64) map[string]string { return forecasts(p, store.rows, cut) }
	}
	whole := run(events)
	proved := 0
	for _, cut := range cuts {
		var prefix []job.Event
		for _, ev := range events {
			if !ev.Time.After(at(cut)) {
				prefix = append(prefix, ev)
			}
		}
		want, got := whole(cut), run(prefix)(cut)
		for id, f := range got {
			if want[id] != f {
				t.Fatalf("cut off at %v s, the forecast of job %s is\n%s, with the rest of the log\n%s", cut, id, f,
					want[id])
			}
			if !strings.HasPrefix(f, "[") { // with a method, so with a forecast
				proved++
			}
		}
	}
	if proved < least {
		t.Fatalf("only %d forecasts were compared, want %d", proved, least)
	}
}

// TestCutOffChangesNoForecast proves that forecasts use only data that was known when they were made.
func TestCutOffChangesNoForecast(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestRestartLeavesNoTrace")
	}
	events := workload(t, 400, 21)
	last := events[len(events)-1].Time.Sub(at(0)).Seconds()
	cutOff(t, collector.Live, events, []float64{.2 * last, .5 * last, .5*last + 1, .8 * last}, 300)
}

// TestCutOffChangesNoForecastKTH proves the same as TestCutOffChangesNoForecast with a real log whose records describe
// whole jobs.
func TestCutOffChangesNoForecastKTH(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	events := readSWF(t, refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"), 500)
	shift := at(0).Sub(events[0].Time)
	for i := range events { // shift the log to the tests' time
		ev := &events[i]
		ev.Time = ev.Time.Add(shift)
		ev.Times.Submit, ev.Times.Start, ev.Times.End = ev.Times.Submit.Add(shift), ev.Times.Start.Add(shift),
			ev.Times.End.Add(shift)
		if ev.Kind == job.Submit || ev.Kind == job.Cancel {
			ev.Times = job.Times{Submit: ev.Times.Submit}
		}
		ev.Times.Submit = ev.Times.Submit.UTC()
	}
	last := events[len(events)-1].Time.Sub(at(0)).Seconds()
	cutOff(t, collector.BySubmit, events, []float64{.5 * last, .8 * last}, 500)
}

// TestAheadAtTheInstantOfSubmission proves that a forecast uses the ends at the instant of the job's submission, but
// not the starts: a job that starts at that instant still counts as waiting ahead.
func TestAheadAtTheInstantOfSubmission(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		sized(event(job.Submit, "old", 0), 100), event(job.Start, "old", 0),
		sized(event(job.Submit, "first", 5), 128), sized(event(job.Submit, "held", 6), 1), event(job.Hold, "held", 6),
		event(job.End, "old", 10),
		sized(event(job.Submit, "twin", 10), 2), sized(event(job.Submit, "me", 10), 1),
		sized(event(job.Submit, "after", 10), 1),
		event(job.Start, "first", 10),
	}})
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{event(job.End, "first", 11)}}) // this ends the instant
	for id, want := range map[string][2]int{"twin": {1, 128}, "me": {2, 130}, "after": {3, 131}} {
		a := p.writers["c"].ledger.open[id].Answers[0]
		if got := [2]int{a.Ahead, a.AheadProcs}; got != want {
			t.Errorf("%s: %d jobs with %d processors ahead, want %d with %d", id, got[0], got[1], want[0], want[1])
		}
	}
}

// outcome has the fields of a row that concern the wait of its job.
type outcome struct {
	ID, Outcome string
	Attempt     int
	Wait        float64
	Method      string
}

// TestWithinTheInstantOfSubmission proves that a job that starts or leaves at the instant of its submission is scored,
// with one row for each attempt. The row is written when the forecast is made.
func TestWithinTheInstantOfSubmission(t *testing.T) {
	submit := sized(event(job.Submit, "1", 10), 1)
	later := event(job.Submit, "later", 20)
	started, cancelled := modelstore.Started, modelstore.Cancelled
	for _, c := range []struct {
		name   string
		events []job.Event
		want   []outcome
	}{
		{"started", []job.Event{submit, event(job.Start, "1", 10), later}, []outcome{{"1", started, 0, 0, "waitcast"}}},
		{"cancelled", []job.Event{submit, event(job.Cancel, "1", 10), later},
			[]outcome{{"1", cancelled, 0, 0, "waitcast"}}},
		{
			"started and ended", []job.Event{submit, event(job.Start, "1", 10), event(job.End, "1", 10), later},
			[]outcome{{"1", started, 0, 0, "waitcast"}},
		},
		{
			"started, requeued and started", []job.Event{
				submit, event(job.Start, "1", 10), event(job.Requeue, "1", 10), event(job.Start, "1", 12), later,
			},
			[]outcome{{"1", started, 0, 0, "waitcast"}, {"1", started, 1, 2, "waitcast"}},
		},
		{
			"cancelled and submitted again", []job.Event{
				submit, event(job.Cancel, "1", 10), sized(event(job.Submit, "1", 11), 1), event(job.Start, "1", 14),
				later,
			},
			[]outcome{{"1", cancelled, 0, 0, "waitcast"}, {"1", started, 1, 3, "waitcast"}},
		},
		{
			"asked to be deleted while it runs", []job.Event{submit, event(job.Start, "1", 15),
				event(job.Cancel, "1", 17), later},
			[]outcome{{"1", started, 0, 5, "waitcast"}},
		},
		{"its size told later in the instant", []job.Event{
			event(job.Submit, "1", 10), sized(event(job.Update, "1", 10), 4), event(job.Cancel, "1", 15), later,
		}, []outcome{{"1", cancelled, 0, 5, "waitcast"}}},
		{"an end of the instant told after it", []job.Event{
			sized(event(job.Submit, "0", 0), 128), event(job.Start, "0", 0), submit, event(job.End, "0", 10),
			event(job.Start, "1", 12),
		}, []outcome{{"0", started, 0, 0, "waitcast"}, {"1", started, 0, 2, "waitcast"}}},
		{"its submission learnt from its start", []job.Event{event(job.Start, "1", 15), later}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &memory{}
			p, src := newPipeline(testConfig(), store, collector.Live)
			take(t, p, &source.Delivery{Source: src, Events: c.events})
			var got []outcome
			for _, r := range store.rows {
				got = append(got, outcome{r.JobID, r.Outcome, r.Attempt, r.WaitSeconds, r.Method})
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatalf("rows (-want +got): %s", d)
			}
		})
	}
}

// TestSizesOfUnknownSize proves that a job whose size stays unknown for too long gets a forecast for every power of two
// below the number of the machine's processors, and one for that number.
func TestSizesOfUnknownSize(t *testing.T) {
	p, src := newPipeline(Config{Clusters: []ClusterConfig{{Name: "c", Procs: 100}}, Forecasts: true}, nil,
		collector.Live)
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		event(job.Submit, "1", 0), event(job.Submit, "2", 1), event(job.Submit, "3", cluster.DetailsGrace.Seconds()+1),
		event(job.Submit, "4", cluster.DetailsGrace.Seconds()+2),
	}})
	answers := p.writers["c"].ledger.open["1"].Answers
	var sizes []int
	for _, a := range answers {
		sizes = append(sizes, a.Procs)
	}
	if d := cmp.Diff([]int{1, 2, 4, 8, 16, 32, 64, 100}, sizes); d != "" {
		t.Fatalf("sizes forecast (-want +got): %s", d)
	}
}

// TestPinball checks the loss against values worked out by hand. If the forecast is too low, the loss is level times
// the difference; if it is too high, (1 - level) times the difference.
func TestPinball(t *testing.T) {
	for _, c := range [][4]float64{{.5, 10, 14, 2}, {.9, 10, 14, 3.6}, {.9, 10, 4, .6}, {.1, 10, 4, 5.4},
		{.25, 10, 10, 0}} {
		if got := waittime.Pinball(c[0], c[1], c[2]); math.Abs(got-c[3]) > 1e-12 {
			t.Errorf("waittime.Pinball(%v, %v, %v) = %v, want %v", c[0], c[1], c[2], got, c[3])
		}
	}
}

// readSWF returns the events of the first records of a compressed workload file.
func readSWF(t testing.TB, path string, records int) []job.Event {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	in, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	parser := swflog.Format().New(collector.Options{Cluster: "c"})
	var events []job.Event
	for scan := bufio.NewScanner(in); records > 0 && scan.Scan(); {
		n := len(events)
		if err := parser.Parse(scan.Bytes(), func(ev job.Event) { events = append(events, ev) }); err != nil {
			t.Fatal(err)
		}
		if len(events) > n {
			records--
		}
	}
	return events
}

// TestSizeClass proves that size classes are bounded by powers of two, and that every size has a class.
func TestSizeClass(t *testing.T) {
	for procs, want := range map[int]string{-1: "1", 0: "1", 1: "1", 2: "2-8", 8: "2-8", 9: "9-64", 64: "9-64",
		65: "65-512", 512: "65-512", 513: "513-4096", 4096: "513-4096", 4097: "4097+", math.MaxInt: "4097+"} {
		if got := waittime.SizeClass(procs); got != want {
			t.Errorf("%d processors are of class %s, want %s", procs, got, want)
		}
	}
}

// TestLedgerRetention proves that rows that are older than the ledger's retention, by event time, are deleted after the
// next snapshot. The journal, which has a retention of its own, keeps its entries.
func TestLedgerRetention(t *testing.T) {
	events := workload(t, 200, 3)
	run := func(retention time.Duration) (k kept, now time.Time) {
		cfg := testConfig()
		cfg.LedgerRetention, cfg.SnapshotEvents = retention, 1
		store := newStore(t)
		p, src := newPipeline(cfg, store, collector.Live)
		take(t, p, deliveries(src, events, 50, 3)...)
		return keeps(t, store, p), p.writers["c"].state.Now()
	}
	all, now := run(0)
	some, _ := run(12 * time.Hour)
	want := slices.DeleteFunc(slices.Clone(all.Rows),
		func(r modelstore.Row) bool { return r.Closed().Before(now.Add(-12 * time.Hour)) })
	if d := cmp.Diff(want, some.Rows); d != "" || len(want) == 0 || len(want) == len(all.Rows) {
		t.Errorf("%d of %d rows should be left (-want +got): %.2000s", len(want), len(all.Rows), d)
	}
	if len(some.Entries) != len(all.Entries) || some.Lanes["c/ledger"] != all.Lanes["c/ledger"] {
		t.Error("the retention of the ledger changes the journal or the scores")
	}
}

// TestLedgerRetentionByMonth proves that rows are deleted by whole months (UTC) if the ledger has a retention of three
// months or more, and that no row younger than the retention is deleted.
func TestLedgerRetentionByMonth(t *testing.T) {
	day := 24 * time.Hour
	newest := time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("", 3600)) // the last half hour of February in UTC
	for _, c := range []struct {
		retention time.Duration
		want      time.Time
	}{
		{12 * time.Hour, newest.Add(-12 * time.Hour)},
		{90*day - 1, newest.Add(1 - 90*day)},
		{90 * day, time.Date(2025, 11, 1, 0, 0, 0, 0, time.UTC)},
		{365 * day, time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if got := oldestRow(newest, c.retention); !got.Equal(c.want) {
			t.Errorf("with a retention of %s rows go before %s, want %s", c.retention, got, c.want)
		}
	}
}

// TestReadersSeeTheOpenInstant proves that views include the events of the open instant, although the forecasts that
// are scored are made only at the end of the instant.
func TestReadersSeeTheOpenInstant(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		sized(event(job.Submit, "1", 5), 100), event(job.Start, "1", 6), sized(event(job.Submit, "2", 6), 64),
		event(job.Hold, "2", 6), sized(event(job.Submit, "3", 6), 30),
	}})
	l := p.writers["c"].ledger
	if len(l.pending) != 2 {
		t.Fatalf("%d jobs are pending, want 2", len(l.pending))
	}
	request := readmodel.EngineRequest(&job.Attributes{Queue: "default", Procs: 1})
	f := p.View("c").Engine.Forecast(&request)
	if f.Free != 28 || f.JobsAhead != 1 || f.ProcsAhead != 30 {
		t.Errorf("%d processors are free behind %d jobs with %d, want 28 behind 1 with 30", f.Free, f.JobsAhead,
			f.ProcsAhead)
	}
	if f := l.feeder.engine.View(clock(l.instant)).Forecast(&request); f.Free != 128 || f.JobsAhead != 1 {
		t.Errorf("to the ledger %d are free behind %d jobs, want 128 behind job 1", f.Free, f.JobsAhead)
	}
}
