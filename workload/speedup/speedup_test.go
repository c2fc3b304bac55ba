package speedup_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/speedup"
)

func near(t interface{ Errorf(string, ...any) }, what string, got, want, relative float64) {
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func must[T any](t interface{ Fatal(...any) }) func(T, error) T {
	return func(v T, err error) T {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func runtime(t interface{ Fatal(...any) }, c speedup.Curve, procs int) float64 {
	return must[float64](t)(c.Runtime(procs))
}

// TestDowneyByHand checks Downey's formulas for A = 10 in every branch of both cases. The expected values were
// computed by hand.
func TestDowneyByHand(t *testing.T) {
	for _, c := range []struct{ sigma, n, want float64 }{
		{0, 4, 4}, {0, 10, 10}, {0, 11, 10},
		{.5, 1, 1}, {.5, 4, 40 / 10.75}, {.5, 10, 100 / 12.25}, {.5, 15, 150 / 16.}, {.5, 19, 10}, {.5, 40, 10},
		{1, 4, 40 / 11.5}, {1, 15, 150 / 17.}, {1, 19, 10},
		{2, 1, 1}, {2, 4, 120 / 36.}, {2, 20, 600 / 68.}, {2, 28, 10}, {2, 29, 10},
	} {
		near(t, "speedup", speedup.Profile{A: 10, Sigma: c.sigma}.Speedup(c.n), c.want, 1e-14)
	}
	d := must[*speedup.Downey](t)(speedup.NewDowney(speedup.Profile{A: 10, Sigma: 2}, 3600))
	near(t, "runtime", runtime(t, d, 4), 1080, 1e-14) // 3600 x 36/120
}

// profileSpeedup computes the speedup from the model's profile of a program: how long it runs at which parallelism if
// it has all the processors that it can use. On n processors, work at parallelism m takes m/min(m, n) times as long.
func profileSpeedup(a, sigma, n float64) float64 {
	type phase struct{ share, parallelism float64 }
	phases := []phase{{1 - sigma, a}, {sigma / 2, 1}, {sigma / 2, 2*a - 1}}
	if sigma > 1 {
		phases = []phase{{sigma, 1}, {1, a + a*sigma - sigma}}
	}
	alone, with := 0., 0.
	for _, p := range phases {
		alone += p.share * p.parallelism
		with += p.share * p.parallelism / min(p.parallelism, n)
	}
	return alone / with
}

// TestDowneyLaws proves that the closed forms agree with the profiles. Speedup is 1 on one processor and at most n and
// A. With more processors it never falls, and its efficiency never rises. With a larger sigma it never rises.
func TestDowneyLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := speedup.Profile{A: rapid.Float64Range(1, 1e5).Draw(t, "A"), Sigma: rapid.OneOf(
			rapid.Float64Range(0, 1), rapid.Float64Range(1, 50), rapid.SampledFrom([]float64{0, 1})).Draw(t, "sigma")}
		n := rapid.OneOf(rapid.Float64Range(1, 100), rapid.Float64Range(1, 1e6)).Draw(t, "n")
		s := p.Speedup(n)
		near(t, "speedup by the profile", s, profileSpeedup(p.A, p.Sigma, n), 1e-9)
		if one := p.Speedup(1); one != 1 {
			t.Errorf("S(1) = %v", one)
		}
		if !(s >= 1 && s <= min(n, p.A)*(1+1e-12)) {
			t.Errorf("S(%v) = %v is not in 1 to min(n, A)", n, s)
		}
		more := n * rapid.Float64Range(1, 3).Draw(t, "more")
		if next := p.Speedup(more); next < s*(1-1e-12) || next/more > s/n*(1+1e-12) {
			t.Errorf("S(%v) = %v, S(%v) = %v: it falls, or its efficiency rises", n, s, more, next)
		}
		wider := speedup.Profile{A: p.A, Sigma: p.Sigma + rapid.Float64Range(0, 5).Draw(t, "d")}
		if wider.Speedup(n) > s*(1+1e-12) {
			t.Errorf("more variance is faster: %v, %v", wider.Speedup(n), s)
		}
		near(t, "at the saturation", p.Speedup(p.Saturation()), p.A, 0)
	})
}

