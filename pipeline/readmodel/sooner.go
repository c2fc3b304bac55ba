package readmodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine"
)

// Option is a request that differs in one attribute from a request of a user. Two other attributes depend on it: an
// option with fewer processors may have fewer nodes, and an option in another queue has no QOS. The options that Sooner
// returns would start materially sooner.
type Option struct {
	// Changes names the attribute that differs: procs, time_limit or queue.
	Changes string
	job.Attributes
	// Quantiles is the forecast wait of the option in seconds, at waittime.Levels.
	Quantiles []float64
	// Probability is the probability that the option starts materially sooner than the request. It is below 1. In the
	// options that Sooner returns it is at least LeastProbability.
	Probability float64
	// Gain is the median of the difference between the waits of request and option, in seconds; +Inf if the request
	// never starts. In the options that Sooner returns it is between half and twice the difference of the medians of
	// the two waits.
	Gain float64
}

// These are the values of Option.Changes.
const (
	ChangeProcs = "procs"
	ChangeLimit = "time_limit"
	ChangeQueue = "queue"
)

const (
	// LeastProbability is the minimum probability of a materially sooner start for an option to be proposed.
	LeastProbability = .9
	// DefaultKeep is the default of SoonerQuery.Keep.
	DefaultKeep = .25
	// mostQueues is the maximum number of other queues that are tried. mostForecasts is the maximum number of options
	// of each kind that are forecast.
	mostQueues, mostForecasts = 8, 4
)

// SoonerQuery is a query for options that would start materially sooner than a request.
type SoonerQuery struct {
	Request *job.Attributes
	// Wait is the forecast wait of the request in seconds, at waittime.Levels.
	Wait []float64
	// Job is the waiting job whose request this is; an option would replace the job. It is nil if the request was not
	// submitted yet.
	Job *cluster.Job
	// Keep is the minimum share of the processors, and of the time limit, that an option must keep, in (0, 1].
	Keep float64
	// Takes reports whether a request could ever start, so that it may be an option.
	Takes func(*job.Attributes) bool
}

// Sooner returns options that would start materially sooner than the request of the query, at most one of each kind:
// with fewer processors, with a shorter time limit, and in another queue that accepts such jobs. The option with the
// largest gain comes first. Options in the pool of the request are simulated in the same futures as the request (see
// coupling). Of the options of one kind with at least half of the largest simulated gain, Sooner prefers the smallest
// change. It cannot know whether the job can run with less. The result is nil if the options cannot be simulated, or if
// the median wait of the request is below leastGain.
func (v *View) Sooner(now time.Time, q *SoonerQuery) []Option {
	if v.Engine == nil || len(q.Wait) <= waittime.Median || !(q.Wait[waittime.Median] >= leastGain) {
		return nil
	}
	c := comparison{View: v, SoonerQuery: q, now: now}
	if !c.play() {
		return nil
	}
	out := []Option{}
	a := q.Request
	room := make([]Option, 0, 8)
	choose := func(options []Option) {
		if o := c.best(options); o != nil {
			out = append(out, *o)
		}
		room = options[:0]
	}
	choose(c.taken(smaller(a, q.Keep, room)))
	choose(c.taken(shorter(a, q.Keep, room)))
	choose(v.elsewhere(a, q.Takes, room))
	slices.SortStableFunc(out, func(a, b Option) int { return cmp.Compare(b.Gain, a.Gain) })
	return out
}

// WithLimit returns the option with another time limit for the request of the query, even if it would not start sooner.
// It returns false if the two cannot be compared. The fields Keep and Takes of the query have no effect.
func (v *View) WithLimit(now time.Time, q *SoonerQuery, limit time.Duration) (Option, bool) {
	if v.Engine == nil || len(q.Wait) <= waittime.Median {
		return Option{}, false
	}
	c := comparison{View: v, SoonerQuery: q, now: now}
	if !c.play() {
		return Option{}, false
	}
	o := Option{Changes: ChangeLimit, Attributes: *q.Request}
	o.TimeLimit = limit
	one := candidate{Option: &o}
	if !c.simulate(&one) || !c.forecast(&one) {
		return Option{}, false
	}
	c.compare(&one)
	return o, true
}

