package wire

import "time"

// WaitsRequest is the question of POST /v1/wait: every combination of its queues, sizes and time limits is a candidate.
type WaitsRequest struct {
	Places     []Place  `json:"places,omitempty" maxItems:"256" doc:"queues; left out: the only one"`
	Procs      []int    `json:"procs" minItems:"1" maxItems:"1024" doc:"numbers of processors"`
	TimeLimits []string `json:"time_limits,omitempty" maxItems:"256" doc:"wall-clock times asked for: 90m, 2:00:00, 1-12:00, seconds; left out: none"`
	Runtime    *Runtime `json:"runtime,omitempty" doc:"how long the job runs: candidates are then ranked by their finish, and those whose limit is too short are left out"`
	By         string   `json:"by,omitempty" doc:"an instant (RFC 3339), or how long from now (2h, 1-12:00, seconds): each candidate has the probability of a start by then"`
	Nodes      int      `json:"nodes,omitempty" minimum:"0"`
	GPUs       int      `json:"gpus,omitempty" minimum:"0"`
	Memory     string   `json:"memory,omitempty" doc:"of all nodes together: 4000M, 64G (powers of 1024)"`
	User       string   `json:"user,omitempty" doc:"who would submit it"`
	Account    string   `json:"account,omitempty"`
	QOS        string   `json:"qos,omitempty"`
}

// WaitCandidate is the forecast of one combination.
type WaitCandidate struct {
	Cluster          string      `json:"cluster"`
	Queue            string      `json:"queue"`
	AskedQueue       string      `json:"asked_queue,omitempty" doc:"the queue that was asked about, where its jobs are counted under the one above"`
	Procs            int         `json:"procs"`
	TimeLimitSeconds float64     `json:"time_limit_seconds,omitempty"`
	WaitSeconds      Quantiles   `json:"wait_seconds"`
	Start            Instants    `json:"start"`
	StartWithin      StartWithin `json:"start_within"`
	StartBy          *StartBy    `json:"start_by,omitempty" doc:"only where asked for"`
	Run              *Quantiles  `json:"run_seconds,omitempty"`
	Finish           *Quantiles  `json:"finish_seconds,omitempty" doc:"from now"`
	FinishAt         *Instants   `json:"finish,omitempty"`
	Best             float64     `json:"best" doc:"probability that it starts, or finishes, first of all; candidates that do at the same instant share that, and all sum to 1"`
}

// Waits is the answer of POST /v1/wait.
type Waits struct {
	RankedBy   string          `json:"ranked_by" enum:"start,finish" doc:"the median of which"`
	Candidates []WaitCandidate `json:"candidates" doc:"the best first"`
	Advice     []string        `json:"advice" doc:"what asking for the best instead of another gains, in sentences: for its time limit, its queue and its size"`
	LeftOut    []SizeLeftOut   `json:"left_out"`
	AsOf       time.Time       `json:"as_of" doc:"of several clusters the oldest"`
	AgeSeconds float64         `json:"age_seconds"`
	Stale      bool            `json:"stale"`
}
