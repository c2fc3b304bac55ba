package compare_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/workload/compare"
)

func randomWorkload(seed uint64, n int) compare.Workload {
	rng := rand.New(rand.NewPCG(seed, 1))
	var w compare.Workload
	t := 0.0
	for range n {
		t += rng.ExpFloat64() * 600
		w.Submit = append(w.Submit, t)
		w.Runtime = append(w.Runtime, math.Floor(math.Exp(rng.Float64()*10)))
		w.Procs = append(w.Procs, float64(int(1)<<rng.IntN(6)))
		w.Limit = append(w.Limit, float64(3600*(1+rng.IntN(5))))
		w.User = append(w.User, int64(rng.IntN(30)))
	}
	return w
}

// TestCompareWorkloads compares a workload with itself and with two others. From itself it has distance 0 in every
// measure. From an independent workload of the same law the distances are small. From a workload with twice the
// runtimes they are large where runtimes count, and 0 elsewhere.
func TestCompareWorkloads(t *testing.T) {
	w := randomWorkload(1, 4000)
	same := compare.Compare(w, w)
	for name, d := range same.KS {
		if d != 0 {
			t.Errorf("%s: distance %v to itself", name, d)
		}
	}
	if len(same.KS) != 7 || *same.AreaDifference != 0 || *same.WeeklyDistance != 0 ||
		len(same.Missing)+len(same.Original.Missing) > 0 {
		t.Errorf("%+v", same)
	}
	near(t, "H of Poisson arrivals over 230 bins", same.Original.Hurst.H, .54, .12)
	near(t, "depth of 6 equally likely sizes", same.Original.StackDepth["procs"].Depth, 2.5, .1)
	longer := w
	longer.Runtime = nil
	for _, r := range w.Runtime {
		longer.Runtime = append(longer.Runtime, 2*r)
	}
	r := compare.Compare(w, longer)
	near(t, "area", *r.AreaDifference, 1, 1e-12)
	near(t, "KS of runtimes", r.KS["runtime"], math.Ln2/10, .02)
	near(t, "KS of sizes", r.KS["procs"], 0, 0)
	again := compare.Compare(w, randomWorkload(2, 4000)).KS
	for _, name := range []string{"procs", "runtime", "interarrival"} {
		if d := again[name]; d == 0 || d > 1.95*math.Sqrt(2./4000) { // 1 in 1,000 (Smirnov's limit law)
			t.Errorf("%s: distance %v to the same law", name, d)
		}
	}
}

// TestReportWithoutColumns proves that a measure without its columns is listed by name as missing and is never NaN, so
// that the report can always be written as JSON.
func TestReportWithoutColumns(t *testing.T) {
	w := randomWorkload(3, 500)
	for name, other := range map[string]compare.Workload{
		"empty": {}, "one job": randomWorkload(4, 1), "submits alone": {Submit: w.Submit},
		"no users":  {Submit: w.Submit, Runtime: w.Runtime, Procs: w.Procs},
		"no number": {Submit: []float64{math.NaN()}, Procs: []float64{1}, Runtime: []float64{math.Inf(1)}},
	} {
		r := compare.Compare(w, other)
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.Other.Missing) == 0 || r.Other.Users != nil && name != "one job" {
			t.Errorf("%s: missing %v", name, r.Other.Missing)
		}
	}
}
