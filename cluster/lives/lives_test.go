package lives_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/job"
)

func at(seconds int) time.Time { return time.Unix(1_000_000+int64(seconds), 0).UTC() }

func event(kind job.Kind, id string, seconds int, a job.Attributes) job.Event {
	return job.Event{Kind: kind, ID: id, Time: at(seconds), Attributes: a}
}

func fold(t *testing.T, events ...job.Event) *lives.Lives {
	t.Helper()
	l, err := lives.Fold(func(do func(job.Event) error) error {
		for _, ev := range events {
			if err := do(ev); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// shown returns each life as a line: id, attempt, instants in seconds, request, fate.
func shown(l *lives.Lives) (all []string) {
	names := map[lives.Fate]string{lives.Waiting: "waits", lives.Running: "runs", lives.Ended: "ended",
		lives.Lost: "lost", lives.Cancelled: "cancelled"}
	seconds := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprint(t.Sub(at(0)).Seconds())
	}
	for _, j := range l.Jobs {
		guessed := ""
		if j.Guessed {
			guessed = " guessed"
		}
		all = append(all, fmt.Sprintf("%s.%d %s %s %s asked %d given %d in %s %s%s", j.ID, j.Attempt, seconds(j.Submit),
			seconds(j.Start), seconds(j.End), j.Asked.Procs, j.Given.Procs, j.Asked.Queue, names[j.Fate], guessed))
	}
	return all
}

// TestFold proves what a life consists of. The cases are every fate, a requeue as another attempt, a size that comes
// late, attributes that come later and were not requested, repeated records, and jobs without a record of their
// submission.
func TestFold(t *testing.T) {
	two, four := job.Attributes{Queue: "a", Procs: 2}, job.Attributes{Queue: "b", Procs: 4}
	over := event(job.End, "7", 95, two)
	over.Times = job.Times{Start: at(90), End: at(95)}
	l := fold(t,
		event(job.Submit, "1", 0, two), event(job.Submit, "1", 0, two), // twice
		event(job.Submit, "2", 1, job.Attributes{}), // size and queue are logged at the start
		event(job.Submit, "3", 2, two), event(job.Submit, "4", 3, two), event(job.Submit, "5", 4, two),
		event(job.Start, "1", 10, four), event(job.Start, "2", 11, two),
		event(job.Start, "6", 12, two), // no submission in the log
		event(job.Requeue, "2", 15, two),
		event(job.End, "1", 20, four), event(job.End, "1", 20, four),
		event(job.Cancel, "3", 30, two),
		event(job.Start, "2", 40, two), event(job.End, "2", 50, two),
		event(job.Start, "4", 60, two),
		over,
	)
	want := []string{
		"1.0 0 10 20 asked 2 given 4 in a ended", "2.0 1 11 15 asked 2 given 2 in a lost",
		"3.0 2 - 30 asked 2 given 2 in a cancelled", "4.0 3 60 - asked 2 given 2 in a runs",
		"5.0 4 - - asked 2 given 2 in a waits", "6.0 12 12 - asked 2 given 2 in a runs guessed",
		"2.1 15 40 50 asked 2 given 2 in a ended", "7.0 90 90 95 asked 2 given 2 in a ended guessed",
	}
	if diff := cmp.Diff(want, shown(l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.Procs != 8 { // jobs 1, 2 and 6 at 12 s
		t.Errorf("%d processors in use at most, want 8", l.Procs)
	}
}

// TestFoldKeepsWhatWasAskedFor proves that later records change what a job asks for from then on, and nothing before.
func TestFoldKeepsWhatWasAskedFor(t *testing.T) {
	two, four := job.Attributes{Queue: "a", Procs: 2}, job.Attributes{Queue: "a", Procs: 4}
	three := job.Attributes{Queue: "a", Procs: 3}
	l := fold(t,
		event(job.Submit, "1", 0, two), event(job.Update, "1", 0, three), // of the same instant
		event(job.Hold, "1", 5, job.Attributes{}), event(job.Update, "1", 6, four),
		event(job.Release, "1", 7, job.Attributes{}), event(job.Start, "1", 10, job.Attributes{}),
		event(job.Update, "1", 11, two), // the job runs: its wait is over
	)
	j := l.Jobs[0]
	if j.Asked.Procs != 3 {
		t.Errorf("asked for %d, want 3", j.Asked.Procs)
	}
	var got []string
	for _, c := range j.Changes {
		got = append(got, fmt.Sprintf("%v held %v asks for %d", c.At.Sub(at(0)).Seconds(), c.Held, c.Asked.Procs))
	}
	want := []string{"5 held true asks for 3", "6 held true asks for 4", "7 held false asks for 4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFoldOfAnArray proves that the tasks of an array that waits as one record have lives of their own. The life of the
// first task has the array's wait. The array's record itself has no life once it is used up.
func TestFoldOfAnArray(t *testing.T) {
	array := job.Attributes{Queue: "a", Procs: 2, Tasks: 2}
	l := fold(t,
		event(job.Submit, "9", 0, array), event(job.Submit, "8", 1, job.Attributes{Queue: "a", Procs: 1}),
		event(job.Start, "9[1]", 10, job.Attributes{}), event(job.Start, "9[2]", 20, job.Attributes{}),
		event(job.End, "9[1]", 30, job.Attributes{}),
	)
	want := []string{
		"9[1].0 0 10 30 asked 2 given 2 in a ended", "9[2].0 0 20 - asked 2 given 2 in a runs guessed",
		"8.0 1 - - asked 1 given 1 in a waits",
	}
	if diff := cmp.Diff(want, shown(l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFoldPassesErrorsOn proves that Fold returns an error of the reader.
func TestFoldPassesErrorsOn(t *testing.T) {
	failed := errors.New("disk on fire")
	if _, err := lives.Fold(func(func(job.Event) error) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want that of the reader", err)
	}
}
