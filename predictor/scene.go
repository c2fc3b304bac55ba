package predictor

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
)

// Scene is the input of a forecast: the request, and the picture of the pool that it competes for at one instant.
type Scene struct {
	Cluster string
	Now     time.Time
	// Pool is the pool that the request competes for.
	Pool *cluster.Pool
	// Request has the attributes of the request.
	Request job.Attributes
	// Dimension is the binding dimension of the request. All sizes are amounts of it.
	Dimension cluster.Dimension
	// Size is the size of the request, 0 if it is unknown.
	Size int
	// Running are the jobs that hold a part of the pool. They started at Now or before.
	Running []*cluster.Job
	// Ahead are the jobs that wait for the pool and go before the request, in the order in which they will start. An
	// array is one entry, with the number of its tasks.
	Ahead  []*cluster.Job
	Models Models
}

// NewScene returns the scene of a request, without running and waiting jobs.
func NewScene(name string, now time.Time, pool *cluster.Pool, request job.Attributes, models Models) *Scene {
	s := &Scene{Cluster: name, Now: now, Pool: pool, Request: request, Models: models}
	s.Dimension = pool.Dimension(&request)
	s.Size = pool.Size(&request, s.Dimension)
	return s
}

// Capacity returns the capacity of the pool in the scene's dimension.
func (s *Scene) Capacity() int { return s.Pool.Capacity(s.Dimension) }

// SizeOf returns the size of a job of the scene. It is 0 if the job takes nothing of the request's binding dimension;
// in processors it is at least 1.
func (s *Scene) SizeOf(j *cluster.Job) int {
	size := s.Pool.Size(&j.Attributes, s.Dimension)
	if s.Dimension == cluster.Procs {
		return max(1, size)
	}
	return size
}

// maxTasks is the maximum number of tasks of one array that are considered. Later tasks do not affect any wait that
// can be forecast.
const maxTasks = 10_000

// tasks returns the number of tasks of a waiting array, at most maxTasks; 1 for other jobs.
func tasks(j *cluster.Job) int { return min(max(1, j.Tasks), maxTasks) }

// closures returns the times at which the request cannot start, because the outages that it would run into together
// leave too little of the pool. These times are sorted and do not overlap. It also returns the usable capacity: the
// present one if the request fits into it, otherwise the capacity after the present outages.
func (s *Scene) closures() ([]waittime.Closure, int) {
	capacity, full := s.Capacity(), s.Capacity()
	var steps []outageChange
	for i := range s.Pool.Outages {
		o := &s.Pool.Outages[i]
		takes, until := s.taken(o), math.Inf(1)
		if o.InForce(s.Now) {
			full += takes
		}
		if !o.Until.IsZero() {
			until = o.Until.Sub(s.Now).Seconds()
		}
		if from := o.From.Sub(s.Now).Seconds(); until > max(0, from) {
			steps = append(steps, outageChange{from, takes}, outageChange{until, -takes})
		}
	}
	// An outage that ends when another one begins leaves its part to it: the ends come first.
	slices.SortFunc(steps, func(a, b outageChange) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.takes, b.takes))
	})
	var out []waittime.Closure
	taken, limit := 0, s.Request.TimeLimit.Seconds()
	for i := range steps {
		fitted := full-taken >= s.Size
		taken += steps[i].takes
		switch fits := full-taken >= s.Size; {
		case fitted && !fits:
			from := steps[i].at - limit
			if n := len(out); n > 0 && from <= out[n-1].Until {
				out[n-1].Until = math.Inf(1) // until the next end
				continue
			}
			out = append(out, waittime.Closure{From: max(0, from), Until: math.Inf(1)})
		case !fitted && fits:
			out[len(out)-1].Until = steps[i].at
		}
	}
	if s.Size > capacity {
		capacity = full
	}
	return out, capacity
}

// outageChange is a change of what all outages take: at an instant, in seconds from now, the beginning of one takes
// more and its end takes less.
type outageChange struct {
	at    float64
	takes int
}

// taken returns the amount of the scene's dimension that an outage takes.
func (s *Scene) taken(o *job.Outage) int {
	a := job.Attributes{Procs: o.Procs, Nodes: o.Nodes, GPUs: o.GPUs, Memory: o.Memory}
	return s.Pool.Size(&a, s.Dimension)
}

// MoveOut changes waits, in seconds, in place. If a wait would end while an outage keeps the request from starting,
// it is moved to the end of the outage, or to +Inf if that end is unknown. MoveOut reports whether it moved any wait.
func (s *Scene) MoveOut(waits []float64) bool {
	closed, _ := s.closures()
	moved := false
	for i, q := range waits {
		for _, c := range closed {
			if q > c.From && q < c.Until || q == 0 && c.From == 0 {
				q = c.Until
			}
		}
		moved = moved || q != waits[i]
		waits[i] = q
	}
	return moved
}

// Distribution returns the distribution of the request's wait from quantiles at waittime.Levels. The given quantiles
// may fall with the level, and they ignore outages. Distribution makes them rise and moves them out of the outages. The
// error is a *waittime.QuantilesError.
func (s *Scene) Distribution(quantiles []float64) (*waittime.Distribution, error) {
	closed, _ := s.closures()
	return waittime.NewDistribution(waittime.Levels(), waittime.Rising(quantiles), closed...)
}
