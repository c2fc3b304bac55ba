package readmodel

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor"
)

// rank returns the waiting jobs that start before j, in the order of the scheduler's rules. It reuses the list.
func rank(waiting []*cluster.Job, j *cluster.Job, rules *cluster.Rules, now time.Time) []*cluster.Job {
	mine := rules.Rank(j, now)
	ahead := slices.DeleteFunc(waiting, func(w *cluster.Job) bool {
		c := rules.Rank(w, now).Compare(mine)
		return c > 0 || c == 0 && cluster.ByOrder(w, j) >= 0
	})
	rules.Sort(ahead, now)
	return ahead
}

// Pooled returns the scene of a request that is submitted at the given instant: the pool that it competes for, with its
// running jobs and without its waiting ones.
func (v *View) Pooled(now time.Time, request job.Attributes) *predictor.Scene {
	pool := v.Pool(request.Queue)
	scene := predictor.NewScene(v.Cluster, now, pool.Grown(&request), request, v.Models)
	scene.Running = v.Running
	if len(v.Pools) > 1 {
		scene.Running = slices.DeleteFunc(slices.Clone(v.Running), v.outside(pool))
	}
	return scene
}

// outside returns a predicate of the jobs that do not compete for a pool.
func (v *View) outside(pool *cluster.Pool) func(*cluster.Job) bool {
	return func(j *cluster.Job) bool { return v.Pool(j.Queue) != pool }
}

// Scene returns the pool that a request submitted at the given instant competes for, with its running jobs and the
// waiting jobs ahead of the request.
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
