package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/job"
)

func all(ev job.Event) job.Event {
	ev.All = true
	return ev
}

func submittedAt(ev job.Event, second int) job.Event {
	ev.Times.Submit = at(second)
	return ev
}

// milli returns the event ms milliseconds later.
func milli(ev job.Event, ms int) job.Event {
	ev.Time = ev.Time.Add(time.Duration(ms) * time.Millisecond)
	return ev
}

// TestPartsAndInstants proves that a single record about a whole array or heterogeneous job counts for its parts, and
// that two records of one instant count as one event.
func TestPartsAndInstants(t *testing.T) {
	array := []job.Event{event(job.Submit, "9", 10), event(job.Start, "9_1", 20), event(job.Start, "9_2", 21),
		event(job.Start, "9+1", 22)}
	ran := []job.Event{event(job.Submit, "1", 10), event(job.Start, "1", 20), with(event(job.End, "1", 30), 20, 30)}
	requeued := []job.Event{event(job.Submit, "1", 10), event(job.Start, "1", 20), event(job.Requeue, "1", 30)}
	for _, c := range []struct {
		name         string
		first, next  []job.Event
		changes      string
		used, queued int
		counts       Counts
	}{
		{
			"a part was submitted with its whole", array[:1], array[1:2], "10:9_1-submit 20:9_1-start ", 1, 1,
			Counts{Submitted: 2, Started: 1, Derived: 1, OutOfOrder: 0},
		},
		{
			"also when the whole is gone", []job.Event{array[0], event(job.Cancel, "9", 15)},
			[]job.Event{event(job.Start, "9+1", 20)}, "10:9+1-submit 20:9+1-start ", 1, 0,
			Counts{Submitted: 2, Started: 1, Cancelled: 1, Derived: 1},
		},
		{
			"but not after its start", []job.Event{event(job.Submit, "9", 25)}, array[1:2],
			"20:9_1-submit 20:9_1-start ", 1, 1, Counts{Submitted: 2, Started: 1, Derived: 1, OutOfOrder: 1},
		},
		{
			"all of a whole ends", array, []job.Event{all(event(job.End, "9", 30))},
			"30:9-cancel 30:9_1-end(20) 30:9_2-end(21) 30:9+1-end(22) ", 0, 0,
			Counts{Submitted: 4, Started: 3, Ended: 3, Cancelled: 1, Derived: 3},
		},
		{
			"all of a whole of which only parts live", append(array, with(event(job.End, "9", 25), 24, 25)),
			[]job.Event{all(event(job.End, "9", 30))}, "30:9_1-end(20) 30:9_2-end(21) 30:9+1-end(22) ", 0, 0,
			Counts{Submitted: 4, Started: 4, Ended: 4, Derived: 4},
		},
		{
			"what began since is left alone", append(array, all(event(job.End, "9", 25)), event(job.Start, "9_3", 26)),
			[]job.Event{all(event(job.End, "9", 25))}, "", 1, 0,
			Counts{Submitted: 5, Started: 4, Ended: 3, Cancelled: 1, Derived: 4, Duplicates: 1},
		},
		{
			"the end of a whole alone leaves its parts", array[:3], []job.Event{event(job.End, "9", 30)},
			"30:9-cancel ", 2, 0, Counts{Submitted: 3, Started: 2, Cancelled: 1, Derived: 2},
		},
		{
			"a requeue within a second after the end", ran,
			[]job.Event{milli(event(job.Requeue, "1", 30), 700), event(job.Start, "1", 40)},
			"30:1-submit 40:1-start ", 1, 0, Counts{Submitted: 2, Started: 2, Ended: 1, Derived: 1},
		},
		{
			"which told again is nothing", append(ran, event(job.Requeue, "1", 31)),
			append(ran[1:3:3], event(job.Requeue, "1", 31)), "", 0, 1,
			Counts{Submitted: 2, Started: 1, Ended: 1, Derived: 1, Duplicates: 3},
		},
		{
			"a requeue later than that", ran, []job.Event{milli(event(job.Requeue, "1", 31), 1)}, "", 0, 0,
			Counts{Submitted: 1, Started: 1, Ended: 1, Duplicates: 1},
		},
		{
			"a requeue before the end, told again",
			append(requeued, event(job.Start, "1", 30), with(event(job.End, "1", 30), 30, 30)),
			requeued[2:], "", 0, 0, Counts{Submitted: 1, Started: 2, Ended: 1, Requeued: 1, Duplicates: 1},
		},
		{
			"a requeue of what never ran", []job.Event{event(job.Submit, "1", 10), event(job.Cancel, "1", 30)},
			[]job.Event{event(job.Requeue, "1", 30)}, "", 0, 0, Counts{Submitted: 1, Cancelled: 1, Duplicates: 1},
		},
		{
			"the end of the try that was requeued", requeued,
			[]job.Event{milli(event(job.End, "1", 30), 900)}, "", 0, 1,
			Counts{Submitted: 1, Started: 1, Requeued: 1, Duplicates: 1},
		},
		{
			"but not somebody's kill", requeued, []job.Event{milli(all(event(job.End, "1", 30)), 900)},
			"30:1-cancel ", 0, 0, Counts{Submitted: 1, Started: 1, Requeued: 1, Cancelled: 1},
		},
		{
			"a cancel after that", requeued, []job.Event{milli(event(job.End, "1", 31), 1)}, "31:1-cancel ", 0, 0,
			Counts{Submitted: 1, Started: 1, Requeued: 1, Cancelled: 1},
		},
		{
			"a cancel that tells an unseen submission", nil, []job.Event{submittedAt(event(job.Cancel, "1", 30), 10)},
			"10:1-submit 30:1-cancel ", 0, 0, Counts{Submitted: 1, Cancelled: 1, Derived: 1},
		},
		{
			"but not of a job that left since", ran, []job.Event{submittedAt(event(job.Cancel, "1", 35), 10)}, "", 0, 0,
			Counts{Submitted: 1, Started: 1, Ended: 1, Duplicates: 1},
		},
		{
			"a hold that tells an unseen submission", nil, []job.Event{submittedAt(event(job.Hold, "1", 30), 10)},
			"10:1-submit 30:1-hold ", 0, 1, Counts{Submitted: 1, Derived: 1},
		},
		{
			"an update of an unseen job that adds nothing more", nil,
			[]job.Event{submittedAt(sized(event(job.Update, "1", 30), 4), 10)},
			"10:1-submit ", 0, 1, Counts{Submitted: 1, Derived: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New("c", 0)
			before, _ := feed(s, nil, c.first...)
			changes, _ := feed(s, nil, c.next...)
			check(t, s)
			if got := script(journal(changes)); got != c.changes {
				t.Errorf("changes\n%s, want\n%s", got, c.changes)
			}
			if s.Used() != c.used || len(s.Queued()) != c.queued {
				t.Errorf("%d processors used, %d jobs wait; want %d, %d", s.Used(), len(s.Queued()), c.used, c.queued)
			}
			if d := cmp.Diff(c.counts, s.Counts()); d != "" {
				t.Errorf("counts (-want +got): %s", d)
			}
			replayed := New("c", 0)
			replay(t, replayed, append(before, changes...))
			if d := cmp.Diff(bytesOf(t, s), bytesOf(t, replayed)); d != "" {
				t.Errorf("the replay ended elsewhere (-live +replay): %s", d)
			}
		})
	}
}