// comparison compares the request of a query with options.
type comparison struct {
	*View
	*SoonerQuery
	now     time.Time
	futures *engine.Futures // futures in which options are simulated
	waits   []float64       // waits of the request, by future
	median  float64         // median of waits
	request engine.Request  // the option that is being simulated or forecast
	waited  []float64       // waits of the option simulated last, by future
	sorted  []float64       // memory for medianOf
}

// play simulates the request of the query. It returns false if that is impossible.
func (c *comparison) play() bool {
	c.futures = c.Engine.Futures()
	if c.Job != nil {
		c.futures, c.waits = c.Engine.FuturesWithout(EngineID(c.Job)), c.Engine.WaitsOfJob(c.Job.Queue, EngineID(c.Job))
	}
	if c.waits == nil { // no job, or a large pool: simulate a submission now
		c.request = c.PrioritizedRequest(c.Request)
		c.waits = c.Engine.Futures().Waits(&c.request, nil)
	}
	c.median = c.medianOf(c.waits)
	return c.waits != nil
}

// taken returns those of the options that could ever start. It reuses the memory of options.
func (c *comparison) taken(options []Option) []Option {
	out := options[:0]
	for i := range options {
		if c.Takes(&options[i].Attributes) {
			out = append(out, options[i])
		}
	}
	return out
}

// medianOf returns the median of waits. It does not change the slice.
func (c *comparison) medianOf(waits []float64) float64 {
	c.sorted = append(c.sorted[:0], waits...)
	return median(c.sorted)
}

// candidate is an option with its simulated waits.
type candidate struct {
	*Option
	coupling
	gain float64 // simulated median of the request, minus that of the option
}

// best returns the option to propose, nil if there is none. options are sorted from the smallest change to the largest.
// The options are first simulated, which is cheap, and then forecast until one is to be proposed, at most mostForecasts
// of them. The forecasts begin with the smallest change that gains at least half of the largest simulated gain. Larger
// changes follow, and then the smaller ones, the largest of these first.
func (c *comparison) best(options []Option) *Option {
	var room [16]candidate
	all, most := room[:0], 0.
	for i := range options {
		one := candidate{Option: &options[i]}
		if !c.simulate(&one) || one.probability() < LeastProbability {
			continue
		}
		one.gain = c.median - c.medianOf(one.option)
		most = max(most, one.gain)
		all = append(all, one)
		c.waited = nil // the candidate uses this memory
	}
	mild := slices.IndexFunc(all, func(o candidate) bool { return o.gain >= most/2 })
	if mild < 0 {
		return nil
	}
	slices.Reverse(all[:mild])
	all = append(all[mild:], all[:mild]...)
	for i := range all[:min(len(all), mostForecasts)] {
		o := &all[i]
		if !c.forecast(o) || !material(c.Wait, o.Quantiles) { // checked before compare, which costs more
			continue
		}
		if c.compare(o); proposed(o.Option, c.Wait) {
			return o.Option
		}
	}
	return nil
}

// simulate simulates an option in c.futures, and couples its waits with those of the request. It returns false if that
// is impossible. The waits use the memory of c.waited.
func (c *comparison) simulate(o *candidate) bool {
	c.request = c.PrioritizedRequest(&o.Attributes)
	waits := c.futures.Waits(&c.request, c.waited[:0])
	if waits == nil {
		return false
	}
	c.waited = waits
	couple := independent
	if c.Engine.SamePool(o.Queue, c.Request.Queue) && len(waits) == len(c.waits) {
		couple = sameFutures
	}
	o.coupling = couple(c.waits, waits)
	return true
}

// forecast sets the quantiles of an option, as for any request. Outages of the pool are taken into account. It returns
// false if there is no forecast.
func (c *comparison) forecast(o *candidate) bool {
	c.request = c.PrioritizedRequest(&o.Attributes)
	if o.Quantiles = c.Engine.Forecast(&c.request).Quantiles; o.Quantiles == nil {
		return false
	}
	if len(c.Pool(o.Queue).Outages) > 0 {
		c.Pooled(c.now, o.Attributes).MoveOut(o.Quantiles)
	}
	return true
}

// compare sets the probability and the gain of an option that has quantiles.
func (c *comparison) compare(o *candidate) {
	pairs := o.served(c.Wait, o.Quantiles)
	o.Probability, o.Gain = pairs.probability(), pairs.gain()
}

