package wire

// Pivot is a running job whose end a start depends on. Its owner is left out.
type Pivot struct {
	ID           string   `json:"id" doc:"the job's id; empty if the caller may not see it"`
	Procs        int      `json:"procs" doc:"processors"`
	AgeSeconds   float64  `json:"age_seconds" doc:"how long the job has run"`
	RemainingP50 *float64 `json:"remaining_p50_seconds" doc:"median of its remaining runtime, from the knowledge of such jobs; null: unknown"`
	RemainingP90 *float64 `json:"remaining_p90_seconds" doc:"90 % quantile of its remaining runtime"`
	Share        float64  `json:"share" doc:"share of the simulated futures in which the start depends on this end: if the job ended a moment sooner, the start would come sooner by as much. All shares sum to at most 1; the rest is futures in which the start comes at once or depends on something else, and jobs beyond the first five"`
}

// Sooner is a request that differs from the original one in one attribute and would start materially sooner.
type Sooner struct {
	Changes          string    `json:"changes" enum:"procs,time_limit,queue" doc:"the attribute that differs from the original request"`
	Queue            string    `json:"queue" doc:"the name of the queue"`
	Procs            int       `json:"procs" doc:"processors"`
	Nodes            int       `json:"nodes,omitempty" doc:"nodes"`
	TimeLimitSeconds float64   `json:"time_limit_seconds,omitempty" doc:"requested wall-clock time; left out if there is none"`
	WaitSeconds      Quantiles `json:"wait_seconds" doc:"wait of such a job if it is submitted now"`
	Probability      float64   `json:"probability" doc:"probability of a materially sooner start (by at least a minute and a fifth of the wait): the share of the common futures, at least 0.9"`
	GainSeconds      *float64  `json:"gain_seconds" doc:"median difference of the two waits in the same futures, from half to twice the difference of their medians; null: the job itself never starts"`
	If               string    `json:"if" doc:"condition under which the option is of use, in words: waitcast does not know how long the job runs"`
}
