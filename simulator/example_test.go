package simulator_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/waitcast/waitcast/simulator"
)

// Example shows a run from a list of jobs to its measures.
func Example() {
	jobs := []simulator.Job{
		{ID: 1, Submit: 0, Procs: 3, Runtime: 80, Limit: 100},
		{ID: 2, Submit: 10, Procs: 4, Runtime: 50, Limit: 60}, // has to wait for job 1
		{ID: 3, Submit: 20, Procs: 1, Runtime: 40, Limit: 60}, // overtakes, because it will have ended by then
	}
	s, err := simulator.New(simulator.Config{Procs: 4, Policy: new(simulator.EASY),
		Arrivals: simulator.FromSlice(jobs)})
	if err != nil {
		fmt.Println(err)
		return
	}
	measures := simulator.NewCollector(simulator.Measure{Procs: 4, Until: 130})
	if err := s.Advance(math.Inf(1), func(e simulator.Event) {
		measures.Observe(e)
		if e.Kind == simulator.Started {
			fmt.Printf("job %d starts at %g s\n", e.Job.ID, e.Time)
		}
	}); err != nil {
		fmt.Println(err)
		return
	}
	report := measures.Report()
	fmt.Printf("mean wait %.1f s, utilization %.2f\n", report.All.Wait.Mean, report.Utilization)
	// Output:
	// job 1 starts at 0 s
	// job 3 starts at 20 s
	// job 2 starts at 80 s
	// mean wait 23.3 s, utilization 0.92
}

// ExampleReplicas computes the wait of a job that waits now from a hundred replicas of the future.
func ExampleReplicas() {
	state, err := simulator.New(simulator.Config{Procs: 4, Policy: new(simulator.EASY)})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := state.Load(simulator.State{
		Now:     1000,
		Running: []simulator.Job{{ID: 1, Start: 400, Procs: 3, Runtime: 900, Limit: 1800}},
		Waiting: []simulator.Job{{ID: 2, Submit: 900, Procs: 2, Runtime: 60, Limit: 600}},
	}); err != nil {
		fmt.Println(err)
		return
	}
	waits, err := simulator.Replicas(context.Background(), 100, 0, 1,
		func() *simulator.Simulator { return new(simulator.Simulator) },
		func(s *simulator.Simulator, _ int, rng *rand.Rand) (float64, error) {
			s.CopyFrom(state)
			s.Redraw(func(j *simulator.Job) float64 { return (j.Start + j.Limit - s.Now()) * rng.Float64() })
			for {
				e, ok, err := s.Next(math.Inf(1))
				if err != nil || !ok || e.Kind == simulator.Started && e.Job.ID == 2 {
					return e.Time - 1000, err
				}
			}
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean, err := simulator.Confidence(waits, .95)
	fmt.Println(mean.Low < 600 && 600 < mean.High, mean.N, err) // lifetimes are uniform up to 1200 s from now
	// Output: true 100 <nil>
}
