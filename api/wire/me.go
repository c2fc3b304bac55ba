package wire

import "time"

// Me is the answer of GET /v1/me: the waiting jobs of one user, and the user's habits in earlier jobs.
type Me struct {
	User        string    `json:"user" doc:"name of the caller"`
	Cluster     string    `json:"cluster" doc:"the name of the cluster"`
	RunningJobs int       `json:"running_jobs" doc:"jobs that run"`
	Waiting     int       `json:"waiting" doc:"waiting jobs of the caller, including those beyond the limit"`
	NextOffset  *int      `json:"next_offset" doc:"the offset of the next jobs; null if there are none"`
	Jobs        []Job     `json:"jobs" doc:"the waiting jobs, as in GET /v1/jobs"`
	Habits      []Habit   `json:"habits" doc:"habits by job name, for the parameter name and for the names of jobs that wait or run now, the newest first"`
	OtherNames  int       `json:"other_names" doc:"number of further job names with enough runs for a habit; the daemon has only hashes of these names, so they must be requested by name"`
	AsOf        time.Time `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds  float64   `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale       bool      `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// Habit describes how long the jobs of one name ran, beside their requested time limit.
type Habit struct {
	Name             string     `json:"name" doc:"name of the jobs"`
	Runs             int        `json:"runs" doc:"number of the newest ended runs, at most 1000"`
	Queue            string     `json:"queue,omitempty" doc:"queue of the newest job of the name that waits or runs; empty if there is none"`
	Procs            int        `json:"procs,omitempty" doc:"processors of that job"`
	TimeLimitSeconds float64    `json:"time_limit_seconds" doc:"time limit of that job, else of the newest run; 0: no limit"`
	RuntimeSeconds   *Quantiles `json:"runtime_seconds" doc:"quantiles of the runtimes; null if fewer than 10 are known"`
	ReachedLimit     int        `json:"reached_limit" doc:"runs that ended at their time limits"`
	Shorter          *Shorter   `json:"shorter,omitempty" doc:"a shorter time limit: a quarter more than nine tenths of the runs took, and enough for at least 95 % of them"`
	Text             string     `json:"text" doc:"the habit in a sentence"`
}

// Shorter is the gain of a shorter time limit.
type Shorter struct {
	TimeLimitSeconds float64    `json:"time_limit_seconds" doc:"the shorter time limit"`
	Enough           float64    `json:"enough" doc:"share of the runs for which it would have been enough"`
	WaitSeconds      *Quantiles `json:"wait_seconds,omitempty" doc:"wait of such a job if submitted now; left out if no job of the name waits or runs, or if no forecast is possible"`
	GainSeconds      *float64   `json:"gain_seconds,omitempty" doc:"median of how much sooner it would start than with the requested limit"`
	Probability      *float64   `json:"probability,omitempty" doc:"probability of a materially sooner start"`
}
