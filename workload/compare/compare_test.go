package compare_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/compare"
)

func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tol)
	}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestKSByHand checks a distance by hand: the gap of the two step functions between 2 and 3 is 2/3 - 1/4. The order
// does not matter, and the arguments are not changed.
func TestKSByHand(t *testing.T) {
	a, b := []float64{2, 9, 1}, []float64{9, 3, 2, 10}
	near(t, "KS", must[float64](t)(compare.KS(a, b)), 2./3-1./4, 1e-12)
	if !slices.Equal(a, []float64{2, 9, 1}) || !slices.Equal(b, []float64{9, 3, 2, 10}) {
		t.Errorf("arguments changed: %v %v", a, b)
	}
}

// TestKSLaws proves that KS is a distance of distributions: 0 to itself, symmetric, within [0, 1], and unchanged by any
// increasing change of scale.
func TestKSLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sample := func(name string) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(0, 50), 1, 40).Draw(t, name)
		}
		a, b := sample("a"), sample("b")
		ks := func(a, b []float64) float64 {
			d, err := compare.KS(a, b)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		square := func(x []float64) (y []float64) {
			for _, v := range x {
				y = append(y, v*v*v+v)
			}
			return y
		}
		d := ks(a, b)
		if d < 0 || d > 1 || math.Abs(ks(b, a)-d) > 1e-12 || ks(a, a) != 0 ||
			math.Abs(ks(square(a), square(b))-d) > 1e-12 {
			t.Fatalf("distance %v, back %v, to itself %v, in another scale %v", d, ks(b, a), ks(a, a),
				ks(square(a), square(b)))
		}
	})
}

func TestSquashedArea(t *testing.T) {
	area := must[float64](t)(compare.SquashedArea([]float64{1, 4}, []float64{100, 10}))
	near(t, "area", area, 140, 0)
	near(t, "difference", must[float64](t)(compare.AreaDifference(161, area)), .15, 1e-12)
}

// TestAutocorrelationByHand proves that an alternating series has autocorrelation -1 at lag 1 and +1 at lag 2.
func TestAutocorrelationByHand(t *testing.T) {
	x := []float64{1, 5, 1, 5, 1, 5, 1, 5}
	near(t, "lag 1", must[float64](t)(compare.Autocorrelation(x, 1)), -1, 1e-12)
	near(t, "lag 2", must[float64](t)(compare.Autocorrelation(x, 2)), 1, 1e-12)
	if gaps := compare.Interarrivals([]float64{5, 7, 6, 10}); !slices.Equal(gaps, []float64{2, 0, 3}) {
		t.Errorf("interarrivals %v", gaps)
	}
}

// TestStackDepthByHand checks depths by hand: 100 200 103 (hits 100 at depth 1) 98 (hits the unchanged 100 at depth 0)
// 200 (depth 1) 106 (6 % off: new) 100 (the new 106 is 5.7 % off, and the stack is 106 200 100: depth 2).
func TestStackDepthByHand(t *testing.T) {
	l := must[compare.Locality](t)(compare.StackDepth([]float64{100, 200, 103, 98, 200, 106, 100}, .05))
	if want := (compare.Locality{Depth: 1, Hits: 4, Misses: 3, Size: 3}); l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	same := must[compare.Locality](t)(compare.StackDepth([]float64{4, 4, 4}, 0))
	if want := (compare.Locality{Hits: 2, Misses: 1, Size: 1}); same != want {
		t.Errorf("got %+v, want %+v", same, want)
	}
}

// TestStackDepthWithoutLocality proves that without locality the mean depth is about half the stack (Zakay, sec. 5.2),
// for 32 equally likely values.
func TestStackDepthWithoutLocality(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 50_000)
	for i := range x {
		x[i] = float64(rng.IntN(32))
	}
	near(t, "depth", must[compare.Locality](t)(compare.StackDepth(x, 0)).Depth, 15.5, .2)
}

