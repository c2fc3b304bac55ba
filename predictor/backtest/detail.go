package backtest

// Population counts the scored submissions of a log, and the other submissions by reason. The counts from WarmUp to
// NoStart add up to the Jobs of the trace.
type Population struct {
	// WarmUp is the number of submissions at the beginning that are only learnt from.
	WarmUp int `json:"warm_up"`
	// Scored counts the jobs with a wait in the log and a forecast. NoForecast counts the jobs with a wait that were
	// submitted before anything was learnt.
	Scored     int `json:"scored"`
	NoForecast int `json:"no_forecast"`
	// Cancelled counts the jobs that left the queue before their start. They count only in the coverage with
	// cancelled jobs.
	Cancelled int `json:"cancelled"`
	// WaitUnknown counts the jobs that ran, but whose wait is in no record. NoStart counts the rest. Most of these
	// waited to the end of the log, or the log has no instant after their submission.
	WaitUnknown int `json:"wait_unknown"`
	NoStart     int `json:"no_start"`
	// WithLimit, WithUser and WithPriority count the submissions for which the log has the time limit, the user and the
	// priority. Users and Queues are the numbers of different users and queues.
	WithLimit    int `json:"with_time_limit"`
	WithUser     int `json:"with_user"`
	WithPriority int `json:"with_priority"`
	Users        int `json:"users"`
	Queues       int `json:"queues"`
}

// Period is the time between the first and the last submission of a trace, in seconds.
type Period struct {
	// Dated is true if First and Last count from 1970, false if the log has no start time.
	Dated bool    `json:"dated"`
	First float64 `json:"first_submit"`
	Last  float64 `json:"last_submit"`
}

// Group has the scores of the served forecasts of a group of scored jobs. The group is a queue, a size class, a time
// span, or a range of lengths of the forecast.
type Group struct {
	// Name is the name of the queue or the size class; empty for other groups, and for several queues together.
	Name string `json:"name,omitempty"`
	// Queues is the number of queues in the group, if there is more than one.
	Queues int `json:"queues,omitempty"`
	// From and To are the ends of a time span, in seconds as in Period, or of a range of median forecasts in seconds (0
	// for To if the range has no end). They are 0 for other groups.
	From float64 `json:"from,omitempty"`
	To   float64 `json:"to,omitempty"`
	Figures
	// Wait has the 0.1, 0.5 and 0.9 quantiles of the waits in seconds; nil without a job.
	Wait []float64 `json:"wait_seconds,omitempty"`
	// Forecast has medians over the jobs, in seconds: of the median forecast, and of the 0.95 quantile.
	Forecast []float64 `json:"forecast_seconds,omitempty"`
	// MedianAbsError is the median of |wait - median forecast|, and QBETSAbsError is the same for QBETS. Both are in
	// seconds; null without a job.
	MedianAbsError *float64 `json:"median_abs_error_seconds"`
	QBETSAbsError  *float64 `json:"qbets_median_abs_error_seconds"`
}

// Step has the scores of the submissions with the numbers From to To in the log, counted from 1, including the
// warm-up. The steps show how quickly the forecasts became good.
type Step struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Seconds is the time from the first submission of the log to the last one of the step.
	Seconds float64 `json:"seconds"`
	// NoForecast is the number of jobs with a wait for which no forecast was possible.
	NoForecast int `json:"no_forecast"`
	// Served are the scores of waitcast. QBETS are the scores of QBETS on the jobs for which it had an answer too.
	Served Figures `json:"waitcast"`
	QBETS  Figures `json:"qbets"`
}

// Comparison compares waitcast with another method, on the scored jobs for which both had a forecast.
type Comparison struct {
	Method string `json:"method"`
	N      int    `json:"n"`
	// Levels are the losses by level.
	Levels map[string]LossRatio `json:"levels"`
	// BoundRatio is the median, over the jobs, of the method's 0.95 quantile divided by that of waitcast, with 60 s
	// added to both. It is exact to 1 %; null for a method without a bound.
	BoundRatio *float64 `json:"bound_ratio"`
	// Within2 is the share of the method's medians within a factor 2 of the wait, with 60 s added to both.
	// Within2Waitcast is that of waitcast on the same jobs.
	Within2         float64 `json:"within_factor_2"`
	Within2Waitcast float64 `json:"waitcast_within_factor_2"`
	// Seconds has the constants of the best constant forecast, by level.
	Seconds map[string]float64 `json:"seconds,omitempty"`
}

// LossRatio has the mean pinball losses of ln(wait + 60 s) of waitcast and of another method on the same jobs.
type LossRatio struct {
	Waitcast float64 `json:"waitcast"`
	Other    float64 `json:"other"`
	// Ratio is Waitcast divided by Other: below 1 waitcast was better. It is null if Other is 0. Chance is the 95 %
	// interval of the ratio by the day-block bootstrap. It is nil if there are fewer than MinimumDays days with scored
	// jobs, or if more than a tenth of the bootstrap samples has no ratio.
	Ratio  *float64    `json:"ratio"`
	Chance *[2]float64 `json:"ratio_95,omitempty"`
}

// DetailResult has the details of a trace that a report shows beyond the scores of the methods.
type DetailResult struct {
	Period     Period     `json:"period"`
	Population Population `json:"population"`
	// All is the group of all scored jobs, nil if there are none.
	All *Group `json:"all"`
	// Long is the group of jobs with a median forecast above a minute, nil if there are none.
	Long *Group `json:"forecast_above_60s"`
	// Queues are the queues with the most scored jobs, in falling order, then the others together. Sizes are the size
	// classes. Lengths are the jobs by the length of their median forecast. Groups without a scored job are left out.
	Queues  []Group `json:"by_queue"`
	Sizes   []Group `json:"by_size"`
	Lengths []Group `json:"by_forecast"`
	// Spans divide the period into at most 40 equal spans of whole days or of multiples of 30 days. Times, which are
	// for pictures, divide it into at most 400 spans of whole days. Spans without a scored job are left out.
	Spans []Group `json:"over_time"`
	Times []Group `json:"-"`
	// Learning has the steps from the first job on, nil after a fast replay.
	Learning []Step `json:"learning"`
	// Comparisons are with qbets, limits, recent and best_constant.
	Comparisons []Comparison `json:"comparisons"`
	// CoverageChance has the 95 % intervals of the coverage by level, by the day-block bootstrap. The lower end is
	// that of P(W < q), the upper end that of P(W <= q), with q rounded to the log's resolution. It is empty for
	// fewer than MinimumDays days.
	CoverageChance map[string][2]float64 `json:"coverage_95,omitempty"`
	// Days is the number of days with scored jobs.
	Days int `json:"days"`
}

// MinimumDays is the minimum number of days with scored jobs for the bootstrap over days.
const MinimumDays = 10

// BestConstant is the name of a comparison: with the best constant forecast in hindsight, which has the same
// quantiles for every job.
const BestConstant = "best_constant"

// firstStep is the number of submissions after which the first learning step ends. Later steps end at one and three
// times a power of ten.
const firstStep = 100

// shownQueues is the number of queues that have groups of their own.
const shownQueues = 20

// These are the maximum numbers of spans of Times and of Spans.
const (
	mostTimes = 400
	mostSpans = 40
)
