package wire

import "time"

// Jobs is the answer of GET /v1/jobs: the waiting jobs in order of submission.
type Jobs struct {
	Cluster    string    `json:"cluster" doc:"the name of the cluster"`
	Jobs       []Job     `json:"jobs" doc:"the waiting jobs in order of submission"`
	Waiting    int       `json:"waiting" doc:"waiting jobs that match the request, including those beyond the limit"`
	NextOffset *int      `json:"next_offset" doc:"the offset of the next jobs; null if there are none"`
	AsOf       time.Time `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64   `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool      `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// JobAnswer is the answer of GET /v1/jobs/{id}.
type JobAnswer struct {
	Cluster string `json:"cluster" doc:"the name of the cluster"`
	Job
	AsOf       time.Time `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64   `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool      `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// Job is one waiting job with its forecast. Its owner is included for callers that may see it.
type Job struct {
	ID               string       `json:"id" doc:"the job's id, as the scheduler writes it"`
	User             string       `json:"user,omitempty" doc:"owner of the job: for administrators and the owner; for others left out, hashed or shown as access.users says"`
	Account          string       `json:"account,omitempty" doc:"account that is charged; for administrators and the owner"`
	Name             string       `json:"name,omitempty" doc:"name of the job; for administrators and the owner"`
	Queue            string       `json:"queue" doc:"name of the queue; empty if it is not known yet"`
	Procs            int          `json:"procs" doc:"processors; 0 if not known yet"`
	DetailsPending   bool         `json:"details_pending,omitempty" doc:"the log announced the job without its size, and perhaps without its queue; the scheduler's next snapshot or a later record will have them"`
	Tasks            int          `json:"tasks,omitempty" doc:"number of waiting tasks, for an array that waits as one record"`
	TimeLimitSeconds float64      `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
	Submit           time.Time    `json:"submit" doc:"the instant of the submission"`
	WaitedSeconds    float64      `json:"waited_seconds" doc:"how long the job has waited"`
	Held             bool         `json:"held,omitempty" doc:"true if the job waits for something other than processors"`
	HeldReason       string       `json:"held_reason,omitempty" doc:"the scheduler's reason"`
	HeldClass        string       `json:"held_class,omitempty" enum:"resources,priority,limit,hold,unavailable" doc:"class of held_reason"`
	HeldDetail       string       `json:"held_detail,omitempty" doc:"for a limit: its name, and how much of it comes free when; only in the answer for one job, and if known"`
	HeldAction       string       `json:"held_action,omitempty" doc:"what the user can do about it"`
	Forecast         *JobForecast `json:"forecast" doc:"forecast of the wait; null if there is none: no_forecast has the reason"`
	NoForecast       string       `json:"no_forecast,omitempty" doc:"pending: the instant of the submission is not over; unknown: size or queue, or those of a job that it waits for, are not known yet; afterwards: the submission became known after the fact; or a reason as in cannot_say"`
	AheadJobs        int          `json:"ahead_jobs" doc:"jobs that go ahead of it now"`
	AheadProcs       int          `json:"ahead_procs" doc:"processors of these jobs"`
	Moved            string       `json:"moved,omitempty" doc:"why the forecast has changed since the submission, in one sentence"`
	MovedBy          string       `json:"moved_by,omitempty" enum:"held,capacity_lost,overrun,priority,let_go_before,ahead_started,time" doc:"main reason of the change; overrun is examined only in the answer for one job"`
	WaitsFor         []Pivot      `json:"waits_for,omitempty" doc:"running jobs whose ends decide its start, at most five; only in the answer for one job"`
	Sooner           []Sooner     `json:"sooner,omitempty" doc:"requests that would start sooner, if submitted now, than the job itself; only in the answer for one job"`
}

// JobForecast is the forecast served at the submission, and its update to now.
type JobForecast struct {
	AtSubmit   Quantiles `json:"at_submit" doc:"the whole wait as forecast at the submission, seconds; for an array, that of its last task"`
	Now        Quantiles `json:"now" doc:"the rest of the wait, seconds, given the time that the job has waited already"`
	Start      Instants  `json:"start" doc:"the quantiles of now, as instants"`
	AheadJobs  int       `json:"ahead_jobs_at_submit" doc:"jobs that went ahead of it at the submission"`
	AheadProcs int       `json:"ahead_procs_at_submit" doc:"processors of these jobs"`
	Methods    []Method  `json:"methods" doc:"medians of other methods at the submission"`
}
