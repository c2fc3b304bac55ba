package uniformlog_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

// paragon is Table 1 of Downey 1996: batch jobs of SDSC's Paragon, 1995.
var paragon = uniformlog.Model{B0: -0.183, B1: 0.104}

func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tol)
	}
}

// TestPaperBounds checks the bounds given below eq. 3 of Downey 1996: tmin 5.8 s and tmax 24.2 h.
func TestPaperBounds(t *testing.T) {
	near(t, "tmin (s)", paragon.TMin(), 5.8, 0.05)
	near(t, "tmax (h)", paragon.TMax()/3600, 24.2, 0.05)
}

// TestHandComputed checks values worked out by hand from eq. 3 and 4: with B0 = 0 and B1 = 1/ln 10000 the bounds are 1
// s and 10,000 s, and every factor of 10 has a quarter of the jobs.
func TestHandComputed(t *testing.T) {
	m := uniformlog.Model{B1: 1 / math.Log(10000)}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"TMin", m.TMin(), 1},
		{"TMax", m.TMax(), 10000},
		{"CDF(10)", m.CDF(10), 0.25},
		{"CDF(1000)", m.CDF(1000), 0.75},
		{"CDF(0.5)", m.CDF(0.5), 0},
		{"CDF(0)", m.CDF(0), 0},
		{"CDF(-1)", m.CDF(-1), 0},
		{"CDF(20000)", m.CDF(20000), 1},
		{"Survival(10)", m.Survival(10), 0.75},
		{"Quantile(.5)", m.Quantile(0.5), 100},
		{"PDF(0.5)", m.PDF(0.5), 0},
		{"PDF(20000)", m.PDF(20000), 0},
		{"PDF(100)", m.PDF(100), 1 / (100 * math.Log(10000))},
		{"ConditionalCDF(90, 10)", m.ConditionalCDF(90, 10), 1. / 3},
		{"ConditionalCDF(99.5, 0.5)", m.ConditionalCDF(99.5, 0.5), 0.5},
		{"ConditionalCDF(0.2, 0.5)", m.ConditionalCDF(0.2, 0.5), 0},
		{"ConditionalCDF(9999, 100)", m.ConditionalCDF(9999, 100), 1},
		{"ConditionalCDF(-5, 100)", m.ConditionalCDF(-5, 100), 0},
		{"ConditionalCDF(+Inf, 100)", m.ConditionalCDF(math.Inf(1), 100), 1},
		{"MedianRemaining(100)", m.MedianRemaining(100), 900},
		{"MedianRemaining(0)", m.MedianRemaining(0), 100},
		{"MedianRemaining(0.5)", m.MedianRemaining(0.5), 99.5},
		{"Mean", m.Mean(), 9999 / math.Log(10000)},
		{"MeanTotal(100)", m.MeanTotal(100), 9900 / math.Log(100)},
		{"MeanRemaining(100)", m.MeanRemaining(100), 9900/math.Log(100) - 100},
	} {
		near(t, c.what, c.got, c.want, 1e-9*math.Max(1, c.want))
	}
}

// TestPastTMax proves that a job as old as tmax or older counts as not ending, and that nothing is divided by zero.
func TestPastTMax(t *testing.T) {
	for _, age := range []float64{paragon.TMax() * (1 + 1e-12), 2 * paragon.TMax(), math.MaxFloat64, math.Inf(1)} {
		for _, rest := range []float64{0, 1, 1e6, math.Inf(1)} {
			if p := paragon.ConditionalCDF(rest, age); p != 0 {
				t.Errorf("ConditionalCDF(%v, %v) = %v, want 0", rest, age, p)
			}
		}
		for _, rest := range []float64{
			paragon.MedianRemaining(age), paragon.MeanTotal(age), paragon.MeanRemaining(age),
		} {
			if !math.IsInf(rest, 1) {
				t.Errorf("age %v: remaining %v, want +Inf", age, rest)
			}
		}
	}
}

// TestInvalidModel proves that invalid parameters give NaN everywhere and no panic.
func TestInvalidModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, m := range []uniformlog.Model{
		{}, {B0: 1}, {B1: -1}, {B0: math.NaN(), B1: 1}, {B1: math.Inf(1)}, {B0: math.Inf(-1), B1: 1},
	} {
		if m.Valid() {
			t.Errorf("%v counts as valid", m)
		}
		for i, v := range []float64{
			m.TMin(), m.TMax(), m.CDF(0), m.CDF(5), m.Survival(5), m.PDF(5), m.PDF(0), m.Quantile(0.5), m.Mean(),
			m.ConditionalCDF(1, 1), m.ConditionalCDF(0, 0), m.MedianRemaining(1), m.MeanTotal(1),
			m.MeanRemaining(1), m.Rand(rng),
		} {
			if !math.IsNaN(v) {
				t.Errorf("%v: result %d is %v, want NaN", m, i, v)
			}
		}
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		if v := paragon.Quantile(p); !math.IsNaN(v) {
			t.Errorf("Quantile(%v) = %v, want NaN", p, v)
		}
	}
	if v := paragon.CDF(math.NaN()); !math.IsNaN(v) {
		t.Errorf("CDF(NaN) = %v", v)
	}
}

// models draws laws with tmin of 0.1 s to 1 h and tmax 1.5 to 10^6 times that.
func models(t *rapid.T) uniformlog.Model {
	lo := rapid.Float64Range(math.Log(0.1), math.Log(3600)).Draw(t, "ln tmin")
	width := rapid.Float64Range(math.Log(1.5), math.Log(1e6)).Draw(t, "ln tmax/tmin")
	return uniformlog.Model{B0: -lo / width, B1: 1 / width}
}

func TestQuantileInvertsCDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := models(t)
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		if got := m.CDF(m.Quantile(p)); math.Abs(got-p) > 1e-9 {
			t.Fatalf("CDF(Quantile(%v)) = %v", p, got)
		}
	})
}

func TestCDFIsMonotoneAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := models(t)
		a := rapid.Float64Range(-10, 1e10).Draw(t, "a")
		b := rapid.Float64Range(-10, 1e10).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		ca, cb := m.CDF(a), m.CDF(b)
		if ca < 0 || cb > 1 || ca > cb {
			t.Fatalf("CDF(%v) = %v, CDF(%v) = %v", a, ca, b, cb)
		}
	})
}

// TestConditionalAgreesWithCDF proves Pr{L <= a+t | L > a} (1 - cdf(a)) + cdf(a) = cdf(a+t). This is the definition
// from which eq. 4 follows.
func TestConditionalAgreesWithCDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := models(t)
		age := rapid.Float64Range(0, 0.99*m.TMax()).Draw(t, "age")
		rest := rapid.Float64Range(0, 2*m.TMax()).Draw(t, "rest")
		got := m.ConditionalCDF(rest, age)*m.Survival(age) + m.CDF(age)
		if want := m.CDF(age + rest); math.Abs(got-want) > 1e-9 {
			t.Fatalf("age %v, rest %v: %v, want %v", age, rest, got, want)
		}
	})
}

func TestRemainingQuantileInvertsConditional(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := models(t)
		age := rapid.Float64Range(0, 0.99*m.TMax()).Draw(t, "age")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		rest := m.QuantileRemaining(p, age)
		if got := m.ConditionalCDF(rest, age); rest < 0 || math.Abs(got-p) > 1e-6 && rest > 0 {
			t.Fatalf("age %v: %v s at %v, back at %v", age, rest, p, got)
		}
	})
}

// TestMedianRemainingTurnsAtQuarter proves that the median remaining lifetime falls for ages above tmax/4 and rises
// below (Downey 1996, sec. 4).
func TestMedianRemainingTurnsAtQuarter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := models(t)
		a := rapid.Float64Range(m.TMin(), 0.999*m.TMax()).Draw(t, "age")
		rises := m.MedianRemaining(a*1.0005) > m.MedianRemaining(a)
		if quarter := m.TMax() / 4; rises && a > quarter || !rises && a*1.0005 < quarter {
			t.Fatalf("age %v of tmax %v: rises is %v", a, m.TMax(), rises)
		}
	})
}

// TestMeansAgreeWithIntegration proves that the closed forms of the mean are the integrals of the survival (eq. 4).
// This settles an inconsistency in the paper: the formula gives the total lifetime, not the remaining one.
func TestMeansAgreeWithIntegration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := models(t)
		age := rapid.Float64Range(0, 0.95*m.TMax()).Draw(t, "age")
		// The integral is over u = ln(lifetime), because the integrand is smooth between the bounds.
		lo, hi := math.Log(max(age, m.TMin())), math.Log(m.TMax())
		rest := quad.Fixed(func(u float64) float64 {
			return math.Exp(u) * m.Survival(math.Exp(u)) / m.Survival(age)
		}, lo, hi, 200, nil, 0)
		rest += max(m.TMin()-age, 0) // nothing ends before tmin
		if got := m.MeanRemaining(age); math.Abs(got-rest) > 1e-6*m.TMax() {
			t.Fatalf("mean remaining at %v: %v, integral %v", age, got, rest)
		}
		if got := m.MeanTotal(age); math.Abs(got-rest-age) > 1e-6*m.TMax() {
			// Below tmin all jobs survive: the total counts from the start, too.
			t.Fatalf("mean total at %v: %v, integral %v", age, got, rest+age)
		}
		total := quad.Fixed(func(u float64) float64 { return math.Exp(2*u) * m.PDF(math.Exp(u)) },
			math.Log(m.TMin())+1e-12, math.Log(m.TMax())-1e-12, 200, nil, 0)
		if got := m.Mean(); math.Abs(got-total) > 1e-6*m.TMax() {
			t.Fatalf("mean %v, integral of t pdf %v", got, total)
		}
	})
}

// TestRandFollowsCDF proves that drawn lifetimes follow the cdf: the Kolmogorov-Smirnov statistic of 20,000 draws is
// under the 0.1 % critical value 1.95/sqrt(n). The reference is gonum's uniform law, not the package's own.
func TestRandFollowsCDF(t *testing.T) {
	const n = 20000
	rng := rand.New(rand.NewPCG(7, 7))
	u := distuv.Uniform{Min: math.Log(paragon.TMin()), Max: math.Log(paragon.TMax())}
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = math.Log(paragon.Rand(rng))
		y[i] = u.Quantile((float64(i) + 0.5) / n)
	}
	slices.Sort(x)
	if d := stat.KolmogorovSmirnov(x, nil, y, nil); d > 1.95/math.Sqrt(n) {
		t.Errorf("KS of draws %v", d)
	}
}

func TestFitJSONNames(t *testing.T) {
	b, err := json.Marshal(uniformlog.Fit{Model: paragon, R2: 0.99, N: 12})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"b0":-0.183,"b1":0.104,"r2":0.99,"n":12,"at":"0001-01-01T00:00:00Z"}`
	if string(b) != want {
		t.Errorf("JSON %s, want %s", b, want)
	}
}

func BenchmarkConditionalCDF(b *testing.B) {
	var sum float64
	for i := range b.N {
		sum += paragon.ConditionalCDF(600, float64(i%80000))
	}
	_ = sum
}
