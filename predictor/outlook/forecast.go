package outlook

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/waitcast/waitcast/simulator"
)

// Quantiles are quantiles at the levels of Levels(), rising.
type Quantiles [levels]float64

// Point is the load at one horizon.
type Point struct {
	Horizon float64 // seconds from the forecast's instant
	// QueuedWork is in processor-seconds of requested work. QueueLength is in jobs. Utilization is a share of the
	// whole cluster's processors.
	QueuedWork, QueueLength, Utilization Quantiles
	// JobsPerHour and WorkPerHour are the mean arrivals from the instant to the horizon. WorkPerHour is in requested
	// processor-seconds.
	JobsPerHour, WorkPerHour Quantiles
}

// Future is the present and future load of the cluster or of one queue.
type Future struct {
	Queue  string
	Now    Point // the present, with equal quantiles; arrivals are those of the last hour, as far as the log has them
	Points []Point
}

// Wait is the wait of a standard job that is submitted at a horizon. It is simulated in the first Options.Probes
// replicas; no job arrives after the standard job. It is neither scored nor corrected, because a hypothetical job has
// no observed wait.
type Wait struct {
	Pool, Standard string
	Procs          int
	Limit, Horizon float64 // seconds
	// Seconds are the quantiles of the wait. They are +Inf if the job can never start. Waits above 60 days count as 60
	// days.
	Seconds Quantiles
}

// Forecast is the future of a State.
type Forecast struct {
	Now      float64
	Arrivals string // model of arrivals, one of ArrivalModels; empty without a model
	Cluster  Future
	Queues   []Future // the known queues, sorted by name
	Waits    []Wait   // by pool, standard job and horizon
}

// Forecast forecasts the future of a State, at any instant, without learning; only queues that are not known yet are
// registered. Equal histories and States give equal forecasts. The error is a *StateError, or the context's error.
func (f *Forecaster) Forecast(ctx context.Context, s *State) (*Forecast, error) {
	out, _, err := f.ForecastFutures(ctx, s)
	return out, err
}

