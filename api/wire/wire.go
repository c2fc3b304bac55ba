// Package wire holds the JSON of waitcast's HTTP interface, as Go types shared by the server and its clients. Seconds
// are numbers in fields named ..._seconds, instants are RFC 3339.
package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Quantiles are the values of a forecast at its levels: with probability 0.1 the value is at most P10, and so on.
// null means that the level is never reached: the jobs that can end do not free enough processors.
type Quantiles struct {
	P10 *float64 `json:"p10" doc:"10 % quantile, seconds"`
	P25 *float64 `json:"p25" doc:"25 % quantile, seconds"`
	P50 *float64 `json:"p50" doc:"median, seconds"`
	P75 *float64 `json:"p75" doc:"75 % quantile, seconds"`
	P90 *float64 `json:"p90" doc:"90 % quantile, seconds"`
	P95 *float64 `json:"p95" doc:"95 % quantile, seconds"`
}

// Instants are quantiles as points in time.
type Instants struct {
	P10 *time.Time `json:"p10" doc:"10 % quantile"`
	P25 *time.Time `json:"p25" doc:"25 % quantile"`
	P50 *time.Time `json:"p50" doc:"median"`
	P75 *time.Time `json:"p75" doc:"75 % quantile"`
	P90 *time.Time `json:"p90" doc:"90 % quantile"`
	P95 *time.Time `json:"p95" doc:"95 % quantile"`
}

// StartWithin is the probability, 0 to 1, that the job starts within a time of its submission.
type StartWithin struct {
	Minute     float64 `json:"1m" doc:"probability of a start within 1 minute"`
	TenMinutes float64 `json:"10m" doc:"probability of a start within 10 minutes"`
	Hour       float64 `json:"1h" doc:"probability of a start within 1 hour"`
	FourHours  float64 `json:"4h" doc:"probability of a start within 4 hours"`
	Day        float64 `json:"1d" doc:"probability of a start within 1 day"`
}

// StartBy is the probability that the job starts by an instant.
type StartBy struct {
	At          time.Time `json:"at" doc:"the requested instant"`
	Probability float64   `json:"probability" doc:"probability of a start by then, from the same distribution as start_within"`
	AtLeast     float64   `json:"at_least" doc:"the highest level whose quantile is not later, 0 for none: a bound from the quantiles alone, without rules for the distribution between and beyond them"`
	AtMost      float64   `json:"at_most" doc:"the lowest level whose quantile is later, 1 for none"`
}

// CurvePoint is one point of a distribution.
type CurvePoint struct {
	Seconds     float64 `json:"seconds" doc:"time from the submission"`
	Probability float64 `json:"probability" doc:"probability of a start within that time"`
}

// CannotSay reports why a method has no answer, and what would help.
type CannotSay struct {
	Reason string `json:"reason" doc:"machine-readable cause" enum:"no_benefactors,larger_than_machine,not_fitted,never_enough,nothing_running,too_much_work,unknown_queue,unknown_capacity,unknown_size,nothing_read,over_queue_limit,over_limit,not_allowed"`
	Detail string `json:"detail" doc:"the cause in words"`
	Hint   string `json:"hint,omitempty" doc:"what would help"`
}

// Method is the answer of one predictor.
type Method struct {
	Name          string   `json:"name" doc:"downey_a, downey_b, downey_combined, exact or its replacement behind a queue (first come, first served); and the experts that the forecast combines: trees, trees_recent, linear, simulation, simulation_corrected, qbets, limits, recent, user_last"`
	MedianSeconds *float64 `json:"median_seconds" doc:"its median wait, seconds; null if it has no forecast"`
	// The next two members are the interval for the true value of MedianSeconds, which is sampled.
	MedianLowSeconds  *float64   `json:"median_low_seconds,omitempty" doc:"for a method with random draws: lower end of an interval that contains the median of endless draws with 95 % certainty"`
	MedianHighSeconds *float64   `json:"median_high_seconds,omitempty" doc:"upper end of the interval that begins at median_low_seconds"`
	Draws             int        `json:"draws,omitempty" doc:"number of its draws"`
	Ignores           []string   `json:"ignores,omitempty" enum:"backfilling,priorities,limits,later_arrivals,queue,time_limit,early_ends" doc:"causes of waits that it ignores. backfilling: later jobs may start first; priorities; limits: limits of a QOS or an association; later_arrivals: jobs that come later and go first; queue: the running and waiting jobs; time_limit: the job's own; early_ends: jobs end before their time limits"`
	CannotSay         *CannotSay `json:"cannot_say,omitempty" doc:"why the method has no forecast; left out if it has one"`
}

