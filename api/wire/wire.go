// Package wire holds the JSON of waitcast's HTTP interface, as Go types shared by the server and its clients. Seconds
// are numbers in fields named ..._seconds, instants are RFC 3339.
package wire

import "time"

// Quantiles are the levels of a forecast: with probability .1 the value is at most P10, and so on. A null is a level
// that is never reached: the jobs that can end do not free enough processors.
type Quantiles struct {
	P10 *float64 `json:"p10" doc:"10 % quantile, seconds"`
	P25 *float64 `json:"p25" doc:"25 % quantile, seconds"`
	P50 *float64 `json:"p50" doc:"median, seconds"`
	P75 *float64 `json:"p75" doc:"75 % quantile, seconds"`
	P90 *float64 `json:"p90" doc:"90 % quantile, seconds"`
	P95 *float64 `json:"p95" doc:"95 % quantile, seconds"`
}

// Instants are the same levels as points in time.
type Instants struct {
	P10 *time.Time `json:"p10"`
	P25 *time.Time `json:"p25"`
	P50 *time.Time `json:"p50"`
	P75 *time.Time `json:"p75"`
	P90 *time.Time `json:"p90"`
	P95 *time.Time `json:"p95"`
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
	At          time.Time `json:"at" doc:"the instant that was asked about"`
	Probability float64   `json:"probability" doc:"probability of a start by then, of the same distribution as start_within"`
	AtLeast     float64   `json:"at_least" doc:"the highest level whose quantile lies by then, 0 for none: so much the quantiles say without any rule for what lies between or beyond them"`
	AtMost      float64   `json:"at_most" doc:"the lowest level whose quantile lies later, 1 for none"`
}

// CurvePoint is one point of a distribution.
type CurvePoint struct {
	Seconds     float64 `json:"seconds"`
	Probability float64 `json:"probability" doc:"of a start within so many seconds"`
}

// CannotSay reports why a method gives no answer, and what would help.
type CannotSay struct {
	Reason string `json:"reason" doc:"machine-readable cause" enum:"no_benefactors,larger_than_machine,not_fitted,never_enough,nothing_running,too_much_work,unknown_queue,unknown_capacity,unknown_size,nothing_read,over_queue_limit,over_limit,not_allowed"`
	Detail string `json:"detail" doc:"the cause in words"`
	Hint   string `json:"hint,omitempty" doc:"what would help"`
}

// Method is the answer of one predictor.
type Method struct {
	Name          string     `json:"name" doc:"downey_a, downey_b, downey_combined, exact or what stands in for it behind a queue (first come, first served); and the experts that the forecast is combined from: trees, trees_recent, linear, simulation, simulation_corrected, qbets, limits, recent, user_last"`
	MedianSeconds *float64   `json:"median_seconds" doc:"its median wait, seconds; null if it cannot say"`
	Ignores       []string   `json:"ignores,omitempty" enum:"backfilling,priorities,limits,later_arrivals,queue,time_limit,early_ends" doc:"what it leaves out of what makes jobs wait: that jobs are let go before others; priorities; limits of a QOS or an association on what runs at once; jobs that come later and go before it; what runs and waits now; the job's own time limit; that jobs end before their time limits"`
	CannotSay     *CannotSay `json:"cannot_say,omitempty"`
}

// Model describes the lifetime model that stood behind a forecast, and how well it fits.
type Model struct {
	Queue       string     `json:"queue" doc:"queue the model was fitted on; empty: all queues together"`
	Class       string     `json:"class" enum:"sequential,parallel"`
	N           int        `json:"n" doc:"lifetimes in the window"`
	B0          float64    `json:"b0" doc:"intercept of cdf(t) = b0 + b1 ln t"`
	B1          float64    `json:"b1" doc:"slope of cdf(t) = b0 + b1 ln t"`
	R2          float64    `json:"r2" doc:"coefficient of determination of the fit"`
	KS          *float64   `json:"ks,omitempty" doc:"Kolmogorov-Smirnov distance between window and model; only where asked for"`
	TMinSeconds float64    `json:"tmin_seconds"`
	TMaxSeconds float64    `json:"tmax_seconds"`
	FittedAt    *time.Time `json:"fitted_at,omitempty" doc:"event time of the refit"`
	Law         string     `json:"law,omitempty" doc:"the law that forecasts take: the best of those that compete, or uniform_log; left out where there is none" enum:"uniform_log,uniform_log_at_limit,hyper_gamma,kaplan_meier"`
}

