package ouaknine_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/research/papers/ouaknine"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/users"
)

// Jobs that never ran or held nothing are left out; estimates below the runtime are raised, unless wanted as given.
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

// Only the job of the thesis is cut, in a copy; another job under its number is refused.
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

// Jobs of one instant change places, those of different instants do not, and the original stays.
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

// Two jobs by hand: the first starts at once (slowdown 1), the second waits 90 s for it and runs 20 s, (90 + 20) / 20 =
// 5.5; it asks for more than there is. A third of 1 s overtakes them on the idle processor, (0 + 1) / 10 bounded to 1.
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