// TestDowneyBecomesAmdahl proves that with unbounded sigma the model becomes Amdahl's law with F = 1/A.
func TestDowneyBecomesAmdahl(t *testing.T) {
	downey := must[*speedup.Downey](t)(speedup.NewDowney(speedup.Profile{A: 20, Sigma: 1e9}, 1000))
	amdahl := must[*speedup.Amdahl](t)(speedup.NewAmdahl(.05, 1000))
	for _, n := range []int{1, 2, 7, 64, 1000} {
		near(t, "runtime", runtime(t, downey, n), runtime(t, amdahl, n), 1e-6)
	}
}

// TestThrough proves that a program fitted to a runtime on a number of processors has that runtime there.
func TestThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := speedup.Profile{A: rapid.Float64Range(1, 1e4).Draw(t, "A"),
			Sigma: rapid.Float64Range(0, 3).Draw(t, "sigma")}
		n, seconds := rapid.IntRange(1, 1<<20).Draw(t, "n"), rapid.Float64Range(1e-3, 1e7).Draw(t, "seconds")
		near(t, "runtime", runtime(t, must[*speedup.Downey](t)(speedup.Through(p, n, seconds)), n), seconds, 1e-12)
	})
}

// TestAmdahl checks Amdahl's law by hand, and its limits: F = 0 is linear, F = 1 constant, and no number of processors
// is faster than F T1.
func TestAmdahl(t *testing.T) {
	a := must[*speedup.Amdahl](t)(speedup.NewAmdahl(.1, 100))
	for n, want := range map[int]float64{1: 100, 10: 19, 90: 11, 1_000_000_000: 10.00000009} {
		near(t, "runtime", runtime(t, a, n), want, 1e-9)
	}
	near(t, "F = 0", runtime(t, must[*speedup.Amdahl](t)(speedup.NewAmdahl(0, 100)), 8), 12.5, 0)
	near(t, "F = 1", runtime(t, must[*speedup.Amdahl](t)(speedup.NewAmdahl(1, 100)), 8), 100, 0)
}

// TestParameters proves that parameters out of range are refused by name, and sizes below 1 with an error of their own.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, sigma   float64
		serial, t1 float64
	}{
		{"A", .9, 0, -1, 10}, {"A", math.NaN(), 0, -1, 10}, {"A", math.Inf(1), 0, -1, 10}, {"sigma", 2, -.1, -1, 10},
		{"sigma", 2, math.NaN(), -1, 10}, {"T1", 2, 1, -1, 0}, {"T1", 2, 1, -1, math.NaN()},
		{"T1", 2, 1, -1, math.Inf(1)}, {"F", 0, 0, 1.1, 10}, {"F", 0, 0, math.NaN(), 10}, {"T1", 0, 0, .5, -1},
	} {
		_, err := speedup.NewDowney(speedup.Profile{A: c.a, Sigma: c.sigma}, c.t1)
		if c.a == 0 {
			_, err = speedup.NewAmdahl(c.serial, c.t1)
		}
		var bad *speedup.ParameterError
		if !errors.As(err, &bad) || bad.Name != c.name {
			t.Errorf("%+v: %v, want a *ParameterError of %s", c, err, c.name)
		}
	}
	var size *speedup.SizeError
	if _, err := must[*speedup.Amdahl](t)(speedup.NewAmdahl(.1, 100)).Runtime(0); !errors.As(err, &size) {
		t.Errorf("0 processors: %v, want a *SizeError", err)
	}
	if _, err := speedup.Through(speedup.Profile{A: 2}, 0, 10); !errors.As(err, &size) {
		t.Errorf("through 0 processors: %v, want a *SizeError", err)
	}
}

