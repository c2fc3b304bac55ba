package readmodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// typicalHistory is the number of newest jobs that have left the cluster from which typical jobs are computed, beside
// the jobs in it. They cover some days of a busy cluster. The value is a free choice.
const typicalHistory = 5000

// Typical is a typical job of one queue and size class.
type Typical struct {
	accuracy.Key
	// Jobs is the number of jobs from which the typical job was computed.
	Jobs int
	// Procs and TimeLimit are the medians of these jobs, the lower one of two middle values. Jobs without a time limit
	// do not count for TimeLimit, which is 0 if no job has one.
	Procs     int
	TimeLimit time.Duration
}

// sizeSample has the sizes and the time limits of the jobs of one queue and size class.
type sizeSample struct {
	procs  []int
	limits []time.Duration
}

func (p *sizeSample) add(procs int, limit time.Duration) {
	p.procs = append(p.procs, procs)
	if limit > 0 {
		p.limits = append(p.limits, limit)
	}
}

// Typical returns a typical job for each queue and size class. It is computed from the running and waiting jobs and
// from the newest jobs that left the cluster, at most 5000. At most the given number of typical jobs is returned; those
// of the queues and size classes with the most jobs come first.
func (v *View) Typical(most int) []Typical {
	samples := map[accuracy.Key]*sizeSample{}
	add := func(queue string, procs int, limit time.Duration) {
		key := accuracy.Key{Queue: queue, Size: waittime.SizeClass(procs)}
		p := samples[key]
		if p == nil {
			p = &sizeSample{}
			samples[key] = p
		}
		p.add(procs, limit)
	}
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			if j.Procs > 0 && !j.Unsized && !j.Unqueued {
				add(j.Queue, j.Procs, j.TimeLimit)
			}
		}
	}
	for r := range v.Models.History.Newest(typicalHistory) {
		if r.Procs > 0 {
			add(r.Queue, r.Procs, r.Limit)
		}
	}
	out := make([]Typical, 0, len(samples))
	for key, p := range samples {
		t := Typical{Key: key, Jobs: len(p.procs), Procs: middle(p.procs)}
		if len(p.limits) > 0 {
			t.TimeLimit = middle(p.limits)
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Typical) int {
		return cmp.Or(b.Jobs-a.Jobs, cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(accuracy.SizeRank(a.Size), accuracy.SizeRank(b.Size)))
	})
	return out[:min(most, len(out))]
}

// middle sorts a list and returns its median, the lower one of two middle values.
func middle[T cmp.Ordered](list []T) T {
	slices.Sort(list)
	return list[(len(list)-1)/2]
}
