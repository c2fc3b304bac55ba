package pipeline

import (
	"maps"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// servedForecasts keeps the forecasts of the waiting jobs. Each view has an immutable copy, with exactly the waiting
// jobs of the view.
type servedForecasts struct {
	served readmodel.Forecasts
	copied readmodel.Forecasts // the copy in the newest view; nil if a forecast has changed since that view
}

func (b *servedForecasts) put(j *cluster.Job, s *readmodel.Served) {
	if b.served == nil {
		b.served = readmodel.Forecasts{}
	}
	b.served[readmodel.KeyOf(j)], b.copied = s, nil
}

func (b *servedForecasts) drop(j *cluster.Job) {
	delete(b.served, readmodel.KeyOf(j))
	b.copied = nil
}

// snapshot returns an immutable copy of the present forecasts.
func (b *servedForecasts) snapshot() readmodel.Forecasts {
	if b.copied == nil {
		b.copied = maps.Clone(b.served)
	}
	return b.copied
}

// show adds the forecast of a waiting job.
func (l *ledger) show(o *openForecast) {
	if !o.Closed.IsZero() || o.Part || o.Renamed {
		return
	}
	a := o.Scored()
	switch {
	case o.Made:
	case o.View == nil:
		a = accuracy.Answer{Reason: readmodel.NotYet}
	default:
		a = accuracy.Answer{Reason: readmodel.NotKnown}
	}
	s := &readmodel.Served{
		At: o.Job.Submit, Quantiles: a.Quantiles, Reason: a.Reason, Ahead: a.Ahead, AheadProcs: a.AheadProcs,
		Capacity: a.Capacity, Priority: a.Priority, Peers: a.Peers,
	}
	if a.Quantiles != nil {
		s.Levels = l.levels
	}
	l.served.put(o.Job, s)
}
