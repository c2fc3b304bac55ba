package engine

import (
	"math"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// forecast returns the forecasts of all experts for a request, and their combination, which w weights and corrects. The
// row of features stays in the scratch memory, see keepRow.
//
// A request to several queues is forecast in each of them. The forecast is the one in the queue with the lowest median,
// in which two things are replaced. The simulated wait is the lowest one in each future. And no quantile is later than
// that of another queue.
func (v *View) forecast(r *track.Request, c *scratch, w *ensemble.OnlineExperts) *pendingForecast {
	places := r.Places()
	if places == nil {
		return v.forecastIn(r, nil, c, w)
	}
	all := make([]*pendingForecast, len(places))
	best := 0
	for i, p := range places {
		in := r.In(p)
		all[i] = v.forecastIn(&in, nil, c, w)
		if v.medianOf(all[i]) < v.medianOf(all[best]) {
			best = i
		}
	}
	in := r.In(places[best])
	g := v.forecastIn(&in, v.soonest(all, best), c, w)
	g.Queue = in.Queue
	for _, o := range all {
		atMost(g.Quantiles, o.Quantiles)
		atMost(g.learnt, o.learnt)
		atMost(g.Combined, o.Combined)
		atMost(g.Experts[ensemble.Simulation], o.Experts[ensemble.Simulation])
		atMost(g.Experts[ensemble.Limits], o.Experts[ensemble.Limits])
	}
	atMost(g.Blocked, g.Quantiles)
	atMost(g.Eligible, g.Quantiles)
	return g
}

// medianOf returns the served median of a forecast, or else the simulated one; +Inf if neither is known.
func (v *View) medianOf(g *pendingForecast) float64 {
	for _, q := range [...][]float64{g.Quantiles, g.Experts[ensemble.Simulation]} {
		if q != nil {
			return q[v.median]
		}
	}
	return math.Inf(1)
}

// soonest returns the simulation of the best queue, with the lowest wait over all queues in each future. It returns nil
// if some queue has no waits by future, or another number of futures.
func (v *View) soonest(all []*pendingForecast, best int) *pools.Simulated {
	waits := make([]float64, 0, 64)
	for _, g := range all {
		s := g.simulated
		switch {
		case s == nil || s.Waits == nil || len(waits) > 0 && len(s.Waits) != len(waits):
			return nil
		case len(waits) == 0:
			waits = append(waits, s.Waits...)
		}
		atMost(waits, s.Waits)
	}
	return all[best].simulated.WithWaits(waits, v.Levels)
}

// atMost lowers the values of q to those of other. It does nothing if either is nil.
func atMost(q, other []float64) {
	for i := range min(len(q), len(other)) {
		q[i] = math.Min(q[i], other[i])
	}
}

// rowOf returns the row of features of a request, and the answers of the experts that the features need. It makes no
// forecast.
func (v *View) rowOf(r *track.Request, c *scratch) *pendingForecast {
	if places := r.Places(); places != nil {
		in := r.In(places[0])
		r = &in
	}
	j, g := v.resolve(r, &c.request), unasked()
	defer c.forget()
	c.Replicas = rowReplicas
	defer func() { c.Replicas = 0 }()
	v.addBounds(j, g)
	v.addSimulation(j, nil, g, c)
	c.row = v.row(j, &g.features, c)
	g.keepRow(c)
	return g
}