// TestDailyConcentrationByHand proves that a day whose values are all equal lies wholly in one bin, and that a day with
// values spread evenly has 1/16 in each bin.
func TestDailyConcentrationByHand(t *testing.T) {
	var days []int64
	var values []float64
	for bin := range 16 {
		for range 16 {
			days, values = append(days, int64(bin)), append(values, float64(bin))
		}
		days, values = append(days, 99), append(values, float64(bin))
	}
	out := must[[]compare.Day](t)(compare.DailyConcentration(days, values, 1))
	if len(out) != 17 || out[16] != (compare.Day{Day: 99, Jobs: 16, Max: 1. / 16}) ||
		out[3] != (compare.Day{Day: 3, Jobs: 16, Max: 1}) {
		t.Errorf("got %+v", out)
	}
	if few := must[[]compare.Day](t)(compare.DailyConcentration(days, values, 17)); len(few) != 0 {
		t.Errorf("days below the least number of jobs: %+v", few)
	}
	if d := compare.DayOf([]float64{-1, 0, 86399, 86400}, 0); !slices.Equal(d, []int64{-1, 0, 0, 1}) {
		t.Errorf("days %v", d)
	}
}

func hurst(t *testing.T, x []float64) float64 {
	t.Helper()
	return must[compare.HurstFit](t)(compare.Hurst(x, compare.HurstOptions{})).H
}

// TestHurstOfKnownSeries proves three known values. Independent values have H = 0.5 (rescaled ranges of short
// stretches lie a little higher, by Anis and Lloyd's small-sample bias up to 0.06 here). The values of a random walk
// have about 1. Fractional Gaussian noise made with H = 0.8 has about 0.8.
func TestHurstOfKnownSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	white, walk := make([]float64, 1<<14), make([]float64, 1<<14)
	sum := 0.0
	for i := range white {
		white[i] = rng.NormFloat64()
		sum += white[i]
		walk[i] = sum
	}
	near(t, "H of independent values", hurst(t, white), .54, .05)
	near(t, "H of a random walk", hurst(t, walk), 1, .05)
	near(t, "H of fractional noise with .8", hurst(t, fractionalNoise(rng, 1<<14, .8)), .8, .07)
}

// fractionalNoise draws Gaussian noise with spectrum f^(1-2H) by its Fourier coefficients.
func fractionalNoise(rng *rand.Rand, n int, h float64) []float64 {
	fft := fourier.NewFFT(n)
	c := make([]complex128, n/2+1)
	for k := 1; k < len(c); k++ {
		a := math.Pow(float64(k), .5-h)
		c[k] = complex(a*rng.NormFloat64(), a*rng.NormFloat64())
	}
	return fft.Sequence(nil, c)
}

// TestPoxPoints proves that the n of the pox plot grow by the factor 1.2, and that each n has at least the given number
// of stretches.
func TestPoxPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	x := make([]float64, 1000)
	for i := range x {
		x[i] = rng.Float64()
	}
	f := must[compare.HurstFit](t)(compare.Hurst(x, compare.HurstOptions{}))
	count := map[int]int{}
	for _, p := range f.Points {
		count[p.N]++
	}
	size := 10.0
	for size <= 1000 {
		n := int(math.Round(size))
		if want := max(1000/n, min(10, 1000-n+1)); count[n] != want {
			t.Errorf("n = %d: %d stretches, want %d", n, count[n], want)
		}
		delete(count, n)
		size *= 1.2
	}
	if len(count) > 0 {
		t.Errorf("other stretches: %v", count)
	}
	// R/S by hand: the sums of the deviations of 1 2 3 are -1 -1 0, the range is 1, and the standard deviation
	// sqrt(2/3).
	one := must[compare.HurstFit](t)(compare.Hurst([]float64{1, 2, 3, 9, 1, 2, 3, 9},
		compare.HurstOptions{Start: 2, Factor: 1.5, Subsets: 1}))
	for _, p := range one.Points {
		if p.N == 3 {
			near(t, "R/S of 1 2 3", p.RS, 1/math.Sqrt(2./3), 1e-12)
			break
		}
	}
}

func TestCounts(t *testing.T) {
	c := must[[]float64](t)(compare.Counts([]float64{-1, 0, 9.9, 10, 35}, 0, 10))
	if !slices.Equal(c, []float64{2, 1, 0, 1}) {
		t.Errorf("counts %v", c)
	}
}

