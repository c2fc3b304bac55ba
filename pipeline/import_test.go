package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// finishedJobs returns n jobs that had ended by the second over. Each is one event, as earlier versions of the program
// imported it.
func finishedJobs(n int, over float64, seed uint64) []job.Event {
	rng := rand.New(rand.NewPCG(seed, 17))
	var out []job.Event
	for i := range n {
		end := over - math.Floor(rng.Float64()*30*3600)
		start := end - math.Floor(math.Exp(rng.Float64()*10))
		ev := sized(event(job.End, fmt.Sprint("past", i), end), 1<<rng.IntN(7))
		ev.Queue, ev.User = string(rune('a'+rng.IntN(2))), "u"
		ev.Times = job.Times{Submit: at(start - math.Floor(rng.Float64()*5000)), Start: at(start), End: at(end)}
		out = append(out, ev)
	}
	return out
}

// picture returns the running and waiting jobs of a view.
func picture(v *readmodel.View) []cluster.Job {
	var out []cluster.Job
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			one := *j
			one.Seq = 0 // Seq counts the imported events too
			out = append(out, one)
		}
	}
	return out
}

// TestOldImportsReplay proves that the journal of an earlier version of the program still gives its former state. Such
// a journal has imported jobs between the followed ones, under a source of their own and in any order of time. They do
// not change which jobs run and wait, but their lifetimes are learnt.
func TestOldImportsReplay(t *testing.T) {
	const past = 40
	store := newStore(t)
	p, log := newPipeline(testConfig(), store, collector.Live)
	imports := source.Config{Name: "c/" + ImportName, Format: collector.Format{Name: ImportName, Order: collector.Live},
		Options: collector.Options{Cluster: "c"}}
	p.AddSource(imports)
	plain, src := newPipeline(testConfig(), newStore(t), collector.Live)
	old := finishedJobs(past, -1, 3)
	for i, ev := range workload(t, 60, 3) {
		take(t, p, &source.Delivery{Source: log, Events: []job.Event{ev}})
		take(t, plain, &source.Delivery{Source: src, Events: []job.Event{ev}})
		if i < past {
			take(t, p, &source.Delivery{Source: &imports, Events: old[i : i+1]})
		}
	}
	again, _ := newPipeline(testConfig(), store, collector.Live)
	if err := again.Restore(t.Context(), "fingerprint"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(lanes(t, p), lanes(t, again)); d != "" {
		t.Errorf("the journal gives another state (+):\n%s", d)
	}
	without, with := plain.View("c"), again.View("c")
	if d := cmp.Diff(picture(without), picture(with)); d != "" {
		t.Errorf("the imported jobs (+) change the picture:\n%s", d)
	}
	if n := with.Counts.Ended - without.Counts.Ended; n != past {
		t.Errorf("%d lifetimes were learnt from %d imported jobs", n, past)
	}
}
