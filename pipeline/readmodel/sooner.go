package readmodel

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
)

// Option is a request that differs from another one in one thing and would start materially sooner.
type Option struct {
	// Changes names what differs: procs, time_limit or queue.
	Changes string
	job.Attributes
	// Quantiles is the forecast in seconds, at waittime.Levels.
	Quantiles []float64
	// Gain is the difference of the medians in seconds; +Inf if the request itself never starts.
	Gain float64
}

// The values of Option.Changes.
const (
	ChangeProcs = "procs"
	ChangeLimit = "time_limit"
	ChangeQueue = "queue"
)

// An option must gain leastGain seconds and leastShare of the median, and its quantiles .75 and .9 must not be later.
// It asks for at least 1/mostCut of the request. At most mostQueues queues are tried.
const (
	leastGain  = 60.
	leastShare = .2
	mostCut    = 16
	mostQueues = 8
)

// material reports whether quantiles q are materially sooner than others.
func material(than, q []float64) bool {
	before, after := than[waittime.Median], q[waittime.Median]
	startsAtAll := math.IsInf(before, 1) && !math.IsInf(after, 1)
	if gain := before - after; !(gain >= leastGain && gain >= leastShare*before) && !startsAtAll {
		return false
	}
	for i := waittime.Median + 1; i < len(q) && i <= waittime.Median+2; i++ {
		if q[i] > than[i] {
			return false
		}
	}
	return true
}

// Sooner returns requests that would start materially sooner than the given quantiles, at most one of each kind: a
// smaller one, one with a shorter time limit, one to another queue that takes such jobs. Of those that gain about as
// much it returns the one that gives up least. Candidates are compared by the simulation, which is cheap; the returned
// ones are forecast like any request. takes reports whether a request could ever start. Whether the job can do
// with less is not known here.
func (v *View) Sooner(now time.Time, a *job.Attributes, than []float64, takes func(*job.Attributes) bool) []Option {
	if v.Engine == nil || len(than) <= waittime.Median || !(than[waittime.Median] >= leastGain) {
		return nil
	}
	r := v.PrioritizedRequest(a)
	base := v.Engine.Simulated(&r)
	if base == nil {
		return nil
	}
	out := []Option{}
	for _, candidates := range [][]Option{smaller(a), shorter(a), v.elsewhere(a, takes)} {
		candidates = slices.DeleteFunc(candidates, func(o Option) bool { return !takes(&o.Attributes) })
		if o, ok := v.best(now, candidates, base, than); ok {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b Option) int { return cmp.Compare(b.Gain, a.Gain) })
	return out
}

// best returns one candidate, if its forecast is material. Candidates are ordered from the mildest to the boldest. It
// is the first whose simulated median gains at least half of the largest gain, or else the one with the largest gain.
func (v *View) best(now time.Time, all []Option, base, than []float64) (Option, bool) {
	gains, most, bold := make([]float64, len(all)), 0., -1
	for i := range all {
		r := v.PrioritizedRequest(&all[i].Attributes)
		q := v.Engine.Simulated(&r)
		if q == nil || !material(base, q) {
			continue
		}
		if gains[i] = base[waittime.Median] - q[waittime.Median]; gains[i] > most {
			most, bold = gains[i], i
		}
	}
	if bold < 0 {
		return Option{}, false
	}
	mild := slices.IndexFunc(gains, func(g float64) bool { return g >= most/2 })
	for _, i := range slices.Compact([]int{mild, bold}) {
		o := all[i]
		r := v.PrioritizedRequest(&o.Attributes)
		if o.Quantiles = v.Engine.Forecast(&r).Quantiles; o.Quantiles == nil {
			continue
		}
		if len(v.Pool(o.Queue).Outages) > 0 {
			v.Pooled(now, o.Attributes).MoveOut(o.Quantiles)
		}
		if material(than, o.Quantiles) {
			o.Gain = than[waittime.Median] - o.Quantiles[waittime.Median]
			return o, true
		}
	}
	return Option{}, false
}

// smaller returns smaller sizes: powers of two and simple parts, the largest first. A job of several nodes keeps the
// processors of each. A job that asks for GPUs or memory keeps its size, since it is not known how they would shrink
// with it.
func smaller(a *job.Attributes) []Option {
	if a.GPUs > 0 || a.Memory > 0 {
		return nil
	}
	var sizes []int
	for _, part := range []int{2, 3, 4, 6, 8, 12, mostCut} {
		if a.Procs%part == 0 {
			sizes = append(sizes, a.Procs/part)
		}
	}
	for n := 1; n < a.Procs; n *= 2 {
		if n*mostCut >= a.Procs {
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	slices.Reverse(sizes)
	var out []Option
	for _, n := range sizes {
		o := Option{Changes: ChangeProcs, Attributes: *a}
		if o.Procs = n; a.Nodes > 0 {
			if n*a.Nodes%a.Procs != 0 {
				continue
			}
			o.Nodes = n * a.Nodes / a.Procs
		}
		out = append(out, o)
	}
	return out
}

// shorter returns shorter time limits that users round to, the longest first.
func shorter(a *job.Attributes) []Option {
	const day = 24 * time.Hour
	var out []Option
	for _, limit := range []time.Duration{
		7 * day, 4 * day, 2 * day, day, 12 * time.Hour, 8 * time.Hour, 4 * time.Hour, 2 * time.Hour, time.Hour,
		30 * time.Minute, 15 * time.Minute, 10 * time.Minute, 5 * time.Minute,
	} {
		if a.TimeLimit > 0 && (limit >= a.TimeLimit || limit*mostCut < a.TimeLimit) ||
			a.TimeLimit == 0 && limit < time.Hour {
			continue
		}
		o := Option{Changes: ChangeLimit, Attributes: *a}
		o.TimeLimit = limit
		out = append(out, o)
	}
	return out
}

// elsewhere returns the same request to other queues that take such jobs: by the rules of the scheduler if it reports
// them, else because a job as large and as long waits or runs there now.
func (v *View) elsewhere(a *job.Attributes, admitted func(*job.Attributes) bool) []Option {
	reported := map[string]bool{}
	if v.Facts != nil {
		for i := range v.Facts.Queues {
			reported[v.Facts.Queues[i].Name] = admits(&v.Facts.Queues[i], a)
		}
	}
	c := v.index()
	takes := func(queue string) bool {
		if open, known := reported[queue]; known {
			return open
		}
		return c.took(queue, a.Procs, a.TimeLimit)
	}
	var out []Option
	for _, name := range v.Queues() {
		o := Option{Changes: ChangeQueue, Attributes: *a}
		o.Queue, o.QOS = name, ""
		pool := v.Pool(name)
		d := pool.Dimension(&o.Attributes)
		if name == a.Queue || !takes(name) || !admitted(&o.Attributes) ||
			!pool.Fits(name, pool.Size(&o.Attributes, d), d) {
			continue
		}
		if out = append(out, o); len(out) == mostQueues {
			break
		}
	}
	return out
}

// admits reports whether a queue lets a request start, by its own bounds.
func admits(q *job.QueueFacts, a *job.Attributes) bool {
	switch {
	case q.Down, q.Closed:
		return false
	case q.MaxTime > 0 && (a.TimeLimit == 0 || a.TimeLimit > q.MaxTime):
		return false
	case a.Nodes > 0 && (q.MaxNodes > 0 && a.Nodes > q.MaxNodes || a.Nodes < q.MinNodes):
		return false
	}
	return true
}
