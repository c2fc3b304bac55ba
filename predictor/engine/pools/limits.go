package pools

import (
	"math"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// limitUse has the amounts of one limit: most is allowed, used is what running jobs have, and wanted is what waiting
// jobs and a request would have.
type limitUse struct {
	most, used, wanted joblimits.Amounts
	number             int32 // number of the limit in the state of the simulation; -1 if the limit cannot bind
}

type limitUses map[joblimits.Key]*limitUse

// want adds the amounts that a waiting job with the given bounds and time limit would have. It also adds those limits
// of the job that uses lacks.
func (uses limitUses) want(bounds []joblimits.Bound, limit float64) {
	for i := range bounds {
		b := &bounds[i]
		u := uses[b.Key]
		if u == nil {
			u = &limitUse{most: b.Most, number: -1}
			uses[b.Key] = u
		}
		plus(&u.wanted, &b.Counts, plannedWork(limit))
	}
}

// usesOf returns the limits that apply to a request, with the amounts of the running jobs at an instant and of the
// request. It does not count waiting jobs.
func (f *Facts) usesOf(at float64, r *RankedRequest) limitUses {
	uses := limitUses{}
	uses.want(r.Bounds, r.Limit)
	f.count(at, uses)
	return uses
}

// count adds the amounts that the running jobs have at an instant to the limits in uses.
func (f *Facts) count(at float64, uses limitUses) {
	for _, jobs := range [...][]Member{f.Running, f.elsewhere} {
		for i := range jobs {
			r := &jobs[i]
			for k := range r.bounds {
				if u := uses[r.bounds[k].Key]; u != nil {
					plus(&u.used, &r.bounds[k].Counts, math.Max(0, plannedWork(r.Limit)-math.Max(0, at-r.Start)))
				}
			}
		}
	}
}

// plannedWork returns the runtime, in seconds, that a limit on work assumes for a job: its time limit, or a year
// without one.
func plannedWork(limit float64) float64 {
	if limit > 0 {
		return limit
	}
	return 365 * 86400
}

// plus adds the amounts of a job to a sum. The job's work is its processors times the given seconds.
func plus(to, has *joblimits.Amounts, seconds float64) {
	for k, a := range has {
		if k == joblimits.Work {
			a = int64(math.Ceil(float64(a) * seconds))
		}
		to[k] += a
	}
}

// mayBind reports whether all running and waiting jobs together would exceed the limit.
func (u *limitUse) mayBind() bool {
	for k, most := range u.most {
		if most != joblimits.Unbounded && u.used[k]+u.wanted[k] > most {
			return true
		}
	}
	return false
}

// applyLimits adds to a state the limits that may keep a job of the pool, or a request (nil for none), from starting.
// These are the limits that all running and waiting jobs together would exceed. It also adds jobs in other pools that
// count in these limits, and returns the request's amounts.
func (f *Facts) applyLimits(s *forward.State, at float64, r *RankedRequest) []forward.Holding {
	var own []joblimits.Bound
	uses := limitUses{}
	if r != nil {
		own = r.Bounds
		uses.want(own, r.Limit)
	}
	if !f.limited && len(own) == 0 {
		return nil
	}
	for i := range f.queued {
		uses.want(f.queued[i].bounds, f.queued[i].Limit)
	}
	f.count(at, uses)
	number := func(bounds []joblimits.Bound) {
		for i := range bounds {
			b := &bounds[i]
			if u := uses[b.Key]; u.number < 0 && u.mayBind() {
				u.number = int32(len(s.Limits)) //nolint:gosec // at most a few for each job
				s.Limits = append(s.Limits, forward.Limit{Most: b.Most})
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
	f.addElsewhereTo(s, at, uses)
	return holdings(own, uses)
}

// addElsewhereTo adds the jobs that run in other pools to a state that has the jobs of this pool.
func (f *Facts) addElsewhereTo(s *forward.State, at float64, uses map[joblimits.Key]*limitUse) {
	for i := range f.elsewhere {
		r := &f.elsewhere[i]
		s.Running = append(s.Running, forward.Running{Key: r.key, Group: r.group, Age: math.Max(0, at-r.Start),
			Limit: r.Limit, Law: r.Law, Holds: holdings(r.bounds, uses)})
	}
}

// holdings returns the amounts of a job in the limits that may bind.
func holdings(bounds []joblimits.Bound, uses limitUses) (out []forward.Holding) {
	for i := range bounds {
		if u := uses[bounds[i].Key]; u != nil && u.number >= 0 {
			out = append(out, forward.Holding{Limit: u.number, Amounts: bounds[i].Counts,
				Exempt: bounds[i].Exempt()})
		}
	}
	return out
}

// bound returns the state of the pool and the request in it, with the gates of surfaces, if surfaces cannot answer for
// the request. That is so in three cases: limits that may bind apply to the request, the request waits for other jobs,
// or jobs are placed on nodes. In other cases, and if the request is larger than the pool, the returned request is nil.
func (f *Facts) bound(at float64, r *RankedRequest) (*forward.State, *forward.Request) {
	nodes := f.playsNodes(r)
	if len(r.Bounds) == 0 && r.After == "" && !nodes || r.Procs > f.most() {
		return nil, nil
	}
	s := &forward.State{}
	holds, after := f.stateFor(s, at, r), f.after(r)
	if holds == nil && after == nil && !nodes {
		return nil, nil
	}
	s.Gates = f.gates.Coarse(at)
	s.Capacity = max(s.Capacity, r.Procs)
	q := &forward.Request{Procs: r.Procs, Limit: r.Limit, Rank: f.rankOfRequest(at, r), Owner: f.ownerOf(r),
		Holds: holds, After: after, Needs: f.needsOf(r)}
	q.Behind = s.Behind(q.Rank)
	return s, q
}

// withinLimits returns the openings that limits on the numbers of running jobs and processors leave for a request. It
// reduces their sizes if necessary. The size of the request itself does not count.
func (f *Facts) withinLimits(holes []forward.Opening, at float64, r *RankedRequest) []forward.Opening {
	if len(r.Bounds) == 0 || len(holes) == 0 {
		return holes
	}
	most := int64(math.MaxInt64)
	uses := f.usesOf(at, r)
	for i := range r.Bounds {
		b := &r.Bounds[i]
		u := uses[b.Key]
		if u.most[joblimits.Jobs] != joblimits.Unbounded && b.Has[joblimits.Jobs] > 0 &&
			u.used[joblimits.Jobs] >= u.most[joblimits.Jobs] {
			return nil
		}
		if u.most[joblimits.Procs] != joblimits.Unbounded && b.Has[joblimits.Procs] > 0 {
			most = min(most, u.most[joblimits.Procs]-u.used[joblimits.Procs])
		}
	}
	var out []forward.Opening
	for _, h := range holes {
		if h.Procs = int(min(int64(h.Procs), most)); h.Procs < 1 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Procs == h.Procs { // h has the longer limit, and replaces the last opening
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
	// Kind is the bounded kind of amount (package joblimits). Most is the allowed amount, Used the amount of the
	// running jobs, and Wants the amount of the request.
	Kind              int
	Most, Used, Wants int64
}

// KeptByLimit returns the limit that a request would exceed beside the jobs that run at an instant. It returns nil if
// there is none, and in large pools.
func (f *Facts) KeptByLimit(at float64, r *RankedRequest) *Kept {
	if f.Large || len(r.Bounds) == 0 {
		return nil
	}
	uses := f.usesOf(at, r)
	for i := range r.Bounds {
		b := &r.Bounds[i]
		u := uses[b.Key]
		for k, most := range b.Most {
			if most != joblimits.Unbounded && b.Has[k] > 0 && u.used[k]+u.wanted[k] > most {
				return &Kept{Key: b.Key, Kind: k, Most: most, Used: u.used[k], Wants: u.wanted[k]}
			}
		}
	}
	return nil
}

// addElsewhere records a job that runs in another pool if it counts in limits.
func (f *Facts) addElsewhere(r *track.Job) {
	if len(r.Bounds) > 0 {
		f.elsewhere = append(f.elsewhere, elsewhere(r))
	}
}

// elsewhere returns a job that runs in another pool and uses no processors of this one.
func elsewhere(r *track.Job) Member {
	return Member{key: r.ID + 1, group: r.UserState.Number, Start: r.Start, Limit: r.Limit, Law: r.Law,
		bounds: r.Bounds, name: r.Name, array: r.Array}
}

func codeBounds(s *codec.Codec, all *[]joblimits.Bound) {
	codec.List(s, all, func(b *joblimits.Bound) {
		codec.Number(s, &b.Limit)
		s.Text(&b.Of)
		for i := range b.Most {
			s.Signed(&b.Most[i], &b.Has[i], &b.Counts[i])
		}
	})
}
