package outlook

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/waitcast/waitcast/simulator"
)

// Futures are the simulated futures of one State, from which the wait of any job can be computed. They are immutable
// and safe for concurrent use.
type Futures struct {
	p     player
	model int
	// Arrivals is the model of arrivals, as in Forecast.
	Arrivals string
	// Now is the instant of the State.
	Now float64
}

// futures returns futures of the player's state, based on what the forecaster has learnt so far.
func (p *player) futures() *Futures {
	f := p.f
	out := &Futures{p: *p, model: f.model(), Now: p.state.Now}
	// Later learning has no effect on out, because learning replaces the streams and does not change them.
	out.p.f = &Forecaster{options: f.options, streams: f.streams}
	out.p.past, out.p.memo, out.p.state = nil, nil, &State{Now: p.state.Now}
	if f.streams[out.model] != nil {
		out.Arrivals = ArrivalModels()[out.model]
	}
	return out
}

// probesOf is the number of replicas that answer a request, as a multiple of Options.Probes.
const probesOf = 2

// Replicas returns the number of replicas that Waits simulates.
func (f *Futures) Replicas() int { return probesOf * f.p.f.options.Probes }

// Waits returns the quantiles of the wait of a job that is submitted to a queue at each of the horizons (in rising
// order), without later arrivals. As in Wait, they are not corrected. next is called before each replica. If it
// returns an error, the work ends.
func (f *Futures) Waits(ctx context.Context, queue string, job Standard, horizons []float64,
	next func() error) ([]Quantiles, error) {
	p := f.p
	p.horizons = horizons
	p.standards = []simulator.Job{{ID: probe, Procs: job.Procs, Limit: job.Limit, Runtime: job.Limit,
		Queue: p.names[p.poolOf[queue]], User: 1}}
	courses, err := simulator.Replicas(ctx, f.Replicas(), 1, p.seed,
		func() *actor { return p.actor(f.Replicas(), f.model) },
		func(a *actor, replica int, rng *rand.Rand) (course, error) {
			if err := next(); err != nil {
				return course{}, err
			}
			return a.replica(replica, rng)
		})
	if err != nil {
		return nil, err
	}
	out := make([]Quantiles, len(horizons))
	for k := range out {
		var all []float64
		for _, c := range courses {
			all = append(all, c.waits[k])
		}
		slices.Sort(all)
		for l, level := range Levels() {
			out[k][l] = quantile(all, level)
		}
	}
	return out, nil
}
