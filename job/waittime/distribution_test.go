package waittime_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job/waittime"
)

func distribution(t interface{ Fatal(...any) }, levels, seconds []float64,
	closures ...waittime.Closure) *waittime.Distribution {
	d, err := waittime.NewDistribution(levels, seconds, closures...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func near(t interface{ Errorf(string, ...any) }, what string, got, want, tolerance float64) {
	if !(math.Abs(got-want) <= tolerance) && got != want {
		t.Errorf("%s: %v, want %v within %v", what, got, want, tolerance)
	}
}

// TestDistributionOfLogNormalWaits proves that if ln(wait + 60 s) is normal, the quantiles give the whole distribution
// below the highest level.
func TestDistributionOfLogNormalWaits(t *testing.T) {
	const mu, s = 8, .8
	at := func(p float64) float64 { return math.Exp(mu+s*distuv.UnitNormal.Quantile(p)) - 60 }
	var seconds []float64
	for _, p := range waittime.Levels() {
		seconds = append(seconds, at(p))
	}
	d := distribution(t, waittime.Levels(), seconds)
	for _, p := range []float64{.002, .05, .17, .4, .6, .85, .93} {
		near(t, "quantile", d.Quantile(p), at(p), 1e-9*at(p))
		near(t, "probability", d.CDF(at(p)), p, 1e-9)
	}
	near(t, "below 0", d.CDF(-1), 0, 0)
	// The mean of a log-normal variable with the parameters mu and s is exp(mu + s^2/2). Its part up to the level p
	// is that times Phi(z_p - s).
	z := distuv.UnitNormal.Quantile(.95)
	body := math.Exp(mu+s*s/2)*distuv.UnitNormal.CDF(z-s) - 60*.95
	tail := .025*at(.95) + .025*d.Quantile(.975) // convex in between: the mean is below the middle
	if m := d.Mean(); m < body+.05*at(.95) || m > body+tail+.0125*(d.Quantile(.975)-at(.95)) {
		t.Errorf("mean %v, want a little more than %v", m, body+.05*at(.95))
	}
}

// TestDistributionByHand checks figures that were computed by hand. Half of the jobs start at once, and the level 0.9
// is reached at a wait of 540 s. The level 0.95 is at twice that plus 60 s, so that the power of the tail is 1: half
// of the jobs that wait longer than w wait longer than 2 w + 60 s.
func TestDistributionByHand(t *testing.T) {
	d := distribution(t, []float64{.5, .9, .95}, []float64{0, 540, 1140})
	z := distuv.UnitNormal.Quantile
	near(t, "at once", d.CDF(0), .5, 1e-15)
	near(t, "low quantile", d.Quantile(.1), 0, 0)
	middle := math.Sqrt(60*600) - 60 // half of the way from 60 to 600 on the logarithmic scale
	near(t, "between", d.CDF(middle), distuv.UnitNormal.CDF(z(.9)/2), 1e-12)
	near(t, "at a level", d.CDF(540), .9, 1e-12)
	near(t, "tail", d.CDF(2340), .975, 1e-12)
	near(t, "quantile of the tail", d.Quantile(.9875), 4740, 1e-6)
	// Of jobs that have waited 1140 s, half start within another 1200 s, and nine tenths within 9 times 1200 s.
	rest := d.Rest(1140)
	near(t, "median of the rest", rest[waittime.Median], 1200, 1e-6)
	near(t, "0.9 quantile of the rest", rest[4], 10800, 1e-6)
	for _, c := range []struct{ seconds, least, most float64 }{
		{0, .5, .9}, {539, .5, .9}, {540, .9, .95}, {1139, .9, .95}, {1140, .95, 1}, {1e9, .95, 1}, {-1, 0, .5},
	} {
		if least, most := d.Bounds(c.seconds); least != c.least || most != c.most {
			t.Errorf("bounds of a start within %v s: %v to %v, want %v to %v", c.seconds, least, most, c.least, c.most)
		}
	}
}

// TestMeanByHand checks the mean by hand for a wait of 540 s up to the level 0.95. The tail has the highest possible
// power, ln 2/0.1, which comes from the least width of 0.1 between levels.
func TestMeanByHand(t *testing.T) {
	d := distribution(t, []float64{.1, .5, .9, .95}, []float64{540, 540, 540, 540})
	r := math.Ln2 / .1
	longest := 600*math.Pow(2, 1/r) - 60 // at .975
	tail := 600 * .05 * (1 - math.Pow(.5, 1-1/r)) / (1 - 1/r)
	near(t, "mean", d.Mean(), .95*540+tail-60*.025+.025*longest, 1e-9)
	near(t, "just below", d.CDF(539.9), 0, 0)
	near(t, "at the step", d.CDF(540), .95, 1e-12)
}

// TestDistributionThatMayNeverEnd proves that if the upper levels are infinite, every wait above the highest finite
// level is infinite.
func TestDistributionThatMayNeverEnd(t *testing.T) {
	levels := []float64{.5, .9, .95}
	for name, never := range map[string]float64{"infinite": math.Inf(1), "never": waittime.Never,
		"longest": waittime.Longest} {
		d := distribution(t, levels, []float64{60, 600, never})
		if !math.IsInf(d.Quantile(.901), 1) || !math.IsInf(d.Mean(), 1) || d.Quantile(.9) != 600 {
			t.Errorf("%s: quantiles %v at .9, %v above, mean %v", name, d.Quantile(.9), d.Quantile(.901), d.Mean())
		}
		near(t, name, d.CDF(1e12), .9, 1e-12)
		if least, most := d.Bounds(1e12); least != .9 || most != .95 {
			t.Errorf("%s: bounds %v to %v, want .9 to .95", name, least, most)
		}
		if rest := d.Rest(700); !math.IsInf(rest[0], 1) {
			t.Errorf("%s: after all that is known %v is left, want for ever", name, rest)
		}
	}
	nothing := distribution(t, levels, []float64{math.Inf(1), math.Inf(1), math.Inf(1)})
	if !math.IsInf(nothing.Quantile(0), 1) || nothing.CDF(1e12) != 0 || !math.IsInf(nothing.Mean(), 1) {
		t.Error("a wait that never ends has a finite quantile")
	}
}

// TestClosures proves that no job starts during a closure: until its end, the probability of a start stays as it was at
// its beginning.
func TestClosures(t *testing.T) {
	levels, seconds := waittime.Levels(), []float64{60, 300, 600, 1200, 2400, 4800}
	open := distribution(t, levels, seconds)
	d := distribution(t, levels, seconds, waittime.Closure{From: 900, Until: 3600})
	near(t, "before", d.CDF(600), open.CDF(600), 0)
	near(t, "during", d.CDF(3599), open.CDF(900), 0)
	near(t, "at the end", d.CDF(3600), open.CDF(3600), 0)
	if got, want := d.Quantiles(), []float64{60, 300, 600, 3600, 3600, 4800}; !slices.Equal(got, want) {
		t.Errorf("quantiles %v, want %v", got, want)
	}
	if d.Mean() <= open.Mean() {
		t.Errorf("mean %v with the closure, %v without", d.Mean(), open.Mean())
	}
	least, most := d.Bounds(3000)
	if least != .5 || most != .75 {
		t.Errorf("bounds during the closure %v to %v, want .5 to .75", least, most)
	}
	now := distribution(t, levels, []float64{0, 0, 0, 0, 0, 0}, waittime.Closure{From: 0, Until: math.Inf(1)})
	if now.CDF(1e9) != 0 || !math.IsInf(now.Quantile(.1), 1) || !math.IsInf(now.Mean(), 1) {
		t.Error("a job starts during a closure without an end")
	}
}

// TestDistributionLaws proves four laws for any quantiles and closures. Probabilities rise and stay between the bounds
// of the levels. Quantiles rise and are the inverse of the probabilities. The mean is the integral of the quantiles.
// The quantiles of a remaining wait never cross.
func TestDistributionLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := waittime.Levels()
		milliseconds := func(most float64) *rapid.Generator[float64] {
			return rapid.Map(rapid.Float64Range(0, most), func(x float64) float64 { return math.Round(x*1000) / 1000 })
		}
		seconds := rapid.SliceOfN(rapid.OneOf(milliseconds(1e6),
			rapid.SampledFrom([]float64{0, 0, 1, 60, math.Inf(1)})), 6, 6).Draw(t, "seconds")
		slices.Sort(seconds)
		var closures []waittime.Closure
		if rapid.Bool().Draw(t, "closed") {
			from := milliseconds(1e5).Draw(t, "from")
			length := rapid.OneOf(milliseconds(1e5), rapid.Just(math.Inf(1))).Draw(t, "length")
			closures = []waittime.Closure{{From: from, Until: from + length}}
		}
		d := distribution(t, levels, seconds, closures...)
		last := 0.
		for _, at := range []float64{0, .5, 60, 600, 1e4, 1e6, 1e8} {
			p := d.CDF(at)
			least, most := d.Bounds(at)
			if !(p >= last && p >= least-1e-12 && p <= most+1e-12 && p <= 1) {
				t.Fatalf("within %v s: %v after %v, bounds %v and %v", at, p, last, least, most)
			}
			last = p
		}
		checkInverse(t, d)
		checkMean(t, d)
		checkRest(t, d, rapid.Float64Range(0, 1e7).Draw(t, "waited"))
	})
}

