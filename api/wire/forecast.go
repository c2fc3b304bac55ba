package wire

import "time"

// LoadForecast is the answer of GET /v1/forecast: the load of the next hours and days.
type LoadForecast struct {
	Cluster       string         `json:"cluster" doc:"the name of the cluster"`
	Loads         []LoadAhead    `json:"loads" doc:"the whole cluster first, then each queue; or only the requested one"`
	StandardWaits []StandardWait `json:"standard_waits" doc:"how long some kinds of jobs would wait if submitted then, by the simulation; these waits cannot be scored"`
	Arrivals      LoadArrivals   `json:"arrivals" doc:"how future jobs are drawn"`
	Saturation    *Saturation    `json:"saturation" doc:"saturation of the cluster, or of the requested queue; null before anything is known"`
	Scores        []LoadScore    `json:"scores" doc:"how earlier forecasts turned out; without those that have not been scored yet"`
	Learnt        LoadLearnt     `json:"learnt" doc:"amount of data behind the forecast"`
	MadeFor       time.Time      `json:"made_for" doc:"the instant from which the horizons count"`
	MadeAge       float64        `json:"made_age_seconds" doc:"age of made_for by the daemon's clock, in seconds"`
	AsOf          time.Time      `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds    float64        `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale         bool           `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// LoadAhead is the present and future load of the cluster or of one queue.
type LoadAhead struct {
	Queue    string      `json:"queue" doc:"name of the queue; empty: the whole cluster"`
	Now      LoadNow     `json:"now" doc:"load at the instant of the forecast"`
	Horizons []LoadPoint `json:"horizons" doc:"load at each horizon"`
}

// LoadNow is the load at the instant of the forecast.
type LoadNow struct {
	QueuedWork  float64 `json:"queued_work_processor_seconds" doc:"processors times time limits of the jobs that compete; held jobs do not count"`
	QueuedJobs  float64 `json:"queued_jobs" doc:"jobs that compete; each task of an array is one"`
	Utilization float64 `json:"utilization" doc:"share of the cluster's processors in use"`
	JobsPerHour float64 `json:"jobs_per_hour" doc:"jobs submitted in the last hour"`
	WorkPerHour float64 `json:"work_per_hour" doc:"work submitted in the last hour, in processor-seconds"`
}

// LoadPoint is the load at one horizon.
type LoadPoint struct {
	HorizonSeconds float64   `json:"horizon_seconds" doc:"time from made_for to at"`
	At             time.Time `json:"at" doc:"instant for which the load is forecast"`
	QueuedWork     Band      `json:"queued_work_processor_seconds" doc:"processors times time limits of the jobs that compete; held jobs do not count"`
	QueuedJobs     Band      `json:"queued_jobs" doc:"jobs that compete; each task of an array is one"`
	Utilization    Band      `json:"utilization" doc:"share of the whole cluster's processors in use"`
	JobsPerHour    Band      `json:"jobs_per_hour" doc:"mean number of jobs submitted per hour until then"`
	WorkPerHour    Band      `json:"work_per_hour" doc:"mean requested work submitted per hour until then, in processor-seconds"`
}

// Band has quantiles in rising order.
type Band struct {
	P05 float64 `json:"p05" doc:"5 % quantile"`
	P25 float64 `json:"p25" doc:"25 % quantile"`
	P50 float64 `json:"p50" doc:"median"`
	P75 float64 `json:"p75" doc:"75 % quantile"`
	P95 float64 `json:"p95" doc:"95 % quantile"`
}

// StandardWait is how long a job of some kind would wait in a pool.
type StandardWait struct {
	Pool             string    `json:"pool,omitempty" doc:"name of the pool, if there are several"`
	Job              string    `json:"job" doc:"the kind of job, as 1 proc 1 h"`
	Procs            int       `json:"procs" doc:"processors"`
	TimeLimitSeconds float64   `json:"time_limit_seconds" doc:"requested wall-clock time"`
	HorizonSeconds   float64   `json:"horizon_seconds" doc:"time of the submission, from made_for"`
	WaitSeconds      WaitsBand `json:"wait_seconds" doc:"quantiles of the wait"`
}

// WaitsBand has quantiles of a wait in seconds; null is never.
type WaitsBand struct {
	P05 *float64 `json:"p05" doc:"5 % quantile, seconds; null: never"`
	P25 *float64 `json:"p25" doc:"25 % quantile, seconds; null: never"`
	P50 *float64 `json:"p50" doc:"median, seconds; null: never"`
	P75 *float64 `json:"p75" doc:"75 % quantile, seconds; null: never"`
	P95 *float64 `json:"p95" doc:"95 % quantile, seconds; null: never"`
}

// LoadArrivals reports how future jobs are drawn.
type LoadArrivals struct {
	Model  string         `json:"model" doc:"the model in use, markov or users; empty before there is one: then no jobs arrive in the simulation"`
	Models []ArrivalModel `json:"models" doc:"all models with their losses"`
}

// ArrivalModel is a model of arrivals.
type ArrivalModel struct {
	Name string   `json:"name" doc:"name of the model: markov or users"`
	Loss *float64 `json:"loss" doc:"recent mean pinball loss of the number of jobs and the work that arrived, on a log scale; null if unknown"`
}

// Saturation reports whether jobs come to a queue, or to the cluster, faster than they are run.
type Saturation struct {
	Saturated   bool       `json:"saturated" doc:"true if jobs arrive faster than they can run: the number of jobs in the system has grown by more than one a week, over 5 weeks or more, and keeps growing so in at least half of the simulated futures, if there are any"`
	Growth      float64    `json:"growth_jobs_per_week" doc:"growth of the number of jobs in the system (submitted and not left) in the history"`
	GrowthWeeks int        `json:"growth_weeks" doc:"number of weekly counts behind growth_jobs_per_week"`
	Probability *float64   `json:"probability" doc:"share of the simulated futures in which the jobs in the system grow by more than one a week; null before a model of arrivals is known"`
	JobsPerWeek *Band      `json:"jobs_per_week" doc:"growth of the number of jobs in the system in the simulated futures; null before these are known"`
	Weeks       int        `json:"weeks" doc:"simulated weeks; 0 before the first simulation"`
	At          *time.Time `json:"at" doc:"event time at which the futures were simulated; null before the first simulation"`
}

// LoadScore has the accuracy of the forecasts of a series at a horizon.
type LoadScore struct {
	Scope          string     `json:"scope" enum:"cluster,queues" doc:"cluster: the whole cluster; queues: all queues together"`
	Series         string     `json:"series" doc:"the forecast quantity" enum:"queued_work,queue_length,utilization,arrived_jobs,arrived_work"`
	HorizonSeconds float64    `json:"horizon_seconds" doc:"time from the forecast to its outcome"`
	N              int        `json:"n" doc:"number of outcomes, the newest 10,000 at most"`
	Losses         LoadLosses `json:"losses" doc:"mean pinball loss over the quantiles, on a log scale except for the utilization: the lower the better"`
	Below          float64    `json:"below" doc:"share of the outcomes below p05"`
	Above          float64    `json:"above" doc:"share of the outcomes above p95"`
}

// LoadLosses are the losses of the served forecast and of others on the same outcomes.
type LoadLosses struct {
	Waitcast    float64 `json:"waitcast" doc:"loss of the served forecast"`
	Simulation  float64 `json:"simulation" doc:"loss of the simulation without the learnt correction"`
	Persistence float64 `json:"persistence" doc:"loss of the forecast that nothing changes"`
	LastWeek    float64 `json:"last_week" doc:"loss of the forecast that all is as a week before"`
}

// LoadLearnt reports the amount of data behind the forecast.
type LoadLearnt struct {
	Horizons []LoadOutcomes `json:"horizons" doc:"number of outcomes by horizon"`
	Note     string         `json:"note" doc:"the same in a sentence"`
}

// LoadOutcomes counts the outcomes of forecasts.
type LoadOutcomes struct {
	HorizonSeconds float64 `json:"horizon_seconds" doc:"time from the forecast to its outcome"`
	Outcomes       int     `json:"outcomes" doc:"outcomes that are learnt from: at most one an hour"`
	Scored         int     `json:"scored" doc:"outcomes in scores: those for which the week before is known too"`
}
