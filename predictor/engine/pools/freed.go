package pools

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/cluster/joblimits"
)

// Freed describes how a limit gets room for a request: which running jobs, in the order of their median ends, must end
// to give back the needed amount. If all running jobs together have less, it describes all of them.
type Freed struct {
	// Amount is the amount that becomes free. Seconds is the median remaining runtime of the last of these jobs; +Inf
	// if unknown.
	Amount  int64
	Seconds float64
	// ID is the id of the last of these jobs. Jobs is the number of jobs that end until then, including the last one.
	ID   uint64
	Jobs int
}

// Freed describes which running jobs must end until the limit k no longer keeps a request from starting. ok is false if
// that is unknown: k is nil, or it limits the remaining work, which decreases continuously, or no running job counts in
// it.
func (f *Facts) Freed(at float64, k *Kept) (out Freed, ok bool) {
	if k == nil || k.Kind == joblimits.Work {
		return Freed{}, false
	}
	type ending struct {
		id     uint64
		amount int64
		left   float64
	}
	var all []ending
	for _, jobs := range [...][]Member{f.Running, f.elsewhere} {
		for i := range jobs {
			r := &jobs[i]
			for b := range r.bounds {
				if r.bounds[b].Key == k.Key && r.bounds[b].Counts[k.Kind] > 0 {
					all = append(all, ending{r.key - 1, r.bounds[b].Counts[k.Kind], r.left(at)})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b ending) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.id, b.id)) })
	for _, e := range all {
		out.Amount, out.Seconds, out.ID, out.Jobs = out.Amount+e.amount, e.left, e.id, out.Jobs+1
		if k.Used+k.Wants-out.Amount <= k.Most {
			break
		}
	}
	return out, out.Jobs > 0
}

// Left returns the median remaining runtime of a running job of the pool, in seconds; without a known law the rest of
// its time limit. It is +Inf if there is no limit either, if the job does not run in the pool, and in large pools.
func (f *Facts) Left(at float64, id uint64) float64 {
	if f == nil {
		return math.Inf(1)
	}
	for i := range f.Running {
		if f.Running[i].key == id+1 {
			return f.Running[i].left(at)
		}
	}
	return math.Inf(1)
}

// left returns the median remaining runtime of a running job. If nothing is known about the runtime, it returns the
// rest of the time limit, or +Inf without a limit.
func (m *Member) left(at float64) float64 {
	age := math.Max(0, at-m.Start)
	switch {
	case m.Law != nil:
		return m.Law.Residual(age, .5)
	case m.Limit > 0:
		return math.Max(0, m.Limit-age)
	}
	return math.Inf(1)
}

// KeptBeside reports whether a limit keeps a request from starting if other jobs, with the given amounts, count in the
// limits in addition to the running jobs.
func (f *Facts) KeptBeside(at float64, r *RankedRequest, others map[joblimits.Key]joblimits.Amounts) bool {
	uses := f.usesOf(at, r)
	for i := range r.Bounds {
		b := &r.Bounds[i]
		var wants joblimits.Amounts
		plus(&wants, &b.Has, plannedWork(r.Limit))
		beside := others[b.Key]
		for k, most := range b.Most {
			if most != joblimits.Unbounded && wants[k] > 0 && uses[b.Key].used[k]+beside[k]+wants[k] > most {
				return true
			}
		}
	}
	return false
}

// AddBounds adds the amounts of a job, with the given bounds and time limit, to the sum for each limit that the job
// counts in.
func AddBounds(to map[joblimits.Key]joblimits.Amounts, bounds []joblimits.Bound, limit float64) {
	for i := range bounds {
		has := to[bounds[i].Key]
		plus(&has, &bounds[i].Counts, plannedWork(limit))
		to[bounds[i].Key] = has
	}
}
