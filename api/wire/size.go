package wire

import "time"

// Place is a queue of a cluster.
type Place struct {
	Cluster string `json:"cluster,omitempty" doc:"name of the cluster; may be left out if there is only one"`
	Queue   string `json:"queue,omitempty" doc:"name of the queue; may be left out if the cluster has only one"`
}

// Runtime is the dependence of a runtime on the number of processors; exactly one member is set.
type Runtime struct {
	Table   []RuntimePoint  `json:"table,omitempty" maxItems:"1000" doc:"at least two measured runtimes; between their sizes the runtime is a power of the size, beyond them it is unknown"`
	Amdahl  *RuntimeAmdahl  `json:"amdahl,omitempty" doc:"Amdahl's law"`
	Downey  *RuntimeDowney  `json:"downey,omitempty" doc:"Downey's model of parallelism (1997)"`
	History *RuntimeHistory `json:"history,omitempty" doc:"the user's own runs, as far as the daemon knows them"`
}

// RuntimePoint is one measured runtime.
type RuntimePoint struct {
	Procs   int     `json:"procs" minimum:"1" doc:"processors"`
	Seconds float64 `json:"seconds" doc:"measured runtime" minimum:"0" maximum:"1e12"`
}

// RuntimeAmdahl is the runtime on n processors by Amdahl's law: R(n) = T1 (F + (1-F)/n).
type RuntimeAmdahl struct {
	Serial    float64 `json:"serial" minimum:"0" maximum:"1" doc:"F, the part of the work that is serial, 0 to 1"`
	T1Seconds float64 `json:"t1_seconds" minimum:"0" maximum:"1e12" doc:"T1, the runtime on one processor"`
}

// RuntimeDowney is the runtime on one processor, divided by the speedup of a profile of parallelism.
type RuntimeDowney struct {
	A         float64 `json:"a" minimum:"1" maximum:"1e9" doc:"average parallelism, from 1"`
	Sigma     float64 `json:"sigma" minimum:"0" maximum:"1e9" doc:"variance in parallelism, from 0 (none)"`
	T1Seconds float64 `json:"t1_seconds" minimum:"0" maximum:"1e12" doc:"the runtime on one processor"`
}

// RuntimeHistory are the runs of one program of one user.
type RuntimeHistory struct {
	User string `json:"user" doc:"name of the user" minLength:"1"`
	Name string `json:"name" minLength:"1" doc:"name of the jobs, as in the scheduler's log"`
}

// SizeObjective is the objective of the choice.
type SizeObjective struct {
	Kind          string  `json:"kind,omitempty" enum:"mean,quantile,deadline,cost,considerate" doc:"mean: lowest mean time to the finish; quantile: lowest quantile of it; deadline: highest probability to finish in time; cost: lowest cost; considerate: lowest cost including the harm to waiting jobs. Default: mean, but deadline, cost or quantile if only that has its number"`
	Level         float64 `json:"level,omitempty" doc:"level of the quantile, above 0 and below 1; 0.5 by default"`
	Deadline      string  `json:"deadline,omitempty" doc:"an instant (RFC 3339), or a time from now (5h, 1-12:00, seconds)"`
	PriceProcHour float64 `json:"price_proc_hour,omitempty" minimum:"0" maximum:"1e12" doc:"price of a processor for an hour"`
	PriceHour     float64 `json:"price_hour,omitempty" minimum:"0" maximum:"1e12" doc:"price of an hour until the finish, waiting and running"`
}

// SizeRunning is a running malleable job with its remaining work.
type SizeRunning struct {
	JobID            string     `json:"job_id,omitempty" doc:"the job's id as the scheduler writes it: its queue, size and age are looked up"`
	Procs            int        `json:"procs,omitempty" minimum:"0" doc:"processors that the job holds, if no job id is given"`
	RemainingSeconds float64    `json:"remaining_seconds,omitempty" minimum:"0" maximum:"1e12" doc:"how long it would still run at its present size"`
	At               *time.Time `json:"at,omitempty" doc:"instant to which remaining_seconds refers; by default that of the request"`
	Done             *float64   `json:"done,omitempty" doc:"instead of remaining_seconds: the part of its work that is done, 0 to 1; without both it is estimated from the age"`
	OverheadSeconds  float64    `json:"overhead_seconds,omitempty" minimum:"0" maximum:"1e12" doc:"how long it pauses while it changes its size"`
}

