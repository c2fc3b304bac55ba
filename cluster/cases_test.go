package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/job"
)

// with returns the event with the start and the end that its record gives. A value below 0 means that the record has
// none.
func with(ev job.Event, start, end int) job.Event {
	if start >= 0 {
		ev.Times.Start = at(start)
	}
	if end >= 0 {
		ev.Times.End = at(end)
	}
	return ev
}

func sized(ev job.Event, procs int) job.Event {
	ev.Procs = procs
	return ev
}

func queued(ev job.Event, queue string) job.Event {
	ev.Queue = queue
	return ev
}

// TestBadInputs proves that if records are missing, late or senseless, the picture is the most likely one given the
// other records.
func TestBadInputs(t *testing.T) {
	submit, start, end := event(job.Submit, "1", 10), event(job.Start, "1", 20), event(job.End, "1", 30)
	for _, c := range []struct {
		name    string
		events  []job.Event
		changes string
		used    int
		counts  Counts
	}{
		{"end of an unknown job without its start", []job.Event{end}, "", 0, Counts{Orphans: 1}},
		{
			"end of an unknown job with its start", []job.Event{sized(with(end, 20, 30), 4)},
			"20:1-submit(20) 20:1-start(20) 30:1-end(20) ", 0,
			Counts{Submitted: 1, Started: 1, Ended: 1, Derived: 2},
		},
		{
			"end of a waiting job with its start", []job.Event{submit, with(end, 20, 30)},
			"10:1-submit 20:1-start(20) 30:1-end(20) ", 0,
			Counts{Submitted: 1, Started: 1, Ended: 1, Derived: 1},
		},
		{
			"end of a waiting job without its start: it never ran", []job.Event{submit, end},
			"10:1-submit 30:1-cancel ", 0, Counts{Submitted: 1, Cancelled: 1},
		},
		{
			"start without a submit", []job.Event{sized(start, 4)}, "20:1-submit 20:1-start ", 4,
			Counts{Submitted: 1, Started: 1, Derived: 1},
		},
		{
			"a submit just after the start", []job.Event{sized(start, 4), queued(event(job.Submit, "1", 22), "q"), end},
			"20:1-submit 20:1-start 22:1-update 30:1-end(20) ", 0,
			Counts{Submitted: 1, Started: 1, Ended: 1, Derived: 1},
		},
		{
			"start that happened before the submit", []job.Event{event(job.Submit, "1", 25), start},
			"25:1-submit 20:1-start ", 1, Counts{Submitted: 1, Started: 1, OutOfOrder: 1},
		},
		{
			"end before the start lasts 0 s", []job.Event{submit, event(job.Start, "1", 40), end},
			"10:1-submit 40:1-start 30:1-end(40) ", 0, Counts{Submitted: 1, Started: 1, Ended: 1, OutOfOrder: 1},
		},
		{
			"0 processors count as one once the job runs", []job.Event{submit, start}, "10:1-submit 20:1-start ", 1,
			Counts{Submitted: 1, Started: 1},
		},
		{
			"processors below 0 say nothing",
			[]job.Event{sized(submit, 4), sized(event(job.Update, "1", 11), -3), start},
			"10:1-submit 20:1-start ", 4, Counts{Submitted: 1, Started: 1, Duplicates: 1},
		},
		{"a kind that does not exist", []job.Event{submit, event(99, "1", 20)}, "10:1-submit ", 0,
			Counts{Submitted: 1, Orphans: 1}},
		{
			"submitted again while it ran: its end was lost", []job.Event{submit, start, event(job.Submit, "1", 50)},
			"10:1-submit 20:1-start 50:1-end 50:1-submit ", 0,
			Counts{Submitted: 2, Started: 1, LostEnds: 1, Derived: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New("c", 0)
			changes, _ := feed(s, nil, c.events...)
			check(t, s)
			if got := script(journal(changes)); got != c.changes {
				t.Errorf("changes\n%s, want\n%s", got, c.changes)
			}
			if s.Used() != c.used {
				t.Errorf("%d processors used, want %d", s.Used(), c.used)
			}
			if d := cmp.Diff(c.counts, s.Counts()); d != "" {
				t.Errorf("counts (-want +got): %s", d)
			}
		})
	}
}