func checkInverse(t *rapid.T, d *waittime.Distribution) {
	p := rapid.Float64Range(.002, .998).Draw(t, "p")
	q := d.Quantile(p)
	if more := rapid.Float64Range(p, 1).Draw(t, "more"); d.Quantile(more) < q {
		t.Errorf("quantile %v at %v, %v at %v", q, p, d.Quantile(more), more)
	}
	if math.IsInf(q, 1) {
		return
	}
	if c := d.CDF(q*(1+1e-9) + 1e-9); c < p-1e-6 {
		t.Errorf("probability %v at the quantile %v of %v", c, q, p)
	}
	if c := d.CDF(q*(1-1e-6) - 1e-6); c > p+1e-6 {
		t.Errorf("probability %v below the quantile %v of %v", c, q, p)
	}
}

func checkMean(t *rapid.T, d *waittime.Distribution) {
	const parts, highest = 4000, .975
	sum := 0.
	for i := range parts {
		sum += d.Quantile(math.Min((float64(i)+.5)/parts, highest)) / parts
	}
	most := d.Quantile(highest)
	if m := d.Mean(); !(math.Abs(m-sum) <= 3e-3*m+most/1000) && !(math.IsInf(m, 1) && math.IsInf(most, 1)) {
		t.Errorf("mean %v, integral of the quantiles %v", m, sum)
	}
}

