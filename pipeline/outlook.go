package pipeline

import (
	"time"

	"github.com/waitcast/waitcast/predictor/outlook"
)

// Outlook is the newest forecast of a cluster's load. It does not change; readers must not change it either.
type Outlook struct {
	// Number counts the forecasts of the process from 1.
	Number int64
	// At is the event time that it was made for, from which its horizons count.
	At time.Time
	*outlook.Forecast
	// Saturation is zero before a model of arrivals is known; it was found at SaturationAt.
	Saturation   outlook.Saturation
	SaturationAt time.Time
	// Scores tell how such forecasts turned out: those of the cluster first, then of all queues together.
	Scores []outlook.Score
	// ArrivalLosses are by model of arrivals, as in outlook.ArrivalModels; NaN before they are known.
	ArrivalLosses []float64
	// Outcomes are, by horizon, those that were learnt from.
	Outcomes []int
	// Replicas were simulated.
	Replicas int
	// LeftOut are jobs that wait but were too many to be played.
	LeftOut int
	// ObserveTook and ForecastTook are what the newest of each took.
	ObserveTook, ForecastTook time.Duration
}
