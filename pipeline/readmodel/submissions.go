package readmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
)

// FullLimit is a limit on the number of running and waiting jobs that is reached, so that the scheduler refuses another
// job.
type FullLimit struct {
	Limit *job.Limit
	// Most is the number of jobs that the limit allows.
	Most int64
	// Freed has the number of jobs under the limit that must end before a submission is accepted, and the time until
	// they have ended; nil if unknown.
	Freed *Freed
}

// RefusedBy returns the limit because of which the scheduler would refuse a submission at the instant of the view, nil
// for none. If there are several, it returns the one that stays reached longest.
func (v *View) RefusedBy(a *job.Attributes) *FullLimit {
	set := v.submissionLimits()
	var out *FullLimit
	for _, b := range set.Of(a) {
		if b.Has[joblimits.Jobs] == 0 {
			continue
		}
		most := b.Most[joblimits.Jobs]
		jobs, running := v.submittedUnder(set, b.Key)
		if jobs < most {
			continue
		}
		full := &FullLimit{Limit: set.Limit(b.Key), Most: most, Freed: v.firstEnds(running, jobs+1-most)}
		if out == nil || full.seconds() > out.seconds() {
			out = full
		}
	}
	return out
}

func (f *FullLimit) seconds() float64 {
	if f.Freed == nil {
		return math.Inf(1)
	}
	return f.Freed.Seconds
}

// submissionLimits returns the limits on the number of running and waiting jobs, nil for none. They are found once for
// each view.
func (v *View) submissionLimits() *joblimits.Set {
	index := v.index()
	index.submissionsOnce.Do(func() { index.submissions = joblimits.OfSubmissions(v.Facts) })
	return index.submissions
}

// submittedUnder returns the number n of running and waiting jobs that count in a limit, and the running ones among
// these jobs. Each task of an array counts as one job.
func (v *View) submittedUnder(set *joblimits.Set, key joblimits.Key) (n int64, running []*cluster.Job) {
	for _, j := range v.Queued {
		if set.Counts(key, &j.Attributes) {
			n += int64(max(1, j.Tasks))
		}
	}
	for _, j := range v.Running {
		if set.Counts(key, &j.Attributes) {
			n, running = n+1, append(running, j)
		}
	}
	return n, running
}

// firstEnds returns when n of the given running jobs will have ended, by the medians of their residual lifetimes; nil
// if unknown. It sorts running.
func (v *View) firstEnds(running []*cluster.Job, n int64) *Freed {
	if v.Engine == nil || int64(len(running)) < n {
		return nil
	}
	left := make(map[*cluster.Job]float64, len(running))
	for _, j := range running {
		left[j] = v.Engine.LeftOfJob(j.Queue, EngineID(j))
	}
	slices.SortStableFunc(running, func(a, b *cluster.Job) int { return cmp.Compare(left[a], left[b]) })
	last := running[n-1]
	if math.IsInf(left[last], 1) {
		return nil
	}
	out := &Freed{Job: last}
	out.Amount, out.Seconds, out.ID, out.Freed.Jobs = n, left[last], EngineID(last), int(n)
	return out
}
