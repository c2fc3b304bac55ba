package wire

import "time"

// RecentForecasts is the answer of GET /v1/accuracy/recent: the newest forecasts whose jobs have started.
type RecentForecasts struct {
	Cluster    string           `json:"cluster" doc:"the name of the cluster"`
	Forecasts  []RecentForecast `json:"forecasts" doc:"the newest first"`
	AsOf       time.Time        `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64          `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool             `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// RecentForecast is the forecast for a job at its submission, with the observed wait. It has neither the job's id nor
// its owner.
type RecentForecast struct {
	Queue       string     `json:"queue" doc:"the name of the queue"`
	SizeClass   string     `json:"size_class" doc:"processors: 1, 2-8, 9-64, 65-512, 513-4096, 4097+"`
	Made        string     `json:"made" enum:"live,replayed" doc:"live: forecast as it happened; replayed: forecast afterwards, from information of that time"`
	Submit      time.Time  `json:"submit" doc:"the instant of the submission"`
	Start       time.Time  `json:"start" doc:"the instant of the start"`
	WaitSeconds float64    `json:"wait_seconds" doc:"how long the job waited"`
	Forecast    *Quantiles `json:"forecast_seconds" doc:"forecast quantiles of the wait; null if no forecast was possible"`
	// The next members are set only in rows that have the parts of the wait.
	BlockedSeconds  *float64   `json:"blocked_seconds,omitempty" doc:"the part of the wait in which the job did not compete, as far as records show; left out if unknown"`
	BlockedForecast *Quantiles `json:"blocked_forecast_seconds,omitempty" doc:"forecast quantiles of that part; left out if nothing was forecast to block the job"`
	Predicted       string     `json:"predicted_cause,omitempty" enum:"resources,priority,limit,hold,unavailable" doc:"predicted cause of a wait, if the job had to wait"`
	Settled         string     `json:"settled_cause,omitempty" enum:"resources,priority,limit,hold,unavailable" doc:"the cause of the first reason for the wait that two listings of the scheduler agreed about"`
}

// LifetimeCurves is the answer of GET /v1/models/{queue}/lifetimes: the lifetimes that were observed, beside the laws
// fitted on them.
type LifetimeCurves struct {
	Cluster    string          `json:"cluster" doc:"the name of the cluster"`
	Queue      string          `json:"queue" doc:"the name of the queue"`
	Levels     []float64       `json:"levels" doc:"probabilities of all quantiles of the answer, from 0 to 1"`
	Curves     []LifetimeCurve `json:"curves" doc:"by class; none before the first job"`
	AsOf       time.Time       `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64         `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool            `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// LifetimeCurve is the distribution of the lifetimes of one class of jobs.
type LifetimeCurve struct {
	Observed []float64  `json:"observed_seconds" doc:"quantiles of the lifetimes in the window; empty if there are none"`
	Law      []*float64 `json:"law_seconds" doc:"quantiles of the law that forecasts use; empty if there is none, null where a quantile does not exist"`
	Fit      Model      `json:"fit" doc:"Downey's line through the observed lifetimes: cdf(t) = b0 + b1 ln t from tmin to tmax"`
}

// Change is an event of GET /v1/changes: the view of a cluster, its staleness or a condition of the daemon has changed.
type Change struct {
	Clusters []ClusterChange `json:"clusters" doc:"the clusters with their new instants"`
}

// ClusterChange reports the instant of the view of a cluster.
type ClusterChange struct {
	Cluster    string    `json:"cluster" doc:"the name of the cluster"`
	AsOf       time.Time `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64   `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool      `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}
