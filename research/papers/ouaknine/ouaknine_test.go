package ouaknine_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/research/papers/ouaknine"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/users"
)

// TestJobs proves that jobs that never ran or held no processors are left out, and that an estimate below the runtime
// is raised to the runtime unless asGiven is set.
func TestJobs(t *testing.T) {
	records := []swf.Record{
		{ID: 1, User: 7, Submit: 0, Runtime: 50, Allocated: 4, TimeLimit: 60, Status: swf.StatusCompleted},
		{ID: 2, User: 8, Submit: 5, Runtime: 90, Allocated: 2, TimeLimit: 60, Status: swf.StatusCompleted},
		{ID: 3, User: 8, Submit: 6, Runtime: swf.Unknown, Allocated: swf.Unknown, RequestedProcs: swf.Unknown,
			TimeLimit: 60, Status: swf.StatusCompleted},
	}
	want := []users.Job{
		{Index: 1, User: 7, Procs: 4, Submit: 0, Wait: -1, Runtime: 50, Estimate: 60},
		{Index: 2, User: 8, Procs: 2, Submit: 5, Wait: -1, Runtime: 90, Estimate: 90},
	}
	if d := cmp.Diff(want, ouaknine.Jobs(records, false)); d != "" {
		t.Error("raised (-want +got):\n", d)
	}
	want[1].Estimate = 60
	if d := cmp.Diff(want, ouaknine.Jobs(records, true)); d != "" {
		t.Error("as given (-want +got):\n", d)
	}
}

// TestTruncated proves that only the job Butterfly becomes shorter, in a copy of the jobs, and that it is an error if
// another job has its number.
func TestTruncated(t *testing.T) {
	jobs := []users.Job{{Index: 1, Procs: 9, Runtime: 64830, Estimate: 64830},
		{Index: ouaknine.Butterfly, Procs: 9, Runtime: 64830, Estimate: 64830}}
	got, err := ouaknine.Truncated(jobs)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != jobs[0] || got[1].Runtime != 64800 || got[1].Estimate != 64830 || jobs[1].Runtime != 64830 {
		t.Errorf("%+v of %+v", got, jobs)
	}
	for _, change := range []func(*users.Job){
		func(j *users.Job) { j.Procs = 8 }, func(j *users.Job) { j.Runtime = 64800 },
		func(j *users.Job) { j.Estimate = 3600 }, func(j *users.Job) { j.Index = 2 },
	} {
		other := jobs[1]
		change(&other)
		if _, err := ouaknine.Truncated([]users.Job{other}); err == nil {
			t.Errorf("%+v passed for the job of the thesis", other)
		}
	}
}

// TestReversed proves that jobs with the same submission time are in reverse order in the result, that the order is
// otherwise the same, and that the original does not change.
func TestReversed(t *testing.T) {
	jobs := []users.Job{{Index: 1, Submit: 0}, {Index: 2, Submit: 5}, {Index: 3, Submit: 5}, {Index: 4, Submit: 5},
		{Index: 5, Submit: 9}, {Index: 6, Submit: 9}}
	order := []int{1, 4, 3, 2, 6, 5}
	for i, j := range ouaknine.Reversed(jobs) {
		if j.Index != order[i] || jobs[i].Index != i+1 {
			t.Errorf("place %d has job %d, the original %d; want %d and %d", i, j.Index, jobs[i].Index, order[i], i+1)
		}
	}
}

// TestSimulate compares slowdowns with those worked out by hand. The first job starts at once (slowdown 1). The second
// requests more processors than there are, waits 90 s for the end of the first and runs 20 s: (90 + 20) / 20 = 5.5. The
// third runs 1 s and overtakes the second on the idle processor: (0 + 1) / 10, raised to the minimum of 1.
func TestSimulate(t *testing.T) {
	jobs := []users.Job{
		{Index: 1, Submit: 0, Procs: 3, Runtime: 100, Estimate: 100},
		{Index: 2, Submit: 10, Procs: 99, Runtime: 20, Estimate: 20},
		{Index: 3, Submit: 11, Procs: 1, Runtime: 1, Estimate: 1},
	}
	got, err := ouaknine.Simulate(jobs, 4)
	if err != nil {
		t.Fatal(err)
	}
	if want := (ouaknine.Means{Slowdown: (1 + 5.5 + 1) / 3, Wait: 30}); math.Abs(got.Slowdown-want.Slowdown) > 1e-12 ||
		math.Abs(got.Wait-want.Wait) > 1e-12 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSimulateWindow proves that with a window of one job the runtime of a job is predicted to be that of its user's
// last job. Job 2 runs 100 s with an estimate of 1,000 s, but is predicted to run 10 s, as job 1 did. Job 3 needs all
// processors and gets a reservation after job 2. With the prediction this reservation is too early for backfilling job
// 4, which takes 95 s. With the estimate there is time for job 4.
func TestSimulateWindow(t *testing.T) {
	jobs := []users.Job{
		{Index: 1, User: 7, Submit: 0, Procs: 1, Runtime: 10, Estimate: 1000},
		{Index: 2, User: 7, Submit: 20, Procs: 1, Runtime: 100, Estimate: 1000},
		{Index: 3, User: 8, Submit: 21, Procs: 2, Runtime: 50, Estimate: 50},
		{Index: 4, User: 9, Submit: 22, Procs: 1, Runtime: 95, Estimate: 95},
	}
	plain, err := ouaknine.Simulate(jobs, 2)
	if err != nil {
		t.Fatal(err)
	}
	windowed, err := ouaknine.SimulateWindow(jobs, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	// Job 3 starts at 120 in both cases. Job 4 starts at once with the estimates, but only after job 3, at 170, with
	// the window.
	if want := 99. / 4; math.Abs(plain.Wait-want) > 1e-9 {
		t.Errorf("by estimates the mean wait is %v, want %v", plain.Wait, want)
	}
	if want := (99. + 148) / 4; math.Abs(windowed.Wait-want) > 1e-9 {
		t.Errorf("by the last runtime the mean wait is %v, want %v", windowed.Wait, want)
	}
}

// TestBad proves that estimates are between R and (f+1)R, that their mean is the middle of this range, and that the
// random numbers are the same for every f.
func TestBad(t *testing.T) {
	jobs := make([]users.Job, 5000)
	for i := range jobs {
		jobs[i].Runtime = 100
	}
	two, four := ouaknine.Bad(jobs, 2), ouaknine.Bad(jobs, 4)
	mean := 0.0
	for i := range two {
		if e := two[i].Estimate; e < 100 || e > 300 || math.Abs(four[i].Estimate-100-2*(e-100)) > 1e-9 {
			t.Fatalf("estimates %v and %v", e, four[i].Estimate)
		}
		mean += two[i].Estimate / float64(len(two))
	}
	if math.Abs(mean-200) > 5 || jobs[0].Estimate != 0 {
		t.Errorf("mean estimate %v, want 200", mean)
	}
}
