package wire

import "time"

// WaitsRequest is the request of POST /v1/wait: every combination of its queues, sizes and time limits is a candidate.
type WaitsRequest struct {
	Places     []Place  `json:"places,omitempty" maxItems:"256" doc:"queues; by default the only one"`
	Procs      []int    `json:"procs" minItems:"1" maxItems:"1024" doc:"numbers of processors"`
	TimeLimits []string `json:"time_limits,omitempty" maxItems:"256" doc:"requested wall-clock times: 90m, 2:00:00, 1-12:00, seconds; left out: none"`
	Runtime    *Runtime `json:"runtime,omitempty" doc:"how long the job runs: candidates are then ranked by their finish, and those with too short a limit are left out"`
	By         string   `json:"by,omitempty" doc:"an instant (RFC 3339), or a time from now (2h, 1-12:00, seconds): each candidate then has the probability of a start by that instant"`
	Nodes      int      `json:"nodes,omitempty" minimum:"0" doc:"nodes"`
	GPUs       int      `json:"gpus,omitempty" minimum:"0" doc:"GPUs"`
	Memory     string   `json:"memory,omitempty" doc:"memory of all nodes together: 4000M, 64G (powers of 1024)"`
	User       string   `json:"user,omitempty" doc:"user who would submit the job"`
	Account    string   `json:"account,omitempty" doc:"account that would be charged"`
	QOS        string   `json:"qos,omitempty" doc:"quality of service"`
}

// WaitCandidate is the forecast of one combination.
type WaitCandidate struct {
	Cluster          string      `json:"cluster" doc:"the name of the cluster"`
	Queue            string      `json:"queue" doc:"the name of the queue"`
	AskedQueue       string      `json:"asked_queue,omitempty" doc:"the queue of the request, if its jobs are counted under the name in queue"`
	Procs            int         `json:"procs" doc:"processors"`
	TimeLimitSeconds float64     `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
	WaitSeconds      Quantiles   `json:"wait_seconds" doc:"quantiles of the wait"`
	Start            Instants    `json:"start" doc:"the quantiles of the wait, as instants"`
	StartWithin      StartWithin `json:"start_within" doc:"the probability of a start within some times"`
	StartBy          *StartBy    `json:"start_by,omitempty" doc:"probability of a start by the requested instant; only if requested"`
	Run              *Quantiles  `json:"run_seconds,omitempty" doc:"quantiles of the runtime; only if the request has a runtime"`
	Finish           *Quantiles  `json:"finish_seconds,omitempty" doc:"quantiles of the finish, from now; only if the request has a runtime"`
	FinishAt         *Instants   `json:"finish,omitempty" doc:"quantiles of the finish, as instants; only if the request has a runtime"`
	Best             float64     `json:"best" doc:"probability that the candidate starts, or finishes, first of all; candidates with the same instant share it, and all sum to 1"`
}

// Waits is the answer of POST /v1/wait.
type Waits struct {
	RankedBy   string          `json:"ranked_by" enum:"start,finish" doc:"candidates are ranked by the median of this"`
	Candidates []WaitCandidate `json:"candidates" doc:"the candidates, the best first"`
	Advice     []string        `json:"advice" doc:"gains of the best over other candidates, in sentences: for its time limit, its queue and its size"`
	LeftOut    []SizeLeftOut   `json:"left_out" doc:"impossible combinations"`
	AsOf       time.Time       `json:"as_of" doc:"event time of the newest record behind the answer; of several clusters the oldest"`
	AgeSeconds float64         `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool            `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}
