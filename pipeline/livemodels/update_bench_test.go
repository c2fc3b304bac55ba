package livemodels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
)

// learner passes the submissions and ends of a long stream of jobs to models with the daemon's default configuration.
// There is no picture of a cluster.
type learner struct {
	models *Models
	rng    *rand.Rand
	n      uint64
	now    time.Time
}

func newLearner(b testing.TB) *learner {
	cfg := Config{WindowJobs: 20_000, WindowAge: 90 * 24 * time.Hour, MinSamples: 30, Forget: .0005,
		HistoryJobs: 100_000}
	return &learner{models: newModels(b, cfg), rng: rand.New(rand.NewPCG(5, 5)), now: at(0)}
}

// job passes the submission and the end of one more job to the models.
func (l *learner) job(b testing.TB) {
	l.n++
	l.now = l.now.Add(time.Duration(l.rng.ExpFloat64() * 300 * float64(time.Second)))
	seconds := math.Floor(math.Exp(5 + 2*l.rng.NormFloat64()))
	if l.rng.IntN(3) == 0 {
		seconds = math.Floor(math.Exp(9 + .5*l.rng.NormFloat64()))
	}
	j := &cluster.Job{ID: fmt.Sprint(l.n), Seq: l.n, FirstQueue: "a", Order: l.now, Submit: l.now, Start: l.now}
	j.Queue, j.User, j.Procs, j.TimeLimit = "a", fmt.Sprint("u", l.rng.IntN(200)),
		1+l.rng.IntN(2)*l.rng.IntN(64), 36*time.Hour
	submit := job.Event{Kind: job.Submit, ID: j.ID, Time: l.now}
	end := job.Event{Kind: job.End, ID: j.ID, Time: l.now.Add(time.Duration(seconds) * time.Second),
		Times: job.Times{Start: l.now}}
	end.Times.End = end.Time
	for _, c := range []cluster.Change{{Event: submit, After: j}, {Event: end, Before: j}} {
		if err := l.models.Learn(changes.Of(c, nil)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate measures the learning of one job from submission to end, by all models of its queue and of all queues
// together. It includes refits of the competing laws. It should take at most 20 us.
func BenchmarkUpdate(b *testing.B) {
	l := newLearner(b)
	for range 1 << 15 {
		l.job(b)
	}
	b.ReportAllocs()
	for b.Loop() {
		l.job(b)
	}
}

// BenchmarkPublish measures a view of all models after each job.
func BenchmarkPublish(b *testing.B) {
	l := newLearner(b)
	for range 1 << 15 {
		l.job(b)
	}
	b.ReportAllocs()
	for b.Loop() {
		l.job(b)
		l.models.View()
	}
}

// BenchmarkSave measures saving the models of one queue, with full windows and a full history.
func BenchmarkSave(b *testing.B) {
	l := newLearner(b)
	for range 120_000 {
		l.job(b)
	}
	for b.Loop() {
		data, err := l.models.MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(data)), "B/snapshot")
	}
}

// BenchmarkFitLublin measures a fit of Lublin and Feitelson's model.
func BenchmarkFitLublin(b *testing.B) {
	l := newLearner(b)
	for range 120_000 {
		l.job(b)
	}
	for b.Loop() {
		l.models.queues["a"].lublin.published = nil
		l.models.queues["a"].lublin.view(0).Fit()
	}
}
