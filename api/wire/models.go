package wire

import "time"

// Models is the answer of GET /v1/models/{queue}.
type Models struct {
	Cluster    string         `json:"cluster"`
	Queue      string         `json:"queue"`
	Lifetimes  []Model        `json:"lifetimes" doc:"Downey's fits, by class"`
	Laws       []LifetimeLaws `json:"laws" doc:"the laws of lifetimes that compete, by class"`
	Lublin     *Lublin        `json:"lublin" doc:"the model of Lublin and Feitelson; null before the first job"`
	Markov     *Markov        `json:"markov" doc:"the Markov chains of Song and others; null before the first job"`
	Users      *Users         `json:"users" doc:"what the kept history tells of the users; null before the first job"`
	AsOf       time.Time      `json:"as_of"`
	AgeSeconds float64        `json:"age_seconds"`
	Stale      bool           `json:"stale"`
}

// LifetimeLaws reports how the laws of lifetimes stand that compete for one class of jobs.
type LifetimeLaws struct {
	Class  string     `json:"class" enum:"sequential,parallel"`
	Jobs   int        `json:"jobs" doc:"lifetimes observed"`
	Chosen string     `json:"chosen" doc:"the law that forecasts use, by the highest log score at the newest refit; empty where there is none yet"`
	Reason string     `json:"reason,omitempty" doc:"why none is chosen"`
	Law    *Quantiles `json:"law_seconds" doc:"quantiles of the chosen law; null where there is none"`
	Scores []LawScore `json:"scores" doc:"all laws, the best first"`
	Params *LawParams `json:"params" doc:"parameters of the chosen law; null where there is none"`
}

// LawParams are the parameters of a law of lifetimes; those that it does not have are left out.
type LawParams struct {
	B0           *float64    `json:"b0,omitempty" doc:"of the uniform-log law cdf(t) = b0 + b1 ln t"`
	B1           *float64    `json:"b1,omitempty"`
	LimitSeconds *float64    `json:"limit_seconds,omitempty" doc:"time limit at which the law is cut"`
	Steps        *int        `json:"steps,omitempty" doc:"of the Kaplan-Meier estimate: times at which jobs ended"`
	HyperGamma   *LogMixture `json:"hyper_gamma,omitempty" doc:"the law of ln seconds"`
}

// LawScore reports how one law did.
type LawScore struct {
	Law      string   `json:"law" enum:"uniform_log,uniform_log_at_limit,hyper_gamma,kaplan_meier"`
	LogScore *float64 `json:"log_score" doc:"mean logarithm of the probability that it gave, beforehand, to each lifetime, a quarter of a doubling wide; null before the first"`
	Scored   int      `json:"scored" doc:"lifetimes that it was scored on"`
	Failed   int      `json:"failed" doc:"those for which it had no fit"`
	Reason   string   `json:"reason,omitempty" doc:"why its newest fit failed"`
}

// Gamma is a Gamma law of mean shape times scale.
type Gamma struct {
	Shape float64 `json:"shape"`
	Scale float64 `json:"scale"`
}

// LogMixture is a hyper-Gamma law of ln seconds, for the lifetimes above 1 s.
type LogMixture struct {
	First  Gamma   `json:"first"`
	Second Gamma   `json:"second"`
	P      float64 `json:"p" doc:"weight of the first"`
	Short  float64 `json:"short" doc:"share of jobs of at most 1 s"`
}

// Lublin is the model of Lublin and Feitelson (2003), part by part.
type Lublin struct {
	Size    LublinSize    `json:"size"`
	Runtime LublinRuntime `json:"runtime"`
	Arrival LublinArrival `json:"arrival"`
}

// LublinSize is the two-stage uniform law of log2 processors.
type LublinSize struct {
	Reason     string  `json:"reason,omitempty" doc:"why it is not fitted"`
	Jobs       int     `json:"jobs" doc:"weight of the jobs, old ones being forgotten"`
	Serial     float64 `json:"serial" doc:"p1: share of jobs of one processor"`
	PowerOfTwo float64 `json:"power_of_two" doc:"p2: share of powers of two among the others"`
	Low        float64 `json:"low"`
	Medium     float64 `json:"medium"`
	High       float64 `json:"high"`
	Prob       float64 `json:"prob" doc:"weight of the part from low to medium"`
	KS         float64 `json:"ks" doc:"Kolmogorov-Smirnov distance of the sizes of parallel jobs"`
}

