package loadforecast

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// loadedCluster returns a worker that has learned the given number of days of a busy machine with perDay submissions a
// day. It also returns a view of the machine with the given numbers of running and queued jobs.
func loadedCluster(b *testing.B, days, perDay, running, queued int) (*worker, *cluster.View) {
	b.Helper()
	w := newLearner(b, zap.NewNop()).worker
	m := w.model
	rng := rand.New(rand.NewPCG(1, 2))
	one := func(submit float64, start float64) *cluster.Job {
		runtime := 600 * math.Exp(rng.NormFloat64())
		j := &cluster.Job{Seq: rng.Uint64N(1 << 40), Submit: at(submit), Order: at(submit)}
		j.Attributes = job.Attributes{
			Queue: []string{"short", "long"}[rng.IntN(2)], User: fmt.Sprint(rng.IntN(200)),
			Procs: 1 << rng.IntN(5), TimeLimit: time.Duration(4*runtime) * time.Second,
		}
		if start > 0 {
			j.Start = at(start)
		}
		return j
	}
	v := &cluster.View{Cluster: "c", At: at(float64(days) * 86400)}
	end := float64(days) * 86400
	for i := range days * perDay {
		submit := end * float64(i) / float64(days*perDay)
		j := one(submit, submit+1)
		m.submitted(j, 0)
		m.runs(j)
		m.ended(j, at(submit+1+600*math.Exp(rng.NormFloat64())))
	}
	for i := range running {
		j := one(end-float64(i)-2, end-float64(i)-1)
		v.Capacity += j.Procs
		m.runs(j)
		v.Running = append(v.Running, j)
	}
	for i := range queued {
		j := one(end-float64(i)-1, 0)
		m.submitted(j, 0)
		v.Queued = append(v.Queued, j)
	}
	v.Pools = []*cluster.Pool{{}}
	return w, v
}

// BenchmarkLoad measures an observation, a forecast and a test of saturation, with the numbers of simulations that
// resize sets for the size of the cluster.
func BenchmarkLoad(b *testing.B) {
	for _, size := range [][3]int{{1000, 100, 200}, {6000, 1000, 1000}, {20000, 10000, 20000}} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w, v := loadedCluster(b, 4, size[0], size[1], size[2])
			for i := range 2 {
				w.takeSample(context.Background(),
					&sample{view: v, at: v.At.Add(time.Duration(i) * time.Hour), observe: true})
			}
			day := 1
			for b.Loop() {
				w.backlog.samples = 1
				w.next.SaturationAt = v.At.AddDate(1, 0, 0)
				at := v.At.AddDate(0, 0, 7*day)
				w.takeSample(context.Background(), &sample{view: v, at: at, observe: true, forecast: true})
				day++
			}
			b.ReportMetric(w.next.ObserveTook.Seconds(), "s/observe")
			b.ReportMetric(w.next.ForecastTook.Seconds(), "s/forecast")
			b.ReportMetric(float64(w.next.Replicas), "replicas")
			s, _ := stateOf(v, v.At.AddDate(0, 0, 7*day), w.model.name)
			begun := time.Now()
			if _, err := w.model.forecaster.Saturation(context.Background(), &s); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(begun).Seconds(), "s/saturation")
			begun = time.Now()
			stateOf(v, v.At, w.model.name)
			b.ReportMetric(time.Since(begun).Seconds(), "s/state")
			begun = time.Now()
			data, _ := w.model.marshal()
			b.ReportMetric(time.Since(begun).Seconds(), "s/save")
			b.ReportMetric(float64(len(data))/1e6, "MB")
		})
	}
}
