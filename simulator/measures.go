package simulator

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
)

// Collector measures a schedule from its events. It stores a few numbers for each job.
type Collector struct {
	cfg     Measure
	samples []sample
	queues  names
	clock   *series
	weeks   weeks
}

// Measure is the configuration of a Collector.
type Measure struct {
	Procs int // processors of the machine
	// end of the warm-up: jobs submitted before do not count, and averages over time begin here, or at the first
	// event if that is later
	From float64
	// end of averages over time; jobs submitted at this instant or later do not count; 0 means the last submission, and
	// then every job that was submitted after the warm-up counts
	Until     float64
	Threshold float64 // threshold of the bounded slowdown in seconds; 0 means 10
	Step      float64 // seconds per point of Report.Series; 0 means no series

	// SizeClass returns the name of the class of a size; nil means the function SizeClass.
	SizeClass func(procs int) string
	Users     bool // measure each user's jobs too
}

// sample has the measures of a job that has started.
type sample struct {
	submit, wait, runtime float64
	user                  int64
	procs, queue          int32
	killed                bool
}

// names assigns numbers to names.
type names struct {
	index map[string]int32
	list  []string
}

func (n *names) of(name string) int32 {
	i, ok := n.index[name]
	if !ok {
		i = int32(len(n.list))
		n.index[name] = i
		n.list = append(n.list, name)
	}
	return i
}

// NewCollector returns a Collector without events.
func NewCollector(m Measure) *Collector {
	if m.Threshold == 0 {
		m.Threshold = 10
	}
	if m.SizeClass == nil {
		m.SizeClass = SizeClass
	}
	return &Collector{cfg: m, queues: names{index: map[string]int32{}}, clock: newSeries(m)}
}

// Observe processes the next event.
func (c *Collector) Observe(e Event) {
	c.clock.observe(e)
	c.weeks.observe(e)
	if j := e.Job; e.Kind == Started {
		c.samples = append(c.samples, sample{
			submit: j.Submit, wait: j.Start - j.Submit, runtime: j.Runtime, user: j.User, procs: int32(j.Procs),
			queue: c.queues.of(j.Queue), killed: j.Killed,
		})
	}
}

// SizeClass returns the name of the class of a size. Classes end at powers of two: 1, 2, 3-4, 5-8, and so on.
func SizeClass(procs int) string {
	high := 1 << bits.Len(uint(max(1, procs)-1))
	if high <= 2 {
		return strconv.Itoa(high)
	}
	return fmt.Sprintf("%d-%d", high/2+1, high)
}

// Report has the measures of a Collector. The slowdown is (wait + runtime) / runtime; a runtime below 1 s counts as 1
// s. The bounded slowdown is max(1, (wait + runtime) / max(threshold, runtime)) (D. Feitelson, "Metrics for Parallel
// Job Scheduling and Their Convergence", JSSPP 2001).
type Report struct {
	From        float64 `json:"from_seconds"`           // beginning of the averages over time
	Until       float64 `json:"until_seconds"`          //
	Utilization float64 `json:"utilization"`            // busy processor seconds divided by all processor seconds
	Throughput  float64 `json:"throughput_per_second"`  // jobs that ended, per second
	MeanQueue   float64 `json:"mean_queue_length"`      // mean over time of the number of waiting jobs
	MaxQueue    int     `json:"max_queue_length"`       //
	Waiting     int     `json:"waiting_at_end"`         // jobs that have not started
	All         Group   `json:"all"`                    //
	Queues      []Group `json:"queues,omitempty"`       // only if jobs have more than one queue
	Sizes       []Group `json:"sizes,omitempty"`        // by size class
	Users       []Group `json:"users,omitempty"`        // by user number, only if requested
	Series      []Point `json:"series,omitempty"`       // only if requested
	Growth      float64 `json:"growth_jobs_per_week"`   // see Saturation
	Saturated   bool    `json:"saturated"`              //
	Weekly      []int   `json:"outstanding_at_week"`    //
	Makespan    float64 `json:"last_event_seconds"`     // the instant of the last event
	Threshold   float64 `json:"slowdown_bound_seconds"` //
}

// Group has the measures of a group of jobs. It contains the jobs that started and that count by Measure.From and
// Measure.Until.
type Group struct {
	Name     string  `json:"name"`
	Jobs     int     `json:"jobs"`
	Killed   int     `json:"killed"`
	Work     float64 `json:"processor_seconds"`
	Wait     Summary `json:"wait_seconds"`
	Slowdown Summary `json:"slowdown"`
	Bounded  Summary `json:"bounded_slowdown"`
}

