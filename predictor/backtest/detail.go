package backtest

// Population counts the scored submissions of a log, and the others by reason. The counts from WarmUp to NoStart add up
// to Jobs of the trace.
type Population struct {
	// WarmUp is the number of the first submissions, which are only learnt from.
	WarmUp int `json:"warm_up"`
	// Scored have a wait in the log and a forecast; NoForecast have a wait, but nothing was learnt yet at their
	// submission.
	Scored     int `json:"scored"`
	NoForecast int `json:"no_forecast"`
	// Cancelled left the queue before their start. They count in the coverage with cancelled jobs only.
	Cancelled int `json:"cancelled"`
	// WaitUnknown ran, but no record has their wait. NoStart waited to the end of the log, or it has no instant at all.
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

// Group has the scores of the served forecasts of a group of scored jobs: of a queue, a size class, a time span, or a
// range of forecast lengths.
type Group struct {
	// Name is the name of the queue or the class; empty for a time span.
	Name string `json:"name,omitempty"`
	// Queues is the number of queues in the group, if there is more than one.
	Queues int `json:"queues,omitempty"`
	// From and To are the time span, in seconds as in Period. Only groups of a time span have them.
	From float64 `json:"from,omitempty"`
	To   float64 `json:"to,omitempty"`
	Figures
	// Wait are quantiles of the waits at .1, .5 and .9, in seconds; nil without a job.
	Wait []float64 `json:"wait_seconds,omitempty"`
	// Forecast are the medians over the jobs of the median forecast and of the .95 quantile, in seconds.
	Forecast []float64 `json:"forecast_seconds,omitempty"`
	// MedianAbsError is the median of |wait - median forecast|, QBETSAbsError that of QBETS, in seconds; null without a
	// job.
	MedianAbsError *float64 `json:"median_abs_error_seconds"`
	QBETSAbsError  *float64 `json:"qbets_median_abs_error_seconds"`
}

// Step has the scores of the submissions number From to To of the log, counted from 1, including the warm-up: it shows
// how quickly the forecasts became good.
type Step struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Seconds is how long after the first submission the last of them came.
	Seconds float64 `json:"seconds"`
	// NoForecast is the number of jobs with a wait for which no forecast was possible.
	NoForecast int `json:"no_forecast"`
	// Served are the scores of waitcast, QBETS those of QBETS on the jobs for which it had an answer too.
	Served Figures `json:"waitcast"`
	QBETS  Figures `json:"qbets"`
}

// Comparison compares waitcast with another method, on the scored jobs for which both had a forecast.
type Comparison struct {
	Method string `json:"method"`
	N      int    `json:"n"`
	// Levels are the losses by level.
	Levels map[string]LossRatio `json:"levels"`
	// BoundRatio is the median over the jobs of the method's .95 quantile over that of waitcast, both with 60 s added,
	// to 1 %; null for a method without a bound.
	BoundRatio *float64 `json:"bound_ratio"`
	// Within2 is the share of the method's medians within a factor 2 of the wait, with 60 s added to both.
	// Within2Waitcast is that of waitcast on the same jobs.
	Within2         float64 `json:"within_factor_2"`
	Within2Waitcast float64 `json:"waitcast_within_factor_2"`
	// Seconds is the forecast itself of the best constant, by level.
	Seconds map[string]float64 `json:"seconds,omitempty"`
}

// LossRatio has the mean pinball losses of ln(wait + 60 s) of waitcast and of another method on the same jobs.
type LossRatio struct {
	Waitcast float64 `json:"waitcast"`
	Other    float64 `json:"other"`
	// Ratio is Waitcast over Other: below 1 waitcast was better. Null if Other is 0. Chance is the 95 % interval of the
	// day-block bootstrap, nil where the scored jobs are of fewer than MinimumDays days.
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
	// Queues are the queues with the most scored jobs, the most first, then the others together; Sizes the classes of
	// processors; Lengths the jobs by the length of their median forecast. Groups without a scored job are left out.
	Queues  []Group `json:"by_queue"`
	Sizes   []Group `json:"by_size"`
	Lengths []Group `json:"by_forecast"`
	// Spans cut the period into at most 40 equal spans: days, or a multiple of 30 days. Times, which are for pictures,
	// cut it into at most 400 of whole days. Those without a scored job are left out.
	Spans []Group `json:"over_time"`
	Times []Group `json:"-"`
	// Learning shows the forecasts from the first job on.
	Learning []Step `json:"learning"`
	// Comparisons are with qbets, limits, recent and best_constant.
	Comparisons []Comparison `json:"comparisons"`
	// CoverageChance is the 95 % interval of the day-block bootstrap of the coverage by level: of P(W < q) its lower
	// end, of P(W <= q) its upper one, q rounded to the log's resolution. Empty for fewer than MinimumDays days.
	CoverageChance map[string][2]float64 `json:"coverage_95,omitempty"`
	// Days is the number of days with scored jobs.
	Days int `json:"days"`
}

// MinimumDays is the minimum number of days with scored jobs for the bootstrap over days.
const MinimumDays = 10

// BestConstant is the name, among the comparisons, of the best constant forecast in hindsight: the same quantiles for
// every job.
const BestConstant = "best_constant"

// Learning steps end after these numbers of submissions, and later at one and three times a power of ten.
const firstStep = 100

// shownQueues is the number of queues that have groups of their own.
const shownQueues = 20

// The maximum numbers of spans of Times and of Spans.
const (
	mostTimes = 400
	mostSpans = 40
)
