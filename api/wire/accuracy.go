package wire

import "time"

// Accuracy is the answer of GET /v1/accuracy: forecasts and their outcomes. Levels are keys: "0.5", "0.95".
type Accuracy struct {
	Cluster    string          `json:"cluster" doc:"the name of the cluster"`
	Since      time.Time       `json:"since" doc:"coverage counts jobs submitted at or after this; losses count jobs that started, or left without a start, at or after this"`
	Until      *time.Time      `json:"until" doc:"losses count jobs before this, and coverage is as of this instant; null: no bound"`
	Groups     []AccuracyGroup `json:"groups" doc:"all queues together, then each queue, and each size class of each; in both parts forecasts made live come first"`
	Total      int             `json:"total" doc:"number of groups, on all pages together"`
	NextOffset *int            `json:"next_offset" doc:"offset of the next page; null: this is the last one"`
	AsOf       time.Time       `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64         `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool            `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// AccuracyGroup has the accuracy of the forecasts of one queue and size class.
type AccuracyGroup struct {
	Queue       string           `json:"queue" doc:"name of the queue; empty: all queues together"`
	SizeClass   string           `json:"size_class" doc:"class of sizes in processors: 1, 2-8, 9-64, 65-512, 513-4096, 4097+; empty: all sizes together"`
	Made        string           `json:"made" enum:"live,replayed" doc:"live: forecast as it happened; replayed: forecast afterwards, from information of that time"`
	Unforecast  int64            `json:"unforecast" doc:"jobs that started without a forecast, because none was possible"`
	Left        int64            `json:"left" doc:"jobs that left the queue without a start; no loss counts them"`
	Cancelled   int64            `json:"cancelled" deprecated:"true" doc:"deprecated, goes with 0.3: the same as left"`
	Waiting     int64            `json:"waiting" doc:"waiting jobs with a forecast"`
	WaitingPast map[string]int64 `json:"waiting_past" doc:"by level, the number of these jobs that have waited longer than the quantile; coverage counts them as misses"`
	KnownMisses map[string]int64 `json:"known_misses" doc:"by level, the sum of waiting_past and of the jobs that were cancelled after the quantile had passed"`
	// Newest is set only for whole queues.
	Newest  map[string]NewestCoverage `json:"newest,omitempty" doc:"for a queue with all sizes, by level: the submissions whose quantile passed last, independent of since; the metrics and the alert show these"`
	Parts   *PartsAccuracy            `json:"parts,omitempty" doc:"accuracy of waitcast for the two parts of the wait and for the whole, over jobs that started; left out if there are none"`
	Reasons *ReasonAccuracy           `json:"reasons,omitempty" doc:"how often the cause predicted at the submission was the first reason on which the scheduler's listings agreed; left out if there are none"`
	Methods []MethodAccuracy          `json:"methods" doc:"waitcast, then other methods on the jobs for which they had a forecast"`
}

// PartsAccuracy has the accuracy of the forecasts of the parts of waits, all over the same jobs.
type PartsAccuracy struct {
	Whole    PartAccuracy `json:"whole" doc:"the whole wait of the same jobs, for comparison"`
	Eligible PartAccuracy `json:"eligible" doc:"the time in which the job competed"`
	Blocked  PartAccuracy `json:"blocked" doc:"the time in which the job did not compete: it was held, or a limit kept it"`
}

// PartAccuracy has the accuracy of the forecasts of one part.
type PartAccuracy struct {
	N             int64                 `json:"n" doc:"jobs that started; all figures are over these"`
	Nonzero       int64                 `json:"nonzero" doc:"number of these jobs whose part was a second or longer"`
	Coverage      map[string][2]float64 `json:"coverage" doc:"by level: the share of parts shorter than the quantile (rounded down to whole seconds), and the share of parts up to the quantile (rounded up)"`
	LogPinball    map[string]float64    `json:"log_pinball" doc:"by level: the mean pinball loss of ln(part + 60 s); the lower the better"`
	WithinFactor2 float64               `json:"within_factor_2" doc:"share of medians within a factor of 2 of the part, after 60 s are added to both"`
}

// ReasonAccuracy reports how often the predicted cause is the one that the scheduler reported.
type ReasonAccuracy struct {
	Jobs   int64                       `json:"jobs" doc:"jobs with a forecast that waited until two listings of the scheduler agreed about the reason"`
	Agreed int64                       `json:"agreed" doc:"number of these jobs whose predicted cause was the scheduler's"`
	Share  float64                     `json:"share" doc:"agreed divided by jobs"`
	Counts map[string]map[string]int64 `json:"counts" doc:"jobs by predicted cause (resources, priority, limit, hold, unavailable), then by the scheduler's cause; without zeros"`
}

// NewestCoverage is the coverage of the newest decided submissions of a queue. All submissions count as long as there
// are at most 1000, and the newest 901 to 1000 afterwards.
type NewestCoverage struct {
	Decided       int64      `json:"decided" doc:"submissions whose quantile has passed"`
	LeftUndecided int64      `json:"left_undecided" doc:"number of these that left the queue without a start before the quantile had passed"`
	Censored      int64      `json:"censored" deprecated:"true" doc:"deprecated, goes with 0.3: the same as left_undecided"`
	Coverage      [2]float64 `json:"coverage" doc:"as coverage of MethodAccuracy"`
	Unweighted    [2]float64 `json:"coverage_unweighted" doc:"as coverage_unweighted of MethodAccuracy"`
}

// MethodAccuracy has the accuracy of one method.
type MethodAccuracy struct {
	Method        string                `json:"method" doc:"waitcast, qbets, limits (the plan from the time limits), downey_combined"`
	N             int64                 `json:"n" doc:"jobs that started; log_pinball and within_factor_2 are over these"`
	Coverage      map[string][2]float64 `json:"coverage" doc:"by level, over all submissions whose quantile has passed: the share of waits shorter than the quantile (rounded down to whole seconds), and the share of waits up to the quantile (rounded up); the level of a perfect forecast lies between the two. Jobs that were cancelled before are represented by the other jobs (inverse probability of censoring)"`
	Unweighted    map[string][2]float64 `json:"coverage_unweighted" doc:"the same without the jobs that were cancelled before their quantile"`
	Outcomes      map[string]Outcomes   `json:"outcomes" doc:"by level: the numbers of submissions behind coverage"`
	LogPinball    map[string]float64    `json:"log_pinball" doc:"by level: the mean pinball loss of ln(wait + 60 s); the lower the better"`
	WithinFactor2 float64               `json:"within_factor_2" doc:"share of medians within a factor of 2 of the wait, after 60 s are added to both"`
	Waitcast      map[string]float64    `json:"waitcast_log_pinball,omitempty" doc:"for another method: the loss of waitcast on the same jobs"`
}

// Outcomes are the numbers of submissions by the outcome of a quantile.
type Outcomes struct {
	Decided       int64 `json:"decided" doc:"submissions whose quantile has passed (submit + quantile <= as_of); the sum of up_to, missed and left_undecided"`
	Below         int64 `json:"below" doc:"number of these that started before the quantile, rounded down to whole seconds"`
	UpTo          int64 `json:"up_to" doc:"number of these that started by the quantile, rounded up; includes below"`
	Missed        int64 `json:"missed" doc:"number of these that had not started by then: they started later, were cancelled later or still wait"`
	LeftUndecided int64 `json:"left_undecided" doc:"number of these that left the queue without a start before the quantile had passed"`
	Censored      int64 `json:"censored" deprecated:"true" doc:"deprecated, goes with 0.3: the same as left_undecided"`
	Undecided     int64 `json:"undecided" doc:"waiting jobs whose quantile has not passed yet"`
	Early         int64 `json:"early" doc:"jobs that started or were cancelled before their quantile, which has not passed yet: they count once it passes"`
}
