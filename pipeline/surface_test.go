package pipeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// longer returns the events of the jobs that ran for longer than so many seconds.
func longer(events []job.Event, seconds float64) []job.Event {
	short := map[string]bool{}
	for _, ev := range events {
		if ev.Kind == job.End && ev.Time.Sub(ev.Times.Start).Seconds() <= seconds {
			short[ev.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(ev job.Event) bool { return short[ev.ID] })
}

// toldLate takes all attributes out of a log and tells them so many seconds after each submission.
func toldLate(events []job.Event, seconds int) []job.Event {
	var out []job.Event
	for _, ev := range events {
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

// rowsByJob returns what the ledger says of every job's forecast.
func rowsByJob(rows []modelstore.Row) map[string]string {
	out := map[string]string{}
	for _, r := range rows {
		out[r.JobID] = fmt.Sprint(r.Queue, r.Procs, r.Method, r.Quantiles, r.Reason, r.WaitSeconds)
	}
	return out
}

func alive(events []job.Event) []job.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Live = true
	}
	return events
}

// A forecast whose job is told late is the one that would have been made if everything had been told at the submission: its surface is kept. It is marked
// replayed where the job had started meanwhile.
func TestForecastOfAJobToldLate(t *testing.T) {
	events := alive(longer(workload(t, 400, 5), 3))
	direct, late := &memory{}, &memory{}
	p, src := newPipeline(testConfig(), direct, collector.Live)
	take(t, p, deliveries(src, events, 100, 1)...)
	p, src = newPipeline(testConfig(), late, collector.Live)
	take(t, p, deliveries(src, toldLate(events, 2), 100, 1)...)
	if d := cmp.Diff(rowsByJob(direct.rows), rowsByJob(late.rows)); d != "" {
		t.Errorf("forecasts (-told at submission +told late): %s", d)
	}
	var replayed, modelled int
	for _, r := range late.rows {
		if r.Replayed != (r.WaitSeconds < 2) {
			t.Errorf("job %s waited %v s and is marked replayed: %v", r.JobID, r.WaitSeconds, r.Replayed)
		}
		if r.Replayed {
			replayed++
		}
		if r.Method != "now" && r.Quantiles != nil {
			modelled++
		}
	}
	if replayed < 20 || modelled < 50 {
		t.Fatalf("only %d rows are replayed and %d needed a model: the test says too little", replayed, modelled)
	}
}

// Kept surfaces outlive the process: a ledger that is saved and restored in the middle gives the same rows.
func TestSurfacesAreSaved(t *testing.T) {
	events := toldLate(alive(longer(workload(t, 150, 6), 3)), 40)
	run := func(restart bool) []modelstore.Row {
		store := &memory{}
		p, src := newPipeline(testConfig(), store, collector.Live)
		for i, ev := range events {
			take(t, p, &source.Delivery{Source: src, Events: []job.Event{ev}})
			if !restart || i%7 != 0 {
				continue
			}
			l := p.lanes["c"]
			data, err := l.ledger.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			fresh := newLedger("c")
			if err := fresh.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			again, err := fresh.MarshalBinary()
			if err != nil || string(again) != string(data) {
				t.Fatalf("event %d: saved again it is different (%v):\n%s\n%s", i, err, data, again)
			}
			l.ledger = fresh
		}
		return store.rows
	}
	if d := cmp.Diff(run(false), run(true)); d != "" {
		t.Errorf("rows (-undisturbed +restored): %s", d)
	}
}

// The first task of an array to start is scored by the forecast of one task, the last by that of a task behind all others.
func TestFirstAndLastTaskOfAnArray(t *testing.T) {
	store := &memory{}
	p, src := newPipeline(testConfig(), store, collector.Live)
	history := alive(workload(t, 200, 9))
	end := history[len(history)-1].Time.Sub(at(0)).Seconds() + 1000
	told := event(job.Update, "9", end+15)
	told.Attributes = job.Attributes{Queue: "a", Procs: 64, TimeLimit: time.Hour, Tasks: 4}
	task := told
	task.ID, task.Tasks = "9_1", 0
	events := append(history, event(job.Submit, "9", end), event(job.Start, "9_1", end+1), told, task, event(job.Start, "9_2", end+16))
	for i, id := range []string{"9_1", "9_2", "9_3", "9_4"} { // told before the start of the last
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
	if len(rows) != 2 {
		t.Fatalf("rows of the array: %+v", rows)
	}
	if first.Method != "now" || first.WaitSeconds != 1 || first.Procs != 64 || !first.Replayed {
		t.Errorf("the first task: %+v", first)
	}
	if last.Method != "fcfs_queue" || last.WaitSeconds != 1000 || last.Replayed || last.Quantiles[0] <= 0 {
		t.Errorf("the last task: %+v", last)
	}
}
