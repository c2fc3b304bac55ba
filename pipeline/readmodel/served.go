package readmodel

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// Served is the forecast of a waiting job as it was made at its submission. It does not change.
type Served struct {
	// At is the instant it was made for.
	At time.Time
	// Levels and Quantiles, in seconds, are the forecast; nil where there is none.
	Levels, Quantiles []float64
	// Reason is the reason why there is none.
	Reason string
	// Ahead is the number of jobs that were ahead, AheadProcs the processors that they asked for.
	Ahead, AheadProcs int
	// Capacity is the processors of the job's pool and Priority its own priority at its submission; 0 if they are not
	// known.
	Capacity int
	Priority int64
	// Peers are the answers of other methods.
	Peers []modelstore.Peer
}

// Rest returns the quantiles, at waittime.Levels, of what is left of the wait of a job that has waited so many seconds;
// +Inf is never, and all that is known where there is no forecast.
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

// Forecasts are the forecasts of waiting jobs. A published map never changes.
type Forecasts map[JobKey]*Served

// JobKey names an attempt of a job.
type JobKey struct {
	Seq     uint64
	Attempt int
}

// KeyOf returns the key of a job's attempt.
func KeyOf(j *cluster.Job) JobKey { return JobKey{j.Seq, j.Attempt} }

// Reasons why a job that waits has no forecast yet.
const (
	// NotYet: the instant of its submission is not over.
	NotYet = "pending"
	// NotKnown: its size or its queue is not known yet.
	NotKnown = "unknown"
)
