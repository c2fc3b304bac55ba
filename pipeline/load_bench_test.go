package pipeline

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

// loadedCluster returns a learner that has learnt from so many days of a busy machine to which perDay jobs come, and a view of it with so many jobs.
func loadedCluster(b *testing.B, days, perDay, running, queued int) (*loadLearner, *cluster.View) {
	b.Helper()
	l := newLoadLearner(ClusterConfig{Name: "c"}, zap.NewNop())
	rng := rand.New(rand.NewPCG(1, 2))
	one := func(submit float64, start float64) *cluster.Job {
		runtime := 600 * math.Exp(rng.NormFloat64())
		j := &cluster.Job{Seq: rng.Uint64N(1 << 40), Submit: at(submit), Order: at(submit)}
		j.Attributes = job.Attributes{
			Queue: []string{"short", "long"}[rng.IntN(2)], User: fmt.Sprint(rng.IntN(200)), Procs: 1 << rng.IntN(5), TimeLimit: time.Duration(4*runtime) * time.Second,
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
		l.submitted(j, 0)
		l.started(j)
		id := taskID(j, 0)
		l.left(id, func(id uint64) { l.f.Ended(id, clock(at(submit+1+600*math.Exp(rng.NormFloat64())))) })
	}
	for i := range running {
		j := one(end-float64(i)-2, end-float64(i)-1)
		v.Capacity += j.Procs
		l.started(j)
		v.Running = append(v.Running, j)
	}
	for i := range queued {
		j := one(end-float64(i)-1, 0)
		l.submitted(j, 0)
		v.Queued = append(v.Queued, j)
	}
	v.Pools = []*cluster.Pool{{}}
	return l, v
}

// BenchmarkLoad is what an observation, a forecast and a test of saturation take, with the number of replicas that goes with the size.
func BenchmarkLoad(b *testing.B) {
	for _, size := range [][3]int{{1000, 100, 200}, {6000, 1000, 1000}, {20000, 10000, 20000}} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l, v := loadedCluster(b, 4, size[0], size[1], size[2])
			for i := range 2 {
				l.see(context.Background(), &loadSample{view: v, at: v.At.Add(time.Duration(i) * time.Hour), observe: true})
			}
			day := 1
			for b.Loop() {
				l.samples = 1
				l.made.SaturationAt = v.At.AddDate(1, 0, 0)
				l.see(context.Background(), &loadSample{view: v, at: v.At.AddDate(0, 0, 7*day), observe: true, forecast: true})
				day++
			}
			b.ReportMetric(l.made.ObserveTook.Seconds(), "s/observe")
			b.ReportMetric(l.made.ForecastTook.Seconds(), "s/forecast")
			b.ReportMetric(float64(l.made.Replicas), "replicas")
			s, _ := loadState(v, v.At.AddDate(0, 0, 7*day), l.name)
			begun := time.Now()
			if _, err := l.f.Saturation(context.Background(), &s); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(begun).Seconds(), "s/saturation")
			begun = time.Now()
			loadState(v, v.At, l.name)
			b.ReportMetric(time.Since(begun).Seconds(), "s/state")
			begun = time.Now()
			data, _ := l.marshal()
			b.ReportMetric(time.Since(begun).Seconds(), "s/save")
			b.ReportMetric(float64(len(data))/1e6, "MB")
		})
	}
}
