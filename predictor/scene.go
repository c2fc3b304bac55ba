package predictor

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// Scene is what a forecast may know: the request, and the picture of the pool that it competes for at one instant.
type Scene struct {
	Cluster string
	Now     time.Time
	// Pool is what the request competes for.
	Pool *cluster.Pool
	// Request is what the job asks for.
	Request job.Attributes
	// Dimension is what binds for it; all sizes are numbers of that.
	Dimension cluster.Dimension
	// Size is the request's, 0 if it is not known.
	Size int
	// Running hold a part of the pool since an instant not later than Now.
	Running []*cluster.Job
	// Ahead wait for the pool and come before the request, in the order in which they will start. An array is one of
	// them, with the number of its tasks.
	Ahead  []*cluster.Job
	Models Models
}

// NewScene returns the scene of a request, without the jobs that run and wait.
func NewScene(name string, now time.Time, pool *cluster.Pool, request job.Attributes, models Models) *Scene {
	s := &Scene{Cluster: name, Now: now, Pool: pool, Request: request, Models: models}
	s.Dimension = pool.Dimension(&request)
	s.Size = pool.Size(&request, s.Dimension)
	return s
}

// Capacity returns the size of the pool.
func (s *Scene) Capacity() int { return s.Pool.Capacity(s.Dimension) }

// SizeOf returns the size of a job of the scene, 0 if it takes nothing of what binds for the request.
func (s *Scene) SizeOf(j *cluster.Job) int {
	size := s.Pool.Size(&j.Attributes, s.Dimension)
	if s.Dimension == cluster.Procs {
		return max(1, size)
	}
	return size
}

// maxTasks is how many tasks of one array are looked at: those behind them do not affect any wait that can be forecast.
const maxTasks = 10_000

// tasks returns the number of jobs that a waiting record stands for.
func tasks(j *cluster.Job) int { return min(max(1, j.Tasks), maxTasks) }

// closure is a time, in seconds from the scene's instant, during which the request cannot start, because too little of
// the pool is left by an outage that it would run into.
type closure struct{ from, until float64 }

// closures returns when the request cannot start, in order and apart from each other, and the capacity that it can hope
// for: that of now, or, if it is larger, what the outages of now will give back.
func (s *Scene) closures() ([]closure, int) {
	capacity, full := s.Capacity(), s.Capacity()
	for _, o := range s.Pool.Outages {
		if !o.From.After(s.Now) && (o.Until.IsZero() || o.Until.After(s.Now)) {
			full += s.taken(&o)
		}
	}
	var out []closure
	for _, o := range s.Pool.Outages {
		until := math.Inf(1)
		if !o.Until.IsZero() {
			until = o.Until.Sub(s.Now).Seconds()
		}
		from := o.From.Sub(s.Now).Seconds() - s.Request.TimeLimit.Seconds()
		if until <= 0 || full-s.taken(&o) >= s.Size {
			continue
		}
		if n := len(out); n > 0 && from <= out[n-1].until {
			out[n-1].until = max(out[n-1].until, until)
			continue
		}
		out = append(out, closure{max(0, from), until})
	}
	if s.Size > capacity {
		capacity = full
	}
	return out, capacity
}

// taken returns how much of the scene's dimension an outage takes.
func (s *Scene) taken(o *job.Outage) int {
	a := job.Attributes{Procs: o.Procs, Nodes: o.Nodes, GPUs: o.GPUs, Memory: o.Memory}
	return s.Pool.Size(&a, s.Dimension)
}

// MoveOut moves the waits, in seconds, that end while the request cannot start because of an outage to the end of that,
// in place. It reports whether there was any. A wait is +Inf where nobody knows the end.
func (s *Scene) MoveOut(waits []float64) bool {
	closed, _ := s.closures()
	moved := false
	for i, q := range waits {
		for _, c := range closed {
			if q > c.from && q < c.until || q == 0 && c.from == 0 {
				q = c.until
			}
		}
		moved = moved || q != waits[i]
		waits[i] = q
	}
	return moved
}

// moveOut moves the waits of a result that end while the request cannot start to the ends of those times. The result's
// Within must begin with the horizons and go on with the beginnings of the closures. It reports whether there was any.
func moveOut(r *headqueue.Result, closed []closure, horizons []float64) bool {
	moved := false
	for i, q := range r.Quantiles {
		for _, c := range closed {
			if q > c.from && q < c.until || q == 0 && c.from == 0 {
				q = c.until
			}
		}
		moved = moved || q != r.Quantiles[i]
		r.Quantiles[i] = q
	}
	before := r.Within[len(horizons):]
	for i, h := range horizons {
		for k, c := range closed {
			switch {
			case h <= c.from || h >= c.until:
			case c.from == 0:
				r.Within[i] = 0
			default:
				r.Within[i] = before[k]
			}
		}
	}
	r.Within = r.Within[:len(horizons)]
	return moved
}
