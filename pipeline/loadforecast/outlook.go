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
	// At is the event time of the forecast. The horizons are counted from this instant.
	At time.Time
	*outlook.Forecast
	// Futures are the simulated futures, from which the wait of any job can be computed.
	Futures *outlook.Futures
	// Saturation is the result of the newest test of saturation, which was made at the event time SaturationAt. Both
	// are zero until a model of arrivals is known.
	Saturation   outlook.Saturation
	SaturationAt time.Time
	// Scores are the scores of earlier forecasts: first those of the load of the whole cluster, then those of the loads
	// of single queues, all queues together.
	Scores []outlook.Score
	// ArrivalLosses are the losses of the models of arrivals, in the order of outlook.ArrivalModels. NaN means that a
	// loss is unknown.
	ArrivalLosses []float64
	// Outcomes has, for each horizon, the number of outcomes that were learned.
	Outcomes []int
	// Replicas is the number of simulated futures.
	Replicas int
	// LeftOut is the number of waiting jobs that the forecast leaves out, because more wait than it can simulate.
	LeftOut int
	// ObserveTook is how long the model took to learn from the newest sample. ForecastTook is how long this forecast
	// took.
	ObserveTook, ForecastTook time.Duration
}

// Published gives readers access to the newest forecast. It is safe for concurrent use.
type Published struct {
	newest         atomic.Pointer[Outlook]
	made, failures atomic.Int64
}

// Newest returns the newest forecast, nil before the first one. It may be some minutes of event time older or newer
// than a view of the cluster.
func (p *Published) Newest() *Outlook { return p.newest.Load() }

// Counts returns two numbers since the start of the process: the forecasts that were made, and the observations and
// forecasts that failed.
func (p *Published) Counts() (made, failures int64) { return p.made.Load(), p.failures.Load() }

func (p *Published) publish(o *Outlook) {
	p.newest.Store(o)
	p.made.Add(1)
}
