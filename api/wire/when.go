package wire

import "time"

// When is the answer of GET /v1/when: how long a job would wait by the hour at which it is submitted.
type When struct {
	Cluster          string     `json:"cluster" doc:"the name of the cluster"`
	Queue            string     `json:"queue" doc:"the name of the queue"`
	Procs            int        `json:"procs" doc:"processors"`
	TimeLimitSeconds float64    `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
	Hours            []WhenHour `json:"hours" doc:"the next full hours"`
	Note             string     `json:"note" doc:"the basis of the answer, in a sentence"`
	MadeFor          time.Time  `json:"made_for" doc:"the instant of the load forecast that the answer uses"`
	AsOf             time.Time  `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds       float64    `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale            bool       `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// WhenHour is one instant at which a job could be submitted.
type WhenHour struct {
	At          time.Time `json:"at" doc:"instant of the submission"`
	WaitSeconds WaitsBand `json:"wait_seconds" doc:"quantiles of the wait by the simulation; they cannot be scored"`
	Best        bool      `json:"best" doc:"true if the median is close to the lowest of all and much below the usual one; false for all if the hours are alike"`
}