// TestElementsWithIDs proves that an array whose elements have ids of their own waits as one record with a count. The
// last element with a record of its own removes the array's record, whether it starts or is cancelled. Repeated records
// of the array or of an element change nothing.
func TestElementsWithIDs(t *testing.T) {
	for _, c := range []struct{ whole, first, second, third string }{
		{"7", "7[1]", "7[20]", "7[3]"},
		{"7[].srv.example", "7[1].srv.example", "7[20].srv.example", "7[3].srv.example"},
	} {
		t.Run(c.whole, func(t *testing.T) {
			array := sized(queued(event(job.Submit, c.whole, 10), "q"), 2)
			array.Tasks = 3
			events := []job.Event{
				array, event(job.Start, c.first, 20), event(job.Update, c.second, 25), event(job.Cancel, c.third, 30),
				event(job.Start, c.second, 40), with(event(job.End, c.first, 50), 20, 50),
			}
			s := New("c", 0)
			changes, _ := feed(s, nil, events[:2]...)
			if whole := s.Job(c.whole); whole == nil || whole.Tasks != 2 || s.Used() != 2 {
				t.Fatalf("after the first start the array is %+v, and %d processors are used", whole, s.Used())
			}
			more, _ := feed(s, nil, events[2:]...)
			changes = append(changes, more...)
			want := fmt.Sprintf("10:%[1]s-submit 10:%[2]s-submit 20:%[1]s-update 20:%[2]s-start 10:%[3]s-submit "+
				"25:%[1]s-update 10:%[4]s-submit "+
				"30:%[1]s-cancel 30:%[4]s-cancel 40:%[3]s-start 50:%[2]s-end(20) ", c.whole, c.first, c.second, c.third)
			if got := script(journal(changes)); got != want {
				t.Errorf("changes\n%s, want\n%s", got, want)
			}
			check(t, s)
			if got := s.Counts(); got.Submitted != 3 || got.Started != 2 || got.Cancelled != 1 || len(s.Queued()) != 0 {
				t.Errorf("%d wait, counts %+v", len(s.Queued()), got)
			}
			if again, _ := feed(s, nil, events...); len(again) != 0 {
				t.Errorf("told again, it changes %s", script(journal(again)))
			}
			replayed := New("c", 0)
			replay(t, replayed, changes)
			if d := cmp.Diff(bytesOf(t, s), bytesOf(t, replayed)); d != "" {
				t.Errorf("the replay ended elsewhere (-live +replay): %s", d)
			}
		})
	}
}

