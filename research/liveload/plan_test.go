package liveload

import (
	"math"
	"reflect"
	"testing"
)

func mustPlan(t *testing.T, seed uint64, o PlanOptions) []Job {
	t.Helper()
	jobs, err := Plan(seed, o)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// TestPlanIsOfItsSeed proves that the same seed and options give the same load, and that another seed gives another
// load.
func TestPlanIsOfItsSeed(t *testing.T) {
	for _, burst := range []bool{false, true} {
		o := PlanOptions{FairShareBurst: burst}
		if !reflect.DeepEqual(mustPlan(t, 7, o), mustPlan(t, 7, o)) {
			t.Errorf("burst %v: the loads of one seed differ", burst)
		}
		if reflect.DeepEqual(mustPlan(t, 7, o), mustPlan(t, 8, o)) {
			t.Errorf("burst %v: the loads of two seeds are the same", burst)
		}
	}
}

// TestPlanCanRun proves that every job is within the limits of its partition and of the cluster, so that Slurm accepts
// it, and that its runtime is below its time limit.
func TestPlanCanRun(t *testing.T) {
	for _, o := range []PlanOptions{{}, {FairShareBurst: true}, {Jobs: 40, Nodes: 8, CPUs: 2, Longest: 300}} {
		for seed := range uint64(20) {
			jobs := mustPlan(t, seed, o)
			if err := o.fill(); err != nil {
				t.Fatal(err)
			}
			if len(jobs) != o.Jobs || jobs[0].After != 0 {
				t.Fatalf("%d jobs from %g s on, want %d from 0 s on", len(jobs), jobs[0].After, o.Jobs)
			}
			for i, j := range jobs {
				limit := 60 * float64(j.Minutes)
				switch {
				case j.Number != i || i > 0 && j.After < jobs[i-1].After:
					t.Fatalf("job %d is out of order: %+v", i, j)
				case j.Procs < 1 || 2*j.Procs > o.Nodes*o.CPUs || j.Nodes > 0 && j.Nodes*o.CPUs != j.Procs:
					t.Fatalf("size: %+v", j)
				case j.Run < o.Shortest || j.Run > o.Longest || limit <= 2*j.Run || limit > 10*j.Run+60:
					t.Fatalf("runtime and limit: %+v", j)
				case j.Queue == "short" && j.Minutes > 10 || j.Queue == "medium" && j.Minutes > 60:
					t.Fatalf("the partition does not allow that limit: %+v", j)
				}
			}
		}
	}
}

// TestPlanOutgrowsTheCluster proves that the mean load is as requested, and that the load grows from less than half of
// the cluster's capacity at the beginning to clearly more than the capacity in the end.
func TestPlanOutgrowsTheCluster(t *testing.T) {
	const seeds, tenths = 40, 10
	var share [tenths]float64 // mean share of the work that arrives in each tenth of the time
	for seed := range uint64(seeds) {
		jobs := mustPlan(t, seed, PlanOptions{})
		work, last := 0.0, jobs[len(jobs)-1].After
		for _, j := range jobs {
			work += float64(j.Procs) * j.Run
		}
		// The last job is submitted a little before the load ends, so the load until then is a little above 0.9.
		if load := work / (last * 64); load < .9 || load > .9*1.1 {
			t.Errorf("seed %d: the mean load is %.2f, want 0.9 and a little", seed, load)
		}
		for _, j := range jobs {
			share[min(tenths-1, int(j.After/last*tenths))] += float64(j.Procs) * j.Run / work / seeds
		}
	}
	// The arrival rate rises from 0.35 to 1.65 times its mean, and the mean load is 0.9. So the first tenth has a load
	// of 0.37, and the last tenth one of 1.43. Four standard errors of the mean over 40 seeds are 20 %, with about 40
	// jobs in a tenth.
	if load := share[0] * tenths * .9; load > .5 {
		t.Errorf("the load of the first tenth is %.2f, want less than 0.5", load)
	}
	if load := share[tenths-1] * tenths * .9; load < 1.1 {
		t.Errorf("the load of the last tenth is %.2f, want more than 1.1", load)
	}
}

// TestPlanRuntimes proves that runtimes are log-uniform between their bounds: half of the runtimes are below the
// geometric mean of the bounds, and a quarter are below the geometric mean of this value and the lower bound.
func TestPlanRuntimes(t *testing.T) {
	var half, quarter, n float64
	for seed := range uint64(40) {
		for _, j := range mustPlan(t, seed, PlanOptions{}) {
			if n++; j.Run < math.Sqrt(60) {
				half++
			}
			if j.Run < math.Sqrt(math.Sqrt(60)) {
				quarter++
			}
		}
	}
	bound := 4 * .5 / math.Sqrt(n) // four standard errors
	if math.Abs(half/n-.5) > bound || math.Abs(quarter/n-.25) > bound {
		t.Errorf("%.3f and %.3f of the runtimes are below the marks of 0.5 and 0.25", half/n, quarter/n)
	}
}

// TestPlanBurst proves that one user has a seventh of all jobs, and submits them within a tenth of the time.
func TestPlanBurst(t *testing.T) {
	for seed := range uint64(10) {
		jobs := mustPlan(t, seed, PlanOptions{FairShareBurst: true})
		first, last, n := math.Inf(1), 0.0, 0
		for _, j := range jobs {
			if j.User == "news" {
				first, last, n = min(first, j.After), max(last, j.After), n+1
			}
		}
		if n != 300/7 {
			t.Errorf("seed %d: %d jobs in the burst, want a seventh of 300", seed, n)
		}
		if total := jobs[len(jobs)-1].After; last-first > .11*total || first < .5*total {
			t.Errorf("seed %d: the burst is from %.0f to %.0f s of %.0f s", seed, first, last, total)
		}
	}
}

// TestPlanRefuses proves that invalid options cause errors and are not replaced by defaults.
func TestPlanRefuses(t *testing.T) {
	for _, o := range []PlanOptions{
		{Jobs: -1}, {Nodes: 1, CPUs: 2}, {Shortest: 5, Longest: 4}, {Longest: 1000}, {Load: -1}, {Load: math.NaN()},
		{Shortest: math.NaN()},
	} {
		if jobs, err := Plan(1, o); err == nil {
			t.Errorf("%+v gave %d jobs", o, len(jobs))
		}
	}
}
