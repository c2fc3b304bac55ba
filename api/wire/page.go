package wire

import "time"

// RecentForecasts is the answer of GET /v1/accuracy/recent: the newest forecasts whose jobs have started.
type RecentForecasts struct {
	Cluster    string           `json:"cluster"`
	Forecasts  []RecentForecast `json:"forecasts" doc:"the newest first"`
	AsOf       time.Time        `json:"as_of"`
	AgeSeconds float64          `json:"age_seconds"`
	Stale      bool             `json:"stale"`
}

// RecentForecast is what was forecast for a job at its submission, beside what came of it. It names neither the job nor
// its owner.
type RecentForecast struct {
	Queue       string     `json:"queue"`
	SizeClass   string     `json:"size_class" doc:"processors: 1, 2-8, 9-64, 65-512, 513-4096, 4097+"`
	Made        string     `json:"made" enum:"live,replayed" doc:"live: as it happened; replayed: after the fact, from what could have been known"`
	Submit      time.Time  `json:"submit"`
	Start       time.Time  `json:"start"`
	WaitSeconds float64    `json:"wait_seconds" doc:"how long the job waited"`
	Forecast    *Quantiles `json:"forecast_seconds" doc:"quantiles of the wait as they were forecast; null where no forecast was possible"`
}

// LifetimeCurves is the answer of GET /v1/models/{queue}/lifetimes: the lifetimes that were observed, beside the laws
// fitted on them.
type LifetimeCurves struct {
	Cluster    string          `json:"cluster"`
	Queue      string          `json:"queue"`
	Levels     []float64       `json:"levels" doc:"probabilities of all quantiles of the answer, from 0 to 1"`
	Curves     []LifetimeCurve `json:"curves" doc:"by class; none before the first job"`
	AsOf       time.Time       `json:"as_of"`
	AgeSeconds float64         `json:"age_seconds"`
	Stale      bool            `json:"stale"`
}

// LifetimeCurve is the distribution of the lifetimes of one class of jobs.
type LifetimeCurve struct {
	Observed []float64  `json:"observed_seconds" doc:"quantiles of the lifetimes in the window; empty where there is none"`
	Law      []*float64 `json:"law_seconds" doc:"quantiles of the law that forecasts take; empty where there is none, null where it has none"`
	Fit      Model      `json:"fit" doc:"Downey's line through them: cdf(t) = b0 + b1 ln t from tmin to tmax"`
}

// Change is an event of GET /v1/changes: the picture of a cluster is another one.
type Change struct {
	Clusters []ClusterChange `json:"clusters"`
}

// ClusterChange reports how new the picture of a cluster is.
type ClusterChange struct {
	Cluster    string    `json:"cluster"`
	AsOf       time.Time `json:"as_of"`
	AgeSeconds float64   `json:"age_seconds"`
	Stale      bool      `json:"stale"`
}
