package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor"
)

// rank leaves of the jobs that wait those that go before j, in the order in which they go: that of their submissions, or, where the scheduler tells its rules, of
// their priorities. A job of which another was told already when j was submitted (known) may pass j by its priority.
func rank(waiting []*cluster.Job, j *cluster.Job, rules *cluster.Rules, now time.Time, known func(*cluster.Job) bool) []*cluster.Job {
	if rules == nil {
		ahead := slices.DeleteFunc(waiting, func(w *cluster.Job) bool { return !first(w, j) })
		if !slices.IsSortedFunc(ahead, byOrder) {
			slices.SortStableFunc(ahead, byOrder)
		}
		return ahead
	}
	type ranked struct {
		cluster.Rank
		job *cluster.Job
	}
	mine := rules.Rank(j, now)
	var ahead []ranked
	for _, w := range waiting {
		r := rules.Rank(w, now)
		if c := r.Compare(mine); (c < 0 && (known(w) || first(w, j))) || c == 0 && first(w, j) {
			ahead = append(ahead, ranked{r, w})
		}
	}
	slices.SortFunc(ahead, func(a, b ranked) int { return cmp.Or(a.Compare(b.Rank), byOrder(a.job, b.job)) })
	out := waiting[:0]
	for _, r := range ahead {
		out = append(out, r.job)
	}
	return out
}

// scenes returns what may be known of the cluster at an instant by a job that was submitted then: a start at the very
// instant is not known yet.
func scenes(s *cluster.State, m predictor.Models, at time.Time, j *cluster.Job) *predictor.Scene {
	pool, one := s.Pool(j.Queue), s.OnePool()
	scene := predictor.NewScene(s.Name(), at, pool, j.Attributes, m)
	for _, r := range s.Running() {
		switch {
		case !one && s.Pool(r.Queue) != pool:
		case r.Start.Before(at):
			scene.Running = append(scene.Running, r)
		case r.ID != j.ID:
			scene.Ahead = append(scene.Ahead, r)
		}
	}
	for _, q := range s.Queued() {
		if q.ID != j.ID && !q.Held && (one || s.Pool(q.Queue) == pool) {
			scene.Ahead = append(scene.Ahead, q)
		}
	}
	known := func(w *cluster.Job) bool { return w.Submit.Before(at) }
	scene.Ahead = rank(scene.Ahead, j, s.Rules(), at, known)
	return scene
}

// Scene returns what a request that is submitted at the given instant sees of the pool that it competes for.
func (v *View) Scene(now time.Time, request job.Attributes) *predictor.Scene {
	pool := v.Pool(request.Queue)
	scene := predictor.NewScene(v.Cluster, now, pool, request, v.Models)
	scene.Running, scene.Ahead = v.Running, v.Queued
	if len(v.Pools) > 1 {
		elsewhere := func(j *cluster.Job) bool { return v.Pool(j.Queue) != pool }
		scene.Running = slices.DeleteFunc(slices.Clone(v.Running), elsewhere)
		scene.Ahead = slices.DeleteFunc(slices.Clone(v.Queued), elsewhere)
	}
	if slices.ContainsFunc(scene.Ahead, held) {
		scene.Ahead = slices.DeleteFunc(slices.Clone(scene.Ahead), held)
	}
	if v.Rules == nil {
		return scene
	}
	last := &cluster.Job{Attributes: request, Order: now, Submit: now, Seq: ^uint64(0)}
	everyone := func(*cluster.Job) bool { return true }
	scene.Ahead = rank(slices.Clone(scene.Ahead), last, v.Rules, now, everyone)
	return scene
}

func held(j *cluster.Job) bool { return j.Held }

func byOrder(a, b *cluster.Job) int {
	switch {
	case first(a, b):
		return -1
	case first(b, a):
		return 1
	}
	return 0
}

// first reports whether a comes before b in the order of submission.
func first(a, b *cluster.Job) bool {
	return a.Order.Before(b.Order) || a.Order.Equal(b.Order) && a.Seq < b.Seq
}
