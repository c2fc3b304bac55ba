package wire

import "time"

// Models is the answer of GET /v1/models/{queue}.
type Models struct {
	Cluster    string         `json:"cluster" doc:"the name of the cluster"`
	Queue      string         `json:"queue" doc:"the name of the queue"`
	Lifetimes  []Model        `json:"lifetimes" doc:"Downey's fits, by class"`
	Laws       []LifetimeLaws `json:"laws" doc:"all laws of lifetimes with their scores, by class"`
	Lublin     *Lublin        `json:"lublin" doc:"the model of Lublin and Feitelson; null before the first job"`
	Markov     *Markov        `json:"markov" doc:"the Markov chains of Song and others; null before the first job"`
	Users      *Users         `json:"users" doc:"statistics of the users in the kept history; null before the first job"`
	AsOf       time.Time      `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64        `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool           `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// LifetimeLaws has the scores of the laws of lifetimes that compete for one class of jobs.
type LifetimeLaws struct {
	Class  string     `json:"class" doc:"sequential: jobs of one processor; parallel: all others" enum:"sequential,parallel"`
	Jobs   int        `json:"jobs" doc:"lifetimes observed"`
	Chosen string     `json:"chosen" doc:"the law that forecasts use, by the highest log score at the newest refit; empty if there is none yet"`
	Reason string     `json:"reason,omitempty" doc:"why no law is chosen"`
	Law    *Quantiles `json:"law_seconds" doc:"quantiles of the chosen law; null if there is none"`
	Scores []LawScore `json:"scores" doc:"all laws, the best first"`
	Params *LawParams `json:"params" doc:"parameters of the chosen law; null if there is none"`
}

// LawParams are the parameters of a law of lifetimes; parameters that the law does not have are left out.
type LawParams struct {
	B0           *float64    `json:"b0,omitempty" doc:"of the uniform-log law: intercept of cdf(t) = b0 + b1 ln t"`
	B1           *float64    `json:"b1,omitempty" doc:"of the uniform-log law: slope of cdf(t) = b0 + b1 ln t"`
	LimitSeconds *float64    `json:"limit_seconds,omitempty" doc:"time limit at which the law is cut"`
	Steps        *int        `json:"steps,omitempty" doc:"of the Kaplan-Meier estimate: number of times at which jobs ended"`
	HyperGamma   *LogMixture `json:"hyper_gamma,omitempty" doc:"of the hyper-Gamma law of ln seconds"`
}

// LawScore is the score of one law.
type LawScore struct {
	Law      string   `json:"law" doc:"name of the law" enum:"uniform_log,uniform_log_at_limit,hyper_gamma,kaplan_meier"`
	LogScore *float64 `json:"log_score" doc:"mean logarithm of the probability that the law gave in advance to the range of each lifetime, with four ranges for each doubling of the time; null before the first"`
	Scored   int      `json:"scored" doc:"lifetimes on which the law was scored"`
	Failed   int      `json:"failed" doc:"lifetimes for which the law had no fit"`
	Reason   string   `json:"reason,omitempty" doc:"why the newest fit of the law failed"`
}

// Gamma is a Gamma law. Its mean is the product of shape and scale.
type Gamma struct {
	Shape float64 `json:"shape" doc:"shape parameter"`
	Scale float64 `json:"scale" doc:"scale parameter; the mean is shape times scale"`
}

// LogMixture is a hyper-Gamma law of ln seconds, for the lifetimes above 1 s.
type LogMixture struct {
	First  Gamma   `json:"first" doc:"first Gamma law"`
	Second Gamma   `json:"second" doc:"second Gamma law"`
	P      float64 `json:"p" doc:"weight of the first law"`
	Short  float64 `json:"short" doc:"share of jobs of at most 1 s"`
}

// Lublin is the model of Lublin and Feitelson (2003), part by part.
type Lublin struct {
	Size    LublinSize    `json:"size" doc:"law of the sizes"`
	Runtime LublinRuntime `json:"runtime" doc:"law of the runtimes"`
	Arrival LublinArrival `json:"arrival" doc:"law of the arrivals"`
}

// LublinSize is the two-stage uniform law of log2 processors.
type LublinSize struct {
	Reason     string  `json:"reason,omitempty" doc:"why the law is not fitted"`
	Jobs       int     `json:"jobs" doc:"number of jobs, with less weight for old ones"`
	Serial     float64 `json:"serial" doc:"p1: share of jobs of one processor"`
	PowerOfTwo float64 `json:"power_of_two" doc:"p2: share of powers of two among the others"`
	Low        float64 `json:"low" doc:"smallest log2 of processors"`
	Medium     float64 `json:"medium" doc:"log2 of processors at which the two parts meet"`
	High       float64 `json:"high" doc:"largest log2 of processors"`
	Prob       float64 `json:"prob" doc:"weight of the part from low to medium"`
	KS         float64 `json:"ks" doc:"Kolmogorov-Smirnov distance of the sizes of parallel jobs"`
}

// LublinRuntime is the hyper-Gamma law of ln runtime, its weight depending on the size.
type LublinRuntime struct {
	Reason        string  `json:"reason,omitempty" doc:"why the law is not fitted"`
	Jobs          int     `json:"jobs" doc:"number of jobs above 1 s, with less weight for old ones"`
	First         Gamma   `json:"first" doc:"first Gamma law of ln runtime"`
	Second        Gamma   `json:"second" doc:"second Gamma law of ln runtime"`
	P             float64 `json:"p" doc:"weight of the first law among all jobs"`
	A             float64 `json:"a" doc:"the weight of the first law for s processors is a s + b, bounded to 0 to 1"`
	B             float64 `json:"b" doc:"the constant of that line; see a"`
	KS            float64 `json:"ks" doc:"Kolmogorov-Smirnov distance of all runtimes from the law with weight p"`
	AllKS         float64 `json:"all_ks" doc:"the same with the weight by size"`
	LogLikelihood float64 `json:"log_likelihood" doc:"log-likelihood of the fit"`
}

// LublinArrival is the law of ln interarrival seconds at peak hours, with the daily cycle.
type LublinArrival struct {
	Reason         string    `json:"reason,omitempty" doc:"why the law is not fitted"`
	Jobs           int       `json:"jobs" doc:"number of submissions, with less weight for old ones"`
	Peak           Gamma     `json:"peak" doc:"Gamma law of ln interarrival seconds at peak hours"`
	PeakGaps       int       `json:"peak_gaps" doc:"interarrival times at peak hours to which the law is fitted"`
	ARAR           float64   `json:"arar" doc:"mean ln interarrival time over all hours, divided by that at peak hours"`
	MeanGapSeconds float64   `json:"mean_gap_seconds" doc:"mean interarrival time"`
	Daily          Gamma     `json:"daily" doc:"Gamma law of the half hours of the day, from 5:00"`
	DailyKS        float64   `json:"daily_ks" doc:"Kolmogorov-Smirnov distance of the daily cycle from that law"`
	HalfHours      []float64 `json:"half_hours" doc:"share of the submissions in each half hour from midnight"`
}

// Chain is a Markov chain over powers of two.
type Chain struct {
	States      []int64     `json:"states" doc:"the powers of two that occurred"`
	Counts      []float64   `json:"counts" doc:"number of jobs in each state, with less weight for old ones"`
	Transitions [][]float64 `json:"transitions" doc:"[i][j]: probability that state j follows state i"`
	Quality     []float64   `json:"quality" doc:"share of each state's jobs whose value is the power of two itself"`
	Max         int64       `json:"max" doc:"largest value that was counted"`
}

// Markov are the two chains of Song, Ernemann and Yahyapour (2004).
type Markov struct {
	Procs   Chain   `json:"procs" doc:"the chain of the sizes"`
	Runtime Chain   `json:"runtime" doc:"the chain of the runtimes, in seconds"`
	Cor0    float64 `json:"cor0" doc:"correlation of the states of size and runtime over all jobs"`
	Cor1    float64 `json:"cor1" doc:"correlation of their changes from job to job"`
	Jobs    uint64  `json:"jobs" doc:"jobs that were counted"`
	Pairs   uint64  `json:"pairs" doc:"pairs of neighboring jobs that were counted"`
}

// Users has statistics of a queue's users in the kept history, without names.
type Users struct {
	Reason       string    `json:"reason,omitempty" doc:"why the users are unknown"`
	Since        time.Time `json:"since" doc:"first submission in the history"`
	Jobs         int       `json:"jobs" doc:"jobs in the history"`
	NeverRanJobs int       `json:"never_ran_jobs" doc:"number of these that left the queue without a start"`
	LongTerm     int       `json:"long_term" doc:"users who come for more than 12 weeks"`
	Temporary    int       `json:"temporary" doc:"users who come for a shorter time"`
	Dropped      int       `json:"dropped" doc:"users whose time may be cut off by the beginning or the end of the history"`
	Sessions     int       `json:"sessions" doc:"sessions of all users; an hour without a submission ends one"`
	PerWeek      float64   `json:"temporary_per_week" doc:"temporary users that arrive in a week"`
	Flurries     int       `json:"flurries" doc:"bursts of at least 200 jobs a day by one user"`
	FlurryJobs   int       `json:"flurry_jobs" doc:"jobs in flurries"`
	Robots       int       `json:"robots" doc:"series of jobs that one user submits at the same time of day, day after day"`
	RobotJobs    int       `json:"robot_jobs" doc:"jobs of robots"`
	Weeks        int       `json:"weeks" doc:"number of weekly counts behind growth_jobs_per_week"`
	Growth       float64   `json:"growth_jobs_per_week" doc:"growth of the number of jobs that were submitted and have not left"`
	Saturated    bool      `json:"saturated" doc:"as in saturation: jobs arrive faster than they can run"`

	Saturation *Saturation `json:"saturation" doc:"saturation of the queue, as in /v1/forecast; null before anything is known"`
}

// SyntheticJob is one line of GET /v1/workload as JSON lines.
type SyntheticJob struct {
	ID               int64   `json:"id" doc:"number of the job, from 1"`
	SubmitSeconds    float64 `json:"submit_seconds" doc:"submission, since the start of the workload"`
	Procs            int     `json:"procs" doc:"processors"`
	RuntimeSeconds   float64 `json:"runtime_seconds" doc:"runtime"`
	TimeLimitSeconds float64 `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
	User             int64   `json:"user,omitempty" doc:"number of the user, from 1; left out if the model has no users"`
	Queue            string  `json:"queue,omitempty" doc:"the name of the queue"`
}