// Basis is what a forecast rests on.
type Basis struct {
	Learnt  int    `json:"waits_learnt" doc:"waits that had been learnt from, of all queues"`
	Similar int    `json:"similar_waits" doc:"how many of them were of jobs of the same queue and size class"`
	RestsOn string `json:"rests_on" doc:"what says most: trees, linear, simulation, recent, limits; empty where no wait has been learnt and the jobs that run are all there is to go by"`
}

// ClusterState is what the forecast saw of the pool of nodes that the job competes for. Amounts are numbers of what
// binds.
type ClusterState struct {
	Pool            string `json:"pool,omitempty" doc:"the pool of the queue; empty: the whole cluster is one"`
	Binds           string `json:"binds" enum:"procs,nodes,gpus,memory" doc:"what such jobs run short of first, and what all amounts here are numbers of; memory is counted in shares of one processor"`
	Capacity        int    `json:"capacity"`
	CapacitySource  string `json:"capacity_source" enum:"configured,scheduler,highest_use"`
	Size            int    `json:"size" doc:"what the request takes"`
	Free            int    `json:"free"`
	RunningJobs     int    `json:"running_jobs"`
	QueuedAheadJobs int    `json:"queued_ahead_jobs" doc:"each task of an array is one"`
	QueuedAhead     int    `json:"queued_ahead"`
	Needed          int    `json:"needed" doc:"what must become free before this job can start, jobs ahead included"`
}