// Summary summarizes some numbers. It is 0 for no numbers.
type Summary struct {
	Mean   float64 `json:"mean"`
	StdDev float64 `json:"stddev"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
}

// summarize sorts the values and summarizes them.
func summarize(x []float64) Summary {
	if len(x) == 0 {
		return Summary{}
	}
	slices.Sort(x)
	s := Summary{
		Median: stat.Quantile(.5, stat.Empirical, x, nil), P95: stat.Quantile(.95, stat.Empirical, x, nil),
		Max: x[len(x)-1], Mean: x[0],
	}
	if len(x) > 1 {
		s.Mean, s.StdDev = stat.MeanStdDev(x, nil)
	}
	return s
}

// counted returns the jobs that count, in order of submission.
func (c *Collector) counted() []sample {
	until := c.until()
	var out []sample
	for _, s := range c.samples {
		if s.submit >= c.cfg.From && (s.submit < until || c.cfg.Until == 0) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b sample) int { return cmp.Compare(a.submit, b.submit) })
	return out
}

func (c *Collector) until() float64 {
	if c.cfg.Until > 0 {
		return c.cfg.Until
	}
	return c.clock.lastSubmit
}

func values(samples []sample, f func(*sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i := range samples {
		out[i] = f(&samples[i])
	}
	return out
}

func (s *sample) bounded(threshold float64) float64 {
	return BoundedSlowdown(s.wait, s.runtime, threshold)
}

// BoundedSlowdown returns max(1, (wait + runtime) / max(threshold, runtime)). All arguments are in seconds.
func BoundedSlowdown(wait, runtime, threshold float64) float64 {
	return max(1, (wait+runtime)/max(threshold, runtime))
}

// Report returns the measures of the events so far.
func (c *Collector) Report() Report {
	samples := c.counted()
	r := Report{
		From: max(c.cfg.From, c.clock.first), Until: c.until(), All: c.group("all", samples), Series: c.clock.points(),
		Weekly: c.weeks.tabulated(), Makespan: c.clock.at, Waiting: c.clock.queued, Threshold: c.cfg.Threshold,
	}
	r.Growth, r.Saturated = Saturation(r.Weekly)
	sums := &c.clock.sums
	if c.cfg.Until == 0 {
		sums = &c.clock.atLastSubmit
	}
	r.Utilization, r.Throughput, r.MeanQueue, r.MaxQueue = sums.averages(c.cfg.Procs, r.Until-r.From)
	if len(c.queues.list) > 1 {
		r.Queues = c.groups(samples, func(s *sample) string { return c.queues.list[s.queue] })
	}
	bySize := slices.Clone(samples)
	slices.SortStableFunc(bySize, func(a, b sample) int { return cmp.Compare(a.procs, b.procs) })
	r.Sizes = c.groups(bySize, func(s *sample) string { return c.cfg.SizeClass(int(s.procs)) })
	if c.cfg.Users {
		slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.user, b.user) })
		r.Users = c.groups(samples, func(s *sample) string { return strconv.FormatInt(s.user, 10) })
	}
	return r
}

// groups measures the jobs of each key. The keys are in the order of their first jobs.
func (c *Collector) groups(samples []sample, key func(*sample) string) []Group {
	ids := names{index: map[string]int32{}}
	var parts [][]sample
	for i := range samples {
		k := ids.of(key(&samples[i]))
		if int(k) == len(parts) {
			parts = append(parts, nil)
		}
		parts[k] = append(parts[k], samples[i])
	}
	out := make([]Group, len(parts))
	for i := range parts {
		out[i] = c.group(ids.list[i], parts[i])
	}
	return out
}

func (c *Collector) group(name string, samples []sample) Group {
	g := Group{Name: name, Jobs: len(samples)}
	for i := range samples {
		s := &samples[i]
		g.Work += float64(s.procs) * s.runtime
		if s.killed {
			g.Killed++
		}
	}
	g.Wait = summarize(values(samples, func(s *sample) float64 { return s.wait }))
	g.Slowdown = summarize(values(samples, func(s *sample) float64 { return (s.wait + s.runtime) / max(1, s.runtime) }))
	g.Bounded = summarize(values(samples, func(s *sample) float64 { return s.bounded(c.cfg.Threshold) }))
	return g
}
