package backtest

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine"
)

// scoredJob has the data that are kept of a job with a wait and a forecast. All times are in seconds.
type scoredJob struct {
	since  float64 // seconds from the trace's first submission
	wait   float64
	served [4]float64 // at the scored levels
	qbets  float64    // median of QBETS, NaN if it has none
	queue  int32      // index among the names
	class  int32      // index among the size classes
}

// day is the length of a block of the bootstrap, and the shortest span of a report, in seconds.
const day = 86400

// collector collects the details of a trace for a report, beyond the scores of the methods. It keeps 64 bytes for each
// scored job, and sums for each day.
type collector struct {
	trace      *Trace
	from       int
	resolution float64
	population Population
	queues     map[string]int32
	names      []string
	users      map[string]bool
	jobs       []scoredJob
	qbets      int // index of QBETS among the methods
	rivals     []*rival
	steps      []stepSums
}

// rival is a method that waitcast is compared with. It has sums for each day from the first submission on.
type rival struct {
	name            string
	place           int // index among the methods
	days            []rivalDay
	n               int
	within, against int // numbers of medians within a factor 2 of the wait: of the rival, and of waitcast
	ratios          ratioHistogram
}

// rivalDay has the number of compared jobs of one day and, by level, the sums of their losses.
type rivalDay struct {
	n               int
	waitcast, other [4]float64
}

// stepSums is a Step with the sums from which its scores are computed.
type stepSums struct {
	Step
	served, qbets sums
}

func newCollector(t *Trace, from int, resolution float64, methods []string) *collector {
	c := &collector{trace: t, from: from, resolution: resolution, queues: map[string]int32{}, users: map[string]bool{},
		qbets: slices.Index(methods, "qbets")}
	for _, name := range [...]string{"qbets", "limits", "recent"} {
		c.rivals = append(c.rivals, &rival{name: name, place: slices.Index(methods, name)})
	}
	return c
}

// take collects one submission, by its index in the trace. answers returns the forecasts by the indices of the
// methods.
func (c *collector) take(place int, answers func(method int) []float64) {
	j := &c.trace.Jobs[place]
	c.describe(j)
	step := c.step(place)
	served, qbets := answers(0), answers(c.qbets)
	if !finite(qbets) {
		qbets = nil
	}
	if j.Scored() {
		step.add(j.Wait(), served, qbets)
	}
	if p := &c.population; place < c.from {
		p.WarmUp++
	} else if served != nil && j.Scored() {
		p.Scored++
		c.score(j, served, qbets)
		for _, r := range c.rivals {
			r.add(c.day(j), j.Wait(), served, answers(r.place))
		}
	} else {
		p.leaveOut(j)
	}
}

// leaveOut counts a submission that is not scored.
func (p *Population) leaveOut(j *Job) {
	switch {
	case j.Scored():
		p.NoForecast++
	case j.Cancelled && j.Recorded:
		p.Cancelled++
	case j.Starts && !j.NeverRan:
		p.WaitUnknown++
	default:
		p.NoStart++
	}
}

// describe counts the attributes that the log has for a submission.
func (c *collector) describe(j *Job) {
	p := &c.population
	if _, known := c.queues[j.Queue]; !known {
		c.queues[j.Queue] = int32(len(c.names)) //nolint:gosec // at most one for each job
		c.names = append(c.names, j.Queue)
	}
	if j.Limit > 0 {
		p.WithLimit++
	}
	if j.User != "" {
		p.WithUser++
		c.users[j.User] = true
	}
	if j.Priority != 0 {
		p.WithPriority++
	}
}

func (c *collector) since(j *Job) float64 { return j.Submit - c.trace.Jobs[0].Submit }

func (c *collector) day(j *Job) int { return int(c.since(j) / day) }

// score keeps a job's data for the groups.
func (c *collector) score(j *Job, served, qbets []float64) {
	s := scoredJob{since: c.since(j), wait: j.Wait(), qbets: math.NaN(), queue: c.queues[j.Queue],
		class: int32(slices.Index(waittime.SizeClasses(), waittime.SizeClass(j.Procs)))} //nolint:gosec // six classes
	copy(s.served[:], served)
	if qbets != nil {
		s.qbets = qbets[medianLevel]
	}
	c.jobs = append(c.jobs, s)
}

