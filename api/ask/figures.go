package ask

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// seconds rounds a quantile to 0.1 s for JSON; nil (null) for NaN and infinities.
func seconds(q float64) *float64 {
	if math.IsInf(q, 0) || math.IsNaN(q) {
		return nil
	}
	q = math.Round(q*10) / 10
	return &q
}

// span does the same as seconds, and also returns nil for waittime's finite value for "never".
func span(s float64) *float64 {
	if waittime.IsNever(s) {
		return nil
	}
	return seconds(s)
}

func quantiles(q []float64) wire.Quantiles {
	var values [6]float64 // one allocation for all
	at := func(i int) *float64 {
		if math.IsInf(q[i], 0) || math.IsNaN(q[i]) {
			return nil
		}
		values[i] = math.Round(q[i]*10) / 10
		return &values[i]
	}
	return wire.Quantiles{P10: at(0), P25: at(1), P50: at(2), P75: at(3), P90: at(4), P95: at(5)}
}

func instants(q []float64, now time.Time) wire.Instants {
	var values [6]time.Time
	at := func(i int) *time.Time {
		if math.IsInf(q[i], 0) || math.IsNaN(q[i]) || q[i] > math.MaxInt64/float64(time.Second) {
			return nil
		}
		values[i] = now.Add(time.Duration(q[i] * float64(time.Second))).UTC().Truncate(time.Millisecond)
		return &values[i]
	}
	return wire.Instants{P10: at(0), P25: at(1), P50: at(2), P75: at(3), P90: at(4), P95: at(5)}
}

// Number returns a number for JSON, nil for NaN and infinities.
func Number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// finite returns the number, 0 for NaN and infinities.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// digits rounds a number to six significant digits.
func digits(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(x))))
	if rounded := math.Round(x*scale) / scale; !math.IsNaN(rounded) && !math.IsInf(rounded, 0) {
		return rounded
	}
	return x
}

// rounded returns a rounded number for JSON: null for NaN and infinities.
func rounded(x float64) *float64 { return Number(digits(x)) }

func decimals(x float64, n int) float64 {
	unit := math.Pow10(n)
	if y := math.Round(x*unit) / unit; !math.IsInf(y, 0) && !math.IsNaN(y) {
		return y
	}
	return 0 // x is not finite, or too large to be rounded
}

// startWithin returns the probabilities of a start within a minute, ten minutes, an hour, four hours and a day.
func startWithin(d *waittime.Distribution) wire.StartWithin {
	p := waittime.Horizons()
	for i, h := range p {
		p[i] = decimals(d.CDF(h), 6)
	}
	return wire.StartWithin{Minute: p[0], TenMinutes: p[1], Hour: p[2], FourHours: p[3], Day: p[4]}
}

// fromSeconds converts seconds to a duration, at most half of the longest possible one (146 years).
func fromSeconds(seconds float64) time.Duration {
	return time.Duration(min(seconds, math.MaxInt64/2/float64(time.Second)) * float64(time.Second))
}

// missing returns 1 for nil and 0 for a figure: a sort key that puts missing figures last.
func missing(x *float64) int {
	if x == nil {
		return 1
	}
	return 0
}

// loadBand returns the quantiles of a load with the given number of decimals.
func loadBand(q outlook.Quantiles, n int) wire.Band {
	return wire.Band{P05: decimals(q[0], n), P25: decimals(q[1], n), P50: decimals(q[2], n), P75: decimals(q[3], n),
		P95: decimals(q[4], n)}
}
