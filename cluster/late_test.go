package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/job"
)

// full returns a record of a whole job, as accounting writes it.
func full(kind job.Kind, submit, start, end, procs int) job.Event {
	ev := with(event(kind, "1", end), start, end)
	ev.Times.Submit = at(submit)
	ev.Attributes = job.Attributes{Queue: "a", User: "u", Procs: procs}
	if kind == job.Cancel {
		ev.Times = job.Times{Submit: at(submit)}
	}
	return ev
}

// TestCompletedAfterItsEnd proves that a record that comes after a job has left adds what was unknown about the job,
// once, and only if it is of the same attempt.
func TestCompletedAfterItsEnd(t *testing.T) {
	ran := []job.Event{event(job.Submit, "1", 10), event(job.Start, "1", 20), event(job.End, "1", 30)}
	asked := sized(queued(event(job.Update, "1", 15), "a"), 2)
	asked.User = "u"
	again := []job.Event{event(job.Requeue, "1", 25), event(job.Start, "1", 27), event(job.End, "1", 30)}
	for _, c := range []struct {
		name    string
		first   []job.Event
		next    job.Event
		changes string
		want    job.Attributes // attributes of the job after the event next
	}{
		{"all of it", ran, full(job.End, 10, 20, 30, 8), "30:1-update(20) ",
			job.Attributes{Queue: "a", User: "u", Procs: 8}},
		{"a second of difference", ran, full(job.End, 10, 19, 30, 8), "30:1-update(19) ",
			job.Attributes{Queue: "a", User: "u", Procs: 8}},
		{"another try", ran, full(job.End, 10, 17, 30, 8), "", job.Attributes{}},
		{"without its start", ran, event(job.End, "1", 30), "", job.Attributes{}},
		{
			"the size given, where only the one asked for was known", []job.Event{ran[0], asked, ran[1], ran[2]},
			full(job.End, 10, 20, 30, 8), "30:1-update(20) ", job.Attributes{Queue: "a", User: "u", Procs: 8},
		},
		{"nothing that was not known", []job.Event{ran[0], asked, sized(ran[1], 8), ran[2]},
			full(job.End, 10, 20, 30, 4), "", job.Attributes{}},
		{"a job that never ran", []job.Event{ran[0], event(job.Cancel, "1", 30)}, full(job.Cancel, 10, 0, 30, 8),
			"30:1-update ", job.Attributes{Queue: "a", User: "u", Procs: 8}},
		{"the last try", append(ran[:2:2], again...), full(job.End, 10, 27, 30, 8), "30:1-update(27) ",
			job.Attributes{Queue: "a", User: "u", Procs: 8}},
		{"the one before", append(ran[:2:2], again...), full(job.End, 10, 20, 25, 8), "", job.Attributes{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New("c", 0)
			before, _ := feed(s, nil, c.first...)
			changes, _ := feed(s, nil, c.next)
			if got := script(journal(changes)); got != c.changes {
				t.Fatalf("changes\n%s, want\n%s", got, c.changes)
			}
			if len(changes) == 1 {
				if d := cmp.Diff(c.want, changes[0].After.Attributes); d != "" {
					t.Errorf("the job (-want +got): %s", d)
				}
			}
			if more, _ := feed(s, nil, c.next); len(more) > 0 || s.Used() > 0 {
				t.Errorf("told again: %s", script(journal(more)))
			}
			replayed := New("c", 0)
			replay(t, replayed, append(before, changes...))
			if d := cmp.Diff(bytesOf(t, s), bytesOf(t, replayed)); d != "" {
				t.Errorf("the replay ended elsewhere (-live +replay): %s", d)
			}
		})
	}
}

// TestEndTellsTheJob proves that if the record of a job's end is the first with the job's attributes, an update with
// these attributes precedes the end.
func TestEndTellsTheJob(t *testing.T) {
	s := New("c", 0)
	changes, _ := feed(s, nil, event(job.Submit, "1", 10), event(job.Start, "1", 20), full(job.End, 10, 20, 30, 8),
		event(job.End, "1", 31))
	if got, want := script(journal(changes)), "10:1-submit 20:1-start 30:1-update 30:1-end(20) "; got != want {
		t.Fatalf("changes\n%s, want\n%s", got, want)
	}
	if j := changes[3].Before; j.Procs != 8 || j.Queue != "a" || j.FirstQueue != "a" || j.User != "u" {
		t.Errorf("the job at its end: %+v", *j)
	}
}

// TestWholeSecondsBeforeMilliseconds proves that a record in whole seconds that is read before the records in
// milliseconds belongs to the same life, however short the life was.
func TestWholeSecondsBeforeMilliseconds(t *testing.T) {
	s := New("c", 0)
	short := with(event(job.End, "1", 10), 10, 10)
	short.Times.Submit = at(10)
	gone := submittedAt(event(job.Cancel, "2", 10), 10)
	feed(s, nil, short, gone)
	_, verdicts := feed(s, nil, milli(event(job.Submit, "1", 10), 100), milli(event(job.Start, "1", 10), 300),
		milli(event(job.End, "1", 10), 500), milli(event(job.Submit, "2", 10), 759),
		milli(event(job.End, "2", 10), 774))
	for i, v := range verdicts {
		if v != Duplicate {
			t.Errorf("record %d is %v", i, v)
		}
	}
	if c := s.Counts(); c.Submitted != 2 || len(s.Queued())+len(s.Running()) != 0 {
		t.Errorf("%+v, %d jobs live", c, len(s.Queued())+len(s.Running()))
	}
}

// TestRequeueToldTwice proves that a second record of a requeue adds what the first one did not say about the job, and
// nothing more.
func TestRequeueToldTwice(t *testing.T) {
	s := New("c", 0)
	second := with(event(job.Requeue, "1", 30), 20, 30)
	second.Attributes = job.Attributes{Queue: "q", User: "u", Procs: 8, TimeLimit: time.Hour}
	changes, verdicts := feed(s, nil, event(job.Submit, "1", 10), event(job.Start, "1", 20),
		event(job.Requeue, "1", 30), second, second)
	if verdicts[3] != Applied || verdicts[4] != Duplicate {
		t.Errorf("verdicts %v", verdicts)
	}
	j := s.Job("1")
	if j.User != "u" || j.Queue != "q" || j.TimeLimit != time.Hour || j.Attempt != 1 || j.Running() ||
		!j.Submit.Equal(at(30)) {
		t.Errorf("the job is %+v", *j)
	}
	again := New("c", 0)
	replay(t, again, changes)
	if d := cmp.Diff(bytesOf(t, s), bytesOf(t, again)); d != "" {
		t.Errorf("replayed (-want +got): %s", d)
	}
}

// TestEndOfAnUntoldLife proves that a record of an older, unreported life does not end the job that has its number now.
func TestEndOfAnUntoldLife(t *testing.T) {
	s := New("c", 0)
	old := with(event(job.End, "1", 50), 40, 50)
	_, verdicts := feed(s, nil, event(job.Submit, "1", 1000), event(job.Start, "1", 1010), old)
	if verdicts[2] != Duplicate || s.Job("1") == nil {
		t.Errorf("it is %v, the job of now is %v", verdicts[2], s.Job("1"))
	}
}
