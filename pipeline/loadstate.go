package pipeline

import (
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/outlook"
)

const (
	// mostTasks bounds the tasks of an array that are told apart; the others are left out until they start.
	mostTasks = 1000
	// mostPlayed bounds the jobs that wait in a state, each task one: those last in the order are left out.
	mostPlayed = 50_000
)

// tasks is the number of tasks that a job counts for.
func tasks(j *cluster.Job) int { return min(max(1, j.Tasks), mostTasks) }

// taskID names a task of an attempt of a job in the picture; 0 is the first, or what is no array.
func taskID(j *cluster.Job, task int) uint64 {
	return j.Seq<<20 | uint64(j.Attempt&0xff)<<12 | uint64(task&0xfff)
}

// loadJob returns a job as it is told.
func loadJob(id uint64, j *cluster.Job) outlook.Job {
	return outlook.Job{
		ID: id, Queue: j.Queue, User: j.User, App: j.Name, Procs: max(1, j.Procs), Limit: j.TimeLimit.Seconds(), Submit: math.Max(0, clock(j.Submit)),
	}
}

// loadState returns the picture at an instant, with the number of jobs that were too many. Names are given by name.
func loadState(v *cluster.View, at time.Time, name func(uint64) uint64) (_ outlook.State, leftOut int) {
	s := outlook.State{Now: clock(at), Pools: loadPools(v, at), Running: make([]outlook.Job, 0, len(v.Running))}
	for _, j := range v.Running {
		if !j.Holds() { // it is suspended: nobody knows until when
			continue
		}
		r := loadJob(name(taskID(j, 0)), j)
		r.Start = s.Now - j.Age(at).Seconds() // the time of its suspensions is no part of its life
		s.Running = append(s.Running, r)
	}
	waiting := v.Queued
	if v.Rules != nil {
		waiting = ranked(slices.Clone(waiting), v.Rules, at)
	}
	for _, j := range waiting {
		n := tasks(j)
		fit := min(n, mostPlayed-len(s.Waiting))
		leftOut += max(1, j.Tasks) - fit
		for task := range fit {
			w := loadJob(name(taskID(j, task)), j)
			switch {
			case j.Held:
				w.Eligible = math.Inf(1)
			case j.Eligible.After(at):
				w.Eligible = clock(j.Eligible)
			}
			s.Waiting = append(s.Waiting, w)
		}
	}
	return s, leftOut
}

// loadPools returns the pools with all that they have; what is away is in their outages.
func loadPools(v *cluster.View, at time.Time) []outlook.Pool {
	out := make([]outlook.Pool, len(v.Pools))
	for i, p := range v.Pools {
		pool := outlook.Pool{Name: p.Name, Procs: int(p.Has[cluster.Procs]), Queues: p.Queues}
		if p.Name == "" {
			pool.Procs = v.Capacity
		}
		for _, o := range p.Outages {
			away := outlook.Outage{From: clock(o.From), Until: math.Inf(1), Procs: o.Procs}
			if !o.Until.IsZero() {
				away.Until = clock(o.Until)
			}
			if away.Until <= clock(at) || away.From >= away.Until || away.Procs < 1 {
				continue
			}
			if !o.From.After(v.At) && (o.Until.IsZero() || o.Until.After(v.At)) { // what the pool has is without it
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
