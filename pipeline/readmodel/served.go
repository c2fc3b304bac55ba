package readmodel

import (
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// Served is the forecast of a waiting job as it was made at its submission. It is immutable.
type Served struct {
	// At is the instant of the forecast.
	At time.Time
	// Levels and Quantiles, in seconds, are the forecast; nil if there is none.
	Levels, Quantiles []float64
	// Reason is the reason for a missing forecast.
	Reason string
	// Ahead is the number of jobs that were ahead of the job. AheadProcs is the sum of their requested processors.
	Ahead, AheadProcs int
	// Capacity is the number of processors of the job's pool, and Priority the job's own priority, both at its
	// submission. 0 means unknown.
	Capacity int
	Priority int64
	// Peers are the answers of other methods.
	Peers []modelstore.Peer
}

// Rest returns the quantiles, at waittime.Levels, of the remaining wait of a job that has waited for the given number
// of seconds. +Inf means never; without a forecast all are +Inf.
func (s *Served) Rest(waited float64) []float64 {
	d, err := waittime.NewDistribution(s.Levels, waittime.Rising(s.Quantiles))
	if err != nil {
		rest := waittime.Levels()
		for i := range rest {
			rest[i] = math.Inf(1)
		}
		return rest
	}
	return d.Rest(waited)
}

// RestOf returns the quantiles of the remaining wait of a job at an instant, as Rest does. If the job has a future
// begin time that became known only after its forecast was made, the forecast counts from the begin time.
func (s *Served) RestOf(j *cluster.Job, now time.Time) []float64 {
	begin := BeginTime(j, now)
	ahead := begin.Sub(now).Seconds()
	known := s.Quantiles == nil || s.Quantiles[0] >= begin.Sub(j.Submit).Seconds()-beginError
	if ahead <= 0 || known {
		return s.Rest(math.Max(0, now.Sub(j.Submit).Seconds()))
	}
	rest := slices.Clone(s.Quantiles)
	for i := range rest {
		rest[i] += ahead
	}
	return rest
}

// RestOf returns the quantiles of the remaining wait of a job. They are normally those of Served.RestOf. But if the job
// was held when it should have started by its forecast, the forecast no longer applies. Then the quantiles come from
// the view's simulated futures, in which the job has its place in the queue. In large pools, and for arrays, they
// always are those of Served.RestOf.
func (v *View) RestOf(s *Served, j *cluster.Job, now time.Time) []float64 {
	if v.Engine == nil || j.Held || j.Tasks > 1 || s.Quantiles == nil ||
		s.Quantiles[0] >= j.Eligible.Sub(j.Submit).Seconds()-beginError {
		return s.RestOf(j, now)
	}
	simulated := v.simulatedRest(j)
	if simulated == nil {
		return s.RestOf(j, now)
	}
	rest := slices.Clone(simulated)
	for i := range rest {
		rest[i] = math.Max(0, rest[i]-math.Max(0, now.Sub(v.At).Seconds()))
	}
	return rest
}

// simulatedRest returns the quantiles, at waittime.Levels, of the wait of a job from the view's instant on, nil if
// unknown. They come from the simulated futures and are computed once for each job.
func (v *View) simulatedRest(j *cluster.Job) []float64 {
	id := EngineID(j)
	known := &v.index().rests
	if rest, ok := known.Load(id); ok {
		return rest.([]float64)
	}
	var rest []float64
	if waits := v.Engine.WaitsOfJob(j.Queue, id); len(waits) > 0 {
		slices.Sort(waits)
		rest = waittime.Levels()
		for i, level := range rest {
			rest[i] = waits[min(len(waits)-1, int(level*float64(len(waits))))]
		}
	}
	known.Store(id, rest)
	return rest
}

// beginError is the maximum number of seconds by which the first quantile of a forecast that includes a begin time
// may lie before that time. It is not 0, because listings have whole seconds.
const beginError = 1

// Forecasts are the forecasts of waiting jobs, in ForecastParts maps. JobKey.Part is the index of a job's map.
// Published forecasts never change; consecutive views share the maps that did not change between them.
type Forecasts []map[JobKey]*Served

// ForecastParts is the number of maps of Forecasts. A view copies the maps that changed, so with more maps it copies
// fewer forecasts.
const ForecastParts = 256

// Of returns the forecast of a job's attempt, nil if there is none.
func (f Forecasts) Of(k JobKey) *Served {
	if f == nil {
		return nil
	}
	return f[k.Part()][k]
}

// JobKey names an attempt of a job.
type JobKey struct {
	Seq     uint64
	Attempt int
}

// Part returns the index of the map of Forecasts that has the job.
func (k JobKey) Part() int { return int(k.Seq % ForecastParts) }

// KeyOf returns the key of a job's attempt.
func KeyOf(j *cluster.Job) JobKey { return JobKey{j.Seq, j.Attempt} }

// Reasons why a job that waits has no forecast yet.
const (
	// NotYet: the instant of the job's submission is not over yet.
	NotYet = "pending"
	// NotKnown: the size or the queue of the job, or of a job for whose end it waits, is not known yet.
	NotKnown = "unknown"
)