// TestRequeue proves that a requeued job keeps its place and its number and waits again. It also proves that records of
// the job's earlier attempt do not change the next attempt, however close the attempts are.
func TestRequeue(t *testing.T) {
	s := New("c", 0)
	first := []job.Event{
		event(job.Submit, "1", 0), event(job.Submit, "2", 3), event(job.Start, "1", 5), event(job.Requeue, "1", 5),
	}
	feed(s, nil, first...)
	j := s.Job("1")
	if j.Attempt != 1 || j.Seq != 1 || !j.Submit.Equal(at(5)) || s.Queued()[0] != j {
		t.Fatalf("after the requeue: %+v", *j)
	}
	if changes, _ := feed(s, nil, first...); len(changes) > 0 {
		t.Fatalf("told again: %s", script(journal(changes)))
	}
	feed(s, nil, event(job.Start, "1", 6))
	if changes, _ := feed(s, nil, first...); len(changes) > 0 || !s.Job("1").Running() {
		t.Fatalf("told again while the next attempt runs: %s", script(journal(changes)))
	}
}

// TestRareSequences covers sequences that random draws seldom find. For each sequence, a replay of its journal makes
// the same changes, and reading the sequence again makes none.
func TestRareSequences(t *testing.T) {
	start := event(job.Start, "1", 9)
	start.Times.Submit = at(5)
	unseen := event(job.Start, "1", 41)
	unseen.Times.Submit = at(26)
	for name, events := range map[string][]job.Event{
		"started in the second of the requeue": {
			event(job.Submit, "1", 0), event(job.Start, "1", 1), event(job.Requeue, "1", 5), event(job.Start, "1", 5),
		},
		"requeue of a life whose submission was lost": {
			event(job.Submit, "1", 0), event(job.Start, "1", 1), event(job.End, "1", 19),
			event(job.Requeue, "1", 31), unseen,
		},
		"started after its life of 0 s": {event(job.Submit, "1", 5), event(job.Cancel, "1", 5), start},
	} {
		t.Run(name, func(t *testing.T) {
			s, replayed := New("c", 0), New("c", 0)
			changes, _ := feed(s, nil, events...)
			again := replay(t, replayed, changes)
			if d := cmp.Diff(changes, again); d != "" {
				t.Errorf("the replay made other changes (-live +replay): %s", d)
			}
			if changes, _ := feed(s, nil, events...); len(changes) > 0 {
				t.Errorf("read again: %s", script(journal(changes)))
			}
		})
	}
}

// TestMovesBetweenQueues proves that a job on its way out of a routing queue counts under its first queue, and that
// reading its moves again does not move it.
func TestMovesBetweenQueues(t *testing.T) {
	s := New("c", 0)
	way := []job.Event{
		queued(event(job.Submit, "1", 0), "route"), queued(event(job.Submit, "1", 0), "short"),
		queued(event(job.Submit, "1", 9), "long"),
	}
	changes, _ := feed(s, nil, way...)
	if got := script(journal(changes)); got != "0:1-submit 0:1-update 9:1-update " {
		t.Fatalf("changes: %s", got)
	}
	if j := s.Job("1"); j.Queue != "long" || j.FirstQueue != "route" || !j.Order.Equal(at(0)) {
		t.Fatalf("after the moves: %+v", *j)
	}
	for n := range way {
		if changes, _ := feed(s, nil, way[:n+1]...); len(changes) > 0 {
			t.Fatalf("the first %d records told again made changes: %s", n+1, script(journal(changes)))
		}
	}
}

