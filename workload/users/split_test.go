package users_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/workload/users"
)

const (
	hour = 3600.
	day  = 24 * hour
	week = 7 * day
)

// campaign returns jobs of one user, one per day at 10 h from firstDay on.
func campaign(user int64, firstDay, days int) []users.Job {
	var jobs []users.Job
	for d := range days {
		jobs = append(jobs, users.Job{User: user, Procs: 2, Submit: float64(firstDay+d)*day + 10*hour, Wait: 60,
			Runtime: 600, Estimate: 900})
	}
	return jobs
}

// ids returns the users in a pool.
func ids(pool []*users.User) []int64 {
	var out []int64
	for _, u := range pool {
		out = append(out, u.ID)
	}
	return out
}

// sample returns a log of 30 weeks: users 1 and 2 are long-term, 3 to 5 temporary, 6 and 7 at the ends.
func sample() users.Trace {
	t := users.Trace{Name: "sample", End: 30 * week}
	for _, jobs := range [][]users.Job{
		campaign(7, 29*7, 6), campaign(1, 0, 200), campaign(2, 70, 100), campaign(3, 80, 20), campaign(4, 100, 30),
		campaign(5, 120, 9), campaign(6, 1, 10),
	} {
		t.Jobs = append(t.Jobs, jobs...)
	}
	for i := range t.Jobs {
		t.Jobs[i].Index = i
	}
	return t
}

func TestUsersGoToTheirPools(t *testing.T) {
	p := split(t, sample(), users.Options{Edge: 4})
	want := [][]int64{{1, 2}, {3, 4, 5}, {6, 7}}
	if d := cmp.Diff(want, [][]int64{ids(p.LongTerm), ids(p.Temporary), ids(p.Dropped)}); d != "" {
		t.Errorf("long-term, temporary and dropped users (-want +got):\n%s", d)
	}
	p = split(t, sample(), users.Options{Edge: -1, LongTerm: 15})
	want = [][]int64{{1}, {2, 3, 4, 5, 6, 7}, nil}
	if d := cmp.Diff(want, [][]int64{ids(p.LongTerm), ids(p.Temporary), ids(p.Dropped)}); d != "" {
		t.Errorf("with 15 weeks and no edge (-want +got):\n%s", d)
	}
}

// TestThresholdsAreExact proves three thresholds. A user's activity lasts from the first submission to the last end of
// a job. Exactly 12 weeks are not more than 12 weeks. A user whose activity reaches beyond the edge is kept.
func TestThresholdsAreExact(t *testing.T) {
	at := func(user int64, submit, runtime float64) users.Job {
		return users.Job{User: user, Procs: 1, Submit: submit, Runtime: runtime}
	}
	trace := users.Trace{End: 40 * week, Jobs: []users.Job{
		at(1, 10*week, 0), at(1, 22*week-1, 1), // exactly 12 weeks
		at(2, 10*week, 0), at(2, 22*week-1, 2), // one second more
		at(3, week, 3*week), at(4, week, 3*week+1), // ends at 4 weeks, and after
		at(5, 36*week, 1), at(6, 36*week-1, week), // begins 4 weeks before the end, and before that
	}}
	p := split(t, trace, users.Options{Edge: 4})
	want := [][]int64{{2}, {1, 4, 6}, {3, 5}}
	if d := cmp.Diff(want, [][]int64{ids(p.LongTerm), ids(p.Temporary), ids(p.Dropped)}); d != "" {
		t.Errorf("long-term, temporary and dropped users (-want +got):\n%s", d)
	}
}

// TestRatesAreThoseOfTheArrivals proves that temporary users who come at a known rate are counted right although some
// are dropped at the ends.
func TestRatesAreThoseOfTheArrivals(t *testing.T) {
	trace := users.Trace{End: 100 * week, Jobs: []users.Job{{User: 0, Procs: 1, Submit: 50 * week, Runtime: 1}}}
	// Two users come every week and stay for 3 weeks. Those before the beginning and after the end are cut off.
	for i := range 2 * 103 {
		for d := range 3 * 7 {
			if at := float64(i)*week/2 - 3*week + float64(d)*day; at >= 0 && at < trace.End {
				trace.Jobs = append(trace.Jobs, users.Job{User: int64(i + 1), Procs: 1, Submit: at, Runtime: 60})
			}
		}
	}
	p := split(t, trace, users.Options{})
	if len(p.Dropped) == 0 || math.Abs(p.Arrivals-2) > .06 || p.Present < 6 || p.Present > 8 {
		t.Errorf("%d dropped, %v come a week and %v are there; want 2 a week, who touch 3 or 4 weeks each",
			len(p.Dropped), p.Arrivals, p.Present)
	}
}