// step returns the learning step of the submission with the index place in the trace. It begins new steps as needed,
// and sets the step's Seconds to the time of this submission.
func (c *collector) step(place int) *stepSums {
	for len(c.steps) == 0 || c.steps[len(c.steps)-1].To <= place {
		s := stepSums{served: newSums(), qbets: newSums()}
		s.From, s.To = 1, firstStep
		if n := len(c.steps); n > 0 {
			s.From, s.To = c.steps[n-1].To+1, 3*c.steps[n-1].To
			if n%2 == 0 {
				s.To = 10 * c.steps[n-2].To
			}
		}
		c.steps = append(c.steps, s)
	}
	s := &c.steps[len(c.steps)-1]
	s.Seconds = c.since(&c.trace.Jobs[place])
	return s
}

// add adds the scores of a job with the given wait to the step. A job without a served forecast is only counted.
func (s *stepSums) add(wait float64, served, qbets []float64) {
	if served == nil {
		s.NoForecast++
		return
	}
	s.served.add(served, wait)
	if qbets != nil {
		s.qbets.add(qbets, wait)
	}
}

// finite reports whether q has a number for every level: it is not nil, and no value is NaN or infinite.
func finite(q []float64) bool {
	return q != nil && !slices.ContainsFunc(q, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// add adds the losses of one job: of the forecasts of waitcast (served), and of the rival (other). It does nothing if
// one of the two has no answer at some level.
func (r *rival) add(day int, wait float64, served, other []float64) {
	if !finite(other) || !finite(served) {
		return
	}
	for len(r.days) <= day {
		r.days = append(r.days, rivalDay{})
	}
	d, z := &r.days[day], waittime.Log(wait)
	d.n++
	r.n++
	for i, level := range waittime.ScoredLevels() {
		d.waitcast[i] += waittime.Pinball(level, waittime.Log(served[i]), z)
		d.other[i] += waittime.Pinball(level, waittime.Log(other[i]), z)
	}
	if within2(other[medianLevel], wait) {
		r.within++
	}
	if within2(served[medianLevel], wait) {
		r.against++
	}
	r.ratios.add(waittime.Log(other[highLevel]) - waittime.Log(served[highLevel]))
}

func within2(median, wait float64) bool {
	return math.Abs(waittime.Log(wait)-waittime.Log(median)) <= math.Ln2+rounding
}

// ratioHistogram counts ratios by their logarithm, in classes of 0.01 from -20 to 20.
type ratioHistogram struct {
	n      int
	counts [4001]int32
}

func (h *ratioHistogram) add(logarithm float64) {
	h.n++
	h.counts[int(math.Round(100*min(max(logarithm, -20), 20)))+2000]++
}

// median returns the median ratio, NaN if nothing was added.
func (h *ratioHistogram) median() float64 {
	seen := 0
	for i, n := range h.counts {
		if seen += int(n); n > 0 && 2*seen >= h.n {
			return math.Exp(float64(i-2000) / 100)
		}
	}
	return math.NaN()
}

// result returns the details of all collected submissions.
func (c *collector) result(constant Constant) *DetailResult {
	t := c.trace
	out := &DetailResult{Population: c.population, Period: Period{Dated: t.Dated,
		First: t.Epoch + t.Jobs[0].Submit, Last: t.Epoch + t.Jobs[len(t.Jobs)-1].Submit}}
	out.Population.Users, out.Population.Queues = len(c.users), len(c.names)
	for i := range c.steps {
		s := c.steps[i].Step
		s.To = min(s.To, len(t.Jobs))
		s.Served, s.QBETS = c.steps[i].served.figures(), c.steps[i].qbets.figures()
		out.Learning = append(out.Learning, s)
	}
	out.All = c.group(func(*scoredJob) bool { return true })
	out.Long = c.group(func(s *scoredJob) bool { return s.served[medianLevel] > 60 })
	out.Queues = c.byQueue()
	classes := waittime.SizeClasses()
	out.Sizes = groups(c.jobs, len(classes), func(s *scoredJob) int { return int(s.class) },
		func(i int, g *Group) { g.Name = classes[i] })
	ends := waittime.Horizons()
	out.Lengths = groups(c.jobs, len(ends)+1, func(s *scoredJob) int {
		i, _ := slices.BinarySearch(ends, s.served[medianLevel]) // the first range whose end is not below the median
		return i
	}, func(i int, g *Group) {
		if i > 0 {
			g.From = ends[i-1]
		}
		if i < len(ends) {
			g.To = ends[i]
		}
	})
	length := out.Period.Last - out.Period.First
	out.Times = c.spans(out.Period.First, length, day, mostTimes)
	unit := 30. * day
	if length < mostSpans*day {
		unit = day
	}
	out.Spans = c.spans(out.Period.First, length, unit, mostSpans)
	c.compare(out, constant)
	return out
}

// spans groups the jobs by time, in equal spans whose length is a multiple of unit. The number of spans is at most
// most.
func (c *collector) spans(first, length, unit float64, most int) []Group {
	span := unit * math.Max(1, math.Ceil((math.Floor(length/unit)+1)/float64(most)))
	return groups(c.jobs, int(length/span)+1, func(s *scoredJob) int { return int(s.since / span) },
		func(i int, g *Group) { g.From, g.To = first+float64(i)*span, first+float64(i+1)*span })
}

// byQueue groups the jobs by queue. The queues with the most jobs have groups of their own; the others share one.
func (c *collector) byQueue() []Group {
	counts := make([]int, len(c.names))
	for i := range c.jobs {
		counts[c.jobs[i].queue]++
	}
	order := make([]int, len(c.names)) // queues by falling number of jobs, then by name
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(c.names[a], c.names[b]))
	})
	row, others := make([]int, len(c.names)), 0
	for i, queue := range order {
		row[queue] = min(i, shownQueues)
		if i >= shownQueues && counts[queue] > 0 {
			others++
		}
	}
	return groups(c.jobs, min(len(order), shownQueues+1), func(s *scoredJob) int { return row[s.queue] },
		func(i int, g *Group) {
			g.Name = c.names[order[i]]
			if i == shownQueues && others > 1 {
				g.Name, g.Queues = "", others
			}
		})
}

