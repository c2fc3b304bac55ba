package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/workload/markov"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// TestModelsAreThoseOfTheFinishedJobs proves that the models that a clusterWriter learns from events equal those of a
// direct fit to the finished jobs. It compares the laws of every queue and class, the laws of all queues together, and
// the chains, which follow the order of submission. Jobs that never ran or were requeued, and jobs whose end was lost,
// give no lifetime.
func TestModelsAreThoseOfTheFinishedJobs(t *testing.T) {
	cfg := testConfig()
	cfg.Models = livemodels.Config{MinSamples: 10}
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
			if err := l.models.Learn(changes.Of(c, nil)); err != nil {
				t.Fatal(err)
			}
			if c.Event.Kind != job.End || c.Event.Derived {
				return
			}
			j, seconds := c.Before, c.Event.Times.End.Sub(c.Event.Times.Start).Seconds()
			for _, queue := range []string{j.Queue, livemodels.AllQueues} {
				key := fmt.Sprint(queue, "/", job.Class(j.Procs))
				lifetimes[key] = append(lifetimes[key], seconds)
			}
			ended[j.FirstQueue] = append(ended[j.FirstQueue], submission{j.Seq, j.Procs, seconds})
		}})
	}
	take(t, p) // no events
	view := l.models.View()
	if len(lifetimes) < 6 {
		t.Fatalf("only %d classes have lifetimes: %s", len(lifetimes), src.Name)
	}
	for _, queue := range append(view.Queues(), livemodels.AllQueues) {
		q := view.Of(queue)
		for i, class := range livemodels.Classes() {
			got := q.Lifetimes[i]
			want, err := uniformlog.FitValues(lifetimes[fmt.Sprint(queue, "/", class)])
			if (err == nil) != (got.Err == nil) {
				t.Errorf("queue %q, %s: error %v, want %v", queue, class, got.Err, err)
			}
			if d := cmp.Diff(want, got.Law.Fit, cmpopts.IgnoreFields(uniformlog.Fit{}, "At")); err == nil && d != "" {
				t.Errorf("queue %q, %s (-want +got): %s", queue, class, d)
			}
		}
		if queue == livemodels.AllQueues {
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
		// Compare the chains only if no job of the queue runs or waits: the pairs with such a job are not counted yet.
		here := func(j *cluster.Job) bool { return j.Queue == queue }
		if picture := l.state.View(); !slices.ContainsFunc(picture.Running, here) &&
			!slices.ContainsFunc(picture.Queued, here) {
			if d := cmp.Diff(direct.Chains(), l.models.View().Queue(queue).Chains,
				cmp.AllowUnexported(markov.Chains{})); d != "" {
				t.Errorf("chains of queue %q (-want +got): %s", queue, d)
			}
		}
	}
}

// TestChainsCountWhatBinds proves that the chains use sizes in the binding dimension of the pool, for example GPUs
// instead of processors.
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

// TestLifetimeOfASuspendedJob proves that the time of suspensions is not part of a job's lifetime.
func TestLifetimeOfASuspendedJob(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	submit := sized(event(job.Submit, "1", 0), 4)
	submit.Queue = "a"
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		submit, event(job.Start, "1", 0), event(job.Suspend, "1", 100), event(job.Resume, "1", 1000),
		event(job.Suspend, "1", 1050), event(job.End, "1", 2000),
	}})
	chain := p.View("c").Models.Queue("a").Chains.Runtime
	if len(chain.States) != 1 || chain.States[0] != 128 { // 150 s of 2,000 s
		t.Errorf("lifetimes in the states %v, want that of 150 s", chain.States)
	}
}