func TestRareBehaviorsAreUsersOfTheirOwn(t *testing.T) {
	trace := sample()
	p := split(t, trace, users.Options{Rare: []users.RareBehavior{
		{User: 1, From: 50 * day, Until: 60 * day}, {User: 99, From: 0, Until: week},
		{User: 1, From: 90 * day, Until: 92 * day},
	}})
	if len(p.Rare) != 2 || len(p.Rare[0].Jobs) != 10 || len(p.Rare[1].Jobs) != 2 || p.Rare[0].ID != 1 ||
		p.Rare[0].Class != users.Rare {
		t.Fatalf("rare pool: %+v", p.Rare)
	}
	all := jobsOf(p.LongTerm) + jobsOf(p.Temporary) + jobsOf(p.Dropped) + jobsOf(p.Rare)
	if all != len(trace.Jobs) || len(p.LongTerm[0].Jobs) != 200-12 {
		t.Errorf("%d of %d jobs are in a pool, user 1 keeps %d", all, len(trace.Jobs), len(p.LongTerm[0].Jobs))
	}
}

func TestSplitLeavesOutWhatNeverRan(t *testing.T) {
	trace := sample()
	n := len(trace.Jobs)
	trace.Jobs = append(trace.Jobs, users.Job{User: 1, Procs: 1, Runtime: -1}, users.Job{User: 1, Procs: 0, Runtime: 5},
		users.Job{User: 1, Procs: 1, Runtime: math.NaN()})
	before := slices.Clone(trace.Jobs[:n])
	p := split(t, trace, users.Options{})
	if p.NeverRan != 2 || p.NoProcs != 1 || jobsOf(p.LongTerm)+jobsOf(p.Temporary)+jobsOf(p.Dropped) != n {
		t.Errorf("never ran %d, no processors %d", p.NeverRan, p.NoProcs)
	}
	if d := cmp.Diff(before, trace.Jobs[:n]); d != "" {
		t.Errorf("Split changed the trace:\n%s", d)
	}
}

func TestSplitRefuses(t *testing.T) {
	anonymous := sample()
	for i := range anonymous.Jobs {
		anonymous.Jobs[i].User = -1
	}
	if _, err := users.Split(anonymous, users.Options{}); !errors.Is(err, users.ErrNoUsers) {
		t.Errorf("no user field: %v, want ErrNoUsers", err)
	}
	if _, err := users.Split(users.Trace{Jobs: []users.Job{{Procs: 1, Runtime: -1}}}, users.Options{}); !errors.Is(err,
		users.ErrNoJobs) {
		t.Errorf("no job that ran: %v, want ErrNoJobs", err)
	}
	for _, o := range []users.Options{{Edge: 15}, {Edge: math.NaN()}, {LongTerm: -1}, {LongTerm: math.NaN()}} {
		if _, err := users.Split(sample(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestSessionsEndWithAnHourWithoutSubmits(t *testing.T) {
	var jobs []users.Job
	for _, at := range []float64{0, 3600, 7200, 10801, 10801, 20000} {
		jobs = append(jobs, users.Job{User: 1, Submit: at, Runtime: 2000})
	}
	if got := users.Sessions(jobs, 0); !slices.Equal(got, []int{0, 3, 5}) {
		t.Errorf("sessions begin at %v", got)
	}
	jobs[3].User, jobs[4].User = 2, 2
	if got := users.SessionNumbers(jobs, 0); !slices.Equal(got, []int{0, 0, 0, 1, 1, 2}) {
		t.Errorf("session numbers %v", got)
	}
}
