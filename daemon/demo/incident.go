package demo

import (
	"fmt"
	"math"
	"time"

	"github.com/waitcast/waitcast/simulator"
)

// Incident is an event in the simulated cluster. It shows how the daemon and its alerts react. The incidents are
// Flurry, Silence, and Talk, which ends a silence.
type Incident func(*scenario) error

// scenario is a cluster together with the incidents that happened.
type scenario struct {
	*cluster
	hush, silent bool // hush: the log becomes silent as soon as jobs run; silent: the log is silent
}

// These describe the jobs of a flurry. A new user submits them. Each uses one processor for a minute and requests a
// far longer time.
const (
	flurryUser    = users
	flurryRuntime = 60 // in seconds
	flurryLimit   = 12 * time.Hour
	flurryTakes   = 4 * time.Hour // time from its first to its last submission
)

// Flurry returns an incident in which one user submits the given number of small jobs to the queue "long" within four
// hours of simulated time.
func Flurry(jobs int) Incident {
	return func(s *scenario) error {
		begins := math.Ceil(s.sim.Now())
		for i := range jobs {
			s.jobs++
			err := s.sim.Submit(simulator.Job{
				ID: s.jobs, Submit: begins + math.Floor(flurryTakes.Seconds()*float64(i)/float64(jobs)), Procs: 1,
				Runtime: flurryRuntime, Limit: flurryLimit.Seconds(), Queue: queueOf(flurryLimit), User: flurryUser,
			})
			if err != nil {
				return fmt.Errorf("flurry: %w", err)
			}
		}
		return nil
	}
}

// Silence returns an incident in which the cluster stops writing its log, from the next instant at which jobs run.
// The clocks of the cluster and of the daemon continue.
func Silence() Incident {
	return func(s *scenario) error {
		s.hush = true
		return nil
	}
}

// Talk returns an incident that ends a Silence: the missed records are written at once.
func Talk() Incident {
	return func(s *scenario) error {
		s.hush, s.silent = false, false
		return nil
	}
}

// advance simulates the machine up to an instant, unless its log is silent.
func (s *scenario) advance(until time.Time) error {
	if s.silent {
		return nil
	}
	err := s.cluster.advance(until)
	s.silent = s.hush && s.sim.Running() > 0
	return err
}
