package predictor

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// oneLaw is the same law for every job.
type oneLaw struct{ law Law }

func (o oneLaw) Law(string, int) (Law, bool) { return o.law, true }

func anyLaw() oneLaw {
	return oneLaw{NewLaw(uniformlog.Fit{Model: uniformlog.Model{B0: -.183, B1: .104}, N: 100}, "", job.Parallel)}
}

var now = time.Unix(1_000_000_000, 0).UTC()

func pool(procs int64, outages ...job.Outage) *cluster.Pool {
	return &cluster.Pool{Has: cluster.Vector{cluster.Procs: procs}, Outages: outages}
}

func outage(from, until float64, procs int) job.Outage {
	second := func(s float64) time.Time { return now.Add(time.Duration(s * float64(time.Second))) }
	return job.Outage{Name: "o", From: second(from), Until: second(until), Procs: procs}
}

func request(procs int, limit time.Duration) job.Attributes {
	return job.Attributes{Procs: procs, TimeLimit: limit}
}

// within returns the probabilities of a start within the horizons, to three decimals.
func within(d *waittime.Distribution) []float64 {
	out := waittime.Horizons()
	for i, h := range out {
		out[i] = math.Round(1000*d.CDF(h)) / 1000
	}
	return out
}

// TestOutageBlocksLongJobs examines a job whose time limit reaches into an outage that leaves too few processors for
// it. The job starts before that outage or after it, never in between.
func TestOutageBlocksLongJobs(t *testing.T) {
	f := NewForecaster()
	for _, c := range []struct {
		name  string
		pool  *cluster.Pool
		procs int
		limit time.Duration
		want  []float64 // the median, and the probabilities of a start within the horizons to three decimals
	}{
		{"no outage", pool(10), 4, time.Hour, []float64{0, 1, 1, 1, 1, 1}},
		{"short enough to end before it", pool(10, outage(7200, 9000, 10)), 4, time.Hour, []float64{0, 1, 1, 1, 1, 1}},
		{"it would run into it", pool(10, outage(1800, 9000, 10)), 4, time.Hour, []float64{9000, 0, 0, 0, 1, 1}},
		{"enough is left beside it", pool(10, outage(1800, 9000, 6)), 4, time.Hour, []float64{0, 1, 1, 1, 1, 1}},
		{"it goes on and leaves too little", pool(2, outage(-60, 9000, 8)), 4, time.Hour,
			[]float64{9000, 0, 0, 0, 1, 1}},
		{"it goes on and leaves enough", pool(6, outage(-60, 9000, 4)), 4, time.Hour, []float64{0, 1, 1, 1, 1, 1}},
		{"two that follow each other", pool(10, outage(1800, 9000, 10), outage(10000, 20000, 10)), 4, time.Hour,
			[]float64{20000, 0, 0, 0, 0, 1}},
		{"two that go on and together leave too little", pool(0, outage(-60, 9000, 5), outage(-60, 20000, 5)), 4,
			time.Hour, []float64{9000, 0, 0, 0, 1, 1}},
		{"two to come that together leave too little", pool(10, outage(1800, 9000, 5), outage(3000, 20000, 5)), 4,
			time.Hour, []float64{9000, 0, 0, 0, 1, 1}},
		{"one that begins as another ends", pool(10, outage(1800, 9000, 5), outage(9000, 20000, 5)), 4, time.Hour,
			[]float64{0, 1, 1, 1, 1, 1}},
		{"one that ends before it begins", pool(10, outage(9000, 1800, 10)), 4, time.Hour, []float64{0, 1, 1, 1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := f.Forecast(NewScene("c", now, c.pool, request(c.procs, c.limit), anyLaw()))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, append([]float64{got.Quantiles[waittime.Median]}, within(got.Wait)...)); d != "" {
				t.Errorf("median and probabilities (-want +got): %s", d)
			}
			if got.Closed != (c.want[0] > 0) {
				t.Errorf("closed: %v", got.Closed)
			}
		})
	}
}

// TestOutageWithoutEnd proves that a job that needs the processors of an outage without an end never starts, unless
// it can start before the outage.
func TestOutageWithoutEnd(t *testing.T) {
	o := outage(4000, 0, 10)
	o.Until = time.Time{}
	scene := NewScene("c", now, pool(10, o), request(10, time.Hour), anyLaw())
	scene.Running = []*cluster.Job{{ID: "1", Attributes: job.Attributes{Procs: 10}, Start: now.Add(-10 * time.Second)}}
	got, err := NewForecaster().Forecast(scene)
	if err != nil {
		t.Fatal(err)
	}
	if q := got.Quantiles; q[0] <= 0 || q[0] >= 400 || !math.IsInf(q[waittime.Median], 1) {
		t.Errorf("quantiles %v, want the first before 400 s and the median never", q)
	}
	if p := within(got.Wait); p[1] <= 0 || p[1] != p[4] {
		t.Errorf("probabilities %v, want none added after 400 s", p)
	}
}

// TestSizesInWhatBinds proves that a job that uses nothing of the scarce resource does not delay others. An array
// counts as many jobs as it has tasks.
func TestSizesInWhatBinds(t *testing.T) {
	p := &cluster.Pool{Has: cluster.Vector{cluster.Procs: 128, cluster.GPUs: 8}, Binds: cluster.GPUs}
	ask := request(4, time.Hour)
	ask.GPUs = 2
	scene := NewScene("c", now, p, ask, anyLaw())
	start := now.Add(-time.Minute)
	gpus := func(procs, gpus, tasks int, start time.Time) *cluster.Job {
		return &cluster.Job{ID: "x", Attributes: job.Attributes{Procs: procs, GPUs: gpus, Tasks: tasks}, Start: start}
	}
	scene.Running = []*cluster.Job{gpus(128, 0, 0, start), gpus(1, 6, 0, start)}
	scene.Ahead = []*cluster.Job{gpus(1, 1, 3, time.Time{}), gpus(64, 0, 0, time.Time{})}
	got, err := NewForecaster().Forecast(scene)
	if err != nil {
		t.Fatal(err)
	}
	if scene.Size != 2 || scene.Capacity() != 8 || got.Used != 6 || got.AheadJobs != 3 || got.AheadProcs != 3 ||
		got.Need != 3 {
		t.Errorf("a request of %d of %d with %d in use, behind %d jobs with %d; %d must be freed; want 2 of 8, 6, 3, "+
			"3, 3",
			scene.Size, scene.Capacity(), got.Used, got.AheadJobs, got.AheadProcs, got.Need)
	}
}
