package loadforecast

import (
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/outlook"
)

const (
	// maxTasks is the maximum number of waiting tasks of an array that are included. The other tasks are left out
	// until they start.
	maxTasks = 1000
	// maxWaiting is the maximum number of waiting jobs in a state. Each task of an array counts as one. The last jobs
	// of the queue order are left out.
	maxWaiting = 50_000
)

// seconds returns an instant in seconds since 1970, the clock of the forecasts.
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// tasks returns the number of tasks that a job represents, 1 if it is not an array.
func tasks(j *cluster.Job) int { return min(max(1, j.Tasks), maxTasks) }

// taskID returns the id of a task of an attempt of a job in the cluster's state. Task 0 is the first task, or a job
// that is not an array.
func taskID(j *cluster.Job, task int) uint64 {
	return j.Seq<<20 | uint64(j.Attempt&0xff)<<12 | uint64(task&0xfff)
}

// jobOf converts a job to the forecaster's form, with the given name.
func jobOf(name uint64, j *cluster.Job) outlook.Job {
	return outlook.Job{
		ID: name, Queue: j.Queue, User: j.User, App: j.Name, Procs: max(1, j.Procs),
		Limit: j.TimeLimit.Seconds(), Submit: math.Max(0, seconds(j.Submit)),
	}
}

// stateOf converts the cluster at an instant to the forecaster's form, and returns the number of jobs that were left
// out. name maps the id of a task to the forecaster's name of the task.
func stateOf(v *cluster.View, at time.Time, name func(uint64) uint64) (_ outlook.State, leftOut int) {
	s := outlook.State{Now: seconds(at), Pools: poolsOf(v, at), Running: make([]outlook.Job, 0, len(v.Running))}
	for _, j := range v.Running {
		if !j.Holds() { // the job is suspended for an unknown time
			continue
		}
		r := jobOf(name(taskID(j, 0)), j)
		r.Start = s.Now - j.Age(at).Seconds() // the time of suspensions is no part of a lifetime
		s.Running = append(s.Running, r)
	}
	waiting := v.Queued
	if v.Rules != nil {
		waiting = slices.Clone(waiting)
		v.Rules.Sort(waiting, at)
	}
	for _, j := range waiting {
		n := tasks(j)
		fit := min(n, maxWaiting-len(s.Waiting))
		leftOut += max(1, j.Tasks) - fit
		for task := range fit {
			w := jobOf(name(taskID(j, task)), j)
			switch {
			case j.Held:
				w.Eligible = math.Inf(1)
			case j.Eligible.After(at):
				w.Eligible = seconds(j.Eligible)
			}
			s.Waiting = append(s.Waiting, w)
		}
	}
	return s, leftOut
}

// poolsOf returns the pools with their whole capacity. The pools' outages contain the parts that are down.
func poolsOf(v *cluster.View, at time.Time) []outlook.Pool {
	out := make([]outlook.Pool, len(v.Pools))
	for i, p := range v.Pools {
		pool := outlook.Pool{Name: p.Name, Procs: int(p.Has[cluster.Procs]), Queues: p.Queues}
		if p.Name == "" {
			pool.Procs = v.Capacity
		}
		for _, o := range p.Outages {
			away := outlook.Outage{From: seconds(o.From), Until: math.Inf(1), Procs: o.Procs}
			if !o.Until.IsZero() {
				away.Until = seconds(o.Until)
			}
			if away.Until <= seconds(at) || away.From >= away.Until || away.Procs < 1 {
				continue
			}
			// The capacity excludes this outage already.
			if o.InForce(v.At) {
				pool.Procs += o.Procs
			}
			pool.Outages = append(pool.Outages, away)
		}
		pool.Procs = max(1, pool.Procs)
		for k := range pool.Outages {
			pool.Outages[k].Procs = min(pool.Outages[k].Procs, pool.Procs)
		}
		out[i] = pool
	}
	return out
}
