package simulator_test

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/simulator"
)

// by gives a job a user and a queue.
func by(user int64, queue string, j simulator.Job) simulator.Job {
	j.User, j.Queue = user, queue
	return j
}

// TestPriorityOrders lets three jobs wait while one runs on all processors for 100 s. It proves which of the three each
// kind of priority starts first.
func TestPriorityOrders(t *testing.T) {
	first := by(1, "low", job(1, 0, 4, 100, 100))
	waiting := []simulator.Job{by(1, "low", job(2, 1, 3, 10, 10)), by(2, "high", job(3, 2, 4, 10, 10)),
		by(1, "low", job(4, 3, 4, 10, 10))}
	queues := []simulator.Queue{{Name: "low", Priority: 1}, {Name: "high", Priority: 10}}
	for name, c := range map[string]struct {
		policy simulator.Priority
		want   []string
	}{
		"age": {simulator.Priority{WeightAge: 1},
			[]string{"0 start 1", "100 start 2", "110 start 3", "120 start 4"}},
		"size": {simulator.Priority{WeightSize: 1},
			[]string{"0 start 1", "100 start 3", "110 start 4", "120 start 2"}},
		"small first": {simulator.Priority{WeightSize: 1, FavorSmall: true},
			[]string{"0 start 1", "100 start 2", "110 start 3", "120 start 4"}},
		"queue": {simulator.Priority{WeightQueue: 1},
			[]string{"0 start 1", "100 start 3", "110 start 2", "120 start 4"}},
		"fair share": {simulator.Priority{WeightFairShare: 1, Every: -1},
			[]string{"0 start 1", "100 start 3", "110 start 2", "120 start 4"}},
		// At 100 the jobs are 97 s to 99 s old, but ages are cut at 50: the size decides.
		"age is cut": {simulator.Priority{WeightAge: 1, MaxAge: 50, WeightSize: .01, Every: -1},
			[]string{"0 start 1", "100 start 3", "110 start 4", "120 start 2"}},
		"custom": {simulator.Priority{Custom: func(j *simulator.Job, _ float64) float64 { return float64(j.ID) }},
			[]string{"0 start 1", "100 start 4", "110 start 3", "120 start 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, simulator.Config{Procs: 4, Queues: queues, Policy: &c.policy},
				append([]simulator.Job{first}, waiting...)...)
			want(t, only(got, "start"), c.want...)
		})
	}
}

// watchedPriority notes the priority of every waiting job when the policy schedules.
type watchedPriority struct {
	*simulator.Priority
	see func(*simulator.Job, float64)
}

func (w watchedPriority) New() simulator.Policy {
	return watchedPriority{w.Priority.New().(*simulator.Priority), w.see}
}

func (w watchedPriority) Schedule(p *simulator.Pool, why simulator.Cause) {
	w.Priority.Schedule(p, why)
	for r := p.First(); r != simulator.None; r = p.After(r) {
		w.see(p.Job(r), w.Of(p, r))
	}
}

// TestFairShareIsSlurmsFormula compares with 2^(-usage / share), computed by hand, with usage that halves every 100
// s.
func TestFairShareIsSlurmsFormula(t *testing.T) {
	got := map[int64]float64{}
	policy := watchedPriority{
		&simulator.Priority{WeightFairShare: 1, HalfLife: 100, Every: -1,
			Share: func(user int64) float64 { return float64(user) }},
		func(j *simulator.Job, x float64) {
			if _, seen := got[j.User]; j.Submit == 300 && !seen {
				got[j.User] = x
			}
		},
	}
	play(t, simulator.Config{Procs: 2, Policy: policy},
		by(1, "", job(1, 0, 2, 100, 100)), by(3, "", job(2, 100, 1, 100, 100)), by(1, "", job(3, 250, 2, 100, 100)),
		by(1, "", job(4, 300, 2, 1, 1)), by(3, "", job(5, 300, 2, 1, 1)))
	// At 300 the 200 processor seconds of job 1 have faded for 200 s, the 100 of job 2 for 100 s, and job 3 has used
	// 100. The shares are 1/4 and 3/4.
	one, three := 200*.25+100, 100*.5
	for user, used := range map[int64]float64{1: one / .25, 3: three / .75} {
		want := math.Exp2(-used / (one + three))
		if math.Abs(got[user]-want) > 1e-9 {
			t.Errorf("user %d: %v, want %v", user, got[user], want)
		}
	}
}

// TestBackfillIsLimited proves what bf_max_job_test and bf_window leave out. Job 1 holds 3 of 4 processors until 100,
// and job 2 needs all 4. Jobs 3 and 4 need one each, but only job 4 ends in time.
func TestBackfillIsLimited(t *testing.T) {
	jobs := []simulator.Job{job(1, 0, 3, 100, 100), job(2, 1, 4, 10, 10), job(3, 2, 1, 300, 300), job(4, 3, 1, 50, 50)}
	for name, c := range map[string]struct {
		policy simulator.Priority
		want   []string
	}{
		"EASY": {simulator.Priority{}, []string{"0 start 1", "3 start 4", "100 start 2", "110 start 3"}},
		"conservative": {simulator.Priority{Backfill: simulator.BackfillConservative},
			[]string{"0 start 1", "3 start 4", "100 start 2", "110 start 3"}},
		"none": {simulator.Priority{Backfill: simulator.BackfillNone},
			[]string{"0 start 1", "100 start 2", "110 start 3", "110 start 4"}},
		"two looked at": {simulator.Priority{MaxTest: 2},
			[]string{"0 start 1", "100 start 2", "110 start 3", "110 start 4"}},
		// Job 2's start lies beyond the window, so that nothing is reserved for it.
		"window of 60 s": {simulator.Priority{Window: 60},
			[]string{"0 start 1", "2 start 3", "100 start 4", "302 start 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.policy.WeightAge, c.policy.Every = 1, -1
			want(t, only(play(t, simulator.Config{Procs: 4, Policy: &c.policy}, jobs...), "start"), c.want...)
		})
	}
}

// TestPrioritiesAreComputedNowAndThen proves that the order stays between two computations, and that a new computation
// lets jobs start even if nothing else happens.
func TestPrioritiesAreComputedNowAndThen(t *testing.T) {
	turn := func(j *simulator.Job, now float64) float64 { // from 90 s on the small job is first
		if now >= 90 && j.Procs == 1 {
			return 1
		}
		return 0
	}
	jobs := []simulator.Job{job(1, 0, 3, 1000, 1000), job(2, 0, 4, 10, 10), job(3, 0, 1, 5000, 5000)}
	for every, c := range map[float64][]string{
		30: {"0 start 1", "90 start 3", "5090 start 2"}, 100: {"0 start 1", "100 start 3", "5100 start 2"},
		400: {"0 start 1", "400 start 3", "5400 start 2"},
	} {
		policy := &simulator.Priority{Custom: turn, Every: every}
		want(t, only(play(t, simulator.Config{Procs: 4, Policy: policy}, jobs...), "start"), c...)
	}
}
