package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// whole returns the events of a job as a log of whole jobs reports them, with times in seconds. A runtime below 0 means
// that the job never ran.
func whole(id int, submit, wait, runtime float64) []job.Event {
	name := fmt.Sprint(id)
	s, b, e := event(job.Submit, name, submit), event(job.Start, name, submit+wait),
		event(job.End, name, submit+wait+runtime)
	s.Times.Submit = s.Time
	b.Times.Submit, b.Times.Start = s.Time, b.Time
	e.Times = job.Times{Submit: s.Time, Start: b.Time, End: e.Time}
	if runtime < 0 {
		c := event(job.Cancel, name, submit+wait)
		c.Times.Submit = s.Time
		return []job.Event{s, c}
	}
	return []job.Event{s, b, e}
}

// TestHoldbackOrder proves the order within one instant: first ends, then submissions in the order of the file, then
// starts, each followed by the end of a job that started at that instant.
func TestHoldbackOrder(t *testing.T) {
	var h holdback
	var got []string
	emit := func(ev job.Event) { got = append(got, fmt.Sprintf("%s-%v", ev.ID, ev.Kind)) }
	for _, j := range [][]job.Event{
		whole(1, 0, 0, 10), // ends at 10
		whole(2, 0, 10, 5), // starts at 10
		whole(3, 10, 0, 0), // all at 10
		whole(4, 10, 0, 5), whole(5, 10, 0, -1), whole(6, 20, 0, 1),
	} {
		for _, ev := range j {
			h.add(ev, emit)
		}
	}
	want := "1-submit 2-submit 1-start 1-end 3-submit 4-submit 5-submit " +
		"2-start 3-start 3-end 4-start 5-cancel 2-end 4-end"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("before the submission at 20 is passed:\n%s, want\n%s", s, want)
	}
	h.flush(emit)
	if s := strings.Join(got[14:], " "); s != "6-submit 6-start 6-end" {
		t.Errorf("flushed: %s", s)
	}
}

// jobsOf draws jobs in order of submission, and returns the events of each.
func jobsOf(t *rapid.T) [][]job.Event {
	var jobs [][]job.Event
	clock := 0
	for i := range rapid.IntRange(1, 60).Draw(t, "jobs") {
		clock += rapid.IntRange(0, 3).Draw(t, "gap")
		wait, runtime := rapid.IntRange(0, 5).Draw(t, "wait"), rapid.IntRange(-1, 20).Draw(t, "runtime")
		jobs = append(jobs, whole(i, float64(clock), float64(wait), float64(runtime)))
	}
	return jobs
}

// TestCheckpointsWaitForHeldEvents proves that no checkpoint is committed while an event before it is held back: the
// journal has every event before a committed checkpoint.
func TestCheckpointsWaitForHeldEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := jobsOf(t)
		store := &memory{}
		p, src := newPipeline(testConfig(), store, collector.BySubmit)
		told := map[string]bool{}
		for i, events := range jobs {
			d := &source.Delivery{Source: src, Events: events, Checkpoint: []byte(strconv.Itoa(i))}
			if err := p.step(t.Context(), d, nil); err != nil {
				t.Fatal(err)
			}
			for _, e := range store.entries[len(told):] {
				told[fmt.Sprintf("%s-%v", e.Event.ID, e.Event.Kind)] = true
			}
			if len(store.checkpoints) == 0 {
				continue
			}
			upTo, err := strconv.Atoi(store.checkpoints[len(store.checkpoints)-1])
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range slices.Concat(jobs[:upTo+1]...) {
				if !told[fmt.Sprintf("%s-%v", ev.ID, ev.Kind)] {
					t.Fatalf("after delivery %d checkpoint %d is committed, but %v of job %s is not", i, upTo, ev.Kind,
						ev.ID)
				}
			}
		}
		p.sources["log"].hold.flush(func(job.Event) {})
		if cp := p.sources["log"].checkpoint([]byte("end")); string(cp) != "end" {
			t.Fatalf("with nothing held the newest checkpoint is %q", cp)
		}
	})
}

// TestHeldBackEventsOfADumpAreReleased proves that the held-back events of a dump that was read to its end are
// processed, although no later submission follows.
func TestHeldBackEventsOfADumpAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		p, src := newPipeline(testConfig(), store, collector.BySubmit)
		events := slices.Concat(whole(1, 0, 0, 10), whole(2, 0, 5, 10))
		deliveries, done := make(chan *source.Delivery), make(chan error)
		go func() { done <- p.Run(t.Context(), deliveries) }()
		deliveries <- &source.Delivery{Source: src, Events: events, Lines: 2, CaughtUp: true, Checkpoint: []byte("end")}
		synctest.Wait()
		<-time.After(holdbackQuiet / 2)
		if n := p.View("c").Counts.Ended; n != 0 {
			t.Errorf("%d jobs have ended although more could come", n)
		}
		<-time.After(holdbackQuiet)
		synctest.Wait()
		if n := p.View("c").Counts.Ended; n != 2 || len(store.entries) != 6 {
			t.Errorf("%d jobs have ended, %d entries are committed; want 2 and 6", n, len(store.entries))
		}
		if n := len(store.checkpoints); n == 0 || store.checkpoints[n-1] != "end" {
			t.Errorf("checkpoints %q", store.checkpoints)
		}
		close(deliveries)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}