// TestTable proves that a table returns its own points, and a power law in between. By hand: the geometric middle of
// 2 and 8 processors is 4, and that of 100 s and 64 s is 80 s.
func TestTable(t *testing.T) {
	table := must[*speedup.Table](t)(speedup.NewTable([]speedup.Point{{8, 64}, {1, 200}, {2, 100}}))
	for n, want := range map[int]float64{1: 200, 2: 100, 8: 64, 4: 80} {
		near(t, "runtime", runtime(t, table, n), want, 1e-14)
	}
	if !slices.Equal(table.Sizes(), []int{1, 2, 8}) || table.Spread(4) != 0 {
		t.Errorf("sizes %v, spread %v", table.Sizes(), table.Spread(4))
	}
	for _, n := range []int{0, 9} {
		var size *speedup.SizeError
		if _, err := table.Runtime(n); !errors.As(err, &size) || size.Procs != n || size.From != 1 || size.To != 8 {
			t.Errorf("size %d: %v, want a *SizeError of 1 to 8", n, err)
		}
	}
}

// TestTableLaws proves for any table that each runtime in between lies between those of its neighbors, and that a table
// of Amdahl's law at every size equals Amdahl's law.
func TestTableLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.IntRange(1, 4096), 2, 12, rapid.ID[int]).Draw(t, "sizes")
		points := make([]speedup.Point, len(sizes))
		for i, n := range sizes {
			points[i] = speedup.Point{Procs: n, Seconds: rapid.Float64Range(1e-9, 1e12).Draw(t, "seconds")}
		}
		table := must[*speedup.Table](t)(speedup.NewTable(points))
		slices.SortFunc(points, func(a, b speedup.Point) int { return a.Procs - b.Procs })
		i := rapid.IntRange(1, len(points)-1).Draw(t, "piece")
		a, b := points[i-1], points[i]
		r := runtime(t, table, rapid.IntRange(a.Procs, b.Procs).Draw(t, "n"))
		if low, high := min(a.Seconds, b.Seconds), max(a.Seconds, b.Seconds); r < low*(1-1e-9) || r > high*(1+1e-9) {
			t.Errorf("%v is not between %v and %v", r, low, high)
		}
	})
}

// TestBadTables proves that each bad table is refused with the place of the mistake.
func TestBadTables(t *testing.T) {
	for _, c := range []struct {
		place  int
		points []speedup.Point
	}{
		{0, nil}, {0, []speedup.Point{{1, 10}}},
		{2, []speedup.Point{{1, 10}, {0, 5}}}, {1, []speedup.Point{{-4, 10}, {2, 5}}},
		{2, []speedup.Point{{1, 10}, {2, 0}}}, {3, []speedup.Point{{1, 10}, {2, 5}, {4, -1}}},
		{1, []speedup.Point{{1, math.NaN()}, {2, 5}}}, {2, []speedup.Point{{1, 10}, {2, math.Inf(1)}}},
		{3, []speedup.Point{{1, 10}, {2, 5}, {1, 10}}},
	} {
		_, err := speedup.NewTable(c.points)
		var bad *speedup.PointError
		if !errors.As(err, &bad) || bad.Place != c.place {
			t.Errorf("%v: %v, want a *PointError at %d", c.points, err, c.place)
		}
	}
}

// TestHistoryExact proves that the fit to a history that follows a power law without noise is this law, without
// spread, from half the smallest to twice the largest tried size.
func TestHistoryExact(t *testing.T) {
	law := func(n int) float64 { return 1000 * math.Pow(float64(n), -.8) }
	h := must[*speedup.History](t)(
		speedup.NewHistory([]speedup.Point{{4, law(4)}, {8, law(8)}, {32, law(32)}, {8, law(8)}}))
	for _, n := range []int{2, 4, 16, 64} {
		near(t, "runtime", runtime(t, h, n), law(n), 1e-12)
		if s := h.Spread(n); s > 1e-12 {
			t.Errorf("spread %v of exact runs", s)
		}
	}
	near(t, "exponent", h.Exponent(), -.8, 1e-12)
	for _, n := range []int{1, 65} {
		var size *speedup.SizeError
		if _, err := h.Runtime(n); !errors.As(err, &size) || size.From != 2 || size.To != 64 {
			t.Errorf("size %d: %v, want a *SizeError of 2 to 64", n, err)
		}
	}
}

