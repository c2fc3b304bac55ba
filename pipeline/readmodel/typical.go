package readmodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// typicalHistory is how many of the newest jobs that left tell what is typical. Ours: some days of a busy cluster.
const typicalHistory = 5000

// Typical is a job as a queue has them of one size class.
type Typical struct {
	accuracy.Key
	// Jobs is the number of jobs that tell what is typical.
	Jobs int
	// Procs and TimeLimit are the medians (of an even number the lower one of the two); TimeLimit is 0 where no job told
	// one.
	Procs     int
	TimeLimit time.Duration
}

// sizeSample is a sample of the jobs of one queue and size class.
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

// Typical returns a typical job of each queue and size class of which jobs run, wait, or were among the newest 5000 of
// the cluster that left. There are at most so many, those with the most jobs first.
func (v *View) Typical(most int) []Typical {
	piles := map[accuracy.Key]*sizeSample{}
	add := func(queue string, procs int, limit time.Duration) {
		key := accuracy.Key{Queue: queue, Size: waittime.SizeClass(procs)}
		p := piles[key]
		if p == nil {
			p = &sizeSample{}
			piles[key] = p
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
	out := make([]Typical, 0, len(piles))
	for key, p := range piles {
		t := Typical{Key: key, Jobs: len(p.procs), Procs: middle(p.procs)}
		if len(p.limits) > 0 {
			t.TimeLimit = middle(p.limits)
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Typical) int {
		return cmp.Or(b.Jobs-a.Jobs, cmp.Compare(a.Queue, b.Queue), cmp.Compare(accuracy.SizeRank(a.Size), accuracy.SizeRank(b.Size)))
	})
	return out[:min(most, len(out))]
}

// middle returns the lower median of a list, which it sorts.
func middle[T cmp.Ordered](list []T) T {
	slices.Sort(list)
	return list[(len(list)-1)/2]
}
