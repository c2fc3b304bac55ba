package demo

import (
	"fmt"
	"math"
	"time"

	"github.com/waitcast/waitcast/simulator"
)

// Incident is something that befalls the simulated cluster while it goes on, so that one sees what the daemon and its
// alerts make of it: a Flurry, a Silence, or the end of one, Talk.
type Incident func(*scenario) error

// scenario is a cluster and what befell it.
type scenario struct {
	*cluster
	hush, silent bool // to be silent as soon as jobs run; silent
}

// The jobs of a flurry: one processor each for a minute, of one user who is new and asks for far too long.
const (
	flurryUser    = users
	flurryRuntime = 60 // seconds
	flurryLimit   = 12 * time.Hour
	flurryTakes   = 20 * time.Minute // from its first submission to its last
)

// Flurry lets one user submit so many small jobs to the queue long within 20 minutes of simulated time.
func Flurry(jobs int) Incident {
	return func(s *scenario) error {
		begins := math.Ceil(s.sim.Now())
		for i := range jobs {
			s.jobs++
			err := s.sim.Submit(simulator.Job{
				ID: s.jobs, Submit: begins + math.Floor(flurryTakes.Seconds()*float64(i)/float64(jobs)), Procs: 1,
				Runtime: flurryRuntime, Estimate: flurryLimit.Seconds(), Queue: queueOf(flurryLimit), User: flurryUser,
			})
			if err != nil {
				return fmt.Errorf("flurry: %w", err)
			}
		}
		return nil
	}
}

// Silence keeps the cluster from writing into its log, from the next moment on at which jobs run, although its clock,
// and the daemon's, goes on.
func Silence() Incident {
	return func(s *scenario) error {
		s.hush = true
		return nil
	}
}

// Talk ends a Silence: the log gets at once what it missed.
func Talk() Incident {
	return func(s *scenario) error {
		s.hush, s.silent = false, false
		return nil
	}
}

// advance lets the machine run up to an instant, unless its log is silent.
func (s *scenario) advance(until time.Time) error {
	if s.silent {
		return nil
	}
	err := s.cluster.advance(until)
	s.silent = s.hush && s.sim.Running() > 0
	return err
}
