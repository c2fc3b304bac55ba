package wire

import "time"

// LoadForecast is the answer of GET /v1/forecast: what the next hours and days bring.
type LoadForecast struct {
	Cluster       string         `json:"cluster"`
	Loads         []LoadAhead    `json:"loads" doc:"the whole cluster first, then each queue; or only the one that is asked for"`
	StandardWaits []StandardWait `json:"standard_waits" doc:"how long jobs of some kinds would wait that were submitted then, as the simulation has it: nobody can score it"`
	Arrivals      LoadArrivals   `json:"arrivals"`
	Saturation    *Saturation    `json:"saturation" doc:"of the cluster, or of the queue that was asked for; null before anything of it is known"`
	Scores        []LoadScore    `json:"scores" doc:"how such forecasts turned out; what has not been scored yet is left out"`
	Learnt        LoadLearnt     `json:"learnt"`
	MadeFor       time.Time      `json:"made_for" doc:"the instant from which the horizons count"`
	MadeAge       float64        `json:"made_age_seconds" doc:"how long ago that was, by the clock that age_seconds goes by"`
	AsOf          time.Time      `json:"as_of"`
	AgeSeconds    float64        `json:"age_seconds"`
	Stale         bool           `json:"stale"`
}

// LoadAhead is the load of the cluster or of one queue, now and to come.
type LoadAhead struct {
	Queue    string      `json:"queue" doc:"empty: the whole cluster"`
	Now      LoadNow     `json:"now"`
	Horizons []LoadPoint `json:"horizons"`
}

// LoadNow is the load at the instant of the forecast.
type LoadNow struct {
	QueuedWork  float64 `json:"queued_work_processor_seconds"`
	QueuedJobs  float64 `json:"queued_jobs"`
	Utilization float64 `json:"utilization"`
	JobsPerHour float64 `json:"jobs_per_hour" doc:"in the last hour"`
	WorkPerHour float64 `json:"work_per_hour" doc:"likewise, in processor-seconds"`
}

// LoadPoint is the load at one horizon.
type LoadPoint struct {
	HorizonSeconds float64   `json:"horizon_seconds"`
	At             time.Time `json:"at"`
	QueuedWork     Band      `json:"queued_work_processor_seconds" doc:"processors times time limits of the jobs that compete; held ones do not"`
	QueuedJobs     Band      `json:"queued_jobs"`
	Utilization    Band      `json:"utilization" doc:"part of the whole cluster's processors"`
	JobsPerHour    Band      `json:"jobs_per_hour" doc:"that come, on the average until then"`
	WorkPerHour    Band      `json:"work_per_hour" doc:"likewise, in processor-seconds that are asked for"`
}

// Band has quantiles; they rise.
type Band struct {
	P05 float64 `json:"p05"`
	P25 float64 `json:"p25"`
	P50 float64 `json:"p50"`
	P75 float64 `json:"p75"`
	P95 float64 `json:"p95"`
}

// StandardWait is how long a job of some kind would wait in a pool.
type StandardWait struct {
	Pool             string    `json:"pool,omitempty" doc:"where there are several"`
	Job              string    `json:"job"`
	Procs            int       `json:"procs"`
	TimeLimitSeconds float64   `json:"time_limit_seconds"`
	HorizonSeconds   float64   `json:"horizon_seconds" doc:"when it would be submitted"`
	WaitSeconds      WaitsBand `json:"wait_seconds"`
}

// WaitsBand has quantiles of a wait in seconds; null is never.
type WaitsBand struct {
	P05 *float64 `json:"p05"`
	P25 *float64 `json:"p25"`
	P50 *float64 `json:"p50"`
	P75 *float64 `json:"p75"`
	P95 *float64 `json:"p95"`
}

// LoadArrivals reports how the jobs to come are drawn.
type LoadArrivals struct {
	Model  string         `json:"model" doc:"markov or users; empty before there is one: then nobody comes in the simulation"`
	Models []ArrivalModel `json:"models"`
}

// ArrivalModel is a model of arrivals.
type ArrivalModel struct {
	Name string   `json:"name"`
	Loss *float64 `json:"loss" doc:"mean pinball loss of the jobs and the work that came, of late, on a log scale; null before it is known"`
}

// Saturation reports whether jobs come to a queue, or to the cluster, faster than they are run.
type Saturation struct {
	Saturated   bool       `json:"saturated" doc:"jobs come faster than they can be run: those in the system have grown by more than one a week, over 5 weeks or more, and go on growing so in at least half of the simulated futures, where there are any"`
	Growth      float64    `json:"growth_jobs_per_week" doc:"by which the jobs in the system (submitted and not left) have grown in the history"`
	GrowthWeeks int        `json:"growth_weeks" doc:"weekly counts that the growth is of"`
	Probability *float64   `json:"probability" doc:"share of the simulated futures in which the jobs in the system grow by more than one a week; null before a model of arrivals is known"`
	JobsPerWeek *Band      `json:"jobs_per_week" doc:"by which they grow in the simulated futures; null before those are known"`
	Weeks       int        `json:"weeks" doc:"that were simulated; 0 before that"`
	At          *time.Time `json:"at" doc:"event time at which the futures were simulated; null before that"`
}

// LoadScore reports how the forecasts of a series at a horizon turned out.
type LoadScore struct {
	Scope          string     `json:"scope" enum:"cluster,queues" doc:"queues: of all of them together"`
	Series         string     `json:"series" enum:"queued_work,queue_length,utilization,arrived_jobs,arrived_work"`
	HorizonSeconds float64    `json:"horizon_seconds"`
	N              int        `json:"n" doc:"outcomes, the newest 10,000 at most"`
	Losses         LoadLosses `json:"losses" doc:"mean pinball loss over the quantiles, on a log scale but for the utilization: the lower the better"`
	Below          float64    `json:"below" doc:"part of the outcomes below p05"`
	Above          float64    `json:"above" doc:"part of the outcomes above p95"`
}

// LoadLosses are the losses of what is served and of others on the same outcomes.
type LoadLosses struct {
	Waitcast    float64 `json:"waitcast"`
	Simulation  float64 `json:"simulation" doc:"the simulation without what was learnt"`
	Persistence float64 `json:"persistence" doc:"that all stays as it is"`
	LastWeek    float64 `json:"last_week" doc:"that it is as a week before"`
}

// LoadLearnt reports how much the forecast has learnt from.
type LoadLearnt struct {
	Horizons []LoadOutcomes `json:"horizons"`
	Note     string         `json:"note" doc:"the same in a sentence"`
}

// LoadOutcomes counts what has come of forecasts.
type LoadOutcomes struct {
	HorizonSeconds float64 `json:"horizon_seconds"`
	Outcomes       int     `json:"outcomes" doc:"that are learnt from: at most one an hour"`
	Scored         int     `json:"scored" doc:"that are in scores: those of which the week before is known, too"`
}