// ForecastFutures returns the result of Forecast, and the simulated futures behind it.
func (f *Forecaster) ForecastFutures(ctx context.Context, s *State) (*Forecast, *Futures, error) {
	p, err := f.newPlayer(s)
	if err != nil {
		return nil, nil, err
	}
	out, err := f.forecast(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	return out, p.futures(), nil
}

// forecast forecasts the future of the player's state.
func (f *Forecaster) forecast(ctx context.Context, p *player) (*Forecast, error) {
	s := p.state
	courses, err := p.play(ctx, f.options.Replicas, f.options.Probes, f.model())
	if err != nil {
		return nil, err
	}
	out := &Forecast{Now: s.Now, Waits: p.waits(courses)}
	if f.streams[f.model()] != nil {
		out.Arrivals = ArrivalModels()[f.model()]
	}
	loads := make([]Future, len(p.initial))
	for scope := range loads {
		loads[scope].Now = p.present(scope)
		loads[scope].Points = make([]Point, len(p.horizons))
		if scope > 0 {
			loads[scope].Queue = f.s.Queues[scope-1]
		}
	}
	shared := p.common()
	for k, h := range p.horizons {
		p.rows(courses, k, slices.Concat(shared, f.clock(s.Now+h)), func(scope int, series Series, r row) {
			point := &loads[scope].Points[k]
			point.Horizon = h
			q := point.of(series)
			for l, y := range r.Served {
				v := series.unlog(y, p.procs)
				switch {
				case series.arrives():
					v /= h / hour
				case series == Utilization:
					v = min(v, max(1, p.initial[0][Utilization]))
				}
				q[l] = v
			}
		})
	}
	for scope := range loads {
		grow(loads[scope].Points)
		for k := range loads[scope].Points {
			p.boundPoint(k, scope, &loads[scope].Points[k])
		}
	}
	out.Cluster = loads[0]
	for _, l := range loads[1:] {
		if l.Queue != "" || f.s.Totals[1].Jobs > 0 {
			out.Queues = append(out.Queues, l)
		}
	}
	sort.Slice(out.Queues, func(i, j int) bool { return out.Queues[i].Queue < out.Queues[j].Queue })
	return out, nil
}

// grow makes the quantiles of the total arrivals until each horizon non-decreasing over the horizons. (The points have
// the arrivals per hour, which may decrease.) The corrections of the horizons are learnt separately, some of them from
// few outcomes, so without grow the totals might decrease.
func grow(points []Point) {
	for _, series := range []Series{ArrivedJobs, ArrivedWork} {
		var before Quantiles
		for k := range points {
			q := points[k].of(series)
			for l := range q {
				before[l] = math.Max(before[l], q[l]*points[k].Horizon)
				q[l] = before[l] / points[k].Horizon
			}
		}
	}
}

func (p *Point) of(s Series) *Quantiles {
	return [...]*Quantiles{&p.QueuedWork, &p.QueueLength, &p.Utilization, &p.JobsPerHour, &p.WorkPerHour}[s]
}

// Of returns the quantiles of a series. Arrivals are per hour.
func (p *Point) Of(s Series) Quantiles { return *p.of(min(max(s, 0), seriesCount-1)) }

// present returns the present values of a scope.
func (p *player) present(scope int) Point {
	var out Point
	for s := range seriesCount {
		v := p.initial[scope][s]
		if s.arrives() {
			v = p.came(scope, s, hour)
		}
		for l := range out.of(s) {
			out.of(s)[l] = v
		}
	}
	return out
}

// waits returns quantiles of the standard jobs' waits in the replicas.
func (p *player) waits(courses []course) []Wait {
	var out []Wait
	per := len(p.f.options.Standards)
	for i, job := range p.standards {
		for k, h := range p.horizons {
			var all []float64
			for _, c := range courses {
				if at := k*len(p.standards) + i; at < len(c.waits) {
					all = append(all, c.waits[at])
				}
			}
			if len(all) == 0 {
				continue
			}
			slices.Sort(all)
			w := Wait{
				Pool: p.state.Pools[i/per].Name, Standard: p.f.options.Standards[i%per].Name, Procs: job.Procs,
				Limit: job.Limit, Horizon: h,
			}
			for l, level := range Levels() {
				w.Seconds[l] = quantile(all, level)
			}
			out = append(out, w)
		}
	}
	return out
}

// Growth is the growth of the outstanding jobs of the cluster or of one queue in the replicas.
type Growth struct {
	// Probability is the share of the replicas that Zakay and Feitelson's test finds saturated
	// (simulator.Saturation): the least number of outstanding jobs from each week on grows by more than one a week.
	Probability float64
	// JobsPerWeek are the quantiles of that growth.
	JobsPerWeek Quantiles
}

// Saturation reports whether the number of outstanding jobs would grow without bound if jobs kept arriving as at
// present.
type Saturation struct {
	Growth                   // growth of the cluster
	Queues map[string]Growth // by name; queues that are not distinguished are ""
	// Replicas were simulated for Weeks weeks. Both are 0 if there is no model of arrivals yet.
	Replicas, Weeks int
}

// Of returns the growth of a queue, or of the cluster if queue is empty. It returns false if the growth is unknown.
func (s *Saturation) Of(queue string) (Growth, bool) {
	if queue == "" || s.Replicas == 0 {
		return s.Growth, s.Replicas > 0
	}
	g, ok := s.Queues[queue]
	return g, ok
}

// LeastSaturationWeeks is the minimum number of weeks for a judgement of saturation, in the history and in the
// replicas.
const LeastSaturationWeeks = 5

const (
	saturationReplicas = 20
	saturationWeeks    = 12
	saturationJobs     = 20_000 // number of arrivals above which fewer weeks are simulated
)

// Saturation simulates a State for 12 weeks with arrivals of the model in use. It returns the zero value if there is no
// model yet. If more than 20,000 jobs would arrive, it simulates fewer weeks, but at least LeastSaturationWeeks.
func (f *Forecaster) Saturation(ctx context.Context, s *State) (Saturation, error) {
	p, err := f.newPlayer(s)
	if err != nil {
		return Saturation{}, err
	}
	stream := f.streams[f.model()]
	if stream == nil || len(stream.Jobs) == 0 {
		return Saturation{}, nil
	}
	perWeek := float64(len(stream.Jobs)) / stream.Span * week
	weeks := int(math.Min(saturationWeeks, math.Max(LeastSaturationWeeks, saturationJobs/perWeek)))
	slopes, err := simulator.Replicas(ctx, saturationReplicas, f.options.Workers, p.seed,
		func() *actor { return p.actor(0, f.model()) }, p.growth(weeks))
	if err != nil {
		return Saturation{}, err
	}
	out := Saturation{Growth: growthOf(slopes, 0), Queues: map[string]Growth{}, Replicas: len(slopes), Weeks: weeks}
	for i, queue := range f.s.Queues[:len(p.initial)-1] {
		out.Queues[queue] = growthOf(slopes, i+1)
	}
	return out, nil
}

// growthOf returns the Growth of one scope. slopes are in jobs per week, by replica and scope.
func growthOf(slopes [][]float64, scope int) Growth {
	var g Growth
	own := make([]float64, len(slopes))
	for i := range slopes {
		own[i] = slopes[i][scope]
		if own[i] > 1 {
			g.Probability++
		}
	}
	g.Probability /= float64(len(slopes))
	slices.Sort(own)
	for l, level := range Levels() {
		g.JobsPerWeek[l] = quantile(own, level)
	}
	return g
}
