package wire

import "time"

// Opening is a largest job that would start at once: with more processors or a longer time limit it would not.
type Opening struct {
	Procs            int      `json:"procs" doc:"processors"`
	TimeLimitSeconds *float64 `json:"time_limit_seconds" doc:"time limit; null: any that the queue accepts"`
	Probability      float64  `json:"probability" doc:"probability of a start within a minute, by the forecast of GET /v1/wait; for any time limit, with a limit of 7 days or the queue's longest"`
	LikelyProcs      int      `json:"likely_procs" doc:"highest number of processors (a power of two, or procs) that start within a minute with a probability of 0.9 under this limit; 0 for none"`
}

// NowQueue has the openings of one queue.
type NowQueue struct {
	Cluster    string    `json:"cluster" doc:"the name of the cluster"`
	Queue      string    `json:"queue" doc:"the name of the queue"`
	AskedQueue string    `json:"asked_queue,omitempty" doc:"the queue of the request, if its jobs are counted under the name in queue"`
	Pool       string    `json:"pool,omitempty" doc:"pool of the queue; left out if the whole cluster is one"`
	Procs      int       `json:"procs" doc:"processors for which the queue's jobs compete; 0: unknown"`
	Free       int       `json:"free" doc:"free processors"`
	QueuedJobs int       `json:"queued_jobs" doc:"waiting jobs of the queue"`
	Binds      string    `json:"binds" enum:"procs,nodes,gpus,memory" doc:"the resource that jobs of the pool run short of first; if it is not procs, free processors may lack it"`
	Openings   []Opening `json:"openings" doc:"the openings; from one to the next the size falls and the time limit rises"`
	PlanAge    *float64  `json:"plan_age_seconds" doc:"age of the plan behind the openings; null: there is none"`
	Reason     string    `json:"reason" doc:"the answer in one sentence"`
}

// Now is the answer of GET /v1/now.
type Now struct {
	Queues     []NowQueue `json:"queues" doc:"the queues with their openings"`
	AsOf       time.Time  `json:"as_of" doc:"event time of the newest record behind the answer; of several clusters the oldest"`
	AgeSeconds float64    `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool       `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}
