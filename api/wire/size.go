package wire

import "time"

// Place is a queue of a cluster.
type Place struct {
	Cluster string `json:"cluster,omitempty" doc:"may be left out where there is only one"`
	Queue   string `json:"queue,omitempty" doc:"may be left out where the cluster has only one"`
}

// Runtime is how a runtime depends on the number of processors: one of its members.
type Runtime struct {
	Table   []RuntimePoint  `json:"table,omitempty" maxItems:"1000" doc:"two measured runtimes or more; between their sizes the runtime is a power of the size, beyond them it is not known"`
	Amdahl  *RuntimeAmdahl  `json:"amdahl,omitempty" doc:"Amdahl's law"`
	Downey  *RuntimeDowney  `json:"downey,omitempty" doc:"Downey's model of parallelism (1997)"`
	History *RuntimeHistory `json:"history,omitempty" doc:"the user's own runs, as far as the daemon's history reaches"`
}

// RuntimePoint is one measured runtime.
type RuntimePoint struct {
	Procs   int     `json:"procs" minimum:"1"`
	Seconds float64 `json:"seconds" minimum:"0" maximum:"1e12"`
}

// RuntimeAmdahl is R(n) = T1 (F + (1-F)/n).
type RuntimeAmdahl struct {
	Serial    float64 `json:"serial" minimum:"0" maximum:"1" doc:"F, the part of the work that is serial, 0 to 1"`
	T1Seconds float64 `json:"t1_seconds" minimum:"0" maximum:"1e12" doc:"T1, the runtime on one processor"`
}

// RuntimeDowney is the runtime on one processor over the speedup of a profile of parallelism.
type RuntimeDowney struct {
	A         float64 `json:"a" minimum:"1" maximum:"1e9" doc:"average parallelism, from 1"`
	Sigma     float64 `json:"sigma" minimum:"0" maximum:"1e9" doc:"variance in parallelism, from 0 (none)"`
	T1Seconds float64 `json:"t1_seconds" minimum:"0" maximum:"1e12" doc:"the runtime on one processor"`
}

// RuntimeHistory are the runs of one program of one user.
type RuntimeHistory struct {
	User string `json:"user" minLength:"1"`
	Name string `json:"name" minLength:"1" doc:"the job's name, which the scheduler's log tells"`
}

// SizeObjective is what the choice is to be best in.
type SizeObjective struct {
	Kind          string  `json:"kind,omitempty" enum:"mean,quantile,deadline,cost,considerate" doc:"least mean time to the finish; least quantile of it; highest probability to finish by the deadline; least cost; least cost that also counts what the job takes from those who wait. Left out: mean, but deadline, cost or quantile where only that has its number"`
	Level         float64 `json:"level,omitempty" doc:"of the quantile, above 0 and below 1; .5 where it is left out"`
	Deadline      string  `json:"deadline,omitempty" doc:"an instant (RFC 3339), or how long from now (5h, 1-12:00, seconds)"`
	PriceProcHour float64 `json:"price_proc_hour,omitempty" minimum:"0" maximum:"1e12" doc:"price of a processor for an hour"`
	PriceHour     float64 `json:"price_hour,omitempty" minimum:"0" maximum:"1e12" doc:"price of an hour until the finish, waiting and running"`
}

// SizeRunning is a malleable job that runs, and what is left of it.
type SizeRunning struct {
	JobID            string     `json:"job_id,omitempty" doc:"the job's id as the scheduler writes it: its queue, size and age are looked up"`
	Procs            int        `json:"procs,omitempty" minimum:"0" doc:"processors that it holds, where no job is named"`
	RemainingSeconds float64    `json:"remaining_seconds,omitempty" minimum:"0" maximum:"1e12" doc:"how long it would still run at the size it has"`
	At               *time.Time `json:"at,omitempty" doc:"instant for which remaining_seconds is told; left out: that of the question"`
	Done             *float64   `json:"done,omitempty" doc:"instead: the part of its work that is done, 0 to 1; with neither its age tells"`
	OverheadSeconds  float64    `json:"overhead_seconds,omitempty" minimum:"0" maximum:"1e12" doc:"how long it stands still while it changes its size"`
}

// SizeStanding is the advice that stands.
type SizeStanding struct {
	Place
	Procs int       `json:"procs" minimum:"1"`
	Since time.Time `json:"since"`
}

// SizeRequest is the question of POST /v1/size.
type SizeRequest struct {
	Places          []Place       `json:"places,omitempty" maxItems:"256" doc:"queues to choose among; left out: the only one"`
	Sizes           []int         `json:"sizes,omitempty" maxItems:"1024" doc:"numbers of processors to choose among"`
	Min             int           `json:"min,omitempty" minimum:"0" doc:"instead: the smallest size; all up to max where these are 64 or fewer, else powers of two and what lies halfway between them"`
	Max             int           `json:"max,omitempty" minimum:"0" doc:"the largest size; left out: what the runtimes and the machine allow"`
	Runtime         Runtime       `json:"runtime"`
	TimeLimit       string        `json:"time_limit,omitempty" doc:"wall-clock time asked for, whatever the size: 90m, 2:00:00, 1-12:00, seconds"`
	TimeLimitFactor float64       `json:"time_limit_factor,omitempty" doc:"instead: by what the runtime is multiplied, from 1; rounded up to minutes"`
	Objective       SizeObjective `json:"objective,omitzero"`
	Request         *SizeAsked    `json:"request,omitempty" doc:"what would be asked for otherwise: gains are over this"`
	Running         *SizeRunning  `json:"running,omitempty" doc:"for a job that runs: expand, keep or shrink"`
	Standing        *SizeStanding `json:"standing,omitempty" doc:"the advice that was given before: another one must be better by least_gain, and hold_seconds must be over"`
	LeastGain       *float64      `json:"least_gain,omitempty" doc:"part of the score, 0 to below 1; .05 where it is left out"`
	HoldSeconds     float64       `json:"hold_seconds,omitempty" minimum:"0" maximum:"1e12" doc:"how long an advice stands at least"`
	User            string        `json:"user,omitempty" doc:"who would submit it"`
	Account         string        `json:"account,omitempty"`
	QOS             string        `json:"qos,omitempty"`
}

