package speedup

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// HistoryError is the error for a history that does not show how the runtime depends on the size.
type HistoryError struct {
	Runs, Sizes int    // how many runs there are, of how many different sizes
	Place       int    // of the bad run, from 1; 0 where none is
	Problem     string // what is wrong
}

// Error reports what would help.
func (e *HistoryError) Error() string {
	if e.Place > 0 {
		return fmt.Sprintf("run %d of %d: %s", e.Place, e.Runs, e.Problem)
	}
	return fmt.Sprintf("%d runs on %d different sizes: %s", e.Runs, e.Sizes, e.Problem)
}

// Reach is how far beyond the sizes that were tried a [History] still answers: down to the smallest by Reach, up to the
// largest times Reach. A power law holds for no program forever; a doubling is as far as users step when they try a
// size.
const Reach = 2

// coverage is the level at which the spread of a history's law equals that of the Student law; 1 - coverage is the
// other such level.
const coverage = .9

// History is a runtime curve fitted to the runs of one program: ln R = a + b ln n by least squares. The runs differ
// from it because their inputs differ, and so will the next one: Spread is by how much.
type History struct {
	runs     int
	from, to int // range of sizes for which it predicts runtimes
	a, b     float64
	residual float64 // standard deviation of ln R from the line
	mean, sx float64 // mean of ln n, and the sum of its squared deviations from the mean
	student  float64 // ratio of the Student law's quantile to the normal one's at coverage
}

// NewHistory fits the runs of a program, in any order: at least three, on at least two different sizes (two runs do not
// show how much runs differ). The error is a *HistoryError.
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

// Runs returns how many runs it was fitted to.
func (h *History) Runs() int { return h.runs }

// Exponent returns b of R(n) ~ n^b: -1 is linear speedup, 0 none.
func (h *History) Exponent() float64 { return h.b }

// Runtime returns the median seconds on so many processors. The error is a *SizeError for a size further than Reach
// from those that were tried.
func (h *History) Runtime(procs int) (float64, error) {
	if procs < h.from || procs > h.to {
		return 0, &SizeError{Procs: procs, From: h.from, To: h.to}
	}
	return min(max(math.Exp(h.a+h.b*math.Log(float64(procs))), shortest), longest), nil
}

// Spread returns the standard deviation of ln R of the next run. It is the prediction interval's of a regression,
// residual sqrt(1 + 1/N + (x - mean)^2/Sxx) (N. Draper and H. Smith, "Applied Regression Analysis"), so it grows away
// from the sizes that were tried. Its law is Student's; the normal one with the spread returned has the same quantiles
// at .1 and .9, and lighter tails beyond them.
func (h *History) Spread(procs int) float64 {
	d := math.Log(float64(procs)) - h.mean
	return h.student * h.residual * math.Sqrt(1+1/float64(h.runs)+d*d/h.sx)
}
