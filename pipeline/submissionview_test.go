package pipeline

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// longer returns the events without those of jobs that ran for at most the given number of seconds.
func longer(events []job.Event, seconds float64) []job.Event {
	short := map[string]bool{}
	for _, ev := range events {
		if ev.Kind == job.End && ev.Time.Sub(ev.Times.Start).Seconds() <= seconds {
			short[ev.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(ev job.Event) bool { return short[ev.ID] })
}

// toldLate moves the attributes of some jobs from their submissions to separate records, which follow the given number
// of seconds later. which selects these jobs.
func toldLate(events []job.Event, seconds int, which func(id string) bool) []job.Event {
	var out []job.Event
	for _, ev := range events {
		if !which(ev.ID) {
			out = append(out, ev)
			continue
		}
		if ev.Kind == job.Submit {
			told := ev
			told.Kind, told.Time, told.Times = job.Update, ev.Time.Add(time.Duration(seconds)*time.Second), job.Times{}
			out = append(out, told)
		}
		ev.Attributes = job.Attributes{}
		out = append(out, ev)
	}
	sortByTime(out)
	return out
}

func everyJob(string) bool { return true }

func alive(events []job.Event) []job.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Live = true
	}
	return events
}

// TestForecastOfAJobToldLate proves that a job whose attributes come late gets the forecast that it would have got at
// its submission, because the engine's view of that instant is kept. The test does not compare the forecasts of later
// jobs.
func TestForecastOfAJobToldLate(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestRestartLeavesNoTrace")
	}
	events := alive(longer(workload(t, 160, 5), 3))
	rowsOf := func(events []job.Event) (rowOf func(id string) string) {
		store := &memory{}
		p, src := newPipeline(testConfig(), store, collector.Live)
		take(t, p, deliveries(src, events, 100, 1)...)
		return func(id string) string {
			i := slices.IndexFunc(store.rows, func(r modelstore.Row) bool { return r.JobID == id })
			if i < 0 {
				return "no row"
			}
			r := store.rows[i]
			return fmt.Sprint(r.Queue, r.Procs, r.Method, r.Quantiles, r.Peers, r.Reason, r.WaitSeconds)
		}
	}
	directRow := rowsOf(events)
	compared := 0
	last := 140
	if os.Getenv("WAITCAST_LONG") != "" {
		last = 160
	}
	for n := 110; n < last; n++ {
		id := fmt.Sprint(n)
		first := slices.IndexFunc(events, func(ev job.Event) bool { return ev.ID == id })
		if first < 0 || events[first-1].Time.Equal(events[first].Time) ||
			events[first+1].Time.Equal(events[first].Time) {
			continue // a view lacks the other jobs of its instant
		}
		lateRow := rowsOf(toldLate(events, 2, func(other string) bool { return other == id }))
		if late, direct := lateRow(id), directRow(id); late != direct {
			t.Errorf("job %s told late:\n%s\nat its submission:\n%s", id, late, direct)
		}
		compared++
	}
	if compared < 8 {
		t.Fatalf("only %d jobs were compared", compared)
	}
}

// TestForecastAfterTheStartIsReplayed proves that of the forecasts that are made late, exactly those made after the
// start of the job are marked as replayed.
func TestForecastAfterTheStartIsReplayed(t *testing.T) {
	store := &memory{}
	p, src := newPipeline(testConfig(), store, collector.Live)
	take(t, p, deliveries(src, toldLate(alive(longer(workload(t, 400, 5), 3)), 2, everyJob), 100, 1)...)
	var replayed int
	for _, r := range store.rows {
		if r.Replayed != (r.WaitSeconds < 2) {
			t.Errorf("job %s waited %v s and is marked replayed: %v", r.JobID, r.WaitSeconds, r.Replayed)
		}
		if r.Replayed {
			replayed++
		}
	}
	if replayed < 20 || len(store.rows) < replayed+50 {
		t.Fatalf("%d of %d rows are replayed: the test says too little", replayed, len(store.rows))
	}
}

// TestSightsAreSaved proves that kept views are saved: if ledger and engine are saved and restored in between, the rows
// are the same.
func TestSightsAreSaved(t *testing.T) {
	events := toldLate(alive(longer(workload(t, 150, 6), 3)), 40, everyJob)
	run := func(restart bool) []modelstore.Row {
		store := &memory{}
		p, src := newPipeline(testConfig(), store, collector.Live)
		for i, ev := range events {
			take(t, p, &source.Delivery{Source: src, Events: []job.Event{ev}})
			if restart && i%7 == 0 {
				l := p.writers["c"]
				l.ledger = savedAndRestored(t, l.ledger, i)
			}
		}
		return store.rows
	}
	if d := cmp.Diff(run(false), run(true)); d != "" {
		t.Errorf("rows (-undisturbed +restored): %s", d)
	}
}

