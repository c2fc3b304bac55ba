package outlook

import (
	"fmt"
	"math"

	"github.com/waitcast/waitcast/predictor/residual"
)

// Job is a waiting or running job as far as it is known.
type Job struct {
	ID               uint64
	Queue, User, App string
	Procs            int     // number of requested processors, at least 1
	Limit            float64 // time limit in seconds, 0 for none or unknown
	Submit           float64 // instant
	// Eligible is the instant from which a waiting job competes. Any past time, or 0, means now; +Inf means that the
	// job is held.
	Eligible float64
	// Start is the instant at which a running job started.
	Start float64
}

func (j *Job) law() residual.Job {
	return residual.Job{Queue: j.Queue, User: j.User, App: j.App, Procs: j.Procs, Limit: j.Limit}
}

// Outage is a number of processors of a pool that are unavailable from one instant to another, which may be +Inf.
type Outage struct {
	From, Until float64
	Procs       int
}

// Pool is a set of processors for which only the jobs of some queues compete.
type Pool struct {
	Name    string
	Procs   int // number of all processors, including those of Outages
	Queues  []string
	Outages []Outage
}

// State is a cluster at an instant.
type State struct {
	Now float64
	// Pools are disjoint. Jobs of queues without a pool compete for the first.
	Pools []Pool
	// Running are the jobs that hold processors. Waiting are the waiting jobs in the scheduler's order.
	Running, Waiting []Job
}

// StateError reports an invalid number in a State or a job.
type StateError struct {
	Field string // waiting[3].procs
	Value float64
	Need  string
}

// Error names the field, its value, and what it needs.
func (e *StateError) Error() string {
	return fmt.Sprintf("outlook: %s is %v: need %s", e.Field, e.Value, e.Need)
}

func isTime(x float64) bool  { return x >= 0 && x < 1e15 }
func isProcs(n int) bool     { return n >= 1 && n <= math.MaxInt32/2 }
func isLimit(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// check returns an error for an invalid State.
func (s *State) check() error {
	if !isTime(s.Now) {
		return &StateError{"now", s.Now, "seconds from 0"}
	}
	if len(s.Pools) == 0 || len(s.Pools) > 1024 {
		return &StateError{"number of pools", float64(len(s.Pools)), "1 to 1024"}
	}
	for i, p := range s.Pools {
		if !isProcs(p.Procs) {
			return &StateError{fmt.Sprintf("pools[%d].procs", i), float64(p.Procs), "1 to 2^30"}
		}
		for _, o := range p.Outages {
			if !(o.From < o.Until) || o.Procs < 0 || o.Procs > p.Procs {
				return &StateError{fmt.Sprintf("outage of pools[%d], procs,", i), float64(o.Procs),
					"up to the pool's, away for some time"}
			}
		}
	}
	for _, list := range []struct {
		name string
		jobs []Job
	}{{"running", s.Running}, {"waiting", s.Waiting}} {
		for i := range list.jobs {
			j := &list.jobs[i]
			if !isProcs(j.Procs) {
				return &StateError{fmt.Sprintf("%s[%d].procs", list.name, i), float64(j.Procs), "1 to 2^30"}
			}
			if !isLimit(j.Limit) {
				return &StateError{fmt.Sprintf("%s[%d].limit", list.name, i), j.Limit, "seconds from 0"}
			}
		}
	}
	return nil
}

// Procs returns the processors of all pools.
func (s *State) Procs() int {
	n := 0
	for _, p := range s.Pools {
		n += p.Procs
	}
	return n
}
