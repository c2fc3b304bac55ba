package readmodel

import (
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/modelstore"
)

// Served is the forecast of a waiting job as it was made at its submission. It does not change.
type Served struct {
	// At is the instant it was made for.
	At time.Time
	// Levels and Quantiles, in seconds, are the forecast; nil where there is none.
	Levels, Quantiles []float64
	// Reason is the reason why there is none.
	Reason string
	// Ahead is the number of jobs that were ahead, AheadProcs the processors that they asked for.
	Ahead, AheadProcs int
	// Capacity is the processors of the job's pool and Priority its own priority at its submission; 0 if they are not
	// known.
	Capacity int
	Priority int64
	// Peers are the answers of other methods.
	Peers []modelstore.Peer
}

// Forecasts are the forecasts of waiting jobs. A published map never changes.
type Forecasts map[JobKey]*Served

// JobKey names an attempt of a job.
type JobKey struct {
	Seq     uint64
	Attempt int
}

// KeyOf returns the key of a job's attempt.
func KeyOf(j *cluster.Job) JobKey { return JobKey{j.Seq, j.Attempt} }

// Served returns the forecast of a waiting job. It is nil if there will be none because the submission became known
// afterwards.
func (v *View) Served(j *cluster.Job) *Served { return v.Forecasts[KeyOf(j)] }

// Reasons why a job that waits has no forecast yet.
const (
	// NotYet: the instant of its submission is not over.
	NotYet = "pending"
	// NotKnown: its size or its queue is not known yet.
	NotKnown = "unknown"
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