// Model describes the lifetime model behind a forecast, and how well it fits.
type Model struct {
	Queue       string     `json:"queue" doc:"queue to which the model was fitted; empty: all queues together"`
	Class       string     `json:"class" doc:"sequential: jobs of one processor; parallel: all others" enum:"sequential,parallel"`
	N           int        `json:"n" doc:"lifetimes in the window"`
	B0          float64    `json:"b0" doc:"intercept of cdf(t) = b0 + b1 ln t"`
	B1          float64    `json:"b1" doc:"slope of cdf(t) = b0 + b1 ln t"`
	R2          float64    `json:"r2" doc:"coefficient of determination of the fit"`
	KS          *float64   `json:"ks,omitempty" doc:"Kolmogorov-Smirnov distance between window and model; only if requested"`
	TMinSeconds float64    `json:"tmin_seconds" doc:"shortest lifetime of the law"`
	TMaxSeconds float64    `json:"tmax_seconds" doc:"longest lifetime of the law"`
	FittedAt    *time.Time `json:"fitted_at,omitempty" doc:"event time of the refit"`
	Law         string     `json:"law,omitempty" doc:"the law that forecasts use: the best by its scores, or uniform_log; left out if there is none" enum:"uniform_log,uniform_log_at_limit,hyper_gamma,kaplan_meier"`
}

// Basis has the data behind a forecast.
type Basis struct {
	Learnt  int    `json:"waits_learnt" doc:"number of waits from which the forecast has learnt, of all queues"`
	Similar int    `json:"similar_waits" doc:"number of these of the same queue and size class"`
	RestsOn string `json:"rests_on" doc:"the expert with the most influence: trees, linear, simulation, recent, limits; empty if no wait has been learnt and the forecast uses only the running jobs"`
}

// ClusterState is the state of the job's pool as used in the forecast. Amounts are in the binding dimension.
type ClusterState struct {
	Pool            string `json:"pool,omitempty" doc:"the pool of the queue; empty: the whole cluster is one"`
	Binds           string `json:"binds" enum:"procs,nodes,gpus,memory" doc:"the resource that such jobs run short of first; all amounts here are in this resource, memory in shares of one processor"`
	Capacity        int    `json:"capacity" doc:"amount that the pool has"`
	CapacitySource  string `json:"capacity_source" doc:"origin of capacity: the configuration, the scheduler, or the highest use seen" enum:"configured,scheduler,highest_use"`
	Size            int    `json:"size" doc:"amount that the request takes"`
	Free            int    `json:"free" doc:"amount that is free"`
	RunningJobs     int    `json:"running_jobs" doc:"running jobs"`
	QueuedAheadJobs int    `json:"queued_ahead_jobs" doc:"waiting jobs ahead of the request; each task of an array counts as one"`
	QueuedAhead     int    `json:"queued_ahead" doc:"amount of these jobs together"`
	Needed          int    `json:"needed" doc:"amount that must become free before this job can start, including that of the jobs ahead"`
}

