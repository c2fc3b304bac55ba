package wire

import "time"

// Jobs is the answer of GET /v1/jobs: the jobs that wait, in the order of their submissions.
type Jobs struct {
	Cluster    string    `json:"cluster"`
	Jobs       []Job     `json:"jobs"`
	Waiting    int       `json:"waiting" doc:"jobs that wait and match, those beyond the limit too"`
	AsOf       time.Time `json:"as_of"`
	AgeSeconds float64   `json:"age_seconds"`
	Stale      bool      `json:"stale"`
}

// JobAnswer is the answer of GET /v1/jobs/{id}.
type JobAnswer struct {
	Cluster string `json:"cluster"`
	Job
	AsOf       time.Time `json:"as_of"`
	AgeSeconds float64   `json:"age_seconds"`
	Stale      bool      `json:"stale"`
}

// Job is one waiting job with its forecast. Whose it is stands in it for those who may know.
type Job struct {
	ID               string       `json:"id"`
	User             string       `json:"user,omitempty" doc:"whose it is: for administrators and the user; for others left out, hashed or shown as access.users says"`
	Account          string       `json:"account,omitempty" doc:"for administrators and the user"`
	Name             string       `json:"name,omitempty" doc:"of the job, for administrators and the user"`
	Queue            string       `json:"queue" doc:"empty where it is not told yet"`
	Procs            int          `json:"procs" doc:"0: not told yet"`
	DetailsPending   bool         `json:"details_pending,omitempty" doc:"the log announced the job without its size, and perhaps without its queue: the scheduler's next snapshot or a later record tells them"`
	Tasks            int          `json:"tasks,omitempty" doc:"of an array that waits as one record"`
	TimeLimitSeconds float64      `json:"time_limit_seconds,omitempty"`
	Submit           time.Time    `json:"submit"`
	WaitedSeconds    float64      `json:"waited_seconds"`
	Held             bool         `json:"held,omitempty" doc:"it waits for something else than processors"`
	HeldReason       string       `json:"held_reason,omitempty" doc:"in the scheduler's word"`
	HeldClass        string       `json:"held_class,omitempty" enum:"resources,priority,limit,hold,unavailable" doc:"what that word means"`
	HeldAction       string       `json:"held_action,omitempty" doc:"what one can do about it"`
	Forecast         *JobForecast `json:"forecast" doc:"null where there is none: no_forecast says why"`
	NoForecast       string       `json:"no_forecast,omitempty" doc:"pending: the instant of the submission is not over; unknown: the size or the queue is not told yet; afterwards: the submission was learnt after the fact; or a reason as in cannot_say"`
	AheadJobs        int          `json:"ahead_jobs" doc:"jobs that go before it now"`
	AheadProcs       int          `json:"ahead_procs"`
	Moved            string       `json:"moved,omitempty" doc:"why the forecast is another one now, in one sentence"`
	MovedBy          string       `json:"moved_by,omitempty" enum:"held,capacity_lost,overrun,priority,let_go_before,ahead_started,time" doc:"the main reason for that; overrun is looked for in the answer for one job only"`
	WaitsFor         []Pivot      `json:"waits_for,omitempty" doc:"the running jobs whose ends its start hangs on, at most five; in the answer for one job only"`
	Sooner           []Sooner     `json:"sooner,omitempty" doc:"what would start sooner than what is left of its wait if it were submitted now in its stead; in the answer for one job only"`
}

// JobForecast is what was served at the submission, and what follows from it now.
type JobForecast struct {
	AtSubmit   Quantiles `json:"at_submit" doc:"the whole wait as it was forecast at the submission, seconds; an array's is for its last task"`
	Now        Quantiles `json:"now" doc:"the rest of the wait, seconds, given that the job has waited so long already"`
	Start      Instants  `json:"start" doc:"the same as points in time"`
	AheadJobs  int       `json:"ahead_jobs_at_submit"`
	AheadProcs int       `json:"ahead_procs_at_submit"`
	Methods    []Method  `json:"methods" doc:"medians that other methods forecast at the submission"`
}