// SizeStanding is the standing advice.
type SizeStanding struct {
	Place
	Procs int       `json:"procs" minimum:"1" doc:"processors"`
	Since time.Time `json:"since" doc:"since when this has been the advice"`
}

// SizeRequest is the request of POST /v1/size.
type SizeRequest struct {
	Places          []Place       `json:"places,omitempty" maxItems:"256" doc:"queues to choose among; by default the only one"`
	Sizes           []int         `json:"sizes,omitempty" maxItems:"1024" doc:"numbers of processors to choose among"`
	Min             int           `json:"min,omitempty" minimum:"0" doc:"instead of sizes: the smallest size. All sizes up to max are candidates if these are 64 or fewer, else powers of two and the sizes halfway between them"`
	Max             int           `json:"max,omitempty" minimum:"0" doc:"the largest size; by default the largest that runtimes and machine allow"`
	Runtime         Runtime       `json:"runtime" doc:"how the runtime depends on the size"`
	TimeLimit       string        `json:"time_limit,omitempty" doc:"requested wall-clock time, for every size: 90m, 2:00:00, 1-12:00, seconds"`
	TimeLimitFactor float64       `json:"time_limit_factor,omitempty" doc:"instead of time_limit: a factor of the runtime, from 1; the product is rounded up to minutes"`
	Objective       SizeObjective `json:"objective,omitzero" doc:"the criterion of the choice; by default the mean finish"`
	Request         *SizeAsked    `json:"request,omitempty" doc:"the request that would be made otherwise: gains are relative to it"`
	Running         *SizeRunning  `json:"running,omitempty" doc:"for a running job: expand, keep or shrink"`
	Standing        *SizeStanding `json:"standing,omitempty" doc:"the previous advice: another one must be better by least_gain, and hold_seconds must be over"`
	LeastGain       *float64      `json:"least_gain,omitempty" doc:"required gain as a part of the score, from 0 to below 1; 0.05 by default"`
	HoldSeconds     float64       `json:"hold_seconds,omitempty" minimum:"0" maximum:"1e12" doc:"how long an advice is kept at least"`
	User            string        `json:"user,omitempty" doc:"user who would submit the job"`
	Account         string        `json:"account,omitempty" doc:"account that would be charged"`
	QOS             string        `json:"qos,omitempty" doc:"quality of service"`
}

// SizeAsked is one candidate: a size in a queue.
type SizeAsked struct {
	Place
	Procs int `json:"procs" minimum:"1" doc:"processors"`
}

// SizeGain is the amount by which a candidate is better than the request. Its differences are below 0 if the candidate
// is worse, and null if neither ever finishes.
type SizeGain struct {
	Score      *float64 `json:"score" doc:"gain in the unit of the score"`
	MeanFinish *float64 `json:"mean_finish_seconds" doc:"by how many seconds the mean finish is sooner"`
	Finish     *float64 `json:"median_finish_seconds" doc:"by how many seconds the median finish is sooner"`
	Better     float64  `json:"better" doc:"probability that the candidate turns out better"`
	Worse      float64  `json:"worse" doc:"probability that the candidate turns out worse"`
}

