package loadforecast

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/eventtest"
	"github.com/waitcast/waitcast/predictor/outlook"
)

func at(second float64) time.Time { return eventtest.At(second) }

func event(kind job.Kind, id string, second float64) job.Event {
	return eventtest.New(kind, id, second)
}

func sized(ev job.Event, procs int) job.Event { return eventtest.Sized(ev, procs) }

func newLearner(t testing.TB, log *zap.Logger) *Learner {
	t.Helper()
	l, err := New(Config{Cluster: "c", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// silent returns a learner that never processes its notifications, so that they wait.
func silent(t testing.TB) *Learner {
	t.Helper()
	l := newLearner(t, zap.NewNop())
	l.worker.closed = true
	return l
}

// play folds events into the state of a cluster and passes the changes to a learner.
func play(l *Learner, s *cluster.State, events ...job.Event) {
	seq, observers := l.seq, changes.Observers{l}
	for _, ev := range events {
		s.Apply(ev, &cluster.Hooks{
			Before: func(at time.Time) {
				seq++
				observers.Before(at, ev.Live, s)
			},
			Changed: func(c cluster.Change) {
				change := changes.Of(c, s)
				change.Seq = seq
				observers.Observe(&change, s)
			},
		})
	}
}

// waiting returns descriptions of the notifications that wait to be processed, in their order.
func waiting(l *Learner) []string {
	names := map[notificationKind]string{
		notifySubmitted: "submitted", notifySplit: "split", notifyUpdated: "updated", notifyStarted: "started",
		notifyEnded: "ended", notifyGone: "gone", notifyLost: "lost",
	}
	var out []string
	for _, t := range l.worker.backlog.list {
		switch {
		case t.sample != nil:
			text := fmt.Sprintf("sample %.0f", seconds(t.sample.at)-seconds(at(0)))
			if t.sample.observe {
				text += " observe"
			}
			if t.sample.forecast {
				text += " forecast"
			}
			out = append(out, text)
		case t.after != nil:
			out = append(out, names[t.kind]+" "+t.after.ID)
		default:
			out = append(out, names[t.kind]+" "+t.before.ID)
		}
	}
	return out
}

// TestOrderOfNotifications proves that the notifications of changes are in order, with the samples between them.
// Samples are five minutes of event time apart, and every third one is for learning. A sample comes after all changes
// before its instant.
func TestOrderOfNotifications(t *testing.T) {
	l, s := silent(t), cluster.New("c", 8)
	play(l, s,
		sized(event(job.Submit, "1", 10), 4), event(job.Start, "1", 20),
		sized(event(job.Submit, "2", 290), 8), event(job.Hold, "2", 295),
		sized(event(job.Submit, "3", 380), 2),
		event(job.End, "1", 900), event(job.Cancel, "2", 2000),
	)
	want := []string{ // at(0) is 100 s after a multiple of 15 minutes
		"submitted 1", "started 1", "sample 200 forecast", "submitted 2", "updated 2", "submitted 3",
		"sample 800 observe forecast", "ended 1", "sample 1700 observe forecast", "gone 2",
	}
	if d := cmp.Diff(want, waiting(l)); d != "" {
		t.Errorf("(-want +got): %s", d)
	}
}

// TestEndedJobIsNoArrival proves that a job does not count as an arrival if the log reports it only after its end.
// Otherwise an accounting log would look like many arrivals at once.
func TestEndedJobIsNoArrival(t *testing.T) {
	l, s := silent(t), cluster.New("c", 8)
	play(l, s, sized(event(job.Submit, "1", 10), 1))
	old := sized(event(job.End, "0", 20), 1)
	old.Times = job.Times{Submit: at(-500), Start: at(-400), End: at(-300)}
	play(l, s, old)
	drain(l)
	if got := l.worker.model.forecaster.Live(); len(got) != 1 || s.Counts().Ended != 1 {
		t.Errorf("%d jobs are known, %d have ended, want one each", len(got), s.Counts().Ended)
	}
}

// drain processes the waiting notifications in the goroutine of the test, except the samples, which are dropped.
func drain(l *Learner) {
	list := l.worker.backlog.takeAll()
	for i := range list {
		if list[i].sample == nil {
			l.worker.process(context.Background(), &list[i])
		}
	}
}

// TestTasksOfArrays proves that the forecaster has each task of an array as one job, before and after the task gets its
// own record, and that its jobs are those of the cluster.
func TestTasksOfArrays(t *testing.T) {
	l, s := silent(t), cluster.New("c", 64)
	array := sized(event(job.Submit, "9", 0), 2)
	array.Queue, array.Tasks = "q", 5
	more := event(job.Update, "9", 5)
	more.Tasks = 6
	check := func(when string, live, running int) {
		t.Helper()
		drain(l)
		f, runs := l.worker.model.forecaster, 0
		for _, id := range f.Live() {
			if f.Runs(id) {
				runs++
			}
		}
		state, left := stateOf(s.View(), s.Now(), l.worker.model.name)
		known := len(f.Live()) == live && runs == running
		if !known || len(state.Running) != running || len(state.Waiting) != live-running || left != 0 {
			t.Errorf("%s: %d are live and %d run, the cluster has %d running and %d waiting; want %d and %d",
				when, len(f.Live()), runs, len(state.Running), len(state.Waiting), live, running)
		}
		for _, j := range slices.Concat(state.Running, state.Waiting) {
			if !f.Knows(j.ID) {
				t.Errorf("%s: job %d of the cluster is not known", when, j.ID)
			}
		}
	}
	play(l, s, array)
	check("submitted", 5, 0)
	play(l, s, more)
	check("grown", 6, 0)
	play(l, s, event(job.Start, "9_1", 20), event(job.Start, "9_2", 30))
	check("two started", 6, 2)
	play(l, s, event(job.End, "9_1", 40))
	check("one ended", 5, 1)
	fewer := event(job.Update, "9", 50)
	fewer.Tasks = 1
	play(l, s, fewer)
	check("all but the last cancelled", 2, 1)
	play(l, s, event(job.Start, "9", 60))
	check("the last started", 2, 2)
	play(l, s, event(job.End, "9", 70), event(job.End, "9_2", 70))
	check("all ended", 0, 0)
}

// TestLateSize proves that a job whose size is reported after its submission counts, with that size, from the report
// on.
func TestLateSize(t *testing.T) {
	l, s := silent(t), cluster.New("c", 64)
	play(l, s, event(job.Submit, "1", 0))
	drain(l)
	if n := len(l.worker.model.forecaster.Live()); n != 0 {
		t.Errorf("%d jobs of unknown size are known", n)
	}
	play(l, s, sized(event(job.Update, "1", 10), 32))
	drain(l)
	if n := len(l.worker.model.forecaster.Live()); n != 1 {
		t.Errorf("%d jobs are known once the size is reported", n)
	}
}

// TestReconcile proves that after notifications were dropped, reconcile makes the known jobs those of the cluster
// again, even with a bad log.
func TestReconcile(t *testing.T) {
	l, s := silent(t), cluster.New("c", 128)
	events := eventtest.Mangle(eventtest.Workload(t, 200, 5), 5)
	for i, ev := range events {
		play(l, s, ev)
		if i%50 == 20 {
			drain(l)
		}
		if i%50 == 40 { // too many notifications waited
			l.worker.backlog.drop(len(l.worker.backlog.list))
			l.worker.model.reconcile(s.View())
			compareLive(t, l, s)
		}
	}
}

// TestTooMuchWaits proves that if too many notifications wait, the newer half stays. The first sample in that half is
// then to reconcile the model; if there is no sample in it, the next one that is added.
func TestTooMuchWaits(t *testing.T) {
	view := cluster.New("c", 8).View()
	for _, c := range []struct {
		name      string
		sampled   bool // a sample is among the newer half
		reconcile bool // a later sample also reconciles
	}{{"a sample waits", true, false}, {"no sample waits", false, true}} {
		t.Run(c.name, func(t *testing.T) {
			var b backlog
			b.addSample(&sample{view: view, observe: true}, 1) // this sample is dropped
			for i := 1; i < maxNotifications; i++ {
				if i == maxNotifications*3/4 && c.sampled {
					b.addSample(&sample{view: view, observe: true}, int64(i))
				} else {
					b.add(notification{kind: notifyStarted, seq: int64(i)})
				}
			}
			if n := len(b.list); n != maxNotifications || b.dropped {
				t.Fatalf("%d wait, want %d", n, maxNotifications)
			}
			b.add(notification{kind: notifyEnded})
			later := &sample{view: view, observe: true}
			b.addSample(later, maxNotifications)
			first := b.list[0].seq
			if n := len(b.list); n != maxNotifications/2+2 || first != maxNotifications/2 {
				t.Errorf("%d wait from %d on, want the newer half", n, first)
			}
			var all []bool
			for _, n := range b.list {
				if n.sample != nil {
					all = append(all, n.sample.reconcile)
				}
			}
			if later.reconcile != c.reconcile || c.sampled && !all[0] || b.samples != len(all) {
				t.Errorf("of %d samples, counted as %d, these reconcile: %v", len(all), b.samples, all)
			}
			for seq := first; len(b.list) > 0; {
				for _, n := range b.take() {
					if n.kind == notifyStarted && n.seq != seq {
						t.Fatalf("notification %d comes after %d", n.seq, seq)
					}
					seq++
				}
			}
		})
	}
}

func compareLive(t *testing.T, l *Learner, s *cluster.State) {
	t.Helper()
	m := l.worker.model
	want := map[uint64]bool{}
	for _, j := range s.Running() {
		want[m.name(taskID(j, 0))] = true
	}
	for _, j := range s.Queued() {
		if j.Procs > 0 {
			want[m.name(taskID(j, 0))] = false
		}
	}
	got := map[uint64]bool{}
	for _, id := range m.forecaster.Live() {
		got[id] = m.forecaster.Runs(id)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("jobs by whether they run (-cluster +known): %s", d)
	}
}

// TestSamplesOfHistory proves that samples are six hours apart while history is read, and that another sample is taken
// at the end of the history.
func TestSamplesOfHistory(t *testing.T) {
	l, s := silent(t), cluster.New("c", 8)
	for i := range 40 {
		ev := sized(event(job.Submit, fmt.Sprint(i), float64(3600*i)), 1)
		ev.Live = false
		play(l, s, ev)
	}
	l.CaughtUp(s)
	l.CaughtUp(s)
	var samples []time.Time
	for _, n := range l.worker.backlog.list {
		if n.sample != nil {
			samples = append(samples, n.sample.at)
		}
	}
	if len(samples) != 7 || !samples[6].Equal(at(39*3600)) {
		t.Fatalf("samples at %v, want one every six hours of 39 and one at the end", samples)
	}
	for i, when := range samples[:6] {
		if when.Truncate(historyEvery) != when || i > 0 && when.Sub(samples[i-1]) != historyEvery {
			t.Errorf("sample %d is at %v", i, when)
		}
	}
}

// TestStateOfTheCluster proves that the state for the forecaster has the waiting jobs in the order of the scheduler's
// rules, at most maxWaiting of them, that held jobs are marked, and that the pools have their outages.
func TestStateOfTheCluster(t *testing.T) {
	now := at(1000)
	attributes := func(queue string, procs, tasks int, priority int64) job.Attributes {
		return job.Attributes{Queue: queue, Procs: procs, Tasks: tasks, Priority: priority, TimeLimit: time.Hour}
	}
	v := &cluster.View{
		At: now, Capacity: 100,
		Pools: []*cluster.Pool{
			{Name: "a", Queues: []string{"qa"}, Has: cluster.Vector{cluster.Procs: 60}, Outages: []job.Outage{
				{From: at(500), Until: at(5000), Procs: 40}, {From: at(9000), Procs: 1000},
				{From: at(0), Until: at(600), Procs: 7},
			}},
			{Name: "down", Queues: []string{"qd"}},
		},
		Running: []*cluster.Job{
			{Seq: 1, Attributes: attributes("qa", 4, 0, 0), Submit: at(0), Start: at(100), Paused: 300 * time.Second},
			{Seq: 2, Attributes: attributes("qa", 4, 0, 0), Submit: at(0), Start: at(100), Suspended: at(200)},
		},
		Queued: []*cluster.Job{
			{Seq: 3, Attributes: attributes("qa", 1, 0, 0), Submit: at(10), Held: true},
			{Seq: 4, Attributes: attributes("qa", 0, 0, 0), Submit: at(20), Eligible: at(3000)},
			{Seq: 5, Attributes: attributes("qa", 2, 1500, 0), Submit: at(30)},
		},
	}
	s, left := stateOf(v, now, func(id uint64) uint64 { return id })
	wantPools := []outlook.Pool{
		{Name: "a", Procs: 100, Queues: []string{"qa"}, Outages: []outlook.Outage{
			{From: seconds(at(500)), Until: seconds(at(5000)), Procs: 40},
			{From: seconds(at(9000)), Until: math.Inf(1), Procs: 100},
		}},
		{Name: "down", Procs: 1, Queues: []string{"qd"}},
	}
	if d := cmp.Diff(wantPools, s.Pools); d != "" {
		t.Errorf("pools (-want +got): %s", d)
	}
	if len(s.Running) != 1 || s.Running[0].Start != seconds(at(400)) || s.Running[0].Limit != 3600 {
		t.Errorf("running %+v, want one that has run for 600 s", s.Running)
	}
	first, second := s.Waiting[0], s.Waiting[1]
	known := math.IsInf(first.Eligible, 1) && second.Eligible == seconds(at(3000)) && second.Procs == 1
	if len(s.Waiting) != 2+maxTasks || left != 500 || !known {
		t.Errorf("%d wait, %d are left out, the first are %+v", len(s.Waiting), left, s.Waiting[:2])
	}
	v.Rules = cluster.NewRules(&job.Facts{Weights: &job.Weights{}})
	v.Queued[2].Priority = 10
	if s, _ = stateOf(v, now, func(id uint64) uint64 { return id }); s.Waiting[0].Submit != seconds(at(30)) {
		t.Errorf("first waits %+v, want the job of the highest priority", s.Waiting[0])
	}
	f, err := outlook.New(outlook.Options{Replicas: 2, Lessons: 2, Probes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Forecast(t.Context(), &s); err != nil {
		t.Errorf("such a state is refused: %v", err)
	}
}
