package head

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
)

// Result is the result of a replay of a trace.
type Result struct {
	Jobs    int     `json:"jobs"` // number of jobs that ran
	Methods []Score `json:"methods"`
}

// Score has the accuracy of one method. Measures that do not apply to the method are missing in the maps. An undefined
// correlation is 0.
type Score struct {
	Method string `json:"method"`
	N      int    `json:"n"` // number of scored forecasts
	// Coverage has, by level, two shares of the waits: those below the quantile, and those of at most the quantile.
	Coverage map[string][2]float64 `json:"coverage"`
	// LogPinball has, by level, the mean pinball loss on the scale ln(wait + 60 s).
	LogPinball map[string]float64 `json:"log_pinball"`
	// Strata has scores by the true wait: le_1m (up to a minute), le_1h (up to an hour), gt_1h (above an hour).
	Strata map[string]Stratum `json:"strata"`
	// WithinFactor2 and WithinFactor3 are the shares of the forecasts whose median is within that factor of the wait,
	// after 60 s are added to both.
	WithinFactor2 float64 `json:"within_factor_2"`
	WithinFactor3 float64 `json:"within_factor_3"`
	// R is the correlation between medians and waits. RLog is the same correlation after both are replaced by ln(max(1
	// s, x)).
	R    float64 `json:"r"`
	RLog float64 `json:"r_log"`
	// MedianAbsError is the median of the absolute differences between forecast medians and waits, in seconds.
	MedianAbsError float64 `json:"median_abs_error_seconds"`
	// Interval is the median of the distances between the 0.5 and the 0.95 quantile, in seconds; 0 if the method
	// forecasts only medians.
	Interval float64 `json:"interval_seconds"`
}

// Stratum has the scores on the jobs whose true wait is in one range.
type Stratum struct {
	N          int                `json:"n"`
	LogPinball map[string]float64 `json:"log_pinball"`
}

// strata returns the names and the upper bounds of the strata, in seconds.
func strata() (names []string, upTo []float64) {
	return []string{"le_1m", "le_1h", "gt_1h"}, []float64{60, 3600, math.Inf(1)}
}

// methodForecasts collects the forecasts of one method and the waits, in seconds.
type methodForecasts struct {
	waits     []float64
	quantiles [][]float64
}

// add adds a forecast and the wait. It ignores a forecast without a median.
func (f *methodForecasts) add(wait float64, quantiles []float64) {
	if math.IsNaN(quantiles[0]) {
		return
	}
	f.waits = append(f.waits, wait)
	f.quantiles = append(f.quantiles, slices.Clone(quantiles))
}

func levelName(level float64) string { return strconv.FormatFloat(level, 'g', -1, 64) }

func (f *methodForecasts) score(method string) Score {
	s := Score{
		Method: method, N: len(f.waits), Coverage: map[string][2]float64{},
		LogPinball: f.pinball(-1, math.Inf(1)).LogPinball, Strata: map[string]Stratum{},
	}
	names, upTo := strata()
	over := -1.
	for i, name := range names {
		s.Strata[name] = f.pinball(over, upTo[i])
		over = upTo[i]
	}
	if s.N == 0 {
		return s
	}
	for k, level := range Levels() {
		if below, upTo, ok := f.coverage(k); ok {
			s.Coverage[levelName(level)] = [2]float64{below, upTo}
		}
	}
	f.medians(&s)
	return s
}

// pinball returns the scores of the forecasts whose true wait, in seconds, is in the interval (over, upTo].
func (f *methodForecasts) pinball(over, upTo float64) Stratum {
	s := Stratum{LogPinball: map[string]float64{}}
	for k, level := range Levels() {
		n, sum := 0, 0.0
		for i, w := range f.waits {
			if w > over && w <= upTo {
				n++
				sum += loss(level, math.Log(w+60)-math.Log(f.quantiles[i][k]+60))
			}
		}
		s.N = n
		if n > 0 && !math.IsNaN(sum) {
			s.LogPinball[levelName(level)] = sum / float64(n)
		}
	}
	return s
}

// coverage returns the shares of the waits below and up to their quantiles at the level with index k. ok is false if a
// forecast lacks the quantile.
func (f *methodForecasts) coverage(k int) (below, upTo float64, ok bool) {
	for i, w := range f.waits {
		q := f.quantiles[i][k]
		if math.IsNaN(q) {
			return 0, 0, false
		}
		if w < q {
			below++
		}
		if w <= q {
			upTo++
		}
	}
	n := float64(len(f.waits))
	return below / n, upTo / n, true
}

// medians sets the scores that are not by level: factors, correlations, absolute errors and intervals. There must be at
// least one forecast.
func (f *methodForecasts) medians(s *Score) {
	n := len(f.waits)
	median, logMedian, logWait, errs, widths := make([]float64, n), make([]float64, n), make([]float64, n),
		make([]float64, n), make([]float64, n)
	for i, w := range f.waits {
		q := f.quantiles[i]
		median[i], logMedian[i], logWait[i] = q[0], math.Log(max(1, q[0])), math.Log(max(1, w))
		errs[i], widths[i] = math.Abs(q[0]-w), q[len(q)-1]-q[0]
		off := math.Abs(math.Log((q[0] + 60) / (w + 60)))
		if off <= math.Ln2 {
			s.WithinFactor2++
		}
		if off <= math.Log(3) {
			s.WithinFactor3++
		}
	}
	s.WithinFactor2 /= float64(n)
	s.WithinFactor3 /= float64(n)
	s.R, s.RLog = correlation(median, f.waits), correlation(logMedian, logWait)
	slices.Sort(errs)
	s.MedianAbsError = stat.Quantile(.5, stat.Empirical, errs, nil)
	if !slices.ContainsFunc(widths, math.IsNaN) {
		slices.Sort(widths)
		s.Interval = stat.Quantile(.5, stat.Empirical, widths, nil)
	}
}

func correlation(a, b []float64) float64 {
	if r := stat.Correlation(a, b, nil); !math.IsNaN(r) {
		return r
	}
	return 0
}