// Wait is the answer of GET /v1/wait.
type Wait struct {
	Cluster          string       `json:"cluster" doc:"the name of the cluster"`
	Queue            string       `json:"queue" doc:"the name of the queue"`
	AskedQueue       string       `json:"asked_queue,omitempty" doc:"the queue of the request, if its jobs are counted under the name in queue"`
	Procs            int          `json:"procs" doc:"processors"`
	Nodes            int          `json:"nodes,omitempty" doc:"nodes"`
	GPUs             int          `json:"gpus,omitempty" doc:"GPUs"`
	MemoryBytes      int64        `json:"memory_bytes,omitempty" doc:"memory"`
	TimeLimitSeconds float64      `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
	WaitSeconds      Quantiles    `json:"wait_seconds" doc:"quantiles of the wait"`
	Start            Instants     `json:"start" doc:"the quantiles of the wait, as instants"`
	StartWithin      StartWithin  `json:"start_within" doc:"the probability of a start within some times"`
	StartBy          *StartBy     `json:"start_by,omitempty" doc:"probability of a start by the requested instant; only if requested"`
	Curve            []CurvePoint `json:"curve,omitempty" doc:"points of the distribution for drawing, at equal steps of ln(seconds + 60) and at the quantiles; only if requested"`
	Method           string       `json:"method" doc:"how the distribution was made: waitcast; before anything has been learnt now, exact, saddlepoint, behind a queue with _queue at the end"`
	Methods          []Method     `json:"methods" doc:"forecasts of single methods"`
	Basis            Basis        `json:"basis" doc:"data behind the forecast"`
	Model            Model        `json:"model" doc:"lifetime model behind the forecast"`
	State            ClusterState `json:"state" doc:"state of the job's pool"`
	Reason           string       `json:"reason" doc:"the forecast in one sentence"`
	Cause            *Cause       `json:"cause,omitempty" doc:"what keeps the job from starting at once; left out if its median wait is at most a second, or if the cause is unknown"`
	Refused          *Cause       `json:"refused,omitempty" doc:"the limit on running and waiting jobs for which the scheduler would refuse the submission now, and the number of its jobs that must end first; left out if the scheduler would accept the submission"`
	Warnings         []string     `json:"warnings,omitempty" doc:"uncertain obstacles to a start: bounds known from use only, a queue that is closed now"`
	NotConsidered    []string     `json:"not_considered,omitempty" enum:"nodes,gpus,memory,limits" doc:"requested resources that the forecast does not consider; limits: limits of a QOS or an association that were not played"`
	WaitsFor         []Pivot      `json:"waits_for,omitempty" doc:"running jobs whose ends decide the start, at most five, the most important first"`
	Sooner           []Sooner     `json:"sooner,omitempty" doc:"requests that would start materially sooner, with a probability of at least 0.9, and by a minute and a fifth in the median: at most one smaller size, one shorter time limit and one other queue, the largest gain first"`
	AsOf             time.Time    `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds       float64      `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale            bool         `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// Cause is the cause of a wait, with advice to the user.
type Cause struct {
	Class          string     `json:"class" doc:"class of the cause" enum:"resources,priority,limit,hold,unavailable"`
	Detail         string     `json:"detail" doc:"the cause in words: the limit, the number of jobs ahead"`
	Action         string     `json:"action" doc:"what the user can do"`
	BlockedSeconds *Quantiles `json:"blocked_seconds,omitempty" doc:"for a limit: how long limits keep the job from starting, no matter how much is free; a part of the wait"`
	ComesFree      *Freed     `json:"comes_free,omitempty" doc:"for a limit: how much its jobs give back when they end, up to the amount that the job needs; left out if unknown"`
}

// Freed is an amount of a limit that becomes free.
type Freed struct {
	Of      string  `json:"of" enum:"jobs,procs,nodes,gpus,memory" doc:"the resource that the limit bounds; memory is in bytes"`
	Amount  int64   `json:"amount" doc:"amount that comes free, by the jobs that end first"`
	Seconds float64 `json:"seconds" doc:"time until then, by the median of the last of these ends"`
	Jobs    int     `json:"jobs" doc:"number of jobs that end until then"`
	ID      string  `json:"id,omitempty" doc:"id of the job that ends last; only for callers who may see it"`
}

// Queue is one row of GET /v1/queues.
type Queue struct {
	Cluster      string  `json:"cluster" doc:"the name of the cluster"`
	Name         string  `json:"name" doc:"name of the queue"`
	RunningJobs  int     `json:"running_jobs" doc:"running jobs"`
	RunningProcs int     `json:"running_procs" doc:"processors of the running jobs"`
	QueuedJobs   int     `json:"queued_jobs" doc:"jobs that compete; each task of an array counts as one"`
	QueuedProcs  int     `json:"queued_procs" doc:"processors of the jobs that compete"`
	HeldJobs     int     `json:"held_jobs" doc:"jobs that are held and do not compete"`
	HeldProcs    int     `json:"held_procs" doc:"processors of the held jobs"`
	Pool         string  `json:"pool,omitempty" doc:"pool of nodes for which its jobs compete; empty: the whole cluster is one"`
	Policy       string  `json:"policy" enum:"fcfs,easy,conservative,priority_fcfs,priority_easy" doc:"policy with which forecasts play the pool"`
	PolicySource string  `json:"policy_source" enum:"configured,learnt,priorities,assumed" doc:"origin of the policy. configured; learnt: from the starts; priorities: from the priorities that the scheduler reports; assumed: until enough starts have been seen"`
	Rules        *Rules  `json:"rules" doc:"the learnt rules by which its jobs start; null if no forecasts are made"`
	Models       []Model `json:"models" doc:"lifetime models of the queue, by class"`

	Typical *TypicalJob `json:"typical,omitempty" doc:"the median job of the size class with the most jobs, among those that run, wait, or left last; left out if no job is known"`
}

// TypicalJob is the request of a typical job of a queue.
type TypicalJob struct {
	Procs            int     `json:"procs" doc:"processors"`
	TimeLimitSeconds float64 `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
}

// Amounts are the resources of a pool, or those in use; 0 if unknown.
type Amounts struct {
	Procs       int64 `json:"procs" doc:"processors"`
	Nodes       int64 `json:"nodes" doc:"nodes"`
	GPUs        int64 `json:"gpus" doc:"GPUs"`
	MemoryBytes int64 `json:"memory_bytes" doc:"memory"`
}

// Outage is a time during which some nodes of a pool are not available to everybody.
type Outage struct {
	Name        string     `json:"name" doc:"name of the outage"`
	Maintenance bool       `json:"maintenance" doc:"true for maintenance, false for other reservations"`
	From        time.Time  `json:"from" doc:"beginning of the outage"`
	Until       *time.Time `json:"until" doc:"end of the outage; null: unknown"`
	Procs       int        `json:"procs" doc:"processors"`
	Nodes       int        `json:"nodes" doc:"nodes"`
}

// Pool is a set of nodes that only the jobs of some queues compete for.
type Pool struct {
	Cluster  string   `json:"cluster" doc:"the name of the cluster"`
	Name     string   `json:"name" doc:"empty: the whole cluster is one pool"`
	Queues   []string `json:"queues" doc:"queues of the pool; empty: all that no other pool has"`
	Capacity Amounts  `json:"capacity" doc:"amounts that jobs can have now, without nodes that are down or in an outage"`
	Used     Amounts  `json:"used" doc:"amounts in use"`
	Source   string   `json:"source" doc:"origin of the capacity: the configuration, the scheduler, or the highest use seen" enum:"configured,scheduler,highest_use"`
	Binds    string   `json:"binds" enum:"procs,nodes,gpus,memory" doc:"the resource that its jobs run short of first"`
	Outages  []Outage `json:"outages" doc:"current and future outages of the pool"`
}

// Queues is the answer of GET /v1/queues.
type Queues struct {
	Queues     []Queue   `json:"queues" doc:"all queues"`
	Pools      []Pool    `json:"pools" doc:"all pools"`
	AsOf       time.Time `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64   `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool      `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// Problem is an error document (RFC 9457), with waitcast's own members.
type Problem struct {
	Type   string `json:"type" doc:"URN of the kind of problem"`
	Title  string `json:"title" doc:"the kind of problem in words"`
	Status int    `json:"status" doc:"HTTP status"`
	Detail string `json:"detail" doc:"what is wrong"`
	// Parameter is the wrong parameter or member of the body, if there is one. It is the first of Errors.
	Parameter string `json:"parameter,omitempty" doc:"the first wrong parameter or member of the body, if there is one"`
	// Reason is set if no forecast is possible, as in CannotSay.
	Reason string `json:"reason,omitempty" doc:"why no forecast is possible, as in CannotSay"`
	// Hint is what would help, if known.
	Hint string `json:"hint,omitempty" doc:"what would help, if known"`
	// Errors lists all wrong parameters, if they were found by validation.
	Errors []FieldError `json:"errors,omitempty" doc:"all wrong parameters that validation found"`
}

// FieldError describes the error in one parameter.
type FieldError struct {
	Message string `json:"message" doc:"what is wrong with the parameter"`
	// Location is the place of the wrong parameter: query.procs, body.sizes[1], path.id.
	Location string `json:"location,omitempty" doc:"where it is: query.procs, body.sizes[1], path.id"`
	Value    any    `json:"value,omitempty" doc:"the value that was given"`
}

const (
	// problemPrefix begins the types of all problems.
	problemPrefix = "urn:waitcast:problem:"
	// ProblemNoForecast is the type of the problem if no forecast can be made. The command then exits with 3.
	ProblemNoForecast = problemPrefix + "no-forecast"
	// ProblemParameter is the type of the problem if a parameter is wrong. Parameter names it.
	ProblemParameter = problemPrefix + "invalid-parameter"
)

// ProblemType returns the type of a problem that is identified by its HTTP status alone. The type for 404 ends in
// not-found.
func ProblemType(status int) string {
	text := http.StatusText(status)
	if text == "" {
		text = "status " + strconv.Itoa(status)
	}
	return problemPrefix + strings.ReplaceAll(strings.ToLower(text), " ", "-")
}
