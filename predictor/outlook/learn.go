package outlook

import (
	"hash/fnv"

	"github.com/waitcast/waitcast/predictor/residual"
)

// record is the data of a job that the models of arrivals need. Runtime and Wait are negative while they are unknown.
// Runtime is 0 for a job that left without a start.
type record struct {
	ID            uint64
	User          int64
	Queue         int32 // number of the scope, from 1
	Procs         int32
	Submit        float64
	Limit         float64 // the time limit, or the runtime that replaces it
	Runtime, Wait float64
}

// total is the number of jobs that have arrived so far, and their requested work in processor-seconds.
type total struct{ Jobs, Work float64 }

// Submitted records a job that joins a queue at its Submit. It ignores jobs that it knows already, and invalid ones
// (without processors or an instant, or with a negative limit).
func (f *Forecaster) Submitted(j Job) {
	if !isProcs(j.Procs) || !isLimit(j.Limit) || !isTime(j.Submit) {
		return
	}
	if _, known := f.live[j.ID]; known {
		return
	}
	plan := f.plan(&j, j.Submit)
	scope := f.scope(j.Queue)
	for _, s := range []int{0, scope} {
		f.s.Totals[s].Jobs++
		f.s.Totals[s].Work += float64(j.Procs) * plan
	}
	f.keep(record{ID: j.ID, User: hashOf(j.User), Queue: int32(scope), Procs: int32(j.Procs), Submit: j.Submit,
		Limit: plan, Runtime: -1, Wait: -1})
	f.jobs[j.ID] = j
}

// keep adds the record of a new job to the ring. If the ring is full, the record replaces the oldest one. If the job of
// that record still waits or runs, it is forgotten.
func (f *Forecaster) keep(r record) {
	if len(f.s.Ring) < f.options.Jobs {
		f.s.Ring = append(f.s.Ring, r)
	} else {
		old := &f.s.Ring[f.s.Next]
		if at, ok := f.live[old.ID]; ok && at == f.s.Next {
			f.laws.Lost(int64(old.ID))
			delete(f.live, old.ID)
			delete(f.jobs, old.ID)
		}
		*old = r
	}
	f.live[r.ID] = f.s.Next
	f.s.Next = (f.s.Next + 1) % f.options.Jobs
}

// Started records that a job started at an instant. Unknown jobs are ignored.
func (f *Forecaster) Started(id uint64, at float64) {
	i, ok := f.live[id]
	if !ok || !isTime(at) {
		return
	}
	f.s.Ring[i].Wait = max(0, at-f.s.Ring[i].Submit)
	j := f.jobs[id]
	f.laws.Started(int64(id), j.law(), at)
}

// Ended records that a running job ended at an instant. Unknown jobs are ignored. If the start of the job was not
// recorded, its runtime stays unknown.
func (f *Forecaster) Ended(id uint64, at float64) {
	i, ok := f.live[id]
	if !ok || !isTime(at) {
		return
	}
	if r := &f.s.Ring[i]; r.Wait >= 0 {
		r.Runtime = max(0, at-r.Submit-r.Wait)
		f.laws.Ended(int64(id), at)
	}
	f.forget(id)
}

// Gone records that a job left the queue without a start.
func (f *Forecaster) Gone(id uint64) {
	if i, ok := f.live[id]; ok {
		f.s.Ring[i].Runtime = 0
		f.forget(id)
	}
}

// Lost records that a job is gone and its end was not observed.
func (f *Forecaster) Lost(id uint64) {
	if _, ok := f.live[id]; ok {
		f.laws.Lost(int64(id))
		f.forget(id)
	}
}

func (f *Forecaster) forget(id uint64) {
	delete(f.live, id)
	delete(f.jobs, id)
}

// plan returns the seconds with which a job counts in waiting work: the job's limit or, without a limit, the mean
// runtime by the job's law. That is the law at the submission or, for a job that is not recorded, the law at the given
// instant.
func (f *Forecaster) plan(j *Job, at float64) float64 {
	if j.Limit > 0 {
		return j.Limit
	}
	if i, ok := f.live[j.ID]; ok {
		return f.s.Ring[i].Limit
	}
	law := f.laws.Law(j.law(), at)
	return meanOf(law)
}

// meanOf returns an approximate mean lifetime of a law, at least a second. It averages the quantiles at the middles
// of 20 equal parts of the probability.
func meanOf(law *residual.Law) float64 {
	const parts = 20
	sum := 0.
	for i := range parts {
		sum += law.Quantile((float64(i) + .5) / parts)
	}
	return max(1, sum/parts)
}

// scope returns the number of a queue's scope. 0 is the cluster. An unknown queue gets a new scope. If there are
// Options.Queues scopes already, it shares scope 1 with the other queues that are not distinguished.
func (f *Forecaster) scope(queue string) int {
	if i, ok := f.scopes[queue]; ok {
		return i
	}
	if len(f.s.Queues) >= f.options.Queues {
		return 1
	}
	f.addQueue(queue)
	return len(f.s.Queues)
}

func (f *Forecaster) addQueue(queue string) {
	f.s.Queues = append(f.s.Queues, queue)
	f.s.Totals = append(f.s.Totals, total{})
	f.scopes[queue] = len(f.s.Queues)
}

func hashOf(user string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(user)) // never returns an error
	return int64(h.Sum64() >> 1)
}