// group returns the scores of the jobs for which has(job) is true. It returns nil if there are none.
func (c *collector) group(has func(*scoredJob) bool) *Group {
	var members []int32
	for i := range c.jobs {
		if has(&c.jobs[i]) {
			members = append(members, int32(i)) //nolint:gosec // a place among jobs that are in memory
		}
	}
	if len(members) == 0 {
		return nil
	}
	g := groupOf(c.jobs, members)
	return &g
}

// groups returns the scores of n groups of jobs, without the groups that have no job. of(job) is the index of a job's
// group. name(i, g) sets the name or the span of the group g with the index i.
func groups(jobs []scoredJob, n int, of func(*scoredJob) int, name func(int, *Group)) []Group {
	members := make([][]int32, n)
	for i := range jobs {
		k := of(&jobs[i])
		members[k] = append(members[k], int32(i)) //nolint:gosec // a place among jobs that are in memory
	}
	out := []Group{}
	for k, m := range members {
		if len(m) == 0 {
			continue
		}
		g := groupOf(jobs, m)
		name(k, &g)
		out = append(out, g)
	}
	return out
}

// groupOf returns the scores of the jobs with the indices members, of which there must be at least one.
func groupOf(jobs []scoredJob, members []int32) Group {
	all := newSums()
	var waits, medians, bounds, misses, qbets []float64
	for _, i := range members {
		j := &jobs[i]
		all.add(j.served[:], j.wait)
		waits, medians = append(waits, j.wait), append(medians, j.served[medianLevel])
		bounds, misses = append(bounds, j.served[highLevel]), append(misses, math.Abs(j.wait-j.served[medianLevel]))
		if !math.IsNaN(j.qbets) {
			qbets = append(qbets, math.Abs(j.wait-j.qbets))
		}
	}
	g := Group{Figures: all.figures(), MedianAbsError: number(quantile(misses, .5)),
		QBETSAbsError: number(quantile(qbets, .5)), Forecast: []float64{quantile(medians, .5), quantile(bounds, .5)}}
	for _, p := range [...]float64{.1, .5, .9} {
		g.Wait = append(g.Wait, quantile(waits, p))
	}
	return g
}

// answersOf returns a function that returns the forecasts of one submission by the indices of the methods.
func answersOf(f *engine.Forecast) func(method int) []float64 {
	return func(method int) []float64 {
		switch method {
		case 0:
			return f.Quantiles
		case 1:
			return f.Combined
		}
		if f.Experts == nil { // a fast replay has no forecasts for this submission
			return nil
		}
		return f.Experts[method-2]
	}
}
