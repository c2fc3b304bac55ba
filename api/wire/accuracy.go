package wire

import "time"

// Accuracy is the answer of GET /v1/accuracy: forecasts against facts. Levels are keys: "0.5", "0.95".
type Accuracy struct {
	Cluster    string          `json:"cluster"`
	Since      time.Time       `json:"since" doc:"coverage: jobs submitted at or after this; losses: jobs that started, or left without a start, at or after this"`
	Until      *time.Time      `json:"until" doc:"losses: and before this; coverage is as of this instant; null: no bound"`
	Groups     []AccuracyGroup `json:"groups" doc:"all queues together, then each queue, and each size class of each; in both parts what was forecast live first"`
	Total      int             `json:"total" doc:"number of groups, on all pages together"`
	NextOffset *int            `json:"next_offset" doc:"offset of the next page; null: this is the last one"`
	AsOf       time.Time       `json:"as_of"`
	AgeSeconds float64         `json:"age_seconds"`
	Stale      bool            `json:"stale"`
}

// AccuracyGroup is the forecasts of one queue and size class.
type AccuracyGroup struct {
	Queue       string           `json:"queue" doc:"empty: all queues together"`
	SizeClass   string           `json:"size_class" doc:"processors: 1, 2-8, 9-64, 65-512, 513-4096, 4097+; empty: all sizes together"`
	Made        string           `json:"made" enum:"live,replayed" doc:"live: as it happened; replayed: after the fact, from what could have been known"`
	Unforecast  int64            `json:"unforecast" doc:"jobs that started without a forecast, because none was possible"`
	Cancelled   int64            `json:"cancelled" doc:"jobs that left the queue without a start; no loss counts them"`
	Waiting     int64            `json:"waiting" doc:"jobs with a forecast that wait"`
	WaitingPast map[string]int64 `json:"waiting_past" doc:"of these by level: those that have waited longer than the quantile; coverage counts them as misses"`
	KnownMisses map[string]int64 `json:"known_misses" doc:"by level: waiting_past, and the jobs that were cancelled after the quantile had passed"`
	// Newest is of a queue as a whole.
	Newest  map[string]NewestCoverage `json:"newest,omitempty" doc:"of a queue, all sizes together, by level: the submissions whose quantile passed last, whatever since says: what the metrics and the alert show"`
	Methods []MethodAccuracy          `json:"methods" doc:"waitcast, then other methods on those of its jobs for which they had an answer"`
}

// NewestCoverage is the coverage of the submissions of a queue whose quantile passed last: 901 to 1000 of them once
// there were so many.
type NewestCoverage struct {
	Decided    int64      `json:"decided" doc:"submissions whose quantile has passed"`
	Censored   int64      `json:"censored" doc:"of these: cancelled before the quantile had passed"`
	Coverage   [2]float64 `json:"coverage" doc:"as coverage of a method"`
	Unweighted [2]float64 `json:"coverage_unweighted" doc:"as coverage_unweighted of a method"`
}

// MethodAccuracy reports how one method did.
type MethodAccuracy struct {
	Method        string                `json:"method" doc:"waitcast, qbets, limits (the plan from the time limits), downey_combined"`
	N             int64                 `json:"n" doc:"jobs that started: log_pinball and within_factor_2 are over them"`
	Coverage      map[string][2]float64 `json:"coverage" doc:"by level, over all submissions whose quantile has passed: the share of waits shorter than the quantile (rounded down to whole seconds), and of those up to it (rounded up); the level of a perfect forecast lies between the two. For jobs that were cancelled before, the others stand in (inverse probability of censoring)"`
	Unweighted    map[string][2]float64 `json:"coverage_unweighted" doc:"the same with the jobs that were cancelled before left out"`
	Outcomes      map[string]Outcomes   `json:"outcomes" doc:"by level: the numbers of submissions behind coverage"`
	LogPinball    map[string]float64    `json:"log_pinball" doc:"by level: the mean pinball loss of ln(wait + 60 s); the lower the better"`
	WithinFactor2 float64               `json:"within_factor_2" doc:"share of medians within a factor 2 of the wait, both with 60 s added"`
	Waitcast      map[string]float64    `json:"waitcast_log_pinball,omitempty" doc:"of another method: what waitcast lost on the same jobs"`
}

// Outcomes are the numbers of submissions by what became of a quantile.
type Outcomes struct {
	Decided   int64 `json:"decided" doc:"submissions whose quantile has passed: submit + quantile <= as_of; up_to + missed + censored"`
	Below     int64 `json:"below" doc:"of these: started before the quantile, rounded down to whole seconds"`
	UpTo      int64 `json:"up_to" doc:"of these: started by the quantile, rounded up; below included"`
	Missed    int64 `json:"missed" doc:"of these: not started by then; they started later, were cancelled later or still wait"`
	Censored  int64 `json:"censored" doc:"of these: cancelled before the quantile had passed"`
	Undecided int64 `json:"undecided" doc:"jobs that wait and whose quantile is still to come"`
	Early     int64 `json:"early" doc:"jobs that started or were cancelled before their quantile, which is still to come: they count once it passes"`
}
