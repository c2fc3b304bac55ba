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

// Option is a request that differs from another one in one attribute and would start materially sooner.
type Option struct {
	// Changes names the attribute that differs: procs, time_limit or queue.
	Changes string
	job.Attributes
	// Quantiles is the forecast in seconds, at waittime.Levels.
	Quantiles []float64
	// Probability is the probability of a materially sooner start, at least LeastProbability and below 1.
	Probability float64
	// Gain is the median difference of the two waits in seconds; +Inf if the request itself never starts. It is between
	// half and twice the difference of the medians.
	Gain float64
}

// The values of Option.Changes.
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
	// mostQueues is the maximum number of queues that are tried. mostForecasts is the maximum number of candidates of
	// each kind that are forecast.
	mostQueues, mostForecasts = 8, 4
)

// SoonerQuery is a query for requests that would start materially sooner than a given one.
type SoonerQuery struct {
	Request *job.Attributes
	// Wait is the forecast of the request in seconds, at waittime.Levels.
	Wait []float64
	// Job is the job of the request if it waits already; an option would replace the job. It is nil if there is none.
	Job *cluster.Job
	// Keep is the minimum part of the processors and of the time limit that an option keeps, in (0, 1].
	Keep float64
	// Takes reports whether a request could ever start.
	Takes func(*job.Attributes) bool
}

// Sooner returns requests that would start materially sooner than the given one. There is at most one of each kind:
// with fewer processors, with a shorter time limit, and to another queue that accepts such jobs. All of them are
// simulated in the same futures, see coupling. Of options with about the same gain Sooner returns the one with the
// smallest reduction. It cannot know whether the job can run with less.
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

// WithLimit compares a request with the same request under another time limit, even if that would not start sooner. It
// returns false if the comparison is impossible. The fields Keep and Takes of the query have no effect.
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
	return o, true
}

// comparison compares a request with options.
type comparison struct {
	*View
	*SoonerQuery
	now     time.Time
	futures *engine.Futures // futures of the options
	waits   []float64       // waits of the request, by future
	median  float64         // median of waits
	request engine.Request  // the option that is simulated or forecast
	waited  []float64       // waits of that option, by future
	sorted  []float64       // scratch memory
}

// play simulates the request. It returns false if that is impossible.
func (c *comparison) play() bool {
	c.futures = c.Engine.Futures()
	if c.Job != nil {
		c.futures, c.waits = c.Engine.FuturesWithout(EngineID(c.Job)), c.Engine.WaitsOfJob(c.Job.Queue, EngineID(c.Job))
	}
	if c.waits == nil { // without a job, or in a large pool, simulate a submission now
		c.request = c.PrioritizedRequest(c.Request)
		c.waits = c.Engine.Futures().Waits(&c.request, nil)
	}
	c.median = c.medianOf(c.waits)
	return c.waits != nil
}

// taken returns the options that could ever start, in the memory of all options.
func (c *comparison) taken(options []Option) []Option {
	out := options[:0]
	for i := range options {
		if c.Takes(&options[i].Attributes) {
			out = append(out, options[i])
		}
	}
	return out
}

// medianOf returns the median of waits without sorting the slice itself.
func (c *comparison) medianOf(waits []float64) float64 {
	c.sorted = append(c.sorted[:0], waits...)
	return median(c.sorted)
}

// candidate is an option that the simulation starts sooner.
type candidate struct {
	*Option
	coupling
	gain float64 // difference of the simulated medians
}

// best returns the first option whose forecast is materially sooner, nil if there is none. options are sorted from the
// smallest change to the largest. The cheap simulation decides the order of the forecasts: first the options from the
// smallest change that gains at least half of the largest simulated gain, in their order; then the smaller changes, the
// largest first.
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
		c.waited = nil // the candidate keeps it
	}
	mild := slices.IndexFunc(all, func(o candidate) bool { return o.gain >= most/2 })
	if mild < 0 {
		return nil
	}
	slices.Reverse(all[:mild])
	all = append(all[mild:], all[:mild]...)
	for i := range all[:min(len(all), mostForecasts)] {
		if c.forecast(&all[i]) && proposed(all[i].Option, c.Wait) {
			return all[i].Option
		}
	}
	return nil
}

// simulate simulates an option in the futures of the request. It returns false if that is impossible. The waits stay in
// c.waited.
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

// forecast forecasts a candidate like any request, and couples it with the request. It returns false if there is no
// forecast.
func (c *comparison) forecast(o *candidate) bool {
	c.request = c.PrioritizedRequest(&o.Attributes)
	if o.Quantiles = c.Engine.Forecast(&c.request).Quantiles; o.Quantiles == nil {
		return false
	}
	if len(c.Pool(o.Queue).Outages) > 0 {
		c.Pooled(c.now, o.Attributes).MoveOut(o.Quantiles)
	}
	pairs := o.served(c.Wait, o.Quantiles)
	o.Probability, o.Gain = pairs.probability(), pairs.gain()
	return true
}

// proposed reports whether an option should be proposed, because its gain is probable enough and consistent with both
// forecasts.
func proposed(o *Option, than []float64) bool {
	return o.Probability >= LeastProbability && material(than, o.Quantiles) &&
		agrees(o.Gain, than[waittime.Median]-o.Quantiles[waittime.Median])
}

// material reports whether quantiles are materially sooner than others: the median is sooner, and the quantiles at 0.75
// and 0.9 are not later.
func material(than, q []float64) bool {
	for i := waittime.Median + 1; i < len(q) && i <= waittime.Median+2; i++ {
		if q[i] > than[i] {
			return false
		}
	}
	return materially(q[waittime.Median], than[waittime.Median])
}

// agrees reports whether the median of the difference and the (positive) difference of the medians are consistent:
// neither is more than twice the other. They may differ, because long waits may gain more than short ones.
func agrees(gain, ofMedians float64) bool { return gain >= ofMedians/2 && gain/2 <= ofMedians }

// smaller appends to out the options with fewer processors, largest first: powers of two and simple fractions that are
// at least the share keep of the request's processors. A job on several nodes keeps its processors per node. A job that
// requests GPUs or memory gets no option, because it is unknown how its GPUs or memory would shrink.
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

// RoundLimits returns the time limits that users round to, the longest first.
func RoundLimits() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{
		7 * day, 4 * day, 2 * day, day, 12 * time.Hour, 8 * time.Hour, 4 * time.Hour, 2 * time.Hour, time.Hour,
		30 * time.Minute, 15 * time.Minute, 10 * time.Minute, 5 * time.Minute,
	}
}

// shorter appends to out the options with shorter time limits that users round to, longest first. They are at least the
// share keep of the request's limit. For a request without a limit they are at least an hour.
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

// elsewhere appends to out the same request for other queues that accept such jobs. If the scheduler reports the rules
// of a queue, these decide. Otherwise a queue accepts the request if a job at least as large and as long waits or runs
// there now.
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

// admits reports whether the limits of a queue allow a request to start.
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
