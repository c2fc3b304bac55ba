package outlook

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// awaited is a forecast that was made at one instant (At) for one horizon. Its outcome is known at Due.
type awaited struct {
	At, Due float64
	Procs   float64
	Shared  []float64 // features that all scopes and series share
	Totals  []total   // by scope: totals at the time of the forecast
	Rows    []row     // by scope and series
	// Models has each model's quantiles of arriving jobs and work. If a model has none, its first quantile is NaN.
	Models [arrivalModels][2][levels]float64
}

// row is the forecast of one series of a scope.
type row struct {
	Own         [ownFeatures]float64
	Said        []float32 // quantiles of the experts; nil if there is no forecast
	Raw, Served [levels]float64
}

// Observe learns from the State at an instant. It scores the earlier forecasts for this instant, learns from them, and
// makes new forecasts for later learning. If that is due, Observe also fits the models of arrivals again, and trains
// the trees of one corrector. It must be called every Options.Every seconds, after all events before the instant were
// recorded. The error is a *StateError, or the context's error.
func (f *Forecaster) Observe(ctx context.Context, s *State) error {
	if n := len(f.s.Trail); n > 0 && s.Now < f.s.Trail[n-1].At+f.options.Every/2 {
		return nil
	}
	if s.Now-f.s.Refitted >= f.options.Refit || f.streams[0] == nil && f.streams[1] == nil && s.Now-
		f.s.Refitted >= hour {
		f.refit(s.Now)
	}
	p, err := f.newPlayer(s)
	if err != nil {
		return err
	}
	for len(f.s.Shifts) < len(p.initial) {
		f.s.Shifts = append(f.s.Shifts, make([]shift, len(f.options.Horizons)*int(seriesCount)))
	}
	f.learnDue(p)
	if err := f.await(ctx, p); err != nil {
		return err
	}
	f.s.Trail = append(f.s.Trail, p.currentSample())
	// Old samples are not dropped at every call, because moving the others is expensive.
	if first := f.s.Trail[0].At; first < s.Now-trailLength-day/4 {
		f.s.Trail = slices.DeleteFunc(f.s.Trail, func(l loadSample) bool { return l.At < s.Now-trailLength })
	}
	return f.trainOne()
}

// trainOne trains the trees of the cluster's corrector that is most overdue, if one is. It trains only one, so that no
// call of Observe takes long.
func (f *Forecaster) trainOne() error {
	var most *corrector
	seed := f.options.Seed
	for i, c := range f.s.Correctors[0] {
		if c.overdue() >= 1 && (most == nil || c.overdue() > most.overdue()) {
			most, seed = c, f.options.Seed+uint64(i)
		}
	}
	if most == nil {
		return nil
	}
	return most.train(seed)
}

// class returns the class of correctors that a scope uses: 0 for the cluster, 1 for a queue.
func class(scope int) int { return min(scope, 1) }

func (f *Forecaster) corrector(scope, k int, s Series) *corrector {
	return f.s.Correctors[class(scope)][k*int(seriesCount)+int(s)]
}

func (f *Forecaster) groups(scope int) []string {
	if scope == 0 || scope > len(f.s.Queues) {
		return nil
	}
	return f.s.Queues[scope-1 : scope]
}

// learnDue learns from the forecasts for about now: for instants that are at most half of Options.Every before or after
// now. It drops them. It also drops the forecasts for earlier instants, without learning from them.
func (f *Forecaster) learnDue(p *player) {
	now := p.state.Now
	slack := f.options.Every / 2
	for k := range f.s.Awaited {
		list := f.s.Awaited[k]
		for len(list) > 0 && list[0].Due <= now+slack {
			if now-list[0].Due <= slack {
				f.outcome(&list[0], k, p)
			}
			list = list[1:]
		}
		f.s.Awaited[k] = slices.Clone(list)
	}
}

// outcome learns from the outcome of a forecast for the horizon with the index k, and scores the forecast. It also
// chooses the model of arrivals again.
func (f *Forecaster) outcome(a *awaited, k int, p *player) {
	x := make([]float64, featureCount)
	copy(x, a.Shared)
	said := make([]float64, levels*experts)
	for scope := range len(a.Rows) / int(seriesCount) {
		for s := range seriesCount {
			r := &a.Rows[scope*int(seriesCount)+int(s)]
			if r.Said == nil {
				continue
			}
			copy(x[ownAt:], r.Own[:])
			for i, v := range r.Said {
				said[i] = float64(v)
			}
			y := p.fact(a, scope, s)
			f.corrector(scope, k, s).learn(a.At, x, said, r.Raw, f.groups(scope), y, scope == 0 && !s.arrives())
			f.s.Shifts[scope][k*int(seriesCount)+int(s)].learn(r.Served, y)
			f.s.Scores[class(scope)][k*int(seriesCount)+int(s)].add(r, y)
		}
	}
	for m := range a.Models {
		if math.IsNaN(a.Models[m][0][0]) || math.IsNaN(a.Models[1-m][0][0]) {
			continue
		}
		for i, s := range []Series{ArrivedJobs, ArrivedWork} {
			for l, level := range Levels() {
				f.s.Models[m].add(waittime.Pinball(level, a.Models[m][i][l], p.fact(a, 0, s)), modelMemory)
			}
		}
	}
	f.choose()
}

// modelMemory is the number of losses over which the models of arrivals are compared. It corresponds to about 300
// forecasts.
const modelMemory = 3000

// choose chooses the model of arrivals. It changes only to a model whose loss is lower by at least 1 %.
func (f *Forecaster) choose() {
	if other := 1 - f.s.Model; f.s.Models[other].N > 0 && f.s.Models[other].Mean < .99*f.s.Models[f.s.Model].Mean {
		f.s.Model = other
	}
}

