package pipeline

import (
	"container/heap"
	"errors"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/queuenames"
	"github.com/waitcast/waitcast/pipeline/readmodel"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
)

// Bulk fits the models of one cluster to whole jobs in order of submission. It uses no journal, makes no forecasts and
// keeps no live picture. It learns the windows of lifetimes and the Markov chains of the single queues. They are the
// same as after folding the events of the jobs, but are made many times faster.
type Bulk struct {
	cfg    ClusterConfig
	models *livemodels.Models
	names  *queuenames.Names
	use    usage
	counts cluster.Counts
	newest int64
	// name is the queue of the newest job, and queue has its models. They are kept because consecutive jobs are often
	// in one queue.
	name  string
	queue *livemodels.QueueModels
}

// NewBulk returns a Bulk without jobs. maxQueues is Config.MaxQueues. An error names the configuration key whose value
// was refused.
func NewBulk(cfg ClusterConfig, m livemodels.Config, maxQueues int) (*Bulk, error) {
	models, err := livemodels.New(m, livemodels.Site{})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cfg.Name, err)
	}
	b := &Bulk{cfg: cfg, models: models, names: queuenames.New(cfg.namedQueues(), maxQueues)}
	for _, q := range cfg.Queues {
		b.models.Queue(q)
	}
	return b, nil
}

// Add adds jobs in the order of their submissions. An error reports a lifetime or size that a model refused; the job
// still counts.
func (b *Bulk) Add(jobs []collector.Whole) error {
	var errs error
	for i := range jobs {
		errs = errors.Join(errs, b.add(&jobs[i]))
	}
	return errs
}

func (b *Bulk) add(w *collector.Whole) error {
	if b.queue == nil || w.Queue != b.name {
		b.name = w.Queue
		queue := b.names.Place(w.Queue)
		b.names.Note(w.Queue)
		b.queue = b.models.Queue(queue)
	}
	b.counts.Submitted++
	if !w.Ran {
		b.counts.Cancelled++
		b.newest = max(b.newest, w.Start)
		return nil
	}
	b.counts.Started++
	b.counts.Ended++
	b.newest = max(b.newest, w.End)
	b.use.add(w)
	seconds := float64(w.End - w.Start)
	return b.queue.LearnWhole(w.Procs, time.Unix(w.Start, 0), seconds)
}

// View returns a view of the cluster after the end of the last job: no job runs or waits.
func (b *Bulk) View() *readmodel.View {
	b.use.finish()
	at := time.Unix(b.newest, 0).UTC()
	b.models.Reached(at)
	pools := cluster.New(b.cfg.Name, b.cfg.Procs)
	pools.SetPools(b.cfg.Pools)
	v := readmodel.New(readmodel.View{View: &cluster.View{
		Cluster: b.cfg.Name, Capacity: b.use.highest, Source: cluster.FromHighestUse, Pools: pools.Pools(),
		Counts: b.counts,
	}, Models: b.models.View(), Scores: map[accuracy.Key]*accuracy.Score{}, Declared: b.cfg.Queues})
	if len(b.cfg.Pools) == 0 && b.cfg.Procs == 0 {
		v.Pools[0].Has[cluster.Procs] = int64(b.use.highest)
	}
	if b.counts.Submitted > 0 {
		v.At = at
	}
	if b.cfg.Procs > 0 {
		v.Capacity, v.Source = b.cfg.Procs, cluster.FromConfig
	}
	return v
}

// usage finds the maximum number of processors in use at the same time, by the rules of the fold. At one instant, ends
// come before starts. A job with runtime 0 uses its processors at the instant of its start.
type usage struct {
	starts, ends uses
	used         int
	highest      int
}

// use is a start or an end of a job, which changes the number of processors in use.
type use struct {
	at    int64
	until int64 // for a start: the end of the job
	procs int
}

func (u *usage) add(w *collector.Whole) {
	u.advance(w.Submit)
	heap.Push(&u.starts, use{at: w.Start, until: w.End, procs: w.Procs})
}

func (u *usage) finish() { u.advance(1<<63 - 1) }

// advance applies the starts before the instant until, and the ends up to the last of these starts. Jobs are added in
// the order of their submissions, so no later job can start before until.
func (u *usage) advance(until int64) {
	for len(u.starts) > 0 && u.starts[0].at < until {
		s := u.starts[0]
		u.free(s.at)
		heap.Pop(&u.starts)
		u.used += s.procs
		u.highest = max(u.highest, u.used)
		if s.until == s.at {
			u.used -= s.procs
			continue
		}
		heap.Push(&u.ends, use{at: s.until, procs: s.procs})
	}
}

// free applies the ends at or before an instant.
func (u *usage) free(at int64) {
	for len(u.ends) > 0 && u.ends[0].at <= at {
		u.used -= u.ends[0].procs
		heap.Pop(&u.ends)
	}
}

type uses []use

func (h uses) Len() int           { return len(h) }
func (h uses) Less(i, j int) bool { return h[i].at < h[j].at }
func (h uses) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *uses) Push(x any)        { *h = append(*h, x.(use)) }
func (h *uses) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
