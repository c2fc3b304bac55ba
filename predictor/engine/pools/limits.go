package pools

import (
	"math"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// limitUse is what the jobs of a pool have, and want, of a limit.
type limitUse struct {
	most, used, wanted joblimits.Amounts
	number             int32 // in the state of the simulation; -1 for a limit that cannot bind
}

// limitUses finds the limits that may keep a job of the pool, or a request with bounds of its own, from starting at an
// instant: those that all jobs together, running and waiting, would exceed. It is nil where there are none.
func (f *Facts) limitUses(at float64, own []joblimits.Bound, ownLimit float64) map[joblimits.Key]*limitUse {
	if !f.limited && len(own) == 0 {
		return nil
	}
	uses := map[joblimits.Key]*limitUse{}
	want := func(bounds []joblimits.Bound, limit float64) {
		for i := range bounds {
			b := &bounds[i]
			u := uses[b.Key]
			if u == nil {
				u = &limitUse{most: b.Most, number: -1}
				uses[b.Key] = u
			}
			plus(&u.wanted, &b.Has, plannedWork(limit))
		}
	}
	want(own, ownLimit)
	for i := range f.queued {
		want(f.queued[i].bounds, f.queued[i].Limit)
	}
	for _, jobs := range [...][]Member{f.Running, f.elsewhere} {
		for i := range jobs {
			r := &jobs[i]
			for k := range r.bounds {
				if u := uses[r.bounds[k].Key]; u != nil {
					plus(&u.used, &r.bounds[k].Has, math.Max(0, plannedWork(r.Limit)-math.Max(0, at-r.Start)))
				}
			}
		}
	}
	return uses
}

// plannedWork returns the seconds that a job without a time limit counts for in a limit on work.
func plannedWork(limit float64) float64 {
	if limit > 0 {
		return limit
	}
	return 365 * 86400
}

// plus adds what a job has; its work is that of so many seconds.
func plus(to, has *joblimits.Amounts, seconds float64) {
	for k, a := range has {
		if k == joblimits.Work {
			a = int64(math.Ceil(float64(a) * seconds))
		}
		to[k] += a
	}
}

// mayBind reports whether all jobs that run and wait would have more than the limit allows.
func (u *limitUse) mayBind() bool {
	for k, most := range u.most {
		if most != joblimits.Unbounded && u.used[k]+u.wanted[k] > most {
			return true
		}
	}
	return false
}

// applyLimits adds the limits that may bind to a state, with the jobs that run in other pools and count in them, and
// returns what a request with such bounds would have of them.
func (f *Facts) applyLimits(s *forward.State, at float64, own []joblimits.Bound,
	ownLimit float64) []forward.Holding {
	s.Limits = s.Limits[:0]
	uses := f.limitUses(at, own, ownLimit)
	if uses == nil {
		return nil
	}
	number := func(bounds []joblimits.Bound) {
		for i := range bounds {
			b := &bounds[i]
			if u := uses[b.Key]; u.number < 0 && u.mayBind() {
				u.number = int32(len(s.Limits)) //nolint:gosec // at most a few for each job
				s.Limits = append(s.Limits, forward.Limit{Most: forward.Amounts(b.Most)})
			}
		}
	}
	number(own)
	for i := range f.queued {
		number(f.queued[i].bounds)
	}
	if len(s.Limits) == 0 {
		return nil
	}
	for i := range f.Running {
		s.Running[i].Holds = holdings(f.Running[i].bounds, uses)
	}
	for i := range f.queued {
		s.Waiting[i].Holds = holdings(f.queued[i].bounds, uses)
	}
	for i := range f.elsewhere {
		r := &f.elsewhere[i]
		s.Running = append(s.Running, forward.Running{Key: r.key, Group: r.group, Age: math.Max(0, at-r.Start),
			Limit: r.Limit, Law: r.Law, Holds: holdings(r.bounds, uses)})
	}
	return holdings(own, uses)
}

// holdings returns what a job has of the limits that may bind.
func holdings(bounds []joblimits.Bound, uses map[joblimits.Key]*limitUse) (out []forward.Holding) {
	for i := range bounds {
		if u := uses[bounds[i].Key]; u != nil && u.number >= 0 {
			out = append(out, forward.Holding{Limit: u.number, Amounts: forward.Amounts(bounds[i].Has)})
		}
	}
	return out
}

// bound returns the state of the pool and the request in it where limits hold for the request that may bind, with the
// gates of surfaces; a nil request where none does.
func (f *Facts) bound(at float64, r *RankedRequest) (*forward.State, *forward.Request) {
	if len(r.Bounds) == 0 || r.Procs > f.most() {
		return nil, nil
	}
	s := &forward.State{}
	holds := f.stateFor(s, at, r)
	if holds == nil {
		return nil, nil
	}
	s.Gates = f.gates.Coarse(at)
	s.Capacity = max(s.Capacity, r.Procs)
	q := &forward.Request{Procs: r.Procs, Limit: r.Limit, Rank: f.rankOfRequest(at, r), Holds: holds}
	q.Behind = s.Behind(q.Rank)
	return s, q
}

// withinLimits leaves of holes what the limits of a request, whose size does not count, let start at once.
func (f *Facts) withinLimits(holes []forward.Opening, at float64, r *RankedRequest) []forward.Opening {
	if len(r.Bounds) == 0 || len(holes) == 0 {
		return holes
	}
	most := int64(math.MaxInt64)
	uses := f.limitUses(at, r.Bounds, 0)
	for i := range r.Bounds {
		u := uses[r.Bounds[i].Key]
		if u.most[joblimits.Jobs] != joblimits.Unbounded && u.used[joblimits.Jobs] >= u.most[joblimits.Jobs] {
			return nil
		}
		if u.most[joblimits.Procs] != joblimits.Unbounded {
			most = min(most, u.most[joblimits.Procs]-u.used[joblimits.Procs])
		}
	}
	var out []forward.Opening
	for _, h := range holes {
		if h.Procs = int(min(int64(h.Procs), most)); h.Procs < 1 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Procs == h.Procs { // the later one has the longer limit
			out[n-1] = h
			continue
		}
		out = append(out, h)
	}
	return out
}

// Kept is the limit that keeps a request from starting at once.
type Kept struct {
	joblimits.Key
	// Kind is what it bounds, one of the kinds of package joblimits: Most is what it allows of that, Used what the jobs
	// that run have, and Wants what the request asks for.
	Kind              int
	Most, Used, Wants int64
}

// keptBy returns the limit that a request exceeds beside the jobs that run; nil for none.
func (f *Facts) keptBy(at float64, own []joblimits.Bound, ownLimit float64) *Kept {
	uses := f.limitUses(at, own, ownLimit)
	for i := range own {
		b := &own[i]
		var wants joblimits.Amounts
		plus(&wants, &b.Has, plannedWork(ownLimit))
		for k, most := range b.Most {
			used := uses[b.Key].used[k]
			if most != joblimits.Unbounded && wants[k] > 0 && used+wants[k] > most {
				return &Kept{Key: b.Key, Kind: k, Most: most, Used: used, Wants: wants[k]}
			}
		}
	}
	return nil
}

// KeptByLimit returns the limit that keeps a request from starting at an instant; nil for none, and in large pools.
func (f *Facts) KeptByLimit(at float64, r *RankedRequest) *Kept {
	if f.Large || len(r.Bounds) == 0 {
		return nil
	}
	return f.keptBy(at, r.Bounds, r.Limit)
}

// addElsewhere lists the jobs that run in other pools and count in limits.
func (f *Facts) addElsewhere(r *track.Job) {
	if len(r.Bounds) > 0 {
		f.elsewhere = append(f.elsewhere, Member{key: r.ID + 1, group: r.UserState.Number, Start: r.Start,
			Limit: r.Limit, Law: r.Law, bounds: r.Bounds})
	}
}

func codeBounds(s *codec.Codec, all *[]joblimits.Bound) {
	codec.List(s, all, func(b *joblimits.Bound) {
		s.Int(&b.Limit)
		s.Text(&b.Of)
		for i := range b.Most {
			s.Signed(&b.Most[i], &b.Has[i])
		}
	})
}
