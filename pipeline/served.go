package pipeline

import (
	"maps"
	"slices"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// servedForecasts has the forecasts of the waiting jobs, in several parts. Each view has an immutable copy with exactly
// its waiting jobs. Copies share the parts that have not changed.
type servedForecasts struct {
	parts  readmodel.Forecasts
	shared [readmodel.ForecastParts]bool // true for a part that the newest view has too
	copied readmodel.Forecasts           // the copy in the newest view; nil if a forecast has changed since that view
}

func (b *servedForecasts) put(j *cluster.Job, s *readmodel.Served) {
	k := readmodel.KeyOf(j)
	b.change(k)[k] = s
}

func (b *servedForecasts) drop(j *cluster.Job) {
	k := readmodel.KeyOf(j)
	delete(b.change(k), k)
}

// change returns the part that has the key k. The caller may change it: if a view has the part too, change first
// replaces it by a copy.
func (b *servedForecasts) change(k readmodel.JobKey) map[readmodel.JobKey]*readmodel.Served {
	if b.parts == nil {
		b.parts = make(readmodel.Forecasts, readmodel.ForecastParts)
	}
	i := k.Part()
	switch {
	case b.parts[i] == nil:
		b.parts[i] = map[readmodel.JobKey]*readmodel.Served{}
	case b.shared[i]:
		b.parts[i] = maps.Clone(b.parts[i])
	}
	b.shared[i], b.copied = false, nil
	return b.parts[i]
}

// snapshot returns an immutable copy of the present forecasts.
func (b *servedForecasts) snapshot() readmodel.Forecasts {
	if b.copied == nil {
		b.copied = slices.Clone(b.parts)
		for i := range b.shared {
			b.shared[i] = true
		}
	}
	return b.copied
}

// show puts the forecast of a waiting job, or the reason why there is none yet, among the served forecasts. It does
// nothing for a task with a record of its own.
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
