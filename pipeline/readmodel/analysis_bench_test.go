package readmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
)

// BenchmarkAnalyze measures Analyze with a full history.
func BenchmarkAnalyze(b *testing.B) {
	models, err := livemodels.New(livemodels.Config{HistoryJobs: 100_000}, livemodels.Site{})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	submit := at(0)
	for n := range 120_000 {
		submit = submit.Add(time.Duration(rng.ExpFloat64() * 300 * float64(time.Second)))
		id := fmt.Sprint(n)
		j := &cluster.Job{ID: id, Seq: uint64(n), FirstQueue: "a", Order: submit, Submit: submit, Start: submit}
		j.Queue, j.User, j.Procs = "a", fmt.Sprint("u", rng.IntN(200)), 1+rng.IntN(64)
		end := submit.Add(time.Duration(math.Floor(math.Exp(5+2*rng.NormFloat64()))) * time.Second)
		for _, c := range []cluster.Change{
			{Event: job.Event{Kind: job.Submit, ID: j.ID, Time: submit}, After: j},
			{Event: job.Event{Kind: job.End, ID: id, Time: end, Times: job.Times{Start: submit, End: end}}, Before: j},
		} {
			if err := models.Learn(changes.Of(c, nil)); err != nil {
				b.Fatal(err)
			}
		}
	}
	v := New(View{View: cluster.New("c", 128).View(), Models: models.View()})
	for b.Loop() {
		v.Analyze("a")
	}
}
