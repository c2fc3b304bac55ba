package wire

// Pivot is a running job whose end a start depends on. Its owner is left out.
type Pivot struct {
	ID           string   `json:"id" doc:"empty where it is not the caller's to see"`
	Procs        int      `json:"procs"`
	AgeSeconds   float64  `json:"age_seconds" doc:"how long it runs"`
	RemainingP50 *float64 `json:"remaining_p50_seconds" doc:"median of how much longer it runs, by what is known of such jobs; null: not known"`
	RemainingP90 *float64 `json:"remaining_p90_seconds" doc:"90 % quantile of that"`
	Share        float64  `json:"share" doc:"in what part of the futures that were played the start hangs on this end: had it come a moment sooner, the start would have come as much sooner. All shares sum to at most 1; the rest is futures in which it starts at once or hangs on something else, and jobs beyond the first five"`
}

// Sooner is a request like the one that was asked about, but for one thing, that would start materially sooner.
type Sooner struct {
	Changes          string    `json:"changes" enum:"procs,time_limit,queue" doc:"what is another one"`
	Queue            string    `json:"queue"`
	Procs            int       `json:"procs"`
	Nodes            int       `json:"nodes,omitempty"`
	TimeLimitSeconds float64   `json:"time_limit_seconds,omitempty"`
	WaitSeconds      Quantiles `json:"wait_seconds" doc:"of a job that is submitted now"`
	Probability      float64   `json:"probability" doc:"of a materially sooner start, by a minute and a fifth of the wait at least: the part of the futures in which both were played, at least 0.9"`
	GainSeconds      *float64  `json:"gain_seconds" doc:"median of the difference of the two waits in the same futures, from half to twice the difference of their medians; null: the job itself never starts"`
	If               string    `json:"if" doc:"on what condition that is of use, in words: waitcast does not know how long the job runs"`
}
