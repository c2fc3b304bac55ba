package engine

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// TestErrorsOfTheSimulation proves that quantiles of the errors are those of Kaplan and Meier. Of 20 errors 1 to 20,
// with ten jobs that still wait at 10.5, the survival after 10 is 20/30. Each later start lowers it by a tenth of that.
func TestErrorsOfTheSimulation(t *testing.T) {
	var s ensemble.SimulationErrors
	for i := range 19 {
		s.Add(uint64(i), 0, 0)
		s.Started(uint64(i), float64(i+1))
	}
	if s.Quantiles(0, []float64{.5}) != nil {
		t.Error("19 starts are enough to speak")
	}
	s.Add(100, 0, 0)
	s.Started(100, 20)
	for i := range 10 {
		s.Add(uint64(200+i), 0, waittime.Log(1000)-10.5) // at 1000 s their errors are 10.5 and more
	}
	levels := []float64{.1, .3, .5, .9, 1}
	got := s.Quantiles(1000, levels)
	// After error k up to 10 the survival is 1 - k/30, and after 10 + m it is 2/3 (1 - m/10). So .1 is reached at 3, .3
	// at 9, .5 at 10 + 3 (2/3 x .7 = .467), .9 at 10 + 9 (2/3 x .1), 1 at 20.
	for i, want := range []float64{3, 9, 13, 19, 20} {
		if math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("the quantile at %v is %v, want %v", levels[i], got[i], want)
		}
	}
}

// TestErrorsAreBounded proves that only the newest jobs count, and that a job that left without a start is forgotten.
func TestErrorsAreBounded(t *testing.T) {
	var s ensemble.SimulationErrors
	for i := range 1000 {
		s.Add(uint64(i), 0, 0)
		if i%2 == 0 {
			s.Started(uint64(i), float64(i))
		}
	}
	if len(s.Known) != ensemble.CorrectedJobs || len(s.Waiting) != ensemble.CorrectedJobs || s.Known[0] != 700 {
		t.Errorf("%d errors from %v on and %d guesses, want %d each and 700", len(s.Known), s.Known[0], len(s.Waiting),
			ensemble.CorrectedJobs)
	}
	if _, ok := s.Gone(999); !ok {
		t.Error("the newest guess is not there")
	}
	if _, ok := s.Gone(999); ok {
		t.Error("it is still there")
	}
}

// TestPriorities proves that the pool is simulated in the order of the jobs' priorities if they have some, and that a
// change of a priority moves its job.
func TestPriorities(t *testing.T) {
	e, err := New(Config{Capacity: 4, Synchronous: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	job := func(priority float64) track.Request {
		return track.Request{Queue: "batch", User: "u", Procs: 4, Limit: 1000, Priority: priority}
	}
	e.Submit(0, 1, job(5))
	e.Start(0, 1, true)
	for id := uint64(2); id < 6; id++ {
		e.Submit(1, id, job(10))
	}
	plan := func(priority float64) (float64, int) {
		r := job(priority)
		f := e.View(10).Forecast(&r)
		return f.Experts[ensemble.Limits][0], f.JobsAhead
	}
	// By the limits the running job ends at 1000, which is 990 from now, and each job ahead takes another 1000.
	for _, tc := range []struct {
		priority, wait float64
		ahead          int
	}{{20, 990, 0}, {10, 4990, 4}, {1, 4990, 4}, {0, 4990, 4}} {
		if wait, ahead := plan(tc.priority); math.Abs(wait-tc.wait) > 1 || ahead != tc.ahead {
			t.Errorf("with priority %v the plan is %v behind %d jobs, want %v behind %d", tc.priority, wait, ahead,
				tc.wait, tc.ahead)
		}
	}
	e.Update(10, 5, job(30))
	e.Update(10, 4, job(1))
	if wait, ahead := plan(20); math.Abs(wait-1990) > 1 || ahead != 1 {
		t.Errorf("with one job moved ahead the plan is %v behind %d jobs, want 1990 behind 1", wait, ahead)
	}
}
