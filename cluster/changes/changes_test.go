package changes

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

func at(second int) time.Time { return time.Unix(1_000_000_000+int64(second), 0).UTC() }

func record(kind job.Kind, id string, second int) job.Event {
	ev := job.Event{Kind: kind, Cluster: "c", ID: id, Time: at(second), Live: true}
	ev.Procs = 1
	return ev
}

// recorder records the instants that are over, and the changes.
type recorder struct{ got []seen }

type seen struct {
	Kind  Kind
	Job   string
	Array string
	Over  bool
	Until int // the instant that ended the open one, in seconds; 0 for a change
}

func (r *recorder) InstantOver(now time.Time, _ bool, s *cluster.State) {
	if !s.Now().IsZero() {
		r.got = append(r.got, seen{Until: int(now.Sub(at(0)).Seconds())})
	}
}

func (r *recorder) Observe(c *Change, _ *cluster.State) {
	x := seen{Kind: c.Kind, Over: c.Over}
	switch {
	case c.After != nil:
		x.Job = c.After.ID
	case c.Before != nil:
		x.Job = c.Before.ID
	}
	if c.Array != nil {
		x.Array = c.Array.ID
	}
	r.got = append(r.got, x)
}

// follow folds records and returns what an observer gets.
func follow(records ...job.Event) []seen {
	s, r := cluster.New("c", 64), &recorder{}
	all := Observers{r}
	for _, ev := range records {
		s.Apply(ev, &cluster.Hooks{
			Before: func(at time.Time) { all.Before(at, ev.Live, s) },
			Changed: func(c cluster.Change) {
				change := Of(c, s)
				all.Observe(&change, s)
			},
		})
	}
	return r.got
}

// TestKinds proves the meaning of a cluster's changes, and that an instant is over at the first change after it.
func TestKinds(t *testing.T) {
	ended := record(job.End, "9", 90)
	ended.Times = job.Times{Submit: at(70), Start: at(80), End: at(90)}
	array := record(job.Submit, "7[].s", 0)
	array.Tasks = 2
	moved := record(job.Update, "1", 5)
	moved.Queue = "other"
	for name, c := range map[string]struct {
		records []job.Event
		want    []seen
	}{
		"a life": {
			[]job.Event{
				record(job.Submit, "1", 0), record(job.Hold, "1", 0), record(job.Release, "1", 3), moved,
				record(job.Start, "1", 10), record(job.Requeue, "1", 20), record(job.Start, "1", 30),
				record(job.End, "1", 40),
			},
			[]seen{
				{Kind: Submitted, Job: "1"}, {Kind: Held, Job: "1"}, {Until: 3}, {Kind: Released, Job: "1"},
				{Until: 5}, {Kind: Updated, Job: "1"}, {Until: 10}, {Kind: Started, Job: "1"},
				{Until: 20}, {Kind: Requeued, Job: "1"}, {Until: 30}, {Kind: Started, Job: "1"},
				{Until: 40}, {Kind: Ended, Job: "1"},
			},
		},
		"no start": {
			[]job.Event{record(job.Submit, "1", 0), record(job.Cancel, "1", 0)},
			[]seen{{Kind: Submitted, Job: "1"}, {Kind: Cancelled, Job: "1"}},
		},
		"a deletion is asked for": {
			[]job.Event{record(job.Submit, "1", 0), record(job.Start, "1", 0), record(job.Cancel, "1", 0)},
			[]seen{{Kind: Submitted, Job: "1"}, {Kind: Started, Job: "1"}, {Kind: Other, Job: "1"}},
		},
		"its submission was missed": {
			[]job.Event{record(job.Start, "1", 0)},
			[]seen{{Kind: Submitted, Job: "1"}, {Kind: Started, Job: "1"}},
		},
		"reported after its end": {
			[]job.Event{ended},
			[]seen{
				{Kind: Submitted, Job: "9", Over: true}, {Until: 80}, {Kind: Started, Job: "9", Over: true},
				{Until: 90}, {Kind: Ended, Job: "9"},
			},
		},
		"its end was missed": {
			[]job.Event{record(job.Submit, "1", 0), record(job.Start, "1", 0), record(job.Submit, "1", 50)},
			[]seen{
				{Kind: Submitted, Job: "1"}, {Kind: Started, Job: "1"},
				{Until: 50}, {Kind: Lost, Job: "1"}, {Kind: Submitted, Job: "1"},
			},
		},
		"an array": {
			[]job.Event{array, record(job.Start, "7[1].s", 0), record(job.Start, "7[2].s", 0)},
			[]seen{
				{Kind: Submitted, Job: "7[].s"},
				{Kind: Split, Job: "7[1].s", Array: "7[].s"}, {Kind: Updated, Job: "7[].s"},
				{Kind: Started, Job: "7[1].s"},
				{Kind: Split, Job: "7[2].s", Array: "7[].s"}, {Kind: UsedUp, Job: "7[].s"},
				{Kind: Started, Job: "7[2].s"},
			},
		},
	} {
		if d := cmp.Diff(c.want, follow(c.records...)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestEndTime proves that an end has the instant of its record, or else that of its event.
func TestEndTime(t *testing.T) {
	ev := record(job.End, "1", 10)
	var got []time.Time
	for range 2 {
		c := Of(cluster.Change{Event: ev, Before: &cluster.Job{ID: "1"}}, nil)
		got = append(got, c.EndTime())
		ev.Times.End = at(8)
	}
	if !slices.Equal(got, []time.Time{at(10), at(8)}) {
		t.Errorf("got %v", got)
	}
}