// counted returns an event with the number of waiting tasks in a listing. split tasks had left the array by then.
func counted(ev job.Event, tasks, split int) job.Event {
	ev.Tasks, ev.Total = tasks, tasks+split
	return ev
}

// TestTasksThatStartedSinceTheListing proves that the number of waiting tasks in a listing is reduced by the tasks that
// left the array after the listing was compared with the picture, and by no others. The number is right wherever the
// writer was killed.
func TestTasksThatStartedSinceTheListing(t *testing.T) {
	submit := event(job.Submit, "9", 10)
	known := submit
	known.Tasks = 6
	first, second := event(job.Start, "9_1", 20), event(job.Start, "9_2", 20)
	listing := event(job.Update, "9", 19)
	requeued := []job.Event{submit, first, with(event(job.End, "9_1", 21), 20, 21), event(job.Requeue, "9_1", 21)}
	for _, c := range []struct {
		name   string
		events []job.Event
		want   int
	}{
		{"none has started", []job.Event{submit, counted(listing, 6, 0)}, 6},
		{"two start later", []job.Event{submit, counted(listing, 6, 0), first, second}, 4},
		{"two had started", []job.Event{submit, first, second, counted(listing, 4, 2)}, 4},
		{"two have started since", []job.Event{submit, first, second, counted(listing, 6, 0)}, 4},
		{"the second has started since", []job.Event{submit, first, second, counted(listing, 5, 1)}, 4},
		{"one has started since, and one starts later",
			[]job.Event{submit, first, counted(listing, 6, 0), second}, 4},
		{"the next listing", []job.Event{submit, first, second, counted(listing, 6, 0),
			counted(event(job.Update, "9", 34), 4, 2)}, 4},
		{"the next listing has other tasks", []job.Event{submit, first, second, counted(listing, 6, 0),
			counted(event(job.Update, "9", 34), 3, 2)}, 3},
		{"the number was known", []job.Event{known, first, counted(event(job.Update, "9", 21), 5, 0)}, 4},
		{"the number was known, and the listing is older than the start",
			[]job.Event{known, first, counted(listing, 5, 0)}, 5},
		{"of another source", []job.Event{submit, first, counted(listing, 6, -6)}, 6},
		{"of an array that is not known", []job.Event{counted(submittedAt(listing, 10), 6, 0), first}, 5},
		{"with its submission told again", []job.Event{submit, first, counted(submit, 6, 0)}, 5},
		{"more have started than waited", []job.Event{submit, first, second, counted(listing, 1, 0)}, 1},
		{"a task waits again after its node failed", append(requeued, counted(listing, 5, 1)), 5},
		{"the last task has started",
			[]job.Event{submit, first, event(job.Start, "9", 20), counted(listing, 2, 0)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New("c", 0)
			changes, _ := feed(s, nil, c.events...)
			if got := s.Job("9").Tasks; got != c.want {
				t.Errorf("%d tasks, want %d", got, c.want)
			}
			check(t, s)
			for _, change := range changes {
				if change.Event.Total != 0 {
					t.Errorf("the journal gets %+v", change.Event)
				}
			}
			replayed := New("c", 0)
			replay(t, replayed, changes)
			if d := cmp.Diff(bytesOf(t, s), bytesOf(t, replayed)); d != "" {
				t.Errorf("the replay ended elsewhere (-live +replay): %s", d)
			}
			for cut := range c.events {
				killed, restored := New("c", 0), New("c", 0)
				feed(killed, nil, c.events[:cut]...)
				data, err := killed.MarshalBinary()
				if err == nil {
					err = restored.UnmarshalBinary(data)
				}
				if err != nil {
					t.Fatal(err)
				}
				feed(restored, nil, c.events[cut:]...)
				if got := restored.Job("9").Tasks; got != c.want {
					t.Errorf("%d tasks after a kill before event %d, want %d", got, cut, c.want)
				}
			}
		})
	}
}

