package readmodel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// TestCrowd proves that the index of a view's jobs gives the same results as a check of each job: the running jobs,
// whether a queue has a running or waiting job that is at least as large and as long as a given one, and the number of
// waiting jobs of unknown size that may be in the pool of a queue.
func TestCrowd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := func(name string, from uint64) []*cluster.Job {
			var out []*cluster.Job
			for i := range rapid.IntRange(0, 12).Draw(t, name) {
				held, unqueued := rapid.Bool().Draw(t, "held"), rapid.Bool().Draw(t, "no queue named")
				j := &cluster.Job{Seq: from + uint64(i), Held: held, Unqueued: unqueued}
				j.Attributes = job.Attributes{
					Queue:     rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue"),
					Procs:     rapid.IntRange(0, 5).Draw(t, "procs"),
					TimeLimit: time.Duration(rapid.IntRange(0, 5).Draw(t, "limit")) * time.Hour,
				}
				out = append(out, j)
			}
			return out
		}
		v := &View{View: &cluster.View{Running: list("running", 1), Queued: list("queued", 100)}, jobs: &jobIndex{}}
		for _, queue := range []string{"a", "b", "c"} {
			unsized := 0
			for _, j := range v.Queued {
				if !j.Held && (j.Unqueued || j.Procs == 0 && j.Queue == queue) {
					unsized++
				}
			}
			if got := v.Unsized(queue); got != unsized {
				t.Fatalf("queue %s: %d jobs of unknown size, want %d", queue, got, unsized)
			}
			for procs := range 7 {
				for hours := range 7 {
					limit, want := time.Duration(hours)*time.Hour, false
					for _, jobs := range [][]*cluster.Job{v.Running, v.Queued} {
						for _, j := range jobs {
							want = want || j.Queue == queue && j.Procs >= procs && j.TimeLimit >= limit
						}
					}
					if got := v.index().took(queue, procs, limit); got != want {
						t.Fatalf("queue %s, %d processors for %v: %v, want %v", queue, procs, limit, got, want)
					}
				}
			}
		}
		for _, j := range v.Running {
			if v.index().running[EngineID(j)] != j {
				t.Fatalf("job %d is not found", j.Seq)
			}
		}
		if len(v.index().running) != len(v.Running) {
			t.Fatal("it finds jobs that do not run")
		}
	})
}
func BenchmarkCrowd(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	list := func(n, from int) []*cluster.Job {
		var out []*cluster.Job
		for i := range n {
			out = append(out, &cluster.Job{Seq: uint64(from + i), Attributes: job.Attributes{
				Queue: fmt.Sprintf("queue%d", rng.IntN(4)), Procs: 1 << rng.IntN(8),
				TimeLimit: time.Duration(rng.IntN(100_000)) * time.Second,
			}})
		}
		return out
	}
	v := &View{View: &cluster.View{Running: list(10_000, 1), Queued: list(20_000, 20_000)}}
	b.ReportAllocs()
	for b.Loop() {
		v.index()
	}
}
