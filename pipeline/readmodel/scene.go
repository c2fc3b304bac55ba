package readmodel

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor"
)

// rank returns the waiting jobs that come before j by the scheduler's rules, in the order of the rules. It reuses the
// memory of waiting.
func rank(waiting []*cluster.Job, j *cluster.Job, rules *cluster.Rules, now time.Time) []*cluster.Job {
	mine := rules.Rank(j, now)
	ahead := slices.DeleteFunc(waiting, func(w *cluster.Job) bool {
		c := rules.Rank(w, now).Compare(mine)
		return c > 0 || c == 0 && cluster.ByOrder(w, j) >= 0
	})
	rules.Sort(ahead, now)
	return ahead
}

// Pooled returns a scene for a request that is submitted at the given instant. It has the pool for which the request
// competes and the running jobs of that pool, but no waiting jobs.
func (v *View) Pooled(now time.Time, request job.Attributes) *predictor.Scene {
	pool := v.Pool(request.Queue)
	scene := predictor.NewScene(v.Cluster, now, pool.Grown(&request), request, v.Models)
	scene.Running = v.Running
	if len(v.Pools) > 1 {
		scene.Running = slices.DeleteFunc(slices.Clone(v.Running), v.outside(pool))
	}
	return scene
}

// outside returns a function that reports whether a job does not compete for the given pool.
func (v *View) outside(pool *cluster.Pool) func(*cluster.Job) bool {
	return func(j *cluster.Job) bool { return v.Pool(j.Queue) != pool }
}

// Scene returns a scene for a request that is submitted at the given instant: the pool for which it competes, with the
// running jobs of the pool and the waiting jobs ahead of the request. If the scheduler's rules are unknown, these are
// all waiting jobs of the pool that are not held.
func (v *View) Scene(now time.Time, request job.Attributes) *predictor.Scene {
	scene := v.Pooled(now, request)
	scene.Ahead = v.Queued
	if len(v.Pools) > 1 {
		scene.Ahead = slices.DeleteFunc(slices.Clone(v.Queued), v.outside(v.Pool(request.Queue)))
	}
	if slices.ContainsFunc(scene.Ahead, held) {
		scene.Ahead = slices.DeleteFunc(slices.Clone(scene.Ahead), held)
	}
	if v.Rules == nil {
		return scene
	}
	last := &cluster.Job{Attributes: request, Order: now, Submit: now, Seq: ^uint64(0)}
	scene.Ahead = rank(slices.Clone(scene.Ahead), last, v.Rules, now)
	return scene
}

func held(j *cluster.Job) bool { return j.Held }
