package pipeline

import (
	"maps"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// Served is the forecast of a waiting job as it was made at its submission. It does not change.
type Served struct {
	// At is the instant it was made for.
	At time.Time
	// Levels and Quantiles, in seconds, are the forecast; nil where there is none.
	Levels, Quantiles []float64
	// Reason is why there is none.
	Reason string
	// Ahead are the jobs that were ahead, AheadProcs what they asked for.
	Ahead, AheadProcs int
	// Capacity is the processors of the job's pool and Priority its own, as they were; 0 where they are not known.
	Capacity int
	Priority int64
	// Peers are what other methods answered.
	Peers []modelstore.Peer
}

// servedForecasts keeps the forecasts of the jobs that wait. Each view has a copy, which is never changed: the jobs that wait in the view are those that the copy has.
type servedForecasts struct {
	served map[servedKey]*Served
	copied map[servedKey]*Served // what the newest view has; nil if a forecast has changed since
}

type servedKey struct {
	seq     uint64
	attempt int
}

func (b *servedForecasts) put(j *cluster.Job, s *Served) {
	if b.served == nil {
		b.served = map[servedKey]*Served{}
	}
	b.served[servedKey{j.Seq, j.Attempt}], b.copied = s, nil
}

func (b *servedForecasts) drop(j *cluster.Job) {
	delete(b.served, servedKey{j.Seq, j.Attempt})
	b.copied = nil
}

// snapshot returns the forecasts as they are now, in a map that is never changed.
func (b *servedForecasts) snapshot() map[servedKey]*Served {
	if b.copied == nil {
		b.copied = maps.Clone(b.served)
	}
	return b.copied
}

// Served returns the forecast of a job that waits, nil if there will be none: its submission was learnt afterwards.
func (v *View) Served(j *cluster.Job) *Served { return v.forecasts[servedKey{j.Seq, j.Attempt}] }

// Reasons why a job that waits has no forecast yet.
const (
	// NotYet: the instant of its submission is not over.
	NotYet = "pending"
	// NotKnown: its size or its queue is not known yet.
	NotKnown = "unknown"
)

// show serves the forecast of a job that waits.
func (l *ledger) show(o *openForecast) {
	if !o.Closed.IsZero() || o.Part || o.Renamed {
		return
	}
	a := o.Scored()
	switch {
	case o.Made:
	case o.View == nil:
		a = accuracy.Answer{Reason: NotYet}
	default:
		a = accuracy.Answer{Reason: NotKnown}
	}
	s := &Served{At: o.Job.Submit, Quantiles: a.Quantiles, Reason: a.Reason, Ahead: a.Ahead, AheadProcs: a.AheadProcs, Capacity: a.Capacity, Priority: a.Priority, Peers: a.Peers}
	if a.Quantiles != nil {
		s.Levels = l.levels
	}
	l.served.put(&o.Job, s)
}

// Waiting tells what is ahead of each waiting job of a view now.
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
