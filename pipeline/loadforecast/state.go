package loadforecast

import (
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/outlook"
)

const (
	// maxTasks is the maximum number of waiting tasks of one array that the forecaster gets. The other tasks are left
	// out until they start.
	maxTasks = 1000
	// maxWaiting is the maximum number of waiting jobs that a forecast includes. Each task of an array counts as one.
	// If there are more, those that would start last are left out.
	maxWaiting = 50_000
)

// seconds converts an instant to seconds since 1970, the clock of the forecaster.
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// tasks returns the number of tasks that a job represents, at most maxTasks. It is 1 if the job is not an array.
func tasks(j *cluster.Job) int { return min(max(1, j.Tasks), maxTasks) }

// taskID returns the id of a task, made of the number and the attempt of its job in the cluster's state and of the
// number of the task. Task 0 is the first task of an array, or a job that is not an array.
func taskID(j *cluster.Job, task int) uint64 {
	return j.Seq<<20 | uint64(j.Attempt&0xff)<<12 | uint64(task&0xfff)
}

// jobOf converts a job to the form that the forecaster uses, with the given name.
func jobOf(name uint64, j *cluster.Job) outlook.Job {
	return outlook.Job{
		ID: name, Queue: j.Queue, User: j.User, App: j.Name, Procs: max(1, j.Procs),
		Limit: j.TimeLimit.Seconds(), Submit: math.Max(0, seconds(j.Submit)),
	}
}

// stateOf converts the cluster at an instant to the form that the forecaster uses. Suspended jobs are not included.
// leftOut is the number of waiting jobs that were left out. name returns the forecaster's name of the task with a given
// id.
func stateOf(v *cluster.View, at time.Time, name func(uint64) uint64) (_ outlook.State, leftOut int) {
	s := outlook.State{Now: seconds(at), Pools: poolsOf(v, at), Running: make([]outlook.Job, 0, len(v.Running))}
	for _, j := range v.Running {
		if !j.Holds() { // suspended, for an unknown time
			continue
		}
		r := jobOf(name(taskID(j, 0)), j)
		r.Start = s.Now - j.Age(at).Seconds() // without the time of suspensions
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

// poolsOf returns the pools of the cluster with their whole capacity and their outages. An outage that has begun is not
// subtracted from the capacity.
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
			// In p the processors of this outage are subtracted from the capacity, so add them.
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