// SizeAsked is one candidate: a size in a queue.
type SizeAsked struct {
	Place
	Procs int `json:"procs" minimum:"1"`
}

// SizeGain is by how much a candidate is better than the request; less than 0 where it is worse, null where both never
// finish.
type SizeGain struct {
	Score      *float64 `json:"score" doc:"in the unit of the score"`
	MeanFinish *float64 `json:"mean_finish_seconds" doc:"seconds by which it finishes sooner on the average"`
	Finish     *float64 `json:"median_finish_seconds" doc:"the same of the median"`
	Better     float64  `json:"better" doc:"probability that it turns out better"`
	Worse      float64  `json:"worse" doc:"probability that it turns out worse"`
}

// SizeCandidate is what one size in one queue comes to.
type SizeCandidate struct {
	Cluster          string    `json:"cluster"`
	Queue            string    `json:"queue"`
	AskedQueue       string    `json:"asked_queue,omitempty" doc:"the queue that was asked about, where its jobs are counted under the one above"`
	Procs            int       `json:"procs"`
	TimeLimitSeconds float64   `json:"time_limit_seconds,omitempty"`
	Wait             Quantiles `json:"wait_seconds" doc:"of a running job that expands: until the processors that it lacks are there"`
	Run              Quantiles `json:"run_seconds" doc:"of a running job: of all the work that is left, at this size"`
	Finish           Quantiles `json:"finish_seconds" doc:"from now"`
	FinishAt         Instants  `json:"finish"`
	MeanWait         *float64  `json:"mean_wait_seconds" doc:"of the distribution of wait_seconds"`
	MeanRun          *float64  `json:"mean_run_seconds"`
	MeanFinish       *float64  `json:"mean_finish_seconds" doc:"the sum of the mean wait and the mean run; of a running job, which runs on while it waits, that of mean_before_seconds and mean_after_seconds"`
	MeanBefore       *float64  `json:"mean_before_seconds,omitempty" doc:"of a running job: how long it goes on at the size that it has, on the average; with mean_after_seconds the mean finish"`
	MeanAfter        *float64  `json:"mean_after_seconds,omitempty" doc:"of a running job: how long it takes from its change on, that included"`
	InTime           *float64  `json:"in_time,omitempty" doc:"probability to finish by the deadline"`
	ProcHours        float64   `json:"proc_hours" doc:"mean processor-hours"`
	Cost             *float64  `json:"cost,omitempty" doc:"mean"`
	Score            *float64  `json:"score" doc:"what the objective makes of it, the less the better: seconds, the probability to miss the deadline, or the cost"`
	Best             float64   `json:"best" doc:"probability that it turns out best; candidates that come out the same share that, and all sum to 1"`
	Requested        bool      `json:"requested,omitempty" doc:"it is the request, or keeping the size of a running job"`
	Gain             *SizeGain `json:"gain,omitempty" doc:"over the request"`
}

// SizeLeftOut is a candidate that cannot be.
type SizeLeftOut struct {
	Cluster string `json:"cluster"`
	Queue   string `json:"queue"`
	Procs   int    `json:"procs"`
	Reason  string `json:"reason" enum:"larger_than_machine,over_queue_limit,over_limit,not_allowed,over_time_limit,no_forecast"`
	Detail  string `json:"detail"`
}

// SizeAdvice is what to do.
type SizeAdvice struct {
	Action           string    `json:"action" enum:"ask,keep,expand,shrink" doc:"ask for the size at submission; the others are for a running job"`
	Cluster          string    `json:"cluster"`
	Queue            string    `json:"queue"`
	Procs            int       `json:"procs"`
	TimeLimitSeconds float64   `json:"time_limit_seconds,omitempty"`
	Best             float64   `json:"best" doc:"probability that it turns out best; candidates that come out the same share that"`
	Since            time.Time `json:"since" doc:"since when this is the advice: standing.since where it has not changed"`
	Reason           string    `json:"reason" doc:"the advice in one sentence"`
}

// Size is the answer of POST /v1/size, and the data of the events of GET /v1/watch.
type Size struct {
	Objective  string          `json:"objective"`
	Advice     SizeAdvice      `json:"advice"`
	Candidates []SizeCandidate `json:"candidates" doc:"the best first; the advice is another one where a standing advice holds"`
	LeftOut    []SizeLeftOut   `json:"left_out" doc:"sizes that cannot be had in a queue"`
	AsOf       time.Time       `json:"as_of" doc:"of several clusters the oldest"`
	AgeSeconds float64         `json:"age_seconds"`
	Stale      bool            `json:"stale"`
}

// SizeEvent is the data of an event of GET /v1/watch: the advice that stands from now on.
type SizeEvent struct {
	Objective  string        `json:"objective"`
	Advice     SizeAdvice    `json:"advice"`
	Candidate  SizeCandidate `json:"candidate" doc:"what the advised size comes to"`
	AsOf       time.Time     `json:"as_of"`
	AgeSeconds float64       `json:"age_seconds"`
	Stale      bool          `json:"stale"`
}
