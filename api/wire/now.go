package wire

import "time"

// Opening is a largest job that would start at once: neither more processors nor a longer time limit would.
type Opening struct {
	Procs            int      `json:"procs"`
	TimeLimitSeconds *float64 `json:"time_limit_seconds" doc:"null: any time limit that the queue takes"`
	Probability      float64  `json:"probability" doc:"of a start within a minute, by the forecast of GET /v1/wait; of one with any time limit, by a limit of 7 days or the queue's longest"`
	LikelyProcs      int      `json:"likely_procs" doc:"the most processors, a power of two or procs, that start within a minute with a probability of .9 under this limit; 0 for none"`
}

// NowQueue is what would start at once in one queue.
type NowQueue struct {
	Cluster    string    `json:"cluster"`
	Queue      string    `json:"queue"`
	AskedQueue string    `json:"asked_queue,omitempty" doc:"the queue that was asked about, where its jobs are counted under the one above"`
	Pool       string    `json:"pool,omitempty"`
	Procs      int       `json:"procs" doc:"that the queue's jobs compete for; 0: not known"`
	Free       int       `json:"free" doc:"how many of them are free"`
	QueuedJobs int       `json:"queued_jobs" doc:"that wait in the queue"`
	Binds      string    `json:"binds" enum:"procs,nodes,gpus,memory" doc:"what jobs of the pool run short of first: where that is not procs, a hole may lack it"`
	Openings   []Opening `json:"openings" doc:"the frontier: sizes fall, time limits rise"`
	PlanAge    *float64  `json:"plan_age_seconds" doc:"how old the plan behind the openings is; null: there is none"`
	Reason     string    `json:"reason" doc:"in one sentence"`
}

// Now is the answer of GET /v1/now.
type Now struct {
	Queues     []NowQueue `json:"queues"`
	AsOf       time.Time  `json:"as_of" doc:"of several clusters the oldest"`
	AgeSeconds float64    `json:"age_seconds"`
	Stale      bool       `json:"stale"`
}
