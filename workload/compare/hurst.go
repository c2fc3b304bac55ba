package compare

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// HurstOptions define how the pox plot is made. A zero field means its default.
type HurstOptions struct {
	Factor float64 // factor between consecutive n; 0 means 1.2 (Zakay, sec. 5.3)
	Start  int     // smallest n; 0 means 10
	// minimum number of subsets for each n below the full length; 0 means 10. They overlap if fewer fit side by side
	Subsets int
}

// PoxPoint is one point of a pox plot: the rescaled range of one interval of N observations.
type PoxPoint struct {
	N  int     `json:"n"`
	RS float64 `json:"rs"`
}

// HurstFit is the regression line of a pox plot: ln(R/S) = Intercept + H ln n.
type HurstFit struct {
	H         float64    `json:"h"`
	Intercept float64    `json:"intercept"`
	R2        float64    `json:"r2"`
	Points    []PoxPoint `json:"points"`
}

// HurstBin is the default width of the bins of [Counts] for [Hurst] in seconds: 3 h. The paper gives no width ("where
// there are enough samples so that most intervals are not empty"). With 3 h the results agree with its Table VII
// within 0.001 for KTH and CTC, and within 0.06 for the other logs.
const HurstBin = 3 * 3600

// Counts returns the number of times in each consecutive bin of the given width in seconds. The first bin begins at the
// instant from. The last bin is the bin of the last time. Earlier times than from are left out.
func Counts(times []float64, from, width float64) ([]float64, error) {
	if !(width > 0) || math.IsInf(width, 0) || math.IsNaN(from) || math.IsInf(from, 0) {
		return nil, fmt.Errorf("compare: counts from %v in bins of %v s: %w", from, width, ErrValue)
	}
	if err := finite("counts", times, 1); err != nil {
		return nil, err
	}
	const most = 1 << 26
	last := -1
	for _, t := range times {
		if b := (t - from) / width; b >= most {
			return nil, fmt.Errorf("compare: time %v lies more than %d bins of %v s after %v: %w", t, most, width,
				from, ErrValue)
		} else if b >= 0 {
			last = max(last, int(b))
		}
	}
	counts := make([]float64, last+1)
	for _, t := range times {
		if b := (t - from) / width; b >= 0 {
			counts[int(b)]++
		}
	}
	return counts, nil
}

// Hurst estimates the Hurst parameter of a series by rescaled ranges (Zakay, sec. 5.3). For arrivals the series is the
// result of [Counts]. The values of n grow by [HurstOptions].Factor (1.2 by default), and there are several intervals
// of each length n. For each interval, R(n)/S(n) is a point of the pox plot. The least-squares line of ln R/S over ln n
// through all points has the slope H. If H is between 0.5 and 1, the series is self-similar. Independent values give
// about 0.5, and a little more for short series.
//
// The intervals of one n begin at even distances from the first value of the series to the last possible beginning.
// Their number is the number that fits side by side, but at least [HurstOptions].Subsets, which then overlap.
// Intervals with equal values have no R/S and are left out.
func Hurst(series []float64, o HurstOptions) (HurstFit, error) {
	if o.Factor == 0 {
		o.Factor = 1.2
	}
	if o.Start == 0 {
		o.Start = 10
	}
	if o.Subsets == 0 {
		o.Subsets = 10
	}
	if !(o.Factor > 1) || o.Start < 2 || o.Subsets < 1 {
		return HurstFit{}, fmt.Errorf("compare: Hurst: %w: need factor %v > 1, start %d >= 2, subsets %d >= 1",
			ErrValue, o.Factor, o.Start, o.Subsets)
	}
	if err := finite("Hurst", series, 4*o.Start); err != nil {
		return HurstFit{}, err
	}
	var f HurstFit
	var x, y []float64
	last := 0
	for size := float64(o.Start); size <= float64(len(series)); size *= o.Factor {
		n := int(math.Round(size))
		if n == last || n > len(series) {
			continue
		}
		last = n
		for _, start := range starts(len(series), n, o.Subsets) {
			if rs := rescaledRange(series[start : start+n]); rs > 0 {
				f.Points = append(f.Points, PoxPoint{n, rs})
				x, y = append(x, math.Log(float64(n))), append(y, math.Log(rs))
			}
		}
	}
	if len(x) < 2 || constant(x) || constant(y) {
		return HurstFit{}, fmt.Errorf("compare: Hurst of %d values: %w", len(series), ErrNoSpread)
	}
	f.Intercept, f.H = stat.LinearRegression(x, y, nil, false)
	f.R2 = stat.RSquared(x, y, nil, f.Intercept, f.H)
	return f, nil
}

// starts spreads intervals of length n over a series of total values, and returns their first indexes.
func starts(total, n, least int) []int {
	count := min(max(total/n, least), total-n+1)
	if count == 1 {
		return []int{0}
	}
	out := make([]int, count)
	for i := range out {
		out[i] = i * (total - n) / (count - 1)
	}
	return out
}

// rescaledRange returns R(n)/S(n) of an interval (Zakay, section 5.3): the range of the sums of deviations from the
// mean, divided by the standard deviation; 0 if all values are equal.
func rescaledRange(x []float64) float64 {
	mean, sd := stat.PopMeanStdDev(x, nil)
	if !(sd > 1e-12*math.Abs(mean)) {
		return 0
	}
	var y float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		y += v - mean
		low, high = min(low, y), max(high, y)
	}
	return (high - low) / sd
}