func checkRest(t *rapid.T, d *waittime.Distribution, waited float64) {
	rest := d.Rest(waited)
	for i, r := range rest {
		if !(r >= 0) || i > 0 && r < rest[i-1]*(1-1e-9) {
			t.Fatalf("after %v s: %v", waited, rest)
		}
		want := 1 - (1-d.CDF(waited))*(1-waittime.Levels()[i])
		if c := d.CDF((waited+r)*(1+1e-9) + 1e-9); !math.IsInf(r, 1) && c < want-1e-6 {
			t.Fatalf("after %v s a rest of %v has the probability %v, want %v", waited, r, c, want)
		}
	}
}

// TestBadQuantiles proves that each list that is no distribution is refused with the place.
func TestBadQuantiles(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		levels, seconds []float64
		place           int
	}{
		{nil, nil, 0}, {[]float64{.5}, nil, 0}, {[]float64{.5, .4}, []float64{1, 2}, 2},
		{[]float64{0}, []float64{1}, 1}, {[]float64{nan}, []float64{1}, 1},
		{[]float64{.5, 1}, []float64{1, 2}, 2}, {[]float64{.5, .9}, []float64{2, 1}, 2},
		{[]float64{.5, .9}, []float64{math.Inf(1), 1}, 2}, {[]float64{.5}, []float64{-2}, 1},
		{[]float64{.5, .9}, []float64{1, nan}, 2},
	} {
		var bad *waittime.QuantilesError
		if _, err := waittime.NewDistribution(c.levels, c.seconds); !errors.As(err, &bad) || bad.Place != c.place {
			t.Errorf("%v: %v, want a *QuantilesError at %d", c, err, c.place)
		}
	}
}

func TestRising(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{3, 2, 5}, []float64{3, 3, 5}}, {[]float64{-4, math.NaN(), 1}, []float64{0, 0, 1}},
		{[]float64{1, waittime.Never, 7}, []float64{1, inf, inf}}, {[]float64{0, waittime.Longest}, []float64{0, inf}},
		{nil, nil},
	} {
		if got := waittime.Rising(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%v rises as %v, want %v", c.in, got, c.want)
		}
	}
}
