package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job"
)

// at returns the instant of a second, counted from the beginning of the tests' time.
func at(seconds int) time.Time { return time.Unix(1_000_000_000+int64(seconds), 0).UTC() }

// event returns an event of job id at a second.
func event(kind job.Kind, id string, second int) job.Event {
	return job.Event{Kind: kind, Cluster: "c", ID: id, Time: at(second)}
}

// feed folds events and returns the changes and the verdicts.
func feed(s *State, known Known, events ...job.Event) (changes []Change, verdicts []Verdict) {
	hooks := &Hooks{Known: known, Changed: func(c Change) { changes = append(changes, c) }}
	for _, ev := range events {
		verdicts = append(verdicts, s.Apply(ev, hooks))
	}
	return changes, verdicts
}

// journal returns the events of changes.
func journal(changes []Change) []job.Event {
	events := make([]job.Event, len(changes))
	for i, c := range changes {
		events[i] = c.Event
	}
	return events
}

// replay folds the events of changes into another state and returns its changes: one for each.
func replay(t fataler, s *State, changes []Change) (again []Change) {
	t.Helper()
	for _, c := range changes {
		made, _ := feed(s, nil, c.Event)
		if len(made) != 1 {
			t.Fatalf("the replay of %+v made %d changes", c.Event, len(made))
		}
		again = append(again, made...)
	}
	return again
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// bytesOf returns the saved state without the counters that count records rather than changes.
func bytesOf(t fataler, s *State) string {
	t.Helper()
	c := *s
	c.count.Duplicates, c.count.Orphans = 0, 0
	data, err := c.MarshalBinary()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(data)
}

var kinds = []job.Kind{
	job.Submit, job.Update, job.Hold, job.Release, job.Start, job.End, job.Cancel, job.Requeue, job.Suspend,
	job.Resume, job.Machine,
}

// hostile draws events of a few ids in no order at all: any kind at any time, sizes that are unknown or below 0, and
// records with impossible earlier or later instants.
func hostile(t *rapid.T) []job.Event {
	second := rapid.IntRange(0, 3*int(grace/time.Second))
	some := func(label string) time.Time {
		if rapid.Bool().Draw(t, "tells "+label) {
			return at(second.Draw(t, label))
		}
		return time.Time{}
	}
	n := rapid.IntRange(0, 60).Draw(t, "events")
	events := make([]job.Event, n)
	for i := range events {
		events[i] = job.Event{
			Kind:    rapid.SampledFrom(kinds).Draw(t, "kind"),
			Cluster: "c", ID: rapid.SampledFrom([]string{"1", "2", "1_1", "1+2", "2_0", "1[3]", "2.1"}).Draw(t, "id"),
			Time: at(second.Draw(t, "time")), Attributes: job.Attributes{
				Queue:     rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "queue"),
				Procs:     rapid.IntRange(-1, 4).Draw(t, "procs"),
				Tasks:     rapid.IntRange(0, 3).Draw(t, "tasks"),
				TimeLimit: time.Duration(rapid.IntRange(0, 2).Draw(t, "limit")) * time.Hour,
			},
			All:   rapid.Bool().Draw(t, "all"),
			Ran:   rapid.Bool().Draw(t, "ran"),
			Total: rapid.IntRange(-1, 4).Draw(t, "total"),
			Facts: someFacts(t),
			Times: job.Times{Submit: some("submit"), Eligible: some("eligible"), Start: some("start"),
				End: some("end")},
		}
	}
	return events
}

// history draws a log of jobs with sensible lives: they are moved, held, requeued or deleted, and their ids are used
// again. Some records are repeated. Either several records have the same instant or some are lost. The records of every
// job are in the order of time.
func history(t *rapid.T) []job.Event {
	var all []job.Event
	losses := rapid.Bool().Draw(t, "losses")
	for _, id := range []string{"0", "0_1", "0+1", "2", "3", "2[1]", "3.1"}[:rapid.IntRange(1, 7).Draw(t, "jobs")] {
		all = append(all, life(t, id, losses)...)
	}
	slices.SortStableFunc(all, func(a, b job.Event) int { return a.Time.Compare(b.Time) })
	var told []job.Event
	for _, ev := range all {
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0:
			if !losses {
				told = append(told, ev)
			}
		case 1:
			told = append(told, ev, ev)
		default:
			told = append(told, ev)
		}
	}
	return told
}