// Wait is the answer of GET /v1/wait.
type Wait struct {
	Cluster          string       `json:"cluster"`
	Queue            string       `json:"queue"`
	AskedQueue       string       `json:"asked_queue,omitempty" doc:"the queue that was asked about, where its jobs are counted under the one above"`
	Procs            int          `json:"procs"`
	Nodes            int          `json:"nodes,omitempty"`
	GPUs             int          `json:"gpus,omitempty"`
	MemoryBytes      int64        `json:"memory_bytes,omitempty"`
	TimeLimitSeconds float64      `json:"time_limit_seconds,omitempty"`
	WaitSeconds      Quantiles    `json:"wait_seconds"`
	Start            Instants     `json:"start"`
	StartWithin      StartWithin  `json:"start_within"`
	StartBy          *StartBy     `json:"start_by,omitempty" doc:"only where asked for"`
	Curve            []CurvePoint `json:"curve,omitempty" doc:"the distribution to draw: points at equal steps of ln(seconds + 60) and at the quantiles; only where asked for"`
	Method           string       `json:"method" doc:"how the distribution was made: waitcast; before anything could be learnt now, exact, saddlepoint, behind a queue with _queue at the end"`
	Methods          []Method     `json:"methods" doc:"what single methods say"`
	Basis            Basis        `json:"basis"`
	Model            Model        `json:"model"`
	State            ClusterState `json:"state"`
	Reason           string       `json:"reason" doc:"the forecast in one sentence"`
	Cause            *Cause       `json:"cause,omitempty" doc:"what keeps the job from starting at once; left out where it starts at once by the forecast, and where that is not known"`
	Warnings         []string     `json:"warnings,omitempty" doc:"what may keep the job from starting and is not certain: bounds known from use only, a queue that is closed now"`
	NotConsidered    []string     `json:"not_considered,omitempty" enum:"nodes,gpus,memory,limits" doc:"what the job asks for and the forecast does not depend on; limits are those of a QOS or an association that were not played"`
	WaitsFor         []Pivot      `json:"waits_for,omitempty" doc:"the running jobs whose ends the start hangs on, at most five, the one that matters most first"`
	Sooner           []Sooner     `json:"sooner,omitempty" doc:"what would start materially sooner with a probability of at least 0.9, and by a minute and a fifth in the median: at most one smaller size, one shorter time limit and one other queue, the largest gain first"`
	AsOf             time.Time    `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds       float64      `json:"age_seconds" doc:"how old that is"`
	Stale            bool         `json:"stale" doc:"older than the configured limit, or the log cannot be read"`
}

// Cause is why a job waits, and what one can do.
type Cause struct {
	Class          string     `json:"class" enum:"resources,priority,limit,hold,unavailable"`
	Detail         string     `json:"detail" doc:"in words: which limit, how many jobs are ahead"`
	Action         string     `json:"action" doc:"what one can do"`
	BlockedSeconds *Quantiles `json:"blocked_seconds,omitempty" doc:"of a limit: the part of the wait for which limits keep the job from starting, whatever is free"`
}

// Queue is one row of GET /v1/queues.
type Queue struct {
	Cluster      string  `json:"cluster"`
	Name         string  `json:"name"`
	RunningJobs  int     `json:"running_jobs"`
	RunningProcs int     `json:"running_procs"`
	QueuedJobs   int     `json:"queued_jobs"`
	QueuedProcs  int     `json:"queued_procs"`
	HeldJobs     int     `json:"held_jobs"`
	Pool         string  `json:"pool,omitempty" doc:"the pool of nodes that its jobs compete for; empty: the whole cluster is one"`
	Policy       string  `json:"policy" enum:"fcfs,easy,conservative,priority_fcfs,priority_easy" doc:"by which the forecasts play its pool"`
	PolicySource string  `json:"policy_source" enum:"configured,learnt,priorities,assumed" doc:"where that is known from: learnt is from the starts, priorities from those that the jobs are told with; assumed until enough starts have been seen"`
	Rules        *Rules  `json:"rules" doc:"what was learnt of the rules by which its jobs start; null if no forecasts are made"`
	Models       []Model `json:"models"`
}

// Amounts are what a pool has, or what of it is in use; 0 where that is not known.
type Amounts struct {
	Procs       int64 `json:"procs"`
	Nodes       int64 `json:"nodes"`
	GPUs        int64 `json:"gpus"`
	MemoryBytes int64 `json:"memory_bytes"`
}

// Outage is a time during which some nodes of a pool are not for everybody.
type Outage struct {
	Name        string     `json:"name"`
	Maintenance bool       `json:"maintenance"`
	From        time.Time  `json:"from"`
	Until       *time.Time `json:"until" doc:"null: nobody knows"`
	Procs       int        `json:"procs"`
	Nodes       int        `json:"nodes"`
}

// Pool is a set of nodes that only the jobs of some queues compete for.
type Pool struct {
	Cluster  string   `json:"cluster"`
	Name     string   `json:"name" doc:"empty: the whole cluster is one pool"`
	Queues   []string `json:"queues" doc:"empty: those that no other pool has"`
	Capacity Amounts  `json:"capacity" doc:"what jobs can have now; nodes that are down or in an outage are not in it"`
	Used     Amounts  `json:"used"`
	Source   string   `json:"source" enum:"configured,scheduler,highest_use"`
	Binds    string   `json:"binds" enum:"procs,nodes,gpus,memory" doc:"what its jobs run short of first"`
	Outages  []Outage `json:"outages"`
}

// Queues is the answer of GET /v1/queues.
type Queues struct {
	Queues     []Queue   `json:"queues"`
	Pools      []Pool    `json:"pools"`
	AsOf       time.Time `json:"as_of"`
	AgeSeconds float64   `json:"age_seconds"`
	Stale      bool      `json:"stale"`
}

// Problem is an error as RFC 9457 has it, with waitcast's own members.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Reason is set where no forecast is possible, as in CannotSay.
	Reason string `json:"reason,omitempty"`
	// Hint is what would help, where that is known.
	Hint string `json:"hint,omitempty"`
}

// ProblemNoForecast is the type of the problem if a forecast cannot be made: the command exits with 3.
const ProblemNoForecast = "urn:waitcast:problem:no-forecast"