// TestLateRecordFillsIn proves that a late record adds what is unknown and does not change what newer records gave.
func TestLateRecordFillsIn(t *testing.T) {
	s := New("c", 0)
	late := sized(queued(event(job.Update, "1", 5), "old"), 8)
	late.User = "ann"
	feed(s, nil, event(job.Submit, "1", 0), queued(event(job.Update, "1", 9), "new"), late)
	if j := s.Job("1"); j.Queue != "new" || j.Procs != 8 || j.User != "ann" {
		t.Fatalf("after the late record: %+v", *j)
	}
}

// TestDeletionOfARunningJob proves that after a forced deletion, which writes no end, the job leaves once the grace
// after the deletion is over, and not before. An ordinary deletion is followed by an end. The end counts even after
// the grace if it is the next record.
func TestDeletionOfARunningJob(t *testing.T) {
	g := int(grace / time.Second)
	running := []job.Event{event(job.Submit, "1", 0), sized(event(job.Start, "1", 5), 4), event(job.Cancel, "1", 100)}
	for _, c := range []struct {
		name    string
		next    []job.Event
		changes string
		used    int
	}{
		{"its end comes", []job.Event{event(job.End, "1", 110)}, "110:1-end(5) ", 0},
		{"asked twice", []job.Event{event(job.Cancel, "1", 200)}, "", 4},
		{"the grace is not over", []job.Event{event(job.Submit, "2", 100+g)}, fmt.Sprintf("%d:2-submit ", 100+g), 4},
		{
			"the grace is over", []job.Event{event(job.Submit, "2", 101+g)},
			fmt.Sprintf("%d:1-end %d:2-submit ", 100+g, 101+g), 0,
		},
		{"an orphan shows that it is over", []job.Event{event(job.Cancel, "9", 101+g)},
			fmt.Sprintf("%d:1-end ", 100+g), 0},
		{"its end comes late", []job.Event{event(job.End, "1", 105+g)}, fmt.Sprintf("%d:1-end(5) ", 105+g), 0},
		{
			"its end comes too late",
			[]job.Event{event(job.Submit, "2", 101+g), with(event(job.End, "1", 105+g), 5, 105+g)},
			fmt.Sprintf("%d:1-end %d:2-submit ", 100+g, 101+g), 0,
		},
		{
			"requeued meanwhile",
			[]job.Event{event(job.Requeue, "1", 110), event(job.Start, "1", 120), event(job.Submit, "2", 101+g)},
			fmt.Sprintf("110:1-requeue 120:1-start %d:2-submit ", 101+g), 4,
		},
		{
			"asked for before it started",
			[]job.Event{event(job.Requeue, "1", 110), event(job.Start, "1", 120), event(job.Cancel, "1", 115)},
			"110:1-requeue 120:1-start ", 4,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New("c", 0)
			feed(s, nil, running...)
			if s.Used() != 4 || s.Counts().Cancelled != 0 {
				t.Fatalf("after the request: %d processors used, %+v", s.Used(), s.Counts())
			}
			changes, _ := feed(s, nil, c.next...)
			check(t, s)
			if got := script(journal(changes)); got != c.changes {
				t.Errorf("changes\n%s, want\n%s", got, c.changes)
			}
			if s.Used() != c.used {
				t.Errorf("%d processors used, want %d", s.Used(), c.used)
			}
			for _, ch := range changes {
				if ch.Event.Kind == job.End && ch.Event.Derived && !ch.Event.Times.End.Equal(at(100)) {
					t.Errorf("the lost end is of %v, want that of the request", ch.Event.Times.End)
				}
			}
		})
	}
}