// life draws the lives of one id. If apart is true, no two records have the same instant.
func life(t *rapid.T, id string, apart bool) []job.Event {
	clock := rapid.IntRange(0, 50).Draw(t, "first")
	pass := func(least int) {
		if apart {
			least = 1
		}
		clock += least + rapid.IntRange(0, 3).Draw(t, "pass")
	}
	var out []job.Event
	tell := func(kind job.Kind, times job.Times) {
		out = append(out, job.Event{
			Kind: kind, Cluster: "c", ID: id, Time: at(clock), Times: times,
			// Records of one instant agree.
			Attributes: job.Attributes{Queue: []string{"", "q1", "q2"}[clock%3], Procs: clock % 4,
				TimeLimit: time.Duration(clock%2) * time.Hour},
		})
	}
	for range rapid.IntRange(1, 3).Draw(t, "lives") {
		times := job.Times{Submit: at(clock)}
		tell(job.Submit, times)
		for running := false; ; {
			pass(0)
			what := rapid.IntRange(0, 7).Draw(t, "what")
			switch {
			case what == 0:
				pass(1)
				tell([]job.Kind{job.Hold, job.Release, job.Update}[clock%3], job.Times{})
				pass(1)
			case what == 1:
				pass(1)
				tell(job.Update, job.Times{Eligible: at(clock)})
				pass(1)
			case !running && what == 2:
				pass(1)
				tell(job.Cancel, job.Times{})
			case !running:
				times.Start, running = at(clock), true
				tell(job.Start, times)
				continue
			case what == 3:
				times.Start, running = time.Time{}, false
				tell(job.Requeue, job.Times{})
				continue
			case what == 4:
				tell(job.Cancel, job.Times{}) // the request to cancel
				continue
			case what == 5: // a log that does not repeat the start
				tell(job.End, job.Times{})
				out[len(out)-1].Ran = true
			default:
				times.End = at(clock)
				tell(job.End, times)
				out[len(out)-1].All = clock%2 == 0
			}
			if what > 1 {
				break
			}
		}
		pass(0)
	}
	return out
}

// script writes events in short form for the messages of failed tests.
func script(events []job.Event) string {
	var b strings.Builder
	for _, ev := range events {
		fmt.Fprintf(&b, "%d:%s-%v", ev.Time.Unix()-at(0).Unix(), ev.ID, ev.Kind)
		if !ev.Times.Start.IsZero() {
			fmt.Fprintf(&b, "(%d)", ev.Times.Start.Unix()-at(0).Unix())
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// check fails if the picture contradicts itself.
func check(t fataler, s *State) {
	t.Helper()
	used, seen := 0, map[string]bool{}
	for i, j := range s.running {
		if j.Holds() {
			used += j.Procs
		}
		if i > 0 && byStart(s.running[i-1], j) >= 0 {
			t.Fatalf("running jobs %s and %s are out of order", s.running[i-1].ID, j.ID)
		}
		if seen[j.ID] || s.jobs[j.ID] != j || !j.Running() || j.Procs < 1 || j.Held {
			t.Fatalf("wrong among the running: %+v", *j)
		}
		seen[j.ID] = true
	}
	for i, j := range s.queued {
		if i > 0 && ByOrder(s.queued[i-1], j) >= 0 {
			t.Fatalf("queued jobs %s and %s are out of order", s.queued[i-1].ID, j.ID)
		}
		if seen[j.ID] || s.jobs[j.ID] != j || j.Running() || j.Procs < 0 || !j.Asked.IsZero() {
			t.Fatalf("wrong among the queued: %+v", *j)
		}
		seen[j.ID] = true
	}
	asked := slices.DeleteFunc(slices.Clone(s.running), func(j *Job) bool { return j.Asked.IsZero() })
	slices.SortFunc(asked, byAsked)
	switch {
	case used != s.used:
		t.Fatalf("%d processors used, the running jobs hold %d", s.used, used)
	case s.highest < s.used:
		t.Fatalf("%d processors used, the highest use is %d", s.used, s.highest)
	case len(seen) != len(s.jobs):
		t.Fatalf("%d jobs are running or queued, %d are known", len(seen), len(s.jobs))
	case !slices.Equal(asked, s.doomed):
		t.Fatalf("%d jobs are to be deleted, %d are noted", len(asked), len(s.doomed))
	case len(s.left) != len(s.leftRing):
		t.Fatalf("%d jobs that left in the ring, %d in the map", len(s.leftRing), len(s.left))
	}
	parts := map[string]int{}
	for id := range s.jobs {
		if whole := WholeOf(id); whole != "" {
			parts[whole]++
		}
	}
	if !maps.Equal(parts, s.parts) {
		t.Fatalf("live parts %v, counted %v", parts, s.parts)
	}
	c := s.count
	if live := c.Submitted - c.Ended - c.Cancelled - c.LostEnds - c.UnseenStarts; live != int64(len(s.jobs)) {
		t.Fatalf("%d jobs are live, but the counts leave %d: %+v", len(s.jobs), live, c)
	}
}
