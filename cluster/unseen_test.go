package cluster

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/job"
)

// TestEndWithoutAStart proves that a job whose end shows that it ran is no cancelled job. It waits for a record with
// its start, and is given up if none comes. Every case replays to the same state.
func TestEndWithoutAStart(t *testing.T) {
	end := event(job.End, "1", 30)
	end.Ran = true
	listed := with(event(job.End, "1", 30), 20, 30)
	runs := event(job.Start, "1", 28)
	runs.Times.Start = at(20)
	grace := 30 + int(UnseenGrace/time.Second)
	late := event(job.Submit, "2", grace+1)
	for _, c := range []struct {
		name    string
		next    []job.Event
		changes string
		counts  Counts
	}{
		{"no start yet", nil, "", Counts{}},
		{"a listing of ended jobs", []job.Event{listed}, "20:1-start(20) 30:1-end(20) ", Counts{Started: 1, Ended: 1}},
		{"a listing from before the end", []job.Event{runs}, "20:1-start(20) 30:1-end(20) ",
			Counts{Started: 1, Ended: 1}},
		{"the end again", []job.Event{end}, "", Counts{}},
		{"a kill that came too late", []job.Event{event(job.End, "1", 31)}, "", Counts{}},
		{"an old listing in which it waits", []job.Event{event(job.Release, "1", 29)}, "", Counts{}},
		{"it waits after all", []job.Event{event(job.Release, "1", 35)}, "35:1-release ", Counts{}},
		{"it waits after all, and is cancelled", []job.Event{event(job.Release, "1", 35), event(job.End, "1", 40)},
			"35:1-release 40:1-cancel ", Counts{Cancelled: 1}},
		{"no start in time", []job.Event{late}, "330:1-end 331:2-submit ", Counts{UnseenStarts: 1}},
		{"the start after the grace", []job.Event{late, listed}, "330:1-end 331:2-submit ", Counts{UnseenStarts: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New("c", 0)
			first, _ := feed(s, nil, event(job.Submit, "1", 10), sized(event(job.Update, "1", 15), 2), end)
			j := s.Job("1")
			if !j.Over.Equal(at(30)) || !j.Held || !j.Waited().Equal(at(15)) {
				t.Fatalf("after the end: over %v, held %v, waited until %v", j.Over, j.Held, j.Waited())
			}
			changes, _ := feed(s, nil, c.next...)
			if got := script(journal(changes)); got != c.changes {
				t.Errorf("changes %s, want %s", got, c.changes)
			}
			got := Counts{Started: s.count.Started, Ended: s.count.Ended, Cancelled: s.count.Cancelled,
				UnseenStarts: s.count.UnseenStarts}
			if got != c.counts {
				t.Errorf("counts %+v, want %+v", got, c.counts)
			}
			if l := s.left["1"]; c.counts.Cancelled == 0 && s.Job("1") == nil && !l.Began.Equal(at(10)) {
				t.Errorf("it is remembered as a job that never ran: %+v", l)
			}
			replayed := New("c", 0)
			replay(t, replayed, append(first, changes...))
			if a, b := bytesOf(t, s), bytesOf(t, replayed); a != b {
				t.Errorf("live\n%s\nreplayed\n%s", a, b)
			}
		})
	}
}

// TestKillOfAWaitingJob proves that an end that does not show that the job ran is a cancellation.
func TestKillOfAWaitingJob(t *testing.T) {
	s := New("c", 0)
	changes, _ := feed(s, nil, event(job.Submit, "1", 10), event(job.End, "1", 30))
	if got := script(journal(changes)); got != "10:1-submit 30:1-cancel " {
		t.Errorf("changes %s", got)
	}
}
