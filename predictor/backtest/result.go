package backtest

import (
	"math"
	"strconv"
)

// Result is the result of a backtest; its JSON is the output of the command.
type Result struct {
	Traces []TraceResult `json:"traces"`
}

// TraceResult has the scores of all methods on one trace.
type TraceResult struct {
	Trace string `json:"trace"`
	// Files are the files of the log.
	Files []File `json:"files,omitempty"`
	// Jobs is the number of replayed jobs. BadRecords is the number of records that were left out. Resolution is the
	// resolution of the log in seconds.
	Jobs       int `json:"jobs"`
	BadRecords int `json:"bad_records"`
	// ForecastJobs is the number of jobs, at the end of the log, for which a fast replay made forecasts. It is 0 if
	// there are forecasts for all jobs.
	ForecastJobs int            `json:"forecast_jobs,omitempty"`
	Resolution   float64        `json:"resolution_seconds"`
	Methods      []MethodResult `json:"methods"`
	// Constant is the best constant forecast in hindsight: the number of seconds that differs from the largest share of
	// waits by a factor of at most 2, after 60 s are added to both.
	Constant Constant `json:"best_constant"`
	// Importance is each feature's share of the gain of the trees for the median, in decreasing order.
	Importance []Importance `json:"feature_importance,omitempty"`
	*DetailResult
	// Seconds is the duration of the backtest.
	Seconds float64 `json:"took_seconds"`
}

// File is one file of a log.
type File struct {
	Path   string `json:"file"`
	Format string `json:"format"`
	// Records is the number of lines, or of records of a document. LeftOut is the number of those that could not be
	// used.
	Records int64 `json:"records"`
	LeftOut int64 `json:"left_out"`
	// Reasons has the numbers of left-out records by reason, as constants of package collector. Notices counts
	// oddities of records that were used nevertheless.
	Reasons map[string]int64 `json:"left_out_reasons,omitempty"`
	Notices int64            `json:"notices,omitempty"`
}

// Constant is a forecast that is the same for every job.
type Constant struct {
	Seconds float64 `json:"seconds"`
	Within2 float64 `json:"within_factor_2"`
}

// Importance is a feature's part of the gain of all features.
type Importance struct {
	Feature string  `json:"feature"`
	Gain    float64 `json:"gain"`
}

// Figures are the scores of a group of jobs. The keys of the maps are levels: "0.5", "0.75", "0.9", "0.95".
type Figures struct {
	N int `json:"n"`
	// Coverage is [P(W < q), P(W <= q)].
	Coverage map[string][2]float64 `json:"coverage"`
	// LogPinball is the mean pinball loss of ln(wait + 60 s).
	LogPinball map[string]float64 `json:"log_pinball"`
	// Within2 and Within3 are the shares of medians within a factor 2 and 3 of the wait, after 60 s are added to
	// both.
	Within2 float64 `json:"within_factor_2"`
	Within3 float64 `json:"within_factor_3"`
}

// MethodResult has the scores of one method.
type MethodResult struct {
	Method string `json:"method"`
	Figures
	Strata Strata `json:"strata"`
	// R is the correlation of waits and medians in seconds. RLog is the correlation of their logarithms (60 s added).
	// Each is null if one of the two correlated columns is constant.
	R    *float64 `json:"r"`
	RLog *float64 `json:"r_log"`
	// MedianAbsError is the median of |wait - median forecast|. Interval is the mean difference between the 0.95
	// quantile and the median. Both are in seconds.
	MedianAbsError *float64 `json:"median_abs_error_seconds"`
	Interval       *float64 `json:"interval_seconds"`
	// WithCancelled is the coverage in which jobs that were cancelled before their start count, too.
	WithCancelled WithCancelled `json:"with_cancelled"`
	Calibration   Calibration   `json:"calibration"`
}

// Strata are the scores by classes of the true wait.
type Strata struct {
	UpToMinute Figures `json:"le_1m"`
	UpToHour   Figures `json:"le_1h"`
	Longer     Figures `json:"gt_1h"`
}

// WithCancelled is the coverage over all jobs, in the form that a daemon publishes (coverage.OutcomeHistogram). A job
// that was cancelled after a quantile had passed is a miss of that quantile. In place of the jobs that were cancelled
// earlier, the other jobs get more weight. q is rounded to the resolution of the log.
type WithCancelled struct {
	// Cancelled is the number of cancelled jobs. Censored has, by level, the number of those that were cancelled
	// before the quantile.
	Cancelled int              `json:"cancelled"`
	Censored  map[string]int64 `json:"censored"`
	// Coverage is [P(W < q), P(W <= q)], with the weights that replace the censored jobs. Unweighted leaves the
	// censored jobs out and gives all others the same weight.
	Coverage   map[string][2]float64 `json:"coverage"`
	Unweighted map[string][2]float64 `json:"coverage_unweighted"`
}

// Calibration reports whether levels cover the promised shares of waits. It has three tests of the interval [P(W < q-),
// P(W <= q+)], where q- and q+ are q rounded down and up to the log's resolution. Over the whole trace, the interval
// must come within 0.02 of the level. The same must hold over the jobs with a median above 60 s. In each month (30 days
// with at least 500 jobs), it must come within 0.05 or two day-block bootstrap errors of the level; 95 % of the pairs
// of month and level must pass.
type Calibration struct {
	Pass       bool                  `json:"pass"`
	Whole      map[string]CoverageOf `json:"whole"`
	Long       map[string]CoverageOf `json:"median_above_60s"`
	Months     int                   `json:"month_pairs"`
	MonthsHeld float64               `json:"month_pairs_held"`
}

// CoverageOf has the interval of one level, its distance from the level, and whether that distance is allowed.
type CoverageOf struct {
	Interval [2]float64 `json:"interval"`
	Miss     float64    `json:"miss"`
	Holds    bool       `json:"holds"`
}

// Method returns the scores of a method, nil if there are none.
func (t *TraceResult) Method(name string) *MethodResult {
	for i := range t.Methods {
		if t.Methods[i].Method == name {
			return &t.Methods[i]
		}
	}
	return nil
}

// LevelName returns a level as the key of the figures.
func LevelName(level float64) string { return strconv.FormatFloat(level, 'g', -1, 64) }

// number returns nil for a number that JSON cannot represent.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
