package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/job"
)

// inPicture returns the ids of the running, waiting and overdue jobs, and the processors in use.
func inPicture(s *State) string {
	ids := func(jobs []*Job) (out []string) {
		for _, j := range jobs {
			out = append(out, j.ID)
		}
		return out
	}
	v := s.View()
	return fmt.Sprint("running ", ids(v.Running), " waiting ", ids(v.Queued), " overdue ", ids(v.Overdue), " used ",
		v.Used)
}

// limitedStart returns the start of a job of 8 processors with a limit of an hour.
func limitedStart(id string, second int) job.Event {
	ev := event(job.Start, id, second)
	ev.Procs, ev.TimeLimit = 8, time.Hour
	return ev
}

const overdueAt = 2 * 3600 // the deadline of limitedStart at 0

// TestOverdue proves that a running job counts as gone once it is past its limit by more than Overdue, and not before.
// A job without a limit never is, nor a suspended one, nor one with a later record. A job is never removed by its own
// record.
func TestOverdue(t *testing.T) {
	other := func(second int) job.Event { return event(job.Submit, "other", second) }
	unlimited := event(job.Start, "1", 0)
	for name, c := range map[string]struct {
		events []job.Event
		want   string
	}{
		"at the deadline": {[]job.Event{limitedStart("1", 0), other(overdueAt)},
			"running [1] waiting [other] overdue [] used 8"},
		"after it": {[]job.Event{limitedStart("1", 0), other(overdueAt + 1)},
			"running [] waiting [other] overdue [1] used 0"},
		"without a limit": {[]job.Event{unlimited, other(10 * overdueAt)},
			"running [1] waiting [other] overdue [] used 1"},
		"suspended": {[]job.Event{limitedStart("1", 0), event(job.Suspend, "1", 9), other(2 * overdueAt)},
			"running [1] waiting [other] overdue [] used 0"},
		"reported again": {[]job.Event{limitedStart("1", 0), update("1", overdueAt-1), other(overdueAt + 9)},
			"running [1] waiting [other] overdue [] used 8"},
		"long reported again": {[]job.Event{limitedStart("1", 0), update("1", overdueAt-1), other(overdueAt + 24*3600)},
			"running [] waiting [other] overdue [1] used 0"},
		"its own record": {[]job.Event{limitedStart("1", 0), event(job.End, "1", overdueAt+1)},
			"running [] waiting [] overdue [] used 0"},
		"listed again": {[]job.Event{limitedStart("1", 0), other(overdueAt + 1), listed("1", overdueAt+60)},
			"running [1] waiting [other] overdue [] used 8"},
		"and again": {[]job.Event{limitedStart("1", 0), other(overdueAt + 1), listed("1", overdueAt+60),
			other(overdueAt + 25*3600)},
			"running [] waiting [other] overdue [1] used 0"},
		"read again": {[]job.Event{limitedStart("1", 0), other(overdueAt + 1), limitedStart("1", 0)},
			"running [] waiting [other] overdue [1] used 0"},
		"ended after all": {[]job.Event{limitedStart("1", 0), other(overdueAt + 1), event(job.End, "1", overdueAt+60)},
			"running [] waiting [other] overdue [] used 0"},
		"id used again": {[]job.Event{limitedStart("1", 0), other(overdueAt + 1), event(job.Submit, "1", 2*overdueAt)},
			"running [] waiting [other 1] overdue [] used 0"},
		"deletion, forced": {[]job.Event{limitedStart("1", 0), other(overdueAt + 1),
			event(job.Cancel, "1", overdueAt+2), other(overdueAt + 3*3600)},
			"running [] waiting [other] overdue [] used 0"},
	} {
		s := New("c", 0)
		changes, _ := feed(s, nil, c.events...)
		if got := inPicture(s); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		again := New("c", 0)
		for _, change := range changes {
			again.Apply(change.Event, nil)
		}
		if got := inPicture(again); got != c.want {
			t.Errorf("%s, replayed: %s, want %s", name, got, c.want)
		}
		a, errA := s.MarshalBinary()
		restored := New("c", 0)
		errB := restored.UnmarshalBinary(a)
		if got := inPicture(restored); got != c.want || errA != nil || errB != nil {
			t.Errorf("%s, restored: %s, %v, %v", name, got, errA, errB)
		}
	}
}

