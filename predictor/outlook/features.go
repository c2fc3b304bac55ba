package outlook

import (
	"math"
	"slices"
)

// A row of features has commonFeatures of the cluster, then clockFeatures of the horizon's instant, then ownFeatures of
// the series. All are known at the time of the forecast.
const (
	commonFeatures = 18
	clockFeatures  = 6
	ownFeatures    = 10
	// ownAt is the index of the present value. The next ones are last week's value, the replicas' mean, and the share
	// of replicas with a value near 0.
	ownAt        = commonFeatures + clockFeatures
	ownQuantiles = 4 // offset of the replicas' quantiles from ownAt
	featureCount = commonFeatures + clockFeatures + ownFeatures
)

// common returns the features of the cluster: its load now, its queued work an hour, three hours and a day ago, the
// arrivals since each of these, and the result of shape.
func (p *player) common() []float64 {
	f, now := p.f, p.state.Now
	v := p.initial[0]
	here := func(s Series) float64 { return s.log(v[s], p.procs) }
	out := []float64{here(QueuedWork), here(QueueLength), v[Utilization]}
	for _, back := range []float64{hour, 3 * hour, day} {
		l, ok := sampleAt(f.s.Trail, now-back, 2*f.options.Every)
		if !ok {
			out = append(out, math.NaN(), math.NaN(), math.NaN())
			continue
		}
		out = append(out,
			QueuedWork.log(l.of(0, QueuedWork), p.procs),
			ArrivedWork.log(f.s.Totals[0].Work-l.of(0, ArrivedWork), p.procs),
			ArrivedJobs.log(f.s.Totals[0].Jobs-l.of(0, ArrivedJobs), p.procs))
	}
	return append(out, p.shape()...)
}

// shape returns features of the jobs that run, or wait and are not held: the remaining work of the running jobs by
// their limits and by the medians of their laws, the size of the largest waiting job, the age of the oldest waiting
// job, the size of the first waiting job, and the number of users.
func (p *player) shape() []float64 {
	now := p.state.Now
	planned, expected, largest, oldest, first := 0., 0., 0., 0., 0.
	people := map[int64]bool{}
	for i := range p.state.Running {
		j := &p.state.Running[i]
		age := now - j.Start
		planned += float64(j.Procs) * max(0, p.f.plan(j, now)-age)
		p.laws[i].Into(&p.scratch)
		expected += float64(j.Procs) * p.scratch.Residual(age, .5)
		people[p.groups[i]] = true
	}
	for i := range p.state.Waiting {
		j := &p.state.Waiting[i]
		if j.Eligible > now {
			continue
		}
		if first == 0 {
			first = float64(j.Procs) / p.procs
		}
		largest = max(largest, float64(j.Procs)/p.procs)
		oldest = max(oldest, now-j.Submit)
		people[p.groups[p.running+i]] = true
	}
	return []float64{
		QueuedWork.log(planned, p.procs), QueuedWork.log(expected, p.procs), largest, math.Log1p(oldest / minute),
		first, math.Log1p(float64(len(people))),
	}
}

// clock returns features of an instant: its place in the day, by two harmonics, and in the week.
func (f *Forecaster) clock(at float64) []float64 {
	t := f.options.Local(at)
	d, w := 2*math.Pi*t/day, 2*math.Pi*t/week
	return []float64{math.Sin(d), math.Cos(d), math.Sin(2 * d), math.Cos(2 * d), math.Sin(w), math.Cos(w)}
}

// now returns the present value of a series on its scale. For arrivals it is the number (or the work) of the jobs that
// arrived in the last h seconds, NaN if unknown.
func (p *player) now(scope int, s Series, h float64) float64 {
	if !s.arrives() {
		return s.log(p.initial[scope][s], p.procs)
	}
	f := p.f
	if f.reaches(p.state.Now - h) {
		return s.log(p.came(scope, s, h), p.procs)
	}
	l, ok := sampleAt(f.s.Trail, p.state.Now-h, 2*f.options.Every)
	if !ok {
		return math.NaN()
	}
	return s.log(f.total(scope, s)-l.of(scope, s), p.procs)
}

// reaches reports whether all jobs that arrived since an instant are still recorded.
func (f *Forecaster) reaches(at float64) bool {
	if len(f.s.Ring) == 0 {
		return false
	}
	oldest := 0
	if len(f.s.Ring) == f.options.Jobs {
		oldest = f.s.Next
	}
	return f.s.Ring[oldest].Submit <= at
}

// came returns the arrivals in the last h seconds in natural units, as far as they are recorded.
func (p *player) came(scope int, s Series, h float64) float64 {
	all, ok := p.past[h]
	if !ok {
		all = make([]total, len(p.f.s.Totals))
		for i := range p.f.s.Ring {
			if r := &p.f.s.Ring[i]; r.Submit > p.state.Now-h && r.Submit <= p.state.Now {
				for _, at := range [2]int32{0, r.Queue} {
					all[at].Jobs++
					all[at].Work += float64(r.Procs) * r.Limit
				}
			}
		}
		p.past[h] = all
	}
	if s == ArrivedWork {
		return all[scope].Work
	}
	return all[scope].Jobs
}

// lastWeek returns the value of a series a week before the horizon's instant on its scale, NaN if unknown. For arrivals
// it is the value of the h seconds that end a week before the horizon's instant.
func (p *player) lastWeek(scope int, s Series, h float64) float64 {
	f := p.f
	at := p.state.Now + h - week
	l, ok := sampleAt(f.s.Trail, at, 2*f.options.Every)
	if h >= week {
		l, ok = p.currentSample(), true
	}
	if !ok {
		return math.NaN()
	}
	if !s.arrives() {
		return s.log(l.of(scope, s), p.procs)
	}
	before, ok := sampleAt(f.s.Trail, at-h, 2*f.options.Every)
	if !ok {
		return math.NaN()
	}
	return s.log(l.of(scope, s)-before.of(scope, s), p.procs)
}

// currentSample returns the present load.
func (p *player) currentSample() loadSample {
	l := loadSample{At: p.state.Now, Values: slices.Clone(p.initial)}
	for scope := range l.Values {
		l.Values[scope][ArrivedJobs] = p.f.total(scope, ArrivedJobs)
		l.Values[scope][ArrivedWork] = p.f.total(scope, ArrivedWork)
	}
	return l
}

func (f *Forecaster) total(scope int, s Series) float64 {
	if s == ArrivedWork {
		return f.s.Totals[scope].Work
	}
	return f.s.Totals[scope].Jobs
}

// simulated returns the sorted values of a series in the replicas, on its scale.
func (p *player) simulated(courses []course, k, scope int, s Series, dst []float64) []float64 {
	dst = dst[:0]
	for i := range courses {
		dst = append(dst, s.log(courses[i].values[k*len(p.initial)+scope][s], p.procs))
	}
	slices.Sort(dst)
	return dst
}

// own returns the features of one series at one horizon: the present value and last week's value; the mean of the
// replicas' sorted values, the share of them near 0, and their quantiles; and the square root of the present value.
func own(now, lastWeek float64, sorted []float64) []float64 {
	mean, still := 0., 0.
	for _, y := range sorted {
		mean += y / float64(len(sorted))
		if y < .05 {
			still += 1 / float64(len(sorted))
		}
	}
	out := []float64{now, lastWeek, mean, still}
	for _, q := range Levels() {
		out = append(out, quantile(sorted, q))
	}
	return append(out, math.Sqrt(max(0, now)))
}