// TestHistoryByHand checks a fit by hand. ln R = 4, 2, 3, 1 at ln n = 0, 0, 1, 1 (in units of ln 2 for n) has slope -1,
// intercept 3 and residuals +-1, so s^2 = 4/2. At the middle of the sizes the spread is s sqrt(1 + 1/4), times the
// quotient of the .9 quantiles of Student's t with 2 degrees, 1.885618 (tables), and of the normal law, 1.281552.
func TestHistoryByHand(t *testing.T) {
	e := math.Exp
	h := must[*speedup.History](t)(speedup.NewHistory([]speedup.Point{{1, e(4)}, {1, e(2)}, {4, e(3)}, {4, e(1)}}))
	near(t, "runtime on 2", runtime(t, h, 2), e(2.5), 1e-12)
	near(t, "runtime on 4", runtime(t, h, 4), e(2), 1e-12)
	near(t, "spread on 2", h.Spread(2), math.Sqrt(2)*math.Sqrt(1.25)*1.885618/1.281552, 1e-6)
	near(t, "spread on 4", h.Spread(4), math.Sqrt(2)*math.Sqrt(1.5)*1.885618/1.281552, 1e-6) // d^2/Sxx = 1/4
}

// TestHistoryCovers proves that if runs scatter normally around a line, 0.9 of the next ones lie below the quantile
// 0.9, and 0.1 of them below the quantile 0.1, however few runs there were. Without Student's factor the first share
// would be 0.84 with 4 runs.
func TestHistoryCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	run := func(n int) speedup.Point {
		return speedup.Point{Procs: n, Seconds: math.Exp(8 - .7*math.Log(float64(n)) + .4*rng.NormFloat64())}
	}
	const rounds = 20_000
	high, low := 0, 0
	for range rounds {
		h := must[*speedup.History](t)(speedup.NewHistory([]speedup.Point{run(1), run(4), run(4), run(16)}))
		median, next := runtime(t, h, 8), run(8).Seconds
		width := h.Spread(8) * distuv.UnitNormal.Quantile(.9)
		if next <= median*math.Exp(width) {
			high++
		}
		if next <= median*math.Exp(-width) {
			low++
		}
	}
	for name, got := range map[string]float64{"high": float64(high) / rounds, "low": 1 - float64(low)/rounds} {
		if math.Abs(got-.9) > .01 { // five standard errors
			t.Errorf("%s: %v of the runs, want .9", name, got)
		}
	}
}

// TestBadHistories proves that each useless history is refused with the reason.
func TestBadHistories(t *testing.T) {
	for _, c := range []struct {
		runs         []speedup.Point
		place, sizes int
	}{
		{nil, 0, 0}, {[]speedup.Point{{4, 10}, {4, 11}, {4, 12}}, 0, 1}, {[]speedup.Point{{4, 10}, {8, 5}}, 0, 2},
		{[]speedup.Point{{4, 10}, {8, 5}, {8, math.NaN()}}, 3, 0}, {[]speedup.Point{{0, 10}, {8, 5}, {8, 4}}, 1, 0},
		{[]speedup.Point{{4, 0}, {8, 5}, {8, 4}}, 1, 0}, {[]speedup.Point{{1000, 10}, {1001, 5}, {1001, 4}}, 0, 2},
	} {
		_, err := speedup.NewHistory(c.runs)
		var bad *speedup.HistoryError
		if !errors.As(err, &bad) || bad.Place != c.place || bad.Sizes != c.sizes {
			t.Errorf("%v: %v, want a *HistoryError at %d, %d sizes", c.runs, err, c.place, c.sizes)
		}
	}
}

// TestHistoryIsFinite proves that for any runs a history answers with finite numbers above 0 or an error.
func TestHistoryIsFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		point := rapid.Custom(func(t *rapid.T) speedup.Point {
			return speedup.Point{Procs: rapid.IntRange(1, 1<<30).Draw(t, "n"),
				Seconds: rapid.Float64Range(1e-9, 1e12).Draw(t, "s")}
		})
		h, err := speedup.NewHistory(rapid.SliceOfN(point, 0, 8).Draw(t, "runs"))
		if err != nil {
			return
		}
		n := rapid.IntRange(1, math.MaxInt32).Draw(t, "size")
		r, err := h.Runtime(n)
		if s := h.Spread(n); err == nil && !(r > 0 && r <= 1e12 && s >= 0 && s < 1e6) {
			t.Errorf("runtime %v, spread %v", r, s)
		}
	})
}