// fact returns the outcome of a series now, on the scale of the series (Series.log). The scale uses the number of
// processors at the time of the forecast.
func (p *player) fact(a *awaited, scope int, s Series) float64 {
	if !s.arrives() {
		return s.log(p.initial[scope][s], a.Procs)
	}
	was := total{}
	if scope < len(a.Totals) {
		was = a.Totals[scope]
	}
	now := p.f.s.Totals[scope]
	if s == ArrivedWork {
		return s.log(now.Work-was.Work, a.Procs)
	}
	return s.log(now.Jobs-was.Jobs, a.Procs)
}

// due returns the index of the last horizon that gets a lesson now, -1 if none does. A horizon gets at most about 48
// lessons in a time as long as the horizon.
func (f *Forecaster) due(now float64) (last int) {
	last = -1
	for k, h := range f.options.Horizons {
		if f.dueAt(k, h, now) {
			last = k
		}
	}
	return last
}

func (f *Forecaster) dueAt(k int, h, now float64) bool {
	list := f.s.Awaited[k]
	return len(list) == 0 || now-list[len(list)-1].At >= max(f.options.Every, h/48)-f.options.Every/2
}

// await makes forecasts whose outcomes are learnt later.
func (f *Forecaster) await(ctx context.Context, p *player) error {
	now := p.state.Now
	last := f.due(now)
	if last < 0 {
		return nil
	}
	p.horizons = f.options.Horizons[:last+1]
	courses, err := p.play(ctx, f.options.Lessons, 0, f.model())
	if err != nil {
		return err
	}
	said := f.arrivalQuantiles(p)
	shared := p.common()
	for k, h := range p.horizons {
		if !f.dueAt(k, h, now) {
			continue
		}
		a := awaited{At: now, Due: now + h, Procs: p.procs, Totals: slices.Clone(f.s.Totals), Models: said[k]}
		a.Shared = slices.Concat(shared, f.clock(now+h))
		p.rows(courses, k, a.Shared, func(_ int, _ Series, r row) { a.Rows = append(a.Rows, r) })
		f.s.Awaited[k] = append(f.s.Awaited[k], a)
	}
	return nil
}

// rows calls tell with the forecasts of one horizon, by scope and series.
func (p *player) rows(courses []course, k int, shared []float64, tell func(scope int, s Series, r row)) {
	x := make([]float64, featureCount)
	copy(x, shared)
	var sorted []float64
	for scope := range p.initial {
		var rows [seriesCount]row
		if scope != 1 || p.f.s.Totals[1].Jobs > 0 { // scope 1 is empty if all queues are distinguished
			for s := range seriesCount {
				sorted = p.simulated(courses, k, scope, s, sorted)
				rows[s] = p.row(k, scope, s, x, sorted)
			}
			p.bound(k, scope, &rows)
		}
		for s := range seriesCount {
			tell(scope, s, rows[s])
		}
	}
}

// row returns the forecast of one series of a scope from the sorted values of its replicas. x has the shared features.
// row writes the features of the series into it.
func (p *player) row(k, scope int, s Series, x, sorted []float64) row {
	f, h := p.f, p.horizons[k]
	said := make([]float64, levels*experts)
	r := row{Said: make([]float32, len(said))}
	copy(r.Own[:], own(p.now(scope, s, h), p.lastWeek(scope, s, h), sorted))
	copy(x[ownAt:], r.Own[:])
	c := f.corrector(scope, k, s)
	r.Raw = c.predict(x, f.groups(scope), said)
	for i, v := range said {
		r.Said[i] = float32(v)
	}
	var moved shift
	if scope < len(f.s.Shifts) {
		moved = f.s.Shifts[scope][k*int(seriesCount)+int(s)]
	}
	r.Served = moved.apply(c.snapped(r.Raw, r.Own[0]))
	return r
}

// model returns the model of arrivals to use: the chosen one if it could be fitted, otherwise the other.
func (f *Forecaster) model() int {
	if f.streams[f.s.Model] == nil {
		return 1 - f.s.Model
	}
	return f.s.Model
}

// arrivalQuantiles returns, by horizon and model of arrivals, the quantiles of arriving jobs and of arriving work, on
// the scales of these series. If a model could not be fitted, its first quantile is NaN.
func (f *Forecaster) arrivalQuantiles(p *player) [][arrivalModels][2][levels]float64 {
	out := make([][arrivalModels][2][levels]float64, len(p.horizons))
	for m, s := range f.streams {
		if s == nil {
			for k := range out {
				out[k][m][0][0] = math.NaN()
			}
			continue
		}
		rng := rand.New(rand.NewPCG(p.seed, uint64(m)+1))
		draws := make([][2][]float64, len(p.horizons))
		var cut []arrival
		for range f.options.Lessons {
			cut = s.cut(p.state.Now, p.horizons[len(p.horizons)-1], f.options.Local, rng, cut)
			i, jobs, work := 0, 0., 0.
			for k, h := range p.horizons {
				for ; i < len(cut) && cut[i].At <= h; i++ {
					jobs++
					work += float64(cut[i].Procs) * cut[i].Limit
				}
				draws[k][0] = append(draws[k][0], ArrivedJobs.log(jobs, p.procs))
				draws[k][1] = append(draws[k][1], ArrivedWork.log(work, p.procs))
			}
		}
		for k := range draws {
			for i := range draws[k] {
				slices.Sort(draws[k][i])
				for l, level := range Levels() {
					out[k][m][i][l] = quantile(draws[k][i], level)
				}
			}
		}
	}
	return out
}
