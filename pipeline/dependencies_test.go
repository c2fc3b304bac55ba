package pipeline

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// newDependencyStage returns a slurmStage with a cluster of 32 processors, and its store.
func newDependencyStage(t *testing.T) (*slurmStage, *memory) {
	store := &memory{}
	s := newSlurmStage(t, slurmConfig(), store)
	facts := event(job.Machine, job.MachineID, 0)
	facts.Facts = &job.Facts{Queues: []job.QueueFacts{{Name: "a"}},
		Nodes: []job.NodeGroup{{Queues: []string{"a"}, Count: 4, Node: job.NodeResources{Procs: 8}}}}
	s.deliver(s.squeue, facts)
	return s, store
}

// rowOf returns the row of a job.
func rowOf(t *testing.T, store *memory, id string) *modelstore.Row {
	t.Helper()
	i := slices.IndexFunc(store.rows, func(r modelstore.Row) bool { return r.JobID == id })
	if i < 0 {
		t.Fatalf("job %s has no row", id)
	}
	return &store.rows[i]
}

// waitsLong fails the test unless the job, which waits for another one, was forecast before its start, with a median
// wait of at least 60 s and the cause "hold".
func waitsLong(t *testing.T, store *memory, id string) {
	t.Helper()
	r := rowOf(t, store, id)
	median := slices.Index(waittime.Levels(), .5)
	if len(r.Quantiles) == 0 || r.Quantiles[median] < 60 || r.Replayed || r.Parts.Predicted != "hold" {
		t.Errorf("job %s, which waits for another one: forecast %v, replayed %v, because of %q", id, r.Quantiles,
			r.Replayed, r.Parts.Predicted)
	}
}

// TestDependencyOnAnArrayInOneListing proves that the forecast of a job that waits for an array counts the array,
// although the events with the details of the array come last in a listing. A job that waits for this job is forecast
// to wait long, too.
func TestDependencyOnAnArrayInOneListing(t *testing.T) {
	s, store := newDependencyStage(t)
	s.deliver(s.log, event(job.Submit, "1", 10), event(job.Submit, "2", 10.5), event(job.Submit, "3", 10.7))
	s.list(13, listed{id: "1_[1-4]", user: "ann", procs: 8, submit: 10, eligible: 10, reason: "Priority"},
		listed{id: "2", user: "ann", procs: 1, submit: 10, eligible: -1, reason: "Dependency",
			after: "afterok:1_*(unfulfilled)"},
		listed{id: "3", user: "ann", procs: 1, submit: 10, eligible: -1, reason: "Dependency",
			after: "afterok:2(unfulfilled)"})
	s.deliver(s.log, event(job.Start, "2", 410), event(job.Start, "3", 510))
	waitsLong(t, store, "2")
	waitsLong(t, store, "3")
}

// TestDependencyOnAJobOfUnknownSize proves that a job that waits for another job is forecast once the size of the other
// job is known. Here the listing with the size was taken before the other job's start, but arrives after it.
func TestDependencyOnAJobOfUnknownSize(t *testing.T) {
	s, store := newDependencyStage(t)
	s.deliver(s.log, event(job.Submit, "1", 10), event(job.Submit, "2", 10.2), event(job.Start, "1", 11))
	first := listed{id: "1", user: "ann", procs: 8, submit: 10, eligible: 10, reason: "Priority"}
	second := listed{id: "2", user: "ann", procs: 1, submit: 10, eligible: -1, reason: "Dependency",
		after: "afterok:1(unfulfilled)"}
	s.list(10.5, first, second)
	first.reason, first.start = "", 11
	s.list(20, first, second)
	s.deliver(s.log, event(job.Start, "2", 410))
	waitsLong(t, store, "2")
}

// TestDependencyOnAJobWithoutRecord covers a job that is held for another job of which no record was read. It proves
// that the forecast is made once a record of the other job is read, and at the latest after cluster.DetailsGrace.
func TestDependencyOnAJobWithoutRecord(t *testing.T) {
	first := listed{id: "1", user: "ann", procs: 8, submit: 9, eligible: 9, start: 11}
	second := listed{id: "2", user: "ann", procs: 1, submit: 10, eligible: -1, reason: "Dependency",
		after: "afterok:1(unfulfilled)"}
	for name, listing := range map[string][]listed{"": {first, second}, "stays unknown: ": {second}} {
		s, store := newDependencyStage(t)
		s.deliver(s.log, event(job.Submit, "2", 10))
		s.list(12, first, second) // the start of job 1 is so recent that only the log reports it
		served := func(seconds float64) bool {
			s.deliver(s.log, event(job.Submit, fmt.Sprint("at ", seconds), seconds)) // ends the instant before
			v := s.pipeline.View("c")
			for _, j := range v.Queued {
				if j.ID == "2" {
					return v.Forecasts.Of(readmodel.KeyOf(j)).Quantiles != nil
				}
			}
			return false
		}
		if served(15) {
			t.Errorf("%sjob 2 has a forecast before job 1 is known", name)
		}
		s.list(20, listing...)
		if got, want := served(25), len(listing) > 1; got != want {
			t.Errorf("%sjob 2 has a forecast: %v, want %v", name, got, want)
		}
		if !served(10 + cluster.DetailsGrace.Seconds() + 5) {
			t.Errorf("%sjob 2 has no forecast after the grace", name)
		}
		s.deliver(s.log, event(job.Start, "2", 410))
		if r := rowOf(t, store, "2"); len(listing) > 1 {
			waitsLong(t, store, "2")
		} else if r.Replayed || r.Parts.Predicted != "hold" {
			t.Errorf("%sreplayed %v, because of %q", name, r.Replayed, r.Parts.Predicted)
		}
	}
}

// TestDependenciesSurviveKills proves that postponed forecasts are the same if the writer is killed and restored after
// every delivery.
func TestDependenciesSurviveKills(t *testing.T) {
	undisturbed := newStore(t)
	s := newSlurmStage(t, slurmConfig(), undisturbed)
	restore(t, s.pipeline, "one")
	s.deliver(s.log, event(job.Submit, "1", 10), event(job.Submit, "2", 10.2), event(job.Start, "1", 11))
	first := listed{id: "1", user: "ann", procs: 8, submit: 10, eligible: 10, reason: "Priority"}
	second := listed{id: "2", user: "ann", procs: 1, submit: 10, eligible: -1, reason: "Dependency",
		after: "afterok:1(unfulfilled)"}
	s.list(10.5, first, second)
	s.deliver(s.log, event(job.Submit, "3", 15))
	first.reason, first.start = "", 11
	s.list(20, first, second)
	s.deliver(s.log, event(job.End, "1", 400))
	s.deliver(s.log, event(job.Start, "2", 410))
	s.deliver(s.log, event(job.Submit, "4", 420))
	want := keeps(t, undisturbed, s.pipeline)
	store := newStore(t)
	var last *Pipeline
	for _, d := range s.delivered {
		next := newSlurmStage(t, slurmConfig(), store)
		restore(t, next.pipeline, "one")
		take(t, next.pipeline, d)
		last = next.pipeline
	}
	if d := gocmp.Diff(want, keeps(t, store, last)); d != "" {
		t.Errorf("undisturbed (-) and killed (+) differ: %.3000s", d)
	}
}
