package speedup

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// HistoryError means that a history has an invalid run, or does not show how the runtime depends on the size.
type HistoryError struct {
	Runs, Sizes int    // number of runs, and number of their different sizes
	Place       int    // position of the bad run, counted from 1; 0 if no run is bad
	Problem     string // description of the error
}

// Error returns a message that also says what would help.
func (e *HistoryError) Error() string {
	if e.Place > 0 {
		return fmt.Sprintf("run %d of %d: %s", e.Place, e.Runs, e.Problem)
	}
	return fmt.Sprintf("%d runs on %d different sizes: %s", e.Runs, e.Sizes, e.Problem)
}

// Reach limits the sizes for which a [History] predicts runtimes: from the smallest tried size divided by Reach to
// the largest times Reach. A power law is not true for all sizes of any program. When users try a new size, they
// usually change it by at most a factor of 2.
const Reach = 2

// coverage is the level at which the normal law that stands for a history has the same quantile as the history's
// Student law. The quantiles at 1 - coverage agree too.
const coverage = .9

// History is a runtime curve that is fitted to the runs of one program by least squares: ln R = a + b ln n. Runs
// deviate from the curve because their inputs differ, and the next run will deviate too. Spread gives the size of the
// deviation.
type History struct {
	runs     int
	from, to int // range of sizes for which it predicts runtimes
	a, b     float64
	residual float64 // standard deviation of ln R from the line
	mean, sx float64 // mean of ln n, and the sum of its squared deviations from the mean
	student  float64 // ratio of the Student law's quantile to the normal one's at coverage
}

// NewHistory fits the runs of a program, which may be in any order. At least three runs on at least two different
// sizes are needed, because two runs do not show how much runs differ. The error is a *HistoryError.
func NewHistory(runs []Point) (*History, error) {
	x, y := make([]float64, len(runs)), make([]float64, len(runs))
	sizes := map[int]bool{}
	h := &History{runs: len(runs)}
	for i, r := range runs {
		if r.Procs < 1 || !sensible(r.Seconds) {
			return nil,
				&HistoryError{Runs: len(runs), Place: i + 1,
					Problem: fmt.Sprintf("%d processors for %v s; both must be above 0, and the runtime at most 1e12 s",
						r.Procs, r.Seconds)}
		}
		if i == 0 {
			h.from, h.to = r.Procs, r.Procs
		}
		h.from, h.to = min(h.from, r.Procs), max(h.to, r.Procs)
		sizes[r.Procs] = true
		x[i], y[i] = math.Log(float64(r.Procs)), math.Log(r.Seconds)
	}
	switch {
	case len(sizes) < 2:
		return nil,
			&HistoryError{Runs: len(runs), Sizes: len(sizes),
				Problem: "runs on two sizes or more are needed; try another size once"}
	case len(runs) < 3:
		return nil, &HistoryError{Runs: len(runs), Sizes: len(sizes),
			Problem: "three are needed to tell how runs differ; give these as a table to take them at their word"}
	}
	h.fit(x, y)
	if h.sx < 1e-4 { // all sizes are within about 1 %
		return nil,
			&HistoryError{Runs: len(runs), Sizes: len(sizes),
				Problem: "the sizes are too close to each other; try another size once"}
	}
	h.from, h.to = (h.from+Reach-1)/Reach, h.to*Reach
	return h, nil
}

func (h *History) fit(x, y []float64) {
	h.a, h.b = stat.LinearRegression(x, y, nil, false)
	h.mean = stat.Mean(x, nil)
	free := float64(len(x) - 2)
	errors := make([]float64, len(x))
	for i := range x {
		errors[i] = y[i] - h.a - h.b*x[i]
		h.sx += (x[i] - h.mean) * (x[i] - h.mean)
	}
	h.residual = floats.Norm(errors, 2) / math.Sqrt(free)
	h.student = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Quantile(coverage) / distuv.UnitNormal.Quantile(coverage)
}

// Runs returns the number of runs to which the curve was fitted.
func (h *History) Runs() int { return h.runs }

// Exponent returns b of R(n) ~ n^b. -1 means linear speedup, 0 means none.
func (h *History) Exponent() float64 { return h.b }

// Runtime returns the median runtime in seconds on the given number of processors. The error is a *SizeError for a
// size that is further than Reach from the sizes that were tried.
func (h *History) Runtime(procs int) (float64, error) {
	if procs < h.from || procs > h.to {
		return 0, &SizeError{Procs: procs, From: h.from, To: h.to}
	}
	return min(max(math.Exp(h.a+h.b*math.Log(float64(procs))), shortest), longest), nil
}

// Spread returns the standard deviation of ln R of the next run. It is the one of the prediction interval of a
// regression, residual sqrt(1 + 1/N + (x - mean)^2/Sxx) (N. Draper and H. Smith, "Applied Regression Analysis"). So
// it grows with the distance from the sizes that were tried. The true law is Student's. The normal law with the
// returned spread has the same quantiles at 0.1 and 0.9, and lighter tails.
func (h *History) Spread(procs int) float64 {
	d := math.Log(float64(procs)) - h.mean
	return h.student * h.residual * math.Sqrt(1+1/float64(h.runs)+d*d/h.sx)
}