// proposed reports whether an option should be proposed: its gain must be probable enough and consistent with both
// forecasts. The quantiles of the request are in than.
func proposed(o *Option, than []float64) bool {
	return o.Probability >= LeastProbability && material(than, o.Quantiles) &&
		agrees(o.Gain, than[waittime.Median]-o.Quantiles[waittime.Median])
}

// material reports whether the quantiles q mean a materially sooner start than those in than: the median is materially
// shorter, and the quantiles at 0.75 and 0.9 are not longer.
func material(than, q []float64) bool {
	for i := waittime.Median + 1; i < len(q) && i <= waittime.Median+2; i++ {
		if q[i] > than[i] {
			return false
		}
	}
	return materially(q[waittime.Median], than[waittime.Median])
}

// agrees reports whether two gains are consistent: the median of the difference and the (positive) difference of the
// medians. Neither must be more than twice the other. They may differ, because long waits may gain more than short
// ones.
func agrees(gain, ofMedians float64) bool { return gain >= ofMedians/2 && gain/2 <= ofMedians }

// smaller appends to out the options with fewer processors, the largest first. Their sizes are powers of two and simple
// fractions of the request's processors, and at least the share keep of these. A job on several nodes keeps its
// processors per node. For a request with GPUs or memory there is no option, because it is unknown how these would
// shrink.
func smaller(a *job.Attributes, keep float64, out []Option) []Option {
	if a.GPUs > 0 || a.Memory > 0 {
		return out
	}
	sizes := make([]int, 0, 48)
	for _, part := range []int{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64} {
		if a.Procs%part == 0 {
			sizes = append(sizes, a.Procs/part)
		}
	}
	for n := 1; n < a.Procs; n *= 2 {
		sizes = append(sizes, n)
	}
	sizes = slices.DeleteFunc(sizes, func(n int) bool { return float64(n) < keep*float64(a.Procs) })
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	slices.Reverse(sizes)
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

// RoundLimits returns the round time limits that users often choose, the longest first.
func RoundLimits() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{
		7 * day, 4 * day, 2 * day, day, 12 * time.Hour, 8 * time.Hour, 4 * time.Hour, 2 * time.Hour, time.Hour,
		30 * time.Minute, 15 * time.Minute, 10 * time.Minute, 5 * time.Minute,
	}
}

// shorter appends to out the options with shorter time limits out of RoundLimits, the longest first. The limits are at
// least the share keep of the request's limit, or at least an hour if the request has no limit.
func shorter(a *job.Attributes, keep float64, out []Option) []Option {
	for _, limit := range RoundLimits() {
		if a.TimeLimit > 0 && (limit >= a.TimeLimit || limit.Seconds() < keep*a.TimeLimit.Seconds()) ||
			a.TimeLimit == 0 && limit < time.Hour {
			continue
		}
		o := Option{Changes: ChangeLimit, Attributes: *a}
		o.TimeLimit = limit
		out = append(out, o)
	}
	return out
}

// elsewhere appends to out the options to submit the request to another queue that accepts it, without its QOS; at most
// mostQueues. It leaves out queues into whose pools the request does not fit. If the scheduler reports the limits of a
// queue, these decide. Otherwise a queue accepts the request if a job that is at least as large and as long waits or
// runs there now. admitted reports whether a request could ever start.
func (v *View) elsewhere(a *job.Attributes, admitted func(*job.Attributes) bool, out []Option) []Option {
	c := v.index()
	c.buildQueues(v)
	takes := func(queue string) bool {
		if facts := c.reported[queue]; facts != nil {
			return admits(facts, a)
		}
		return c.took(queue, a.Procs, a.TimeLimit)
	}
	for _, name := range c.queues {
		if len(out) == mostQueues {
			break
		}
		pool := v.Pool(name)
		d := pool.Dimension(a)
		if name == a.Queue || !takes(name) || !pool.Fits(name, pool.Size(a, d), d) {
			continue
		}
		out = append(out, Option{Changes: ChangeQueue, Attributes: *a})
		o := &out[len(out)-1]
		if o.Queue, o.QOS = name, ""; !admitted(&o.Attributes) {
			out = out[:len(out)-1]
		}
	}
	return out
}

// admits reports whether the limits of a queue allow a request to start. It returns false if the queue is down or
// closed.
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
