package pipeline

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
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// loadConfig is that of a cluster whose load is forecast.
func loadConfig() Config {
	cfg := testConfig()
	cfg.Load = true
	return cfg
}

// silent returns a load whose learner never begins: what it is told stays in its queue.
func silent() *load {
	l := newLoad(ClusterConfig{Name: "c"}, zap.NewNop())
	l.learner.closed = true
	return l
}

// play folds events into a picture and tells a load.
func play(l *load, s *cluster.State, events ...job.Event) {
	for _, ev := range events {
		s.Apply(utc(ev), &cluster.Hooks{
			Before:  func(at time.Time) { l.before(at, ev.Live, s) },
			Changed: func(c cluster.Change) { l.note(c, s) },
		})
	}
}

// heard writes what waits in a learner's queue.
func heard(l *load) []string {
	names := map[notificationKind]string{
		notifySubmitted: "submitted", notifySplit: "split", notifyUpdated: "updated", notifyStarted: "started", notifyEnded: "ended", notifyGone: "gone", notifyLost: "lost",
	}
	var out []string
	for _, t := range l.learner.queue {
		switch {
		case t.sample != nil:
			text := fmt.Sprintf("look %.0f", clock(t.sample.at)-clock(at(0)))
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

// What happens is told in its order, and looks come between: every five minutes of event time, each third of which is learnt from, once all before it is known.
func TestOrderOfWhatIsTold(t *testing.T) {
	l, s := silent(), cluster.New("c", 8)
	play(l, s,
		sized(event(job.Submit, "1", 10), 4), event(job.Start, "1", 20),
		sized(event(job.Submit, "2", 290), 8), event(job.Hold, "2", 295),
		sized(event(job.Submit, "3", 380), 2),
		event(job.End, "1", 900), event(job.Cancel, "2", 2000),
	)
	want := []string{ // at(0) is 100 s after a multiple of 15 minutes
		"submitted 1", "started 1", "look 200 forecast", "submitted 2", "updated 2", "submitted 3",
		"look 800 observe forecast", "ended 1", "look 1700 observe forecast", "gone 2",
	}
	if d := cmp.Diff(want, heard(l)); d != "" {
		t.Errorf("(-want +got): %s", d)
	}
}

// What is over when it is first told of is no arrival: an accounting log that is imported does not look like a rush.
func TestWhatIsOverIsNotTold(t *testing.T) {
	l, s := silent(), cluster.New("c", 8)
	play(l, s, sized(event(job.Submit, "1", 10), 1))
	old := sized(event(job.End, "0", 20), 1)
	old.Times = job.Times{Submit: at(-500), Start: at(-400), End: at(-300)}
	play(l, s, old)
	drain(l)
	if got := l.learner.f.Live(); len(got) != 1 || s.Counts().Ended != 1 {
		t.Errorf("%d jobs are known, %d have ended, want one each", len(got), s.Counts().Ended)
	}
}

// drain does in this goroutine what waits, looks aside.
func drain(l *load) {
	queue := l.learner.queue
	l.learner.queue = nil
	for i := range queue {
		if queue[i].sample == nil {
			l.learner.do(context.Background(), &queue[i])
		}
	}
}

// Each task of an array is one job, before and after it has a record of its own; what is known in the end is what the picture has.
func TestTasksOfArrays(t *testing.T) {
	l, s := silent(), cluster.New("c", 64)
	array := sized(event(job.Submit, "9", 0), 2)
	array.Queue, array.Tasks = "q", 5
	more := event(job.Update, "9", 5)
	more.Tasks = 6
	check := func(when string, live, running int) {
		t.Helper()
		drain(l)
		f, runs := l.learner.f, 0
		for _, id := range f.Live() {
			if f.Runs(id) {
				runs++
			}
		}
		state, left := loadState(s.View(), s.Now(), l.learner.name)
		if len(f.Live()) != live || runs != running || len(state.Running) != running || len(state.Waiting) != live-running || left != 0 {
			t.Errorf("%s: %d are live and %d run, the picture has %d and %d waiting; want %d and %d", when, len(f.Live()), runs, len(state.Running), len(state.Waiting), live, running)
		}
		for _, j := range slices.Concat(state.Running, state.Waiting) {
			if !f.Knows(j.ID) {
				t.Errorf("%s: job %d of the picture is not known", when, j.ID)
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

// A job whose size is told after its submission counts from then on, with that size.
func TestSizeToldLate(t *testing.T) {
	l, s := silent(), cluster.New("c", 64)
	play(l, s, event(job.Submit, "1", 0))
	drain(l)
	if n := len(l.learner.f.Live()); n != 0 {
		t.Errorf("%d jobs of unknown size are known", n)
	}
	play(l, s, sized(event(job.Update, "1", 10), 32))
	drain(l)
	if n := len(l.learner.f.Live()); n != 1 {
		t.Errorf("%d jobs are known once the size is told", n)
	}
}

// Whatever happens and is lost on the way, what is known is what the picture has, and after an agreement so it is, too.
func TestAgreement(t *testing.T) {
	l, s := silent(), cluster.New("c", 128)
	events := mangle(workload(t, 200, 5), 5)
	for i, ev := range events {
		play(l, s, ev)
		if i%50 == 20 {
			drain(l)
		}
		if i%50 == 40 { // too much waited
			l.learner.mu.Lock()
			l.learner.drop()
			l.learner.mu.Unlock()
			l.learner.agree(s.View())
			compareLive(t, l.learner, s)
		}
	}
}

func compareLive(t *testing.T, l *loadLearner, s *cluster.State) {
	t.Helper()
	want := map[uint64]bool{}
	for _, j := range s.Running() {
		want[l.name(taskID(j, 0))] = true
	}
	for _, j := range s.Queued() {
		if j.Procs > 0 {
			want[l.name(taskID(j, 0))] = false
		}
	}
	got := map[uint64]bool{}
	for _, id := range l.f.Live() {
		got[id] = l.f.Runs(id)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("jobs by whether they run (-picture +known): %s", d)
	}
}

// While history is read a look is made every six hours, and the last at its end.
func TestLooksAtHistory(t *testing.T) {
	l, s := silent(), cluster.New("c", 8)
	for i := range 40 {
		ev := sized(event(job.Submit, fmt.Sprint(i), float64(3600*i)), 1)
		ev.Live = false
		play(l, s, ev)
	}
	l.caughtUp(s)
	l.caughtUp(s)
	var looks []time.Time
	for _, told := range l.learner.queue {
		if told.sample != nil {
			looks = append(looks, told.sample.at)
		}
	}
	if len(looks) != 7 || !looks[6].Equal(at(39*3600)) {
		t.Fatalf("looks at %v, want one every six hours of 39 and one at the end", looks)
	}
	for i, when := range looks[:6] {
		if when.Truncate(historyEvery) != when || i > 0 && when.Sub(looks[i-1]) != historyEvery {
			t.Errorf("look %d is at %v", i, when)
		}
	}
}

// The state has the jobs in the order of the scheduler's rules, held ones as such, pools with what is away, and bounds.
func TestStateOfThePicture(t *testing.T) {
	now := at(1000)
	attributes := func(queue string, procs, tasks int, priority int64) job.Attributes {
		return job.Attributes{Queue: queue, Procs: procs, Tasks: tasks, Priority: priority, TimeLimit: time.Hour}
	}
	v := &cluster.View{
		At: now, Capacity: 100,
		Pools: []*cluster.Pool{
			{Name: "a", Queues: []string{"qa"}, Has: cluster.Vector{cluster.Procs: 60}, Outages: []job.Outage{
				{From: at(500), Until: at(5000), Procs: 40}, {From: at(9000), Procs: 1000}, {From: at(0), Until: at(600), Procs: 7},
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
	s, left := loadState(v, now, func(id uint64) uint64 { return id })
	wantPools := []outlook.Pool{
		{Name: "a", Procs: 100, Queues: []string{"qa"}, Outages: []outlook.Outage{
			{From: clock(at(500)), Until: clock(at(5000)), Procs: 40}, {From: clock(at(9000)), Until: math.Inf(1), Procs: 100},
		}},
		{Name: "down", Procs: 1, Queues: []string{"qd"}},
	}
	if d := cmp.Diff(wantPools, s.Pools); d != "" {
		t.Errorf("pools (-want +got): %s", d)
	}
	if len(s.Running) != 1 || s.Running[0].Start != clock(at(400)) || s.Running[0].Limit != 3600 {
		t.Errorf("running %+v, want one that has run for 600 s", s.Running)
	}
	if len(s.Waiting) != 2+mostTasks || left != 500 || !math.IsInf(s.Waiting[0].Eligible, 1) || s.Waiting[1].Eligible != clock(at(3000)) || s.Waiting[1].Procs != 1 {
		t.Errorf("%d wait, %d are left out, the first are %+v", len(s.Waiting), left, s.Waiting[:2])
	}
	v.Rules = cluster.NewRules(&job.Facts{Weights: &job.Weights{}})
	v.Queued[2].Priority = 10
	if s, _ = loadState(v, now, func(id uint64) uint64 { return id }); s.Waiting[0].Submit != clock(at(30)) {
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
