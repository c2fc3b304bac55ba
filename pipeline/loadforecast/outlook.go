package loadforecast

import (
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/predictor/outlook"
)

// Outlook is one forecast of a cluster's load. It is immutable.
type Outlook struct {
	// Number counts the forecasts of the process from 1.
	Number int64
	// At is the event time of the forecast. Its horizons count from there.
	At time.Time
	*outlook.Forecast
	// Futures are the simulated futures, from which the wait of any job can be computed.
	Futures *outlook.Futures
	// Saturation is the result of the test at SaturationAt. It is zero until a model of arrivals is known.
	Saturation   outlook.Saturation
	SaturationAt time.Time
	// Scores are the scores of earlier forecasts: first those of the cluster's load, then those of all queues' loads
	// together.
	Scores []outlook.Score
	// ArrivalLosses are the losses of the models of arrivals, as in outlook.ArrivalModels. NaN means that a loss is
	// unknown.
	ArrivalLosses []float64
	// Outcomes are the numbers of learned outcomes by horizon.
	Outcomes []int
	// Replicas is the number of simulations.
	Replicas int
	// LeftOut is the number of waiting jobs that were left out because there were too many to simulate.
	LeftOut int
	// ObserveTook and ForecastTook are the durations of the newest observation and of this forecast.
	ObserveTook, ForecastTook time.Duration
}

// Published gives readers access to the newest forecast only. It is safe for concurrent use.
type Published struct {
	newest         atomic.Pointer[Outlook]
	made, failures atomic.Int64
}

// Newest returns the newest forecast, nil before the first. It may be some minutes of event time older or newer than
// a view of the cluster.
func (p *Published) Newest() *Outlook { return p.newest.Load() }

// Counts returns the number of forecasts since the start of the process, and of failed observations and forecasts.
func (p *Published) Counts() (made, failures int64) { return p.made.Load(), p.failures.Load() }

func (p *Published) publish(o *Outlook) {
	p.newest.Store(o)
	p.made.Add(1)
}
