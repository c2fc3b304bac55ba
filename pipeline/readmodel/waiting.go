package readmodel

import (
	"github.com/waitcast/waitcast/cluster"
)

// Waiting is a waiting job of a view with what is ahead of it now.
type Waiting struct {
	Job *cluster.Job
	// Ahead are the jobs that go before it in its pool, each task of an array one, and AheadProcs what they ask for.
	Ahead, AheadProcs int
}

// Waiting returns the waiting jobs in the order of their submissions, held ones too. What is ahead of each follows the
// rules of the scheduler where those are known.
func (v *View) Waiting() []Waiting {
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