// SizeCandidate is the forecast for one size in one queue.
type SizeCandidate struct {
	Cluster          string    `json:"cluster" doc:"the name of the cluster"`
	Queue            string    `json:"queue" doc:"the name of the queue"`
	AskedQueue       string    `json:"asked_queue,omitempty" doc:"the queue of the request, if its jobs are counted under the name in queue"`
	Procs            int       `json:"procs" doc:"processors"`
	TimeLimitSeconds float64   `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
	Wait             Quantiles `json:"wait_seconds" doc:"quantiles of the wait; for a running job that expands: until it gets the missing processors"`
	Run              Quantiles `json:"run_seconds" doc:"quantiles of the runtime; for a running job: of the remaining work, at this size"`
	Finish           Quantiles `json:"finish_seconds" doc:"quantiles of the finish, from now"`
	FinishAt         Instants  `json:"finish" doc:"quantiles of the finish, as instants"`
	MeanWait         *float64  `json:"mean_wait_seconds" doc:"mean of the distribution of wait_seconds"`
	MeanRun          *float64  `json:"mean_run_seconds" doc:"mean of the distribution of run_seconds"`
	MeanFinish       *float64  `json:"mean_finish_seconds" doc:"sum of the mean wait and the mean run; for a running job, which runs while it waits, the sum of mean_before_seconds and mean_after_seconds"`
	MeanBefore       *float64  `json:"mean_before_seconds,omitempty" doc:"for a running job: mean time at its present size"`
	MeanAfter        *float64  `json:"mean_after_seconds,omitempty" doc:"for a running job: mean time from the change of size on, the change included"`
	InTime           *float64  `json:"in_time,omitempty" doc:"probability to finish by the deadline"`
	ProcHours        float64   `json:"proc_hours" doc:"mean processor-hours"`
	Cost             *float64  `json:"cost,omitempty" doc:"mean cost"`
	Score            *float64  `json:"score" doc:"value of the objective, the lower the better: seconds, the probability to miss the deadline, or the cost"`
	Best             float64   `json:"best" doc:"probability that the candidate turns out best; equal candidates share it, and all sum to 1"`
	Requested        bool      `json:"requested,omitempty" doc:"true for the request, and for keeping the size of a running job"`
	Gain             *SizeGain `json:"gain,omitempty" doc:"gain over the request"`
}

// SizeLeftOut is a candidate that is not ranked, with the reason.
type SizeLeftOut struct {
	Cluster string `json:"cluster" doc:"the name of the cluster"`
	Queue   string `json:"queue" doc:"the name of the queue"`
	Procs   int    `json:"procs" doc:"processors"`
	Reason  string `json:"reason" doc:"machine-readable reason" enum:"larger_than_machine,over_queue_limit,over_limit,not_allowed,over_time_limit,no_forecast"`
	Detail  string `json:"detail" doc:"the reason in words"`
}

// SizeAdvice is the recommended action.
type SizeAdvice struct {
	Action           string    `json:"action" enum:"ask,keep,expand,shrink" doc:"ask: request this size at submission; the others are for a running job"`
	Cluster          string    `json:"cluster" doc:"the name of the cluster"`
	Queue            string    `json:"queue" doc:"the name of the queue"`
	Procs            int       `json:"procs" doc:"processors"`
	TimeLimitSeconds float64   `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
	Best             float64   `json:"best" doc:"probability that it turns out best; equal candidates share it"`
	Since            time.Time `json:"since" doc:"since when this has been the advice: standing.since if it has not changed"`
	Reason           string    `json:"reason" doc:"the advice in one sentence"`
}

// Size is the answer of POST /v1/size.
type Size struct {
	Objective  string          `json:"objective" doc:"the criterion that was used"`
	Advice     SizeAdvice      `json:"advice" doc:"the recommended action"`
	Candidates []SizeCandidate `json:"candidates" doc:"the candidates, the best first; the advice can differ while a standing advice is kept"`
	LeftOut    []SizeLeftOut   `json:"left_out" doc:"sizes that are impossible in a queue"`
	AsOf       time.Time       `json:"as_of" doc:"event time of the newest record behind the answer; of several clusters the oldest"`
	AgeSeconds float64         `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool            `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// SizeEvent is the data of an event of GET /v1/watch: the standing advice from now on.
type SizeEvent struct {
	Objective  string        `json:"objective" doc:"the criterion that was used"`
	Advice     SizeAdvice    `json:"advice" doc:"the advice from now on"`
	Candidate  SizeCandidate `json:"candidate" doc:"forecast for the advised size"`
	AsOf       time.Time     `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64       `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool          `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}
