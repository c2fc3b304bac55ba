package backtest

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/coverage"
)

const (
	medianLevel = 0
	highLevel   = 3
)

// These are the classes of the true wait: up to a minute, up to an hour, longer.
const (
	shortStratum = iota
	hourStratum
	longStratum
	strata
)

func stratumOf(wait float64) int {
	switch {
	case wait <= 60:
		return shortStratum
	case wait <= 3600:
		return hourStratum
	}
	return longStratum
}

// sums has the sums over forecasts of a group from which the group's Figures are computed.
type sums struct {
	n           int
	loss        []float64 // by level: pinball loss of ln(wait + 60 s)
	below, upTo []int     // by level: number of waits below the quantile, and at most the quantile
	factor2     int
	factor3     int
}

func newSums() sums {
	k := len(waittime.ScoredLevels())
	return sums{loss: make([]float64, k), below: make([]int, k), upTo: make([]int, k)}
}

func (s *sums) add(q []float64, wait float64) {
	s.n++
	z := waittime.Log(wait)
	for i, level := range waittime.ScoredLevels() {
		s.loss[i] += waittime.Pinball(level, waittime.Log(q[i]), z)
		if wait < q[i] {
			s.below[i]++
		}
		if wait <= q[i] {
			s.upTo[i]++
		}
	}
	switch off := math.Abs(z - waittime.Log(q[medianLevel])); {
	case off <= math.Log(2)+rounding:
		s.factor2++
		s.factor3++
	case off <= math.Log(3)+rounding:
		s.factor3++
	}
}

// rounding is the tolerance, on the logarithmic scale, with which exactly twice the wait counts as within a factor 2.
const rounding = 1e-12

// methodScore collects one method's forecasts of one trace.
type methodScore struct {
	name           string
	all            sums
	strata         [strata]sums
	waits, medians []float64
	widths         []float64
	calibration    *coverage.Score
	cancelledJobs  int
	resolution     float64
	everybody      []coverage.OutcomeHistogram // by level: outcomes of started and cancelled jobs
}

func newMethodScore(name string, resolution float64) (*methodScore, error) {
	m := &methodScore{
		name: name, all: newSums(), resolution: resolution,
		everybody: make([]coverage.OutcomeHistogram, len(waittime.ScoredLevels())),
	}
	for i := range m.strata {
		m.strata[i] = newSums()
	}
	var err error
	m.calibration, err = coverage.New(coverage.Config{Levels: waittime.ScoredLevels(), Resolution: resolution})
	return m, err
}

// add scores the forecast of a job that waited. since is the time of its submission, in seconds after the trace's
// first submission.
func (m *methodScore) add(since, wait float64, q []float64) error {
	m.all.add(q, wait)
	m.strata[stratumOf(wait)].add(q, wait)
	m.waits, m.medians = append(m.waits, wait), append(m.medians, q[medianLevel])
	m.widths = append(m.widths, q[highLevel]-q[medianLevel])
	m.judge(coverage.Submission{Age: math.Inf(1), Waited: wait, Started: true}, q)
	return m.calibration.Add(since, wait, q)
}

// cancelled scores a job that was cancelled after waiting for some seconds. The job is a miss of each quantile below
// that time, and censored for the others.
func (m *methodScore) cancelled(waited float64, q []float64) {
	m.cancelledJobs++
	m.judge(coverage.Submission{Age: math.Inf(1), Waited: waited}, q)
}

// judge counts the outcome of a started or cancelled job at each level.
func (m *methodScore) judge(s coverage.Submission, q []float64) {
	for i, v := range q {
		m.everybody[i].Add(s.Judge(v, m.resolution))
	}
}

// result computes the figures. NaN becomes null, because JSON has no NaN.
func (m *methodScore) result() MethodResult {
	r := MethodResult{Method: m.name, Figures: m.all.figures(), Strata: Strata{
		UpToMinute: m.strata[shortStratum].figures(), UpToHour: m.strata[hourStratum].figures(),
		Longer: m.strata[longStratum].figures(),
	}}
	logWaits, logMedians, errors := make([]float64, len(m.waits)), make([]float64, len(m.waits)),
		make([]float64, len(m.waits))
	for i, w := range m.waits {
		logWaits[i], logMedians[i] = waittime.Log(w), waittime.Log(m.medians[i])
		errors[i] = math.Abs(w - m.medians[i])
	}
	r.R, r.RLog = number(stat.Correlation(m.waits, m.medians, nil)), number(stat.Correlation(logWaits, logMedians, nil))
	slices.Sort(errors)
	slices.Sort(m.widths)
	if len(errors) > 0 {
		r.MedianAbsError = number(stat.Quantile(.5, stat.Empirical, errors, nil))
		r.Interval = number(stat.Mean(m.widths, nil))
	}
	report := m.calibration.Report()
	r.Calibration = Calibration{Pass: report.Pass, MonthsHeld: report.Share, Whole: pairs(report.All),
		Long: pairs(report.Long)}
	for _, p := range report.Months {
		if p.N > 0 {
			r.Calibration.Months++
		}
	}
	r.WithCancelled = m.withCancelled()
	return r
}

func pairs(in []coverage.Pair) map[string]CoverageOf {
	out := map[string]CoverageOf{}
	for _, p := range in {
		out[LevelName(p.Level)] = CoverageOf{Interval: [2]float64{p.Interval.Low, p.Interval.High}, Miss: p.Miss,
			Holds: p.Holds()}
	}
	return out
}

func (s *sums) figures() Figures {
	f := Figures{N: s.n, Coverage: map[string][2]float64{}, LogPinball: map[string]float64{}}
	if s.n == 0 {
		return f
	}
	n := float64(s.n)
	for i, level := range waittime.ScoredLevels() {
		name := LevelName(level)
		f.Coverage[name] = [2]float64{float64(s.below[i]) / n, float64(s.upTo[i]) / n}
		f.LogPinball[name] = s.loss[i] / n
	}
	f.Within2, f.Within3 = float64(s.factor2)/n, float64(s.factor3)/n
	return f
}

// withCancelled returns the coverage over started and cancelled jobs in the form that a daemon publishes.
func (m *methodScore) withCancelled() WithCancelled {
	out := WithCancelled{Cancelled: m.cancelledJobs, Coverage: map[string][2]float64{},
		Unweighted: map[string][2]float64{}, Censored: map[string]int64{}}
	for i, level := range waittime.ScoredLevels() {
		name, counts := LevelName(level), m.everybody[i].Counts()
		out.Censored[name] = counts.Censored
		if counts.Known() > 0 {
			weighted, plain := m.everybody[i].Interval(), counts.Interval()
			out.Coverage[name] = [2]float64{weighted.Low, weighted.High}
			out.Unweighted[name] = [2]float64{plain.Low, plain.High}
		}
	}
	return out
}