// update returns an update of a job's name. listed returns the start of a job as a listing of the scheduler reports it.
func update(id string, second int) job.Event {
	ev := event(job.Update, id, second)
	ev.Name = "renamed"
	return ev
}

func listed(id string, second int) job.Event {
	ev := limitedStart(id, second)
	ev.Times = job.Times{Submit: at(0), Start: at(0)}
	return ev
}

// TestOverdueLifetime proves that the end of an overdue job, if it comes after all, has the whole lifetime, and that
// the job counts as reported after its end.
func TestOverdueLifetime(t *testing.T) {
	s := New("c", 0)
	feed(s, nil, limitedStart("1", 5), event(job.Submit, "2", 2*overdueAt))
	changes, _ := feed(s, nil, event(job.End, "1", 3*overdueAt))
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprint(c.Event.Kind, " ", c.Event.Derived, " ", !c.Event.Times.End.IsZero()))
	}
	if diff := cmp.Diff([]string{"submit true true", "start true true", "end false true"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if j := changes[len(changes)-1].Before; !j.Start.Equal(at(5)) || j.Procs != 8 {
		t.Errorf("the job that ended is %+v", j)
	}
}

// TestEndHistory proves that the open jobs of a history leave the picture at its end, unless a live source has reported
// them, and that a later record brings them back.
func TestEndHistory(t *testing.T) {
	s := New("c", 0)
	array := event(job.Submit, "9", 4)
	array.Tasks = 3
	s.ReadsHistory(true)
	feed(s, nil, event(job.Submit, "1", 0), event(job.Submit, "2", 1), event(job.Submit, "3", 2),
		event(job.Submit, "4", 3), array, event(job.Start, "1", 10), event(job.Start, "2", 10),
		event(job.Start, "9_1", 11), event(job.Start, "5", 12))
	s.ReadsHistory(false)
	feed(s, nil, event(job.Submit, "3", 2), event(job.Start, "2", 10)) // the live log has these, too
	var gone []string
	s.EndHistory(&Hooks{Changed: func(c Change) {
		gone = append(gone, fmt.Sprint(c.Before.ID, " ", c.Event.Kind, " ", c.Event.Derived, " ", c.After == nil))
	}})
	want := []string{"1 end true true", "9_1 end true true", "5 end true true", "4 end true true", "9 end true true"}
	if diff := cmp.Diff(want, gone); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := inPicture(s); got != "running [2] waiting [3] overdue [] used 1" {
		t.Errorf("after the history: %s", got)
	}
	before, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	changes, _ := feed(s, nil, event(job.Start, "4", 20), event(job.Start, "9_2", 21), event(job.End, "1", 22))
	want2 := "running [2 4 9_2] waiting [3 9] overdue [] used 3"
	if got := inPicture(s); got != want2 {
		t.Errorf("after later records: %s, want %s", got, want2)
	}
	last := changes[len(changes)-1]
	if last.Event.Kind != job.End || !last.Before.Start.Equal(at(10)) {
		t.Errorf("the end of a job of the history is %+v", last)
	}
	replayed := New("c", 0)
	if err := replayed.UnmarshalBinary(before); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		replayed.Apply(c.Event, nil)
	}
	if got := inPicture(replayed); got != want2 {
		t.Errorf("replayed: %s, want %s", got, want2)
	}
}

// TestOverdueByLimit proves the time past its limit after which a job is overdue.
func TestOverdueByLimit(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		time.Minute: time.Hour, 4 * time.Hour: time.Hour, 24 * time.Hour: 6 * time.Hour,
		240 * time.Hour: 24 * time.Hour,
	} {
		if got := Overdue(limit); got != want {
			t.Errorf("limit %v: %v, want %v", limit, got, want)
		}
	}
}
