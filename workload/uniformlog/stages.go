package uniformlog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Stages is a law of several uniform-log parts: between two neighboring knots the logarithm of the lifetime is uniform.
// With two knots it is Downey's law.
type Stages struct {
	Log []float64 `json:"log"` // ln seconds of the knots, ascending
	CDF []float64 `json:"cdf"` // Pr{L <= t} at the knots, from 0 to 1
}

// These are the tolerances of a fit in stages. The fit adds stages, up to mostStages, until two conditions are met:
// no quantile has an error of more than stageGap, as a share of the jobs, and no stage's part of the mean has an
// error of more than stageMean, as a share of the mean.
const (
	mostStages = 16
	stageGap   = .02
	stageMean  = .02
)

// FitStages returns a law in stages that meet at quantiles of the lifetimes. It begins with three stages: the line of
// Downey's fit, and the tenths at either end, which his fit leaves out. Then it repeatedly divides the stage with the
// largest error, at the place of this error. Lifetimes below 1 s count as 1 s. The error wraps [ErrLifetime], or
// [ErrTooFew] if there are fewer than [MinSamples] lifetimes.
func FitStages(lifetimes []float64) (Stages, error) {
	n := len(lifetimes)
	if n < MinSamples {
		return Stages{}, fmt.Errorf("uniformlog: stages of %d lifetimes: %w (at least %d needed)", n, ErrTooFew,
			MinSamples)
	}
	logs, mean := make([]float64, n), 0.0
	for i, t := range lifetimes {
		v, err := quantize(t)
		if err != nil {
			return Stages{}, fmt.Errorf("value %d: %w", i, err)
		}
		logs[i] = logOf(v)
		mean += math.Exp(logs[i]) / float64(n)
	}
	slices.Sort(logs)
	knots := []int{0, n / trim, n - 1 - n/trim, n - 1}
	for len(knots) <= mostStages {
		worst, at := 1., 0
		for i := 1; i < len(knots); i++ {
			if off, where := stageError(logs, knots[i-1], knots[i], mean); off > worst {
				worst, at = off, where
			}
		}
		if at == 0 {
			break
		}
		i, _ := slices.BinarySearch(knots, at)
		knots = slices.Insert(knots, i, at)
	}
	var s Stages
	for _, k := range knots {
		s.Log, s.CDF = append(s.Log, logs[k]), append(s.CDF, float64(k)/float64(n-1))
	}
	return s, nil
}

// stageError returns the error of a stage between two sorted lifetimes, as a multiple of the tolerance, and the index
// at which the error is largest.
func stageError(logs []float64, from, to int, mean float64) (off float64, where int) {
	width := logs[to] - logs[from]
	if to-from < 2 || width == 0 {
		return 0, from
	}
	n, gap, sum := float64(len(logs)), -1.0, 0.0
	for k := from + 1; k <= to; k++ {
		sum += math.Exp(logs[k])
		d := math.Abs(float64(k-from) - float64(to-from)*(logs[k]-logs[from])/width)
		if k < to && d > gap {
			gap, where = d, k
		}
	}
	law := float64(to-from) * (math.Exp(logs[to]) - math.Exp(logs[from])) / width
	return max(gap/n/stageGap, math.Abs(law-sum)/n/mean/stageMean), where
}

// validate returns an error for knots that do not define a law.
func (s *Stages) validate() error {
	n := len(s.Log)
	if n < 2 || len(s.CDF) != n || s.CDF[0] != 0 || s.CDF[n-1] != 1 {
		return fmt.Errorf("stages with knots at %v and shares %v: the shares must go from 0 to 1", s.Log, s.CDF)
	}
	for i := 1; i < n; i++ {
		if !(s.Log[i] >= s.Log[i-1] && s.CDF[i] > s.CDF[i-1]) || math.IsInf(s.Log[i], 0) || math.IsInf(s.Log[0], 0) {
			return fmt.Errorf("stages with knots at %v and shares %v: both must rise", s.Log, s.CDF)
		}
	}
	return nil
}

// Quantile returns the lifetime in seconds that a share p of the jobs does not exceed.
func (s *Stages) Quantile(p float64) float64 {
	i := 1
	for i < len(s.CDF)-1 && s.CDF[i] < p {
		i++
	}
	part := (p - s.CDF[i-1]) / (s.CDF[i] - s.CDF[i-1])
	return math.Exp(s.Log[i-1] + min(max(part, 0), 1)*(s.Log[i]-s.Log[i-1]))
}

// Rand draws a lifetime in seconds.
func (s *Stages) Rand(rng *rand.Rand) float64 { return s.Quantile(rng.Float64()) }
