package outlook

import (
	"fmt"
	"slices"
)

// Knows reports whether a job waits or runs in the Forecaster's state.
func (f *Forecaster) Knows(id uint64) bool {
	_, ok := f.live[id]
	return ok
}

// Runs reports whether a job runs in the Forecaster's state.
func (f *Forecaster) Runs(id uint64) bool {
	i, ok := f.live[id]
	return ok && f.s.Ring[i].Wait >= 0
}

// Live returns the IDs of the jobs that wait or run, rising.
func (f *Forecaster) Live() []uint64 {
	out := make([]uint64, 0, len(f.live))
	for id := range f.live {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// Updated records a changed request of a waiting or running job: its Queue, User, App, Procs and Limit. It ignores
// unknown jobs and invalid numbers. It does not correct arrivals that were counted, because a total of arrivals must
// not decrease.
func (f *Forecaster) Updated(j Job) {
	i, ok := f.live[j.ID]
	if !ok || !isProcs(j.Procs) || !isLimit(j.Limit) {
		return
	}
	known := f.jobs[j.ID]
	known.Queue, known.User, known.App, known.Procs, known.Limit = j.Queue, j.User, j.App, j.Procs, j.Limit
	f.jobs[j.ID] = known
	r := &f.s.Ring[i]
	r.User, r.Queue, r.Procs, r.Limit = hashOf(j.User), int32(f.scope(j.Queue)), int32(j.Procs),
		f.plan(&known, known.Submit)
}

// SetReplicas changes the numbers of simulated replicas, see Options. Equal histories give equal forecasts only if
// these changes are equal, too.
func (f *Forecaster) SetReplicas(replicas, lessons, probes int) error {
	if least, most := min(replicas, lessons, probes), max(replicas, lessons, probes); least < 1 || most > 1<<20 {
		return fmt.Errorf("outlook: %d replicas, %d lessons, %d probes: give 1 to 2^20", replicas, lessons, probes)
	}
	f.options.Replicas, f.options.Lessons, f.options.Probes = replicas, lessons, probes
	return nil
}

// Outcomes returns, by horizon, the number of outcomes of the cluster's queued work that are kept for the training of
// trees. At most one an hour is kept.
func (f *Forecaster) Outcomes() []int {
	out := make([]int, len(f.options.Horizons))
	for k := range out {
		out[k] = len(f.corrector(0, k, QueuedWork).Rows)
	}
	return out
}

// PerWeek returns the number of jobs that arrive in a week by the model of arrivals in use, 0 without a model.
func (f *Forecaster) PerWeek() float64 {
	s := f.streams[f.model()]
	if s == nil {
		return 0
	}
	return float64(len(s.Jobs)) / s.Span * week
}