// TestForgottenJobs proves that a job that the fold has forgotten does not count as a new one if Known remembers the
// job. If the id is used again later, the job counts as new.
func TestForgottenJobs(t *testing.T) {
	s := New("c", 0)
	kept := map[string]Left{}
	known := func(id string) (Left, bool) { l, ok := kept[id]; return l, ok }
	job1 := []job.Event{event(job.Submit, "1", 0), event(job.Start, "1", 1), with(event(job.End, "1", 2), 1, 2)}
	feed(s, known, job1...)
	kept["1"] = s.left["1"]
	for i := range memory {
		id := fmt.Sprint("x", i)
		feed(s, known, event(job.Submit, id, 10+i), event(job.Cancel, id, 10+i))
	}
	check(t, s)
	if !s.Forgotten("1") || len(s.left) != memory {
		t.Fatalf("%d jobs are remembered, job 1 among them: %v; want %d without it", len(s.left),
			!s.Forgotten("1"), memory)
	}
	if changes, _ := feed(s, known, job1...); len(changes) > 0 {
		t.Fatalf("a forgotten job read again: %s", script(journal(changes)))
	}
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	restored := New("c", 0)
	if err := restored.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*State{s, restored} { // the ring of forgotten jobs continues in both states
		changes, _ := feed(s, known, event(job.Submit, "1", memory+100), event(job.Cancel, "1", memory+100))
		if len(changes) != 2 || changes[0].Event.Attempt != 1 || s.Forgotten("x1") || !s.Forgotten("x0") {
			t.Fatalf("the id used again: %s, attempt %d", script(journal(changes)), changes[0].Event.Attempt)
		}
	}
	if d := cmp.Diff(bytesOf(t, s), bytesOf(t, restored)); d != "" {
		t.Fatalf("restoring a full memory left a trace: %s", d)
	}
}

// TestUnmarshalRefuses proves that a saved state of another cluster or version, and a damaged one, is refused and
// leaves the state unchanged.
func TestUnmarshalRefuses(t *testing.T) {
	other, s := New("d", 0), New("c", 0)
	feed(s, nil, event(job.Submit, "1", 0))
	good, errA := s.MarshalBinary()
	data, errB := other.MarshalBinary()
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	codectest.Check(t, good, func() codec.Savable { return New("c", 0) })
	if err := s.UnmarshalBinary(data); !errors.Is(err, codec.ErrConfig) || s.Job("1") == nil {
		t.Errorf("that of another cluster: %v", err)
	}
	bad := codectest.EditJSON(t, good, func([]byte) []byte { return []byte("{") })
	if err := s.UnmarshalBinary(bad); !errors.Is(err, codec.ErrDamaged) || s.Job("1") == nil {
		t.Errorf("half an object: %v", err)
	}
}

// TestSuspension proves that a suspended job holds nothing, and that its age excludes its suspensions.
func TestSuspension(t *testing.T) {
	s := New("c", 100)
	start := event(job.Start, "1", 10)
	start.Procs = 8
	_, verdicts := feed(s, nil, event(job.Submit, "1", 0), event(job.Suspend, "1", 5), start,
		event(job.Resume, "1", 20), event(job.Suspend, "1", 30))
	if d := cmp.Diff([]Verdict{Applied, Duplicate, Applied, Duplicate, Applied}, verdicts); d != "" {
		t.Errorf("verdicts (-want +got): %s", d)
	}
	j := s.Job("1")
	if s.Used() != 0 || s.Pool("").Used[Procs] != 0 || !j.Running() || j.Holds() || j.Age(at(500)) != 20*time.Second {
		t.Errorf("suspended, %d processors are in use, its age is %v; want 0 and 20 s", s.Used(), j.Age(at(500)))
	}
	feed(s, nil, event(job.Resume, "1", 100), event(job.Resume, "1", 200), event(job.Suspend, "1", 50))
	j = s.Job("1")
	if s.Used() != 8 || s.Pool("").Used[Procs] != 8 || j.Age(at(150)) != 70*time.Second {
		t.Errorf("resumed, %d processors are in use, its age is %v; want 8 and 70 s", s.Used(), j.Age(at(150)))
	}
	feed(s, nil, event(job.Requeue, "1", 160), event(job.Start, "1", 170))
	if j = s.Job("1"); j.Age(at(200)) != 30*time.Second {
		t.Errorf("its next try is %v old, want 30 s", j.Age(at(200)))
	}
}
