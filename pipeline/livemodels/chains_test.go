package livemodels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/workload/markov"
)

// TestChainsRunInOrderOfSubmission proves that the chains follow the order of submission, not the order of ends.
func TestChainsRunInOrderOfSubmission(t *testing.T) {
	m := newModels(t, Config{})
	direct, err := markov.New(0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	jobs := make([]*cluster.Job, 200)
	for i := range jobs {
		jobs[i] = &cluster.Job{ID: fmt.Sprint(i), Seq: uint64(i), FirstQueue: "q", Start: at(0)}
		jobs[i].Queue, jobs[i].Procs = "q", 1+rng.IntN(64)
		submit := job.Event{Kind: job.Submit, ID: jobs[i].ID, Time: at(0)}
		if err := m.Learn(changes.Of(cluster.Change{Event: submit, After: jobs[i]}, nil)); err != nil {
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
		end := job.Event{Kind: job.End, ID: j.ID, Time: at(0)}
		end.Times = job.Times{Start: at(0), End: at(runtime(j))}
		if err := m.Learn(changes.Of(cluster.Change{Event: end, Before: j}, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(direct.Chains(), m.queues["q"].chains.Chains(), cmp.AllowUnexported(markov.Chains{})); d != "" {
		t.Errorf("in order of submission (-) and as they ended (+) differ: %s", d)
	}
}
