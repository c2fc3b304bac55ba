package readmodel

import (
	"github.com/waitcast/waitcast/cluster"
)

// Waiting is a waiting job, with the number of jobs that are ahead of it at the instant of the view.
type Waiting struct {
	Job *cluster.Job
	// Ahead is the number of waiting jobs in the same pool that go before the job. Each task of an array counts as one.
	// AheadProcs is the sum of the processors that they request. Held jobs do not count, and have zeros here.
	Ahead, AheadProcs int
}

// Waiting returns the waiting jobs, including held ones, in the order of their submissions. Which jobs are ahead
// follows from the scheduler's rules, or from the order of submission if the rules are unknown. The list is made once
// for each view. Callers must not change it.
func (v *View) Waiting() []Waiting {
	index := v.index()
	index.waitingOnce.Do(func() { index.waiting = v.countAhead() })
	return index.waiting
}

// countAhead makes the list that Waiting returns.
func (v *View) countAhead() []Waiting {
	out := make([]Waiting, len(v.Queued))
	place := make(map[*cluster.Job]int, len(v.Queued))
	byPool := map[*cluster.Pool][]*cluster.Job{}
	for i, j := range v.Queued {
		out[i].Job, place[j] = j, i
		if !j.Held {
			p := v.Pool(j.Queue)
			byPool[p] = append(byPool[p], j)
		}
	}
	for _, jobs := range byPool {
		if v.Rules != nil {
			v.Rules.Sort(jobs, v.At)
		}
		ahead, procs := 0, 0
		for _, j := range jobs {
			w := &out[place[j]]
			w.Ahead, w.AheadProcs = ahead, procs
			ahead += max(1, j.Tasks)
			procs += max(1, j.Tasks) * j.Procs
		}
	}
	return out
}