// TestUsersByHand checks two users by hand. User 7 submits at 0 and 100 in one session (the jobs end at 50 and 160),
// and then at 5,000. User 8 submits once.
func TestUsersByHand(t *testing.T) {
	s := must[compare.UserStats](t)(compare.Users(compare.UserJobs{
		User: []int64{7, 8, 7, 7}, Submit: []float64{5000, 10, 0, 100}, End: []float64{5010, 20, 50, 160},
		Procs: []float64{2, 3, 1, 1}, Runtime: []float64{10, 10, 50, 60},
	}, 0))
	for name, c := range map[string][2][]float64{
		"jobs": {s.Jobs, {1, 3}}, "sessions": {s.Sessions, {1, 2}}, "session length": {s.SessionLength, {10, 85}},
		"work": {s.Work, {30, 130}}, "first": {s.First, {0, 10}}, "last": {s.Last, {20, 5010}},
		"active": {s.Active, {10, 5010}},
	} {
		if !slices.Equal(c[0], c[1]) {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
}

func TestWeeklyProfile(t *testing.T) {
	const day = 86400
	p := must[[]float64](t)(compare.WeeklyProfile([]float64{-1, 0, 8 * day, 6.5 * day}, day, 7)) // time 0 is Tuesday
	if !slices.Equal(p, []float64{.5, .25, .25, 0, 0, 0, 0}) {
		t.Errorf("profile %v", p)
	}
	q := []float64{0, .25, .25, .5, 0, 0, 0}
	near(t, "distance", must[float64](t)(compare.ProfileDistance(p, q)), .5, 1e-12)
}

// TestErrors proves that an error names the kind of each bad input, and that no bad input gives a number.
func TestErrors(t *testing.T) {
	nan := []float64{1, math.NaN()}
	second := func(_ any, err error) error { return err }
	for name, c := range map[string]struct{ err, want error }{
		"KS of nothing":   {second(compare.KS(nil, []float64{1})), compare.ErrTooFew},
		"KS of NaN":       {second(compare.KS(nan, []float64{1})), compare.ErrValue},
		"area of lengths": {second(compare.SquashedArea(nan, nil)), compare.ErrLengths},
		"area of nothing": {second(compare.AreaDifference(1, 0)), compare.ErrValue},
		"correlation of constant": {second(compare.Correlation([]float64{1, 1, 1}, []float64{1, 2, 3})),
			compare.ErrNoSpread},
		"autocorrelation":   {second(compare.Autocorrelation([]float64{1, 2}, 1)), compare.ErrTooFew},
		"lag 0":             {second(compare.Autocorrelation([]float64{1, 2, 3}, 0)), compare.ErrTooFew},
		"stack of nothing":  {second(compare.StackDepth(nil, 0)), compare.ErrTooFew},
		"tolerance":         {second(compare.StackDepth([]float64{1}, 1)), compare.ErrValue},
		"concentration":     {second(compare.DailyConcentration(nil, nil, 1)), compare.ErrTooFew},
		"Hurst of few":      {second(compare.Hurst(make([]float64, 39), compare.HurstOptions{})), compare.ErrTooFew},
		"Hurst of constant": {second(compare.Hurst(make([]float64, 100), compare.HurstOptions{})), compare.ErrNoSpread},
		"Hurst options": {second(compare.Hurst(make([]float64, 100), compare.HurstOptions{Factor: 1})),
			compare.ErrValue},
		"counts of width 0": {second(compare.Counts([]float64{1}, 0, 0)), compare.ErrValue},
		"counts too many":   {second(compare.Counts([]float64{1e18}, 0, 1)), compare.ErrValue},
		"users of lengths":  {second(compare.Users(compare.UserJobs{User: []int64{1}}, 0)), compare.ErrLengths},
		"users of nothing":  {second(compare.Users(compare.UserJobs{}, 0)), compare.ErrTooFew},
		"users' gap":        {second(compare.Users(compare.UserJobs{}, -1)), compare.ErrValue},
		"week in 0 slots":   {second(compare.WeeklyProfile([]float64{1}, 0, 0)), compare.ErrValue},
		"profiles":          {second(compare.ProfileDistance([]float64{1}, nil)), compare.ErrLengths},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
}
