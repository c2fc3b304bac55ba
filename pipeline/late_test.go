package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/workload/markov"
)

// TestQueueLearntLate proves that a job that is submitted without a queue counts in the Markov chains of the queue that
// a later record names, and in no other queue's.
func TestQueueLearntLate(t *testing.T) {
	p, _ := newPipeline(testConfig(), nil, collector.Live)
	direct, err := markov.New(p.cfg.Models.Forget)
	if err != nil {
		t.Fatal(err)
	}
	var events []job.Event
	for i := range 40 {
		id, begin := fmt.Sprint(i), float64(100*i)
		told := event(job.Update, id, begin+10)
		told.Queue, told.Procs = "late", 1+i%7
		if i%3 == 0 { // otherwise its start names the queue
			told.Kind = job.Start
		} else {
			events = append(events, event(job.Start, id, begin+20))
		}
		end := event(job.End, id, begin+50+float64(i))
		events = append(events, event(job.Submit, id, begin), told, end)
	}
	sortByTime(events)
	l := p.writers["c"]
	for _, ev := range events {
		l.state.Apply(ev, &cluster.Hooks{Changed: func(c cluster.Change) {
			if err := l.models.Learn(changes.Of(c, nil)); err != nil {
				t.Fatal(err)
			}
			if c.Event.Kind == job.End {
				if err := direct.Append(c.Before.Procs, c.Event.Times.End.Sub(c.Before.Start).Seconds()); err != nil {
					t.Fatal(err)
				}
			}
		}})
	}
	view := l.models.View()
	if d := cmp.Diff(direct.Chains(), view.Queue("late").Chains, cmp.AllowUnexported(markov.Chains{})); d != "" {
		t.Errorf("chains of the queue (-direct +learnt): %s", d)
	}
	empty, err := markov.New(p.cfg.Models.Forget)
	if err != nil {
		t.Fatal(err)
	}
	if none := view.Queue(cluster.DefaultQueue); none != nil {
		if d := cmp.Diff(empty.Chains(), none.Chains, cmp.AllowUnexported(markov.Chains{})); d != "" {
			t.Errorf("chains of jobs without a queue (-empty +learnt): %s", d)
		}
	}
}

// TestLastLifeIsWhatTheFoldRemembers proves that the last attempt of a job is the same by the keys in the journal
// (lastLife) as in the memory of the fold.
func TestLastLifeIsWhatTheFoldRemembers(t *testing.T) {
	for _, events := range [][]job.Event{
		{event(job.Submit, "1", 10), event(job.Cancel, "1", 20)},
		{event(job.Submit, "1", 10), event(job.Start, "1", 20), event(job.End, "1", 30)},
		{event(job.Submit, "1", 10), event(job.Start, "1", 20), event(job.Requeue, "1", 30),
			event(job.Cancel, "1", 40)},
		{event(job.Submit, "1", 10), event(job.Start, "1", 20), event(job.Requeue, "1", 30), event(job.Start, "1", 40),
			event(job.End, "1", 50)},
	} {
		state := cluster.New("c", 0)
		var keys []modelstore.Key
		for _, ev := range events {
			state.Apply(ev, &cluster.Hooks{Changed: func(c cluster.Change) {
				keys = append(keys, modelstore.Key{Attempt: c.Event.Attempt, Kind: c.Event.Kind, Time: c.Event.Time,
					Submit: c.Event.Times.Submit})
			}})
		}
		got, ok := lastLife("1", keys)
		data, err := state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		want := leftIn(t, data)
		want.Job = nil // only the fold's own memory has this
		if !ok || got != want {
			t.Errorf("after %d events: %+v, want %+v", len(events), got, want)
		}
	}
}

// TestLifetimesCompletedLate proves that the lifetime of a job whose size and queue come a little after its end, or
// never, is learnt once, with the size and queue known by then. In history lifetimes are learnt at once.
func TestLifetimesCompletedLate(t *testing.T) {
	for _, c := range []struct {
		name  string
		live  bool
		late  bool // a record with all attributes follows
		after float64
		queue string
		class int
	}{
		{"completed", true, true, 20, "late", 1},
		{"never completed", true, false, 1000, cluster.DefaultQueue, 0},
		{"completed too late", true, true, 1000, cluster.DefaultQueue, 0},
		{"history", false, false, 0, cluster.DefaultQueue, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := newPipeline(testConfig(), nil, collector.Live)
			l := p.writers["c"]
			apply := func(ev job.Event) {
				ev.Live = c.live
				l.state.Apply(ev, &cluster.Hooks{Changed: func(c cluster.Change) {
					if err := l.models.Learn(changes.Of(c, nil)); err != nil && ev.ID == "1" {
						t.Fatal(err)
					}
				}})
				data, err := l.models.MarshalBinary() // saving and restoring in between changes nothing
				if err != nil {
					t.Fatal(err)
				}
				if err := l.models.UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
			}
			apply(event(job.Submit, "1", 0))
			apply(event(job.Start, "1", 10))
			apply(event(job.End, "1", 50))
			apply(event(job.Submit, "2", 50+c.after))
			full := event(job.End, "1", 50)
			full.Queue, full.Procs, full.User, full.Times = "late", 8, "u",
				job.Times{Submit: at(0), Start: at(10), End: at(50)}
			if c.late {
				apply(full)
				apply(full)
			}
			view := l.models.View()
			for _, name := range append(view.Queues(), livemodels.AllQueues) {
				for i, lifetimes := range view.Of(name).Lifetimes {
					want := 0
					if i == c.class && (name == c.queue || name == livemodels.AllQueues) {
						want = 1
					}
					if n := lifetimes.Sample.N(); n != want {
						t.Errorf("queue %q, class %d: %d lifetimes, want %d", name, i, n, want)
					}
				}
			}
		})
	}
}

// leftIn returns the only job that has left, from the saved state of a cluster.
func leftIn(t *testing.T, state []byte) cluster.Left {
	t.Helper()
	var saved struct {
		Left []cluster.Left `json:"left"`
	}
	if err := json.Unmarshal(codectest.Text(t, state), &saved); err != nil || len(saved.Left) != 1 {
		t.Fatalf("%v: %s", err, state)
	}
	return saved.Left[0]
}

func sortByTime(events []job.Event) {
	slices.SortStableFunc(events, func(a, b job.Event) int { return a.Time.Compare(b.Time) })
}