// TestUncountedArray proves that Grid Engine's record of an array, which does not count the elements, ends with the
// first reported element. The record does not count as cancelled.
func TestUncountedArray(t *testing.T) {
	s := New("c", 0)
	changes, _ := feed(s, nil, event(job.Submit, "7", 10), event(job.Start, "7.1", 20), event(job.Start, "7.2", 30),
		event(job.Submit, "7", 10))
	want := "10:7-submit 10:7.1-submit 20:7-cancel 20:7.1-start 10:7.2-submit 30:7.2-start "
	if got := script(journal(changes)); got != want || s.Counts().Cancelled != 0 || len(s.Queued()) != 0 {
		t.Errorf("changes\n%s, want\n%s; counts %+v", got, want, s.Counts())
	}
}

// TestWholeOf proves that an id names a part only in the form that a scheduler writes.
func TestWholeOf(t *testing.T) {
	for id, want := range map[string]string{
		"9_1": "9", "9+1": "9", "9[1]": "9", "9[1].srv": "9[].srv", "9.1": "9", "9[12].a.b": "9[].a.b",
		"9": "", "9.srv": "", "9.my_srv": "", "9.1.srv": "", "9[]": "", "9[].srv": "", "9[1]x": "", "a_1": "", "9_": "",
		"9-1.srv": "", "": "", "_1": "",
	} {
		if got := WholeOf(id); got != want {
			t.Errorf("the whole of %q is %q, want %q", id, got, want)
		}
	}
}

// TestFirstQueueLearntLate proves that the queue that a job was submitted to may be reported later, and that the first
// report decides.
func TestFirstQueueLearntLate(t *testing.T) {
	submit := event(job.Submit, "1", 10)
	for _, c := range []struct {
		name         string
		next         []job.Event
		queue, first string
		unqueued     bool
	}{
		{"never", []job.Event{event(job.Start, "1", 20)}, DefaultQueue, DefaultQueue, true},
		{"by an update", []job.Event{queued(event(job.Update, "1", 20), "a")}, "a", "a", false},
		{"by its start", []job.Event{queued(event(job.Start, "1", 20), "a")}, "a", "a", false},
		{"by an older record",
			[]job.Event{sized(event(job.Update, "1", 20), 2), queued(event(job.Update, "1", 15), "a")},
			"a", "a", false},
		{"and moved", []job.Event{queued(event(job.Update, "1", 20), "a"), queued(event(job.Update, "1", 30), "b")},
			"b", "a", false},
		{"and its submission told again",
			[]job.Event{queued(sized(event(job.Update, "1", 10), 2), "a"), sized(submit, 1)}, "a", "a", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New("c", 0)
			feed(s, nil, submit)
			feed(s, nil, c.next...)
			j := s.Job("1")
			if j.Queue != c.queue || j.FirstQueue != c.first || j.Unqueued != c.unqueued {
				t.Errorf("queue %q, first %q, unqueued %v; want %q, %q, %v", j.Queue, j.FirstQueue, j.Unqueued, c.queue,
					c.first, c.unqueued)
			}
		})
	}
}
