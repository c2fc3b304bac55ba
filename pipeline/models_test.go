package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/workload/markov"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// What the lane learns from events is what the models say of the finished jobs directly: a fit for every queue and class and for
// all queues together, chains in the order of submission. Jobs that never ran, were requeued or whose end was lost give no
// lifetime of theirs.
func TestModelsAreThoseOfTheFinishedJobs(t *testing.T) {
	cfg := testConfig()
	cfg.Models = ModelConfig{MinSamples: 10}
	p, src := newPipeline(cfg, nil, collector.Live)
	events := mangle(workload(t, 600, 31), 31)
	lifetimes := map[string][]float64{}
	type submission struct {
		seq     uint64
		procs   int
		seconds float64
	}
	ended := map[string][]submission{}
	l := p.writers["c"]
	for _, ev := range events {
		l.state.Apply(utc(ev), &cluster.Hooks{Changed: func(c cluster.Change) {
			if err := l.models.learn(c); err != nil {
				t.Fatal(err)
			}
			if c.Event.Kind != job.End || c.Event.Derived {
				return
			}
			j, seconds := c.Before, c.Event.Times.End.Sub(c.Event.Times.Start).Seconds()
			for _, queue := range []string{j.Queue, allQueues} {
				key := fmt.Sprint(queue, "/", job.Class(j.Procs))
				lifetimes[key] = append(lifetimes[key], seconds)
			}
			ended[j.FirstQueue] = append(ended[j.FirstQueue], submission{j.Seq, j.Procs, seconds})
		}})
	}
	take(t, p) // nothing; the view below is of the lane as it is
	view := l.models.view()
	if len(lifetimes) < 6 {
		t.Fatalf("only %d classes have lifetimes: %s", len(lifetimes), src.Name)
	}
	for queue, q := range view.queues {
		for i, class := range Classes() {
			got := q.Lifetimes[i]
			want, err := uniformlog.FitValues(lifetimes[fmt.Sprint(queue, "/", class)])
			if (err == nil) != (got.Err == nil) {
				t.Errorf("queue %q, %s: error %v, want %v", queue, class, got.Err, err)
			}
			if d := cmp.Diff(want, got.Law.Fit, cmpopts.IgnoreFields(uniformlog.Fit{}, "At")); err == nil && d != "" {
				t.Errorf("queue %q, %s (-want +got): %s", queue, class, d)
			}
		}
		if queue == allQueues {
			continue
		}
		subs := ended[queue]
		slices.SortFunc(subs, func(a, b submission) int { return int(a.seq) - int(b.seq) })
		direct, err := markov.New(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range subs {
			if err := direct.Append(s.procs, s.seconds); err != nil {
				t.Fatal(err)
			}
		}
		// A job that is neither ended nor gone keeps its neighbors apart; those counted so far are the same.
		if q := l.models.queues[queue]; q.chains.Unresolved() == 0 {
			if d := cmp.Diff(direct.Chains(), q.chains.Chains()); d != "" {
				t.Errorf("chains of queue %q (-want +got): %s", queue, d)
			}
		}
	}
}

// The chains run in the order of submission, whatever the order of ends.
func TestChainsRunInOrderOfSubmission(t *testing.T) {
	m := newModels(ModelConfig{})
	direct, err := markov.New(0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	jobs := make([]*cluster.Job, 200)
	for i := range jobs {
		jobs[i] = &cluster.Job{ID: fmt.Sprint(i), Seq: uint64(i), FirstQueue: "q", Start: at(0)}
		jobs[i].Queue, jobs[i].Procs = "q", 1+rng.IntN(64)
		if err := m.learn(cluster.Change{Event: event(job.Submit, jobs[i].ID, 0), After: jobs[i]}); err != nil {
			t.Fatal(err)
		}
	}
	runtime := func(j *cluster.Job) float64 { return float64(1 + j.Seq*j.Seq) }
	for _, j := range jobs {
		if err := direct.Append(j.Procs, runtime(j)); err != nil {
			t.Fatal(err)
		}
	}
	rng.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
	for _, j := range jobs {
		end := event(job.End, j.ID, 0)
		end.Times = job.Times{Start: at(0), End: at(runtime(j))}
		if err := m.learn(cluster.Change{Event: end, Before: j}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(direct.Chains(), m.queues["q"].chains.Chains()); d != "" {
		t.Errorf("in order of submission (-) and as they ended (+) differ: %s", d)
	}
}

// saves returns the bytes of a part of a snapshot.
func saves(t *testing.T, part binaryPart) []byte {
	t.Helper()
	data, err := part.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Saved models do not depend on when they were looked at, and restore to what they were; cut short they are refused.
func TestModelsCodec(t *testing.T) {
	cfg := testConfig()
	looked, quiet := newModels(cfg.Models), newModels(cfg.Models)
	state := cluster.New("c", 128)
	for _, ev := range workload(t, 300, 33) {
		state.Apply(ev, &cluster.Hooks{Changed: func(c cluster.Change) {
			for _, m := range []*models{looked, quiet} {
				if err := m.learn(c); err != nil {
					t.Fatal(err)
				}
			}
			looked.view()
		}})
	}
	want := saves(t, quiet)
	if d := cmp.Diff(want, saves(t, looked)); d != "" {
		t.Fatal("looking at the models changed what is saved of them")
	}
	restored := newModels(cfg.Models)
	if err := restored.UnmarshalBinary(want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, saves(t, restored)); d != "" {
		t.Fatal("restored models are saved otherwise")
	}
	a, _ := quiet.view().Law("a", 4)
	b, ok := restored.view().Law("a", 4)
	if !ok || a.Model != b.Model {
		t.Fatalf("restored law %+v, want %+v", b.Model, a.Model)
	}
	for cut := range len(want) {
		if cut%97 == 0 {
			if err := newModels(cfg.Models).UnmarshalBinary(want[:cut]); err == nil {
				t.Fatalf("the first %d of %d bytes were taken", cut, len(want))
			}
		}
	}
}

// The chains count sizes in what binds in the pool: GPUs where these run short, not processors.
func TestChainsCountWhatBinds(t *testing.T) {
	binds := cluster.GPUs
	cfg := testConfig()
	cfg.Clusters[0].Pools = []cluster.PoolConfig{
		{Name: "gpu", Queues: []string{"g"}, Has: cluster.Vector{cluster.Procs: 128, cluster.GPUs: 16}, Binds: &binds},
		{Name: "rest", Queues: []string{"a"}, Has: cluster.Vector{cluster.Procs: 128}},
	}
	p, src := newPipeline(cfg, nil, collector.Live)
	var events []job.Event
	for i, queue := range []string{"g", "a"} {
		for n := range 20 {
			id, begin := fmt.Sprint(queue, n), float64(1000*i+10*n)
			submit := event(job.Submit, id, begin)
			submit.Attributes = job.Attributes{Queue: queue, Procs: 64, GPUs: 4}
			events = append(events, submit, event(job.Start, id, begin+1), event(job.End, id, begin+9))
		}
	}
	take(t, p, &source.Delivery{Source: src, Events: events})
	for queue, want := range map[string]int64{"g": 4, "a": 64} {
		states := p.View("c").Models.Queue(queue).Chains.Procs.States
		if len(states) != 1 || states[0] != want {
			t.Errorf("queue %s: sizes %v, want %d", queue, states, want)
		}
	}
}

// The time of its suspensions is no part of a job's lifetime.
func TestLifetimeOfASuspendedJob(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	submit := sized(event(job.Submit, "1", 0), 4)
	submit.Queue = "a"
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		submit, event(job.Start, "1", 0), event(job.Suspend, "1", 100), event(job.Resume, "1", 1000),
		event(job.Suspend, "1", 1050), event(job.End, "1", 2000),
	}})
	chain := p.View("c").Models.Queue("a").Chains.Runtime
	if len(chain.States) != 1 || chain.States[0] != 128 { // 150 s of 2,000
		t.Errorf("lifetimes in the states %v, want that of 150 s", chain.States)
	}
}
