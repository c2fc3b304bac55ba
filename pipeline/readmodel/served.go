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
	// Quantiles has the forecast wait in seconds, at the levels Levels. Both are nil if there is no forecast.
	Levels, Quantiles []float64
	// Reason is the reason for a missing forecast.
	Reason string
	// Ahead is the number of waiting jobs that were ahead of the job. AheadProcs is the sum of the processors that they
	// requested.
	Ahead, AheadProcs int
	// Capacity is the number of processors of the job's pool, and Priority the priority of the job, both at the
	// submission. 0 means unknown.
	Capacity int
	Priority int64
	// Peers are the forecasts of other methods for the job.
	Peers []modelstore.Peer
}

// Rest returns the quantiles, at waittime.Levels, of the remaining wait in seconds of a job that has waited for the
// given number of seconds. +Inf means never. Without a forecast all are +Inf.
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

// RestOf returns the quantiles of the remaining wait of a job at an instant, as Rest does. If the job has a begin time
// in the future that was unknown when the forecast was made, the forecast counts from the begin time.
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

// RestOf returns the quantiles of the remaining wait of a job at an instant. Usually they are those of Served.RestOf.
// But if the job became eligible only after the wait that is the first quantile of its forecast, the forecast no longer
// applies. Then the quantiles come from the simulated futures of the view, in which the job has its place in the queue.
// For held jobs, for arrays and in large pools, they always are those of Served.RestOf.
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

// simulatedRest returns the quantiles, at waittime.Levels, of the wait of a job from the instant of the view on, in
// seconds; nil if unknown. They come from the simulated futures of the view and are computed once for each job.
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

// beginError is a number of seconds. A forecast includes a begin time if its first quantile is at most beginError
// before that time. It is not 0, because times in listings are whole seconds.
const beginError = 1

// Forecasts has the forecasts of waiting jobs, in ForecastParts maps. JobKey.Part returns the index of the map that has
// a job. Published maps never change. Consecutive views share the maps that are the same in both.
type Forecasts []map[JobKey]*Served

// ForecastParts is the number of maps in Forecasts. For each view the maps that have changed are copied, so with more
// maps fewer forecasts are copied.
const ForecastParts = 256

// Of returns the forecast of the attempt of a job whose key is k, nil if there is none.
func (f Forecasts) Of(k JobKey) *Served {
	if f == nil {
		return nil
	}
	return f[k.Part()][k]
}

// JobKey identifies an attempt of a job.
type JobKey struct {
	Seq     uint64
	Attempt int
}

// Part returns the index of the map in Forecasts that has the job.
func (k JobKey) Part() int { return int(k.Seq % ForecastParts) }

// KeyOf returns the key of the present attempt of a job.
func KeyOf(j *cluster.Job) JobKey { return JobKey{j.Seq, j.Attempt} }

// These are the reasons why a waiting job has no forecast yet.
const (
	// NotYet: the instant of the job's submission is not over yet.
	NotYet = "pending"
	// NotKnown: the size or the queue of the job is not known yet, or that of a job on which it depends.
	NotKnown = "unknown"
)