// LublinRuntime is the hyper-Gamma law of ln runtime, its weight depending on the size.
type LublinRuntime struct {
	Reason        string  `json:"reason,omitempty" doc:"why it is not fitted"`
	Jobs          int     `json:"jobs" doc:"weight of the jobs above 1 s"`
	First         Gamma   `json:"first"`
	Second        Gamma   `json:"second"`
	P             float64 `json:"p" doc:"weight of the first among all jobs"`
	A             float64 `json:"a" doc:"weight of the first for s processors: a s + b, kept in 0 to 1"`
	B             float64 `json:"b"`
	KS            float64 `json:"ks" doc:"distance of all runtimes from the law with weight p"`
	AllKS         float64 `json:"all_ks" doc:"distance with the weight by size"`
	LogLikelihood float64 `json:"log_likelihood"`
}

// LublinArrival is the law of ln interarrival seconds at peak hours, with the daily cycle.
type LublinArrival struct {
	Reason         string    `json:"reason,omitempty" doc:"why it is not fitted"`
	Jobs           int       `json:"jobs" doc:"weight of the submissions"`
	Peak           Gamma     `json:"peak"`
	PeakGaps       int       `json:"peak_gaps"`
	ARAR           float64   `json:"arar" doc:"mean ln interarrival over all hours, by that at peak hours"`
	MeanGapSeconds float64   `json:"mean_gap_seconds"`
	Daily          Gamma     `json:"daily" doc:"law of the half hours from 5:00"`
	DailyKS        float64   `json:"daily_ks"`
	HalfHours      []float64 `json:"half_hours" doc:"share of the submissions in each half hour from midnight"`
}

// Chain is a Markov chain over powers of two.
type Chain struct {
	States      []int64     `json:"states" doc:"the powers of two that occurred"`
	Counts      []float64   `json:"counts" doc:"weight of the jobs in each"`
	Transitions [][]float64 `json:"transitions" doc:"[i][j]: probability that state j follows state i"`
	Quality     []float64   `json:"quality" doc:"share of each state's jobs that are the power of two itself"`
	Max         int64       `json:"max" doc:"largest value counted"`
}

// Markov are the two chains of Song, Ernemann and Yahyapour (2004).
type Markov struct {
	Procs   Chain   `json:"procs"`
	Runtime Chain   `json:"runtime"`
	Cor0    float64 `json:"cor0"`
	Cor1    float64 `json:"cor1"`
	Jobs    uint64  `json:"jobs"`
	Pairs   uint64  `json:"pairs"`
}

// Users reports what the kept history of a queue knows of its users, in numbers: no answer names one.
type Users struct {
	Reason       string    `json:"reason,omitempty" doc:"why users cannot be told apart"`
	Since        time.Time `json:"since" doc:"first submission in the history"`
	Jobs         int       `json:"jobs" doc:"jobs in the history"`
	NeverRanJobs int       `json:"never_ran_jobs" doc:"those of them that left the queue without a start"`
	LongTerm     int       `json:"long_term" doc:"users who come for more than 12 weeks"`
	Temporary    int       `json:"temporary" doc:"users who come for a shorter time"`
	Dropped      int       `json:"dropped" doc:"users whose time the begin or the end of the history may have cut off"`
	Sessions     int       `json:"sessions" doc:"of all users; an hour without a submission ends one"`
	PerWeek      float64   `json:"temporary_per_week" doc:"temporary users that come in a week"`
	Flurries     int       `json:"flurries" doc:"bursts of one user, of 200 jobs a day and more"`
	FlurryJobs   int       `json:"flurry_jobs"`
	Robots       int       `json:"robots" doc:"jobs submitted at the same time of day, day after day, by one user"`
	RobotJobs    int       `json:"robot_jobs"`
	Weeks        int       `json:"weeks" doc:"weekly counts that growth_jobs_per_week is of"`
	Growth       float64   `json:"growth_jobs_per_week" doc:"by how much the jobs that were submitted and have not left grow"`
	Saturated    bool      `json:"saturated" doc:"jobs come faster than they can be run: the same as in saturation"`

	Saturation *Saturation `json:"saturation" doc:"of the queue, as in /v1/forecast; null before anything of it is known"`
}

// SyntheticJob is one line of GET /v1/workload as JSON lines.
type SyntheticJob struct {
	ID               int64   `json:"id" doc:"from 1"`
	SubmitSeconds    float64 `json:"submit_seconds" doc:"since the start of the workload"`
	Procs            int     `json:"procs"`
	RuntimeSeconds   float64 `json:"runtime_seconds"`
	TimeLimitSeconds float64 `json:"time_limit_seconds,omitempty"`
	User             int64   `json:"user,omitempty" doc:"number, from 1; left out where the model has no users"`
	Queue            string  `json:"queue,omitempty"`
}