func savedAndRestored(t *testing.T, l *ledger, event int) *ledger {
	t.Helper()
	engine, err := l.feeder.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	feeder, err := newEngineFeeder(&testConfig().Clusters[0], testConfig().Engine)
	if err != nil {
		t.Fatal(err)
	}
	fresh := newLedger("c", feeder, l.emit)
	if err := fresh.feeder.UnmarshalBinary(engine); err != nil {
		t.Fatal(err)
	}
	if err := fresh.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	again, err := fresh.MarshalBinary()
	if err != nil || string(again) != string(data) {
		t.Fatalf("event %d: saved again it is different (%v):\n%.2000s\n%.2000s", event, err, data, again)
	}
	return fresh
}

// TestFewSights proves that the number of kept views is limited, by a rule in event time, even if the attributes of
// many jobs stay unknown for long.
func TestFewSights(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	var events []job.Event
	for i := range 280 {
		events = append(events, event(job.Submit, fmt.Sprint(i), float64(i)))
	}
	take(t, p, &source.Delivery{Source: src, Events: events})
	kept := map[*submissionView]bool{}
	for _, o := range p.writers["c"].ledger.late {
		kept[o.View] = true
		if behind := o.Job.Submit.Sub(o.View.At); behind < 0 || behind > viewAgeMax {
			t.Errorf("job %s is to be forecast on a view %v from before its submission", o.Job.ID, behind)
		}
	}
	if most := maxSecondViews + int(math.Ceil(280/viewAgeMax.Seconds())); len(kept) > most ||
		len(kept) < maxSecondViews {
		t.Errorf("%d views are kept, want %d to %d", len(kept), maxSecondViews, most)
	}
}

// TestFirstAndLastTaskOfAnArray proves that the first task to start is scored by the forecast of one task, and the last
// task by the forecast of all tasks but the first together. The tasks between them get rows without a forecast.
func TestFirstAndLastTaskOfAnArray(t *testing.T) {
	store := &memory{}
	p, src := newPipeline(testConfig(), store, collector.Live)
	history := alive(workload(t, 200, 9))
	end := history[len(history)-1].Time.Sub(at(0)).Seconds() + 1000
	told := event(job.Update, "9", end+15)
	told.Attributes = job.Attributes{Queue: "a", Procs: 64, TimeLimit: time.Hour, Tasks: 4}
	task := told
	task.ID, task.Tasks = "9_1", 0
	events := append(history, inQueue(event(job.Submit, "half", end-9), "a", 64, 0), event(job.Start, "half", end-9),
		event(job.Submit, "9", end), event(job.Start, "9_1", end+1), told, task, event(job.Start, "9_2", end+16))
	for i, id := range []string{"9_1", "9_2", "9_3", "9_4"} { // all records come before the start of the last task
		if i > 1 {
			events = append(events, event(job.Start, id, end+float64(100*i)))
		}
		events = append(events, event(job.End, id, end+float64(100*i)+50))
	}
	events = append(events, event(job.Start, "9", end+1000), event(job.End, "9", end+2000))
	sortByTime(events)
	take(t, p, &source.Delivery{Source: src, Events: alive(events)})
	rows := map[string]modelstore.Row{}
	for _, r := range store.rows {
		if r.JobID[0] == '9' && r.Submit.Equal(at(end)) {
			rows[r.JobID] = r
		}
	}
	first, last := rows["9_1"], rows["9"]
	if len(rows) != 5 {
		t.Fatalf("rows of the array: %+v", rows)
	}
	for _, id := range []string{"9_2", "9_3", "9_4"} {
		if between := rows[id]; between.Reason != accuracy.ReasonArrayTask || between.Quantiles != nil ||
			between.Outcome != modelstore.Started {
			t.Errorf("a task between the first and the last: %+v", between)
		}
	}
	if first.Method != accuracy.Waitcast || first.WaitSeconds != 1 || first.Procs != 64 || !first.Replayed {
		t.Errorf("the first task: %+v", first)
	}
	if last.Method != accuracy.Waitcast || last.WaitSeconds != 1000 || last.Replayed || last.Quantiles[0] <= 0 {
		t.Errorf("the last task: %+v", last)
	}
}

// TestJobNeverTold proves that a job whose request is still unknown after cluster.DetailsGrace is in the engine with
// one processor, unless it has ended or was requeued. Nothing remains of an earlier attempt.
func TestJobNeverTold(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	late := cluster.DetailsGrace.Seconds()
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		event(job.Submit, "runs", 1), event(job.Start, "runs", 2), event(job.Submit, "ended", 3),
		event(job.Start, "ended", 4), event(job.End, "ended", 20),
		event(job.Submit, "again", 5), event(job.Start, "again", 6), event(job.Requeue, "again", 30),
		event(job.Submit, "waits", 7), event(job.Submit, "left", 8), event(job.Cancel, "left", 40),
		sized(event(job.Submit, "x", late+20), 1), sized(event(job.Submit, "y", late+60), 1),
		sized(event(job.Submit, "z", late+61), 1),
	}})
	request := readmodel.EngineRequest(&job.Attributes{Queue: "default", Procs: 1})
	f := p.writers["c"].ledger.feeder.engine.View(clock(at(late + 61))).Forecast(&request)
	if f.Free != 127 || f.JobsAhead != 4 { // the jobs "again", "waits", "x" and "y"
		t.Errorf("%d processors are free behind %d jobs, want 127 behind 4", f.Free, f.JobsAhead)
	}
}
