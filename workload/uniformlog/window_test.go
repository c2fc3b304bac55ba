package uniformlog_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

var epoch = time.Date(1996, 7, 1, 0, 0, 0, 0, time.UTC)

// regress computes Downey's fit with gonum, on floating-point logarithms.
func regress(lifetimes []float64) (b0, b1, r2 float64) {
	sorted := slices.Sorted(slices.Values(lifetimes))
	n, drop := len(sorted), len(sorted)/10
	var x, y []float64
	for i := drop; i < n-drop; i++ {
		x = append(x, math.Log(max(sorted[i], 1)))
		y = append(y, float64(i+1)/float64(n))
	}
	b0, b1 = stat.LinearRegression(x, y, nil, false)
	return b0, b1, stat.RSquared(x, y, nil, b0, b1)
}

func add(t testing.TB, w *uniformlog.Window, start time.Time, lifetime float64) {
	t.Helper()
	if err := w.Add(start, lifetime); err != nil {
		t.Fatal(err)
	}
}

// TestFitAgreesWithGonum proves that the fit is gonum's regression on the empirical cdf between the tenths, up to the
// quantization of ln t (2.4e-7).
func TestFitAgreesWithGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lifetimes := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 10, 100).Draw(t, "lifetimes")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.SampledFrom([]int{0, 100, 1000, 5000}).Draw(t, "more") {
			lifetimes = append(lifetimes, math.Exp(15*rng.Float64()))
		}
		got, err := uniformlog.FitValues(lifetimes)
		b0, b1, r2 := regress(lifetimes)
		if errors.Is(err, uniformlog.ErrNoSpread) {
			if !math.IsNaN(b1) && !math.IsInf(b1, 0) {
				t.Fatalf("no spread, gonum finds slope %v", b1)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		// The error of a slope grows as the spread of ln t approaches the step.
		tol := 1e-5 * math.Max(1, b1*b1)
		if math.Abs(got.B0-b0) > 15*tol || math.Abs(got.B1-b1) > tol || math.Abs(got.R2-r2) > tol ||
			got.N != len(lifetimes) {
			t.Fatalf("got %+v, gonum %v %v %v", got, b0, b1, r2)
		}
	})
}

// TestFitRecoversModel proves that a fit of lifetimes drawn from the law of Downey's Table 1 finds its parameters and
// bounds.
func TestFitRecoversModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	lifetimes := make([]float64, 25000)
	for i := range lifetimes {
		lifetimes[i] = paragon.Rand(rng)
	}
	fit, err := uniformlog.FitValues(lifetimes)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "b0", fit.B0, -0.183, 0.01)
	near(t, "b1", fit.B1, 0.104, 0.001)
	near(t, "tmin", fit.TMin(), 5.8, 0.4)
	near(t, "tmax (h)", fit.TMax()/3600, 24.2, 1.2)
	if fit.R2 < 0.999 {
		t.Errorf("R2 %v of the law's own draws", fit.R2)
	}
	b0, b1, r2 := regress(lifetimes)
	near(t, "b0 against gonum", fit.B0, b0, 1e-7)
	near(t, "b1 against gonum", fit.B1, b1, 1e-7)
	near(t, "r2 against gonum", fit.R2, r2, 1e-7)
}

// TestFitOfHugeLifetimes proves that sums stay exact at the largest lifetimes, where products exceed 64 bits.
func TestFitOfHugeLifetimes(t *testing.T) {
	lifetimes := make([]float64, 50000)
	for i := range lifetimes {
		lifetimes[i] = uniformlog.MaxLifetime - float64(i)*1e7
	}
	fit, err := uniformlog.FitValues(lifetimes)
	if err != nil {
		t.Fatal(err)
	}
	b0, b1, r2 := regress(lifetimes)
	near(t, "b0", fit.B0/b0, 1, 1e-5)
	near(t, "b1", fit.B1/b1, 1, 1e-5)
	near(t, "r2", fit.R2, r2, 1e-5)
}

func TestFitErrors(t *testing.T) {
	w := uniformlog.NewWindow(0, 0)
	for i := range uniformlog.MinSamples - 1 {
		add(t, w, epoch, float64(10*i))
	}
	if _, err := w.Fit(epoch); !errors.Is(err, uniformlog.ErrTooFew) {
		t.Errorf("nine jobs: %v", err)
	}
	add(t, w, epoch, 5)
	fit, err := w.Fit(epoch)
	if err != nil || fit.N != 10 || !fit.At.Equal(epoch) {
		t.Errorf("ten jobs: %+v, %v", fit, err)
	}
	if _, err := uniformlog.FitValues(slices.Repeat([]float64{60}, 100)); !errors.Is(err, uniformlog.ErrNoSpread) {
		t.Errorf("equal lifetimes: %v", err)
	}
	// These cases differ only in the tenths that are dropped, or are all below a second.
	same := append(slices.Repeat([]float64{60}, 98), 1, 1e5)
	if _, err := uniformlog.FitValues(same); !errors.Is(err, uniformlog.ErrNoSpread) {
		t.Errorf("equal kept lifetimes: %v", err)
	}
	if _, err := uniformlog.FitValues([]float64{0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1}); !errors.Is(err,
		uniformlog.ErrNoSpread) {
		t.Errorf("lifetimes up to 1 s: %v", err)
	}
}

func TestLifetimesRefused(t *testing.T) {
	w := uniformlog.NewWindow(0, 0)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e-9, uniformlog.MaxLifetime * 1.001} {
		if err := w.Add(epoch, bad); !errors.Is(err, uniformlog.ErrLifetime) {
			t.Errorf("Add(%v): %v", bad, err)
		}
		if _, err := uniformlog.FitValues([]float64{bad}); !errors.Is(err, uniformlog.ErrLifetime) {
			t.Errorf("FitValues(%v): %v", bad, err)
		}
	}
	if w.N() != 0 {
		t.Errorf("%d jobs in the window after refusals", w.N())
	}
}

// shadow computes a window by its contract, in the slow way.
type shadow struct {
	maxCount int
	maxAge   time.Duration
	cut      time.Time
	jobs     []shadowJob
}

type shadowJob struct {
	start    time.Time
	lifetime float64
}

func (s *shadow) add(j shadowJob) { s.jobs = append(s.jobs, j) }

func (s *shadow) expire(now time.Time) {
	if cut := now.Add(-s.maxAge); s.maxAge > 0 && cut.After(s.cut) {
		s.cut = cut
	}
}

func (s *shadow) lifetimes() []float64 {
	kept := slices.DeleteFunc(slices.Clone(s.jobs), func(j shadowJob) bool { return j.start.Before(s.cut) })
	slices.SortFunc(kept, func(a, b shadowJob) int {
		return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.lifetime, b.lifetime))
	})
	if s.maxCount > 0 && len(kept) > s.maxCount {
		kept = kept[len(kept)-s.maxCount:]
	}
	out := make([]float64, len(kept))
	for i, j := range kept {
		out[i] = j.lifetime
	}
	return out
}

// check compares the window's size, fit and values with those of the shadow.
func (s *shadow) check(t *rapid.T, w *uniformlog.Window) {
	want := s.lifetimes()
	if w.N() != len(want) {
		t.Fatalf("%d jobs in the window, want %d", w.N(), len(want))
	}
	got, err := w.Fit(time.Time{})
	ref, refErr := uniformlog.FitValues(want)
	if got != ref || (err == nil) != (refErr == nil) {
		t.Fatalf("fit %+v (%v), want %+v (%v)", got, err, ref, refErr)
	}
	slices.Sort(want)
	i := 0
	w.Snapshot().Values(func(v float64) {
		if math.Abs(v/max(want[i], 1)-1) > 2e-7 {
			t.Fatalf("value %d is %v, want %v", i, v, want[i])
		}
		i++
	})
	if i != len(want) {
		t.Fatalf("%d values, want %d", i, len(want))
	}
}

// TestWindowAgainstBruteForce draws any sequence of additions (single, in bulk, out of order, with ties), expiries and
// reads. It proves that the window then has the content that its contract requires, and the exact fit of this content,
// bit by bit. Saving and restoring in between changes nothing.
func TestWindowAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxCount := rapid.SampledFrom([]int{0, 15, 300, 5000}).Draw(t, "max count")
		maxAge := time.Duration(rapid.IntRange(0, 5).Draw(t, "max age (h)")) * time.Hour
		w := uniformlog.NewWindow(maxCount, maxAge)
		s := &shadow{maxCount: maxCount, maxAge: maxAge, cut: time.Unix(-1<<40, 0)}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		now := epoch
		addSome := func(n int) {
			for range n {
				now = now.Add(time.Duration(rng.IntN(5)) * time.Second)
				j := shadowJob{now.Add(-time.Duration(rng.IntN(7200)) * time.Second),
					float64(rng.IntN(1 << rng.IntN(18)))}
				s.add(j)
				if err := w.Add(j.start, j.lifetime); err != nil {
					t.Fatal(err)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"one":   func(*rapid.T) { addSome(1); _ = w.N() },
			"few":   func(*rapid.T) { addSome(20) },
			"many":  func(*rapid.T) { addSome(400) },
			"later": func(*rapid.T) { now = now.Add(time.Duration(rng.IntN(60)) * time.Minute) },
			"expire": func(*rapid.T) {
				s.expire(now)
				w.Expire(now)
			},
			"expire earlier": func(*rapid.T) {
				s.expire(now.Add(-time.Hour))
				w.Expire(now.Add(-time.Hour))
			},
			"restart": func(t *rapid.T) { w = roundTrip(t, w) },
			"":        func(t *rapid.T) { s.check(t, w) },
		})
	})
}

// TestDriftingLifetimes covers lifetimes that drift, so that whole stretches of the sorted list become empty while
// others grow. Leaves merge, vanish and split, and fit and quantiles remain those of the window's content.
func TestDriftingLifetimes(t *testing.T) {
	const keep = 4000
	rng := rand.New(rand.NewPCG(6, 1))
	w := uniformlog.NewWindow(keep, 0)
	var all []float64
	for i := range 5 * keep {
		// The level rises by e^2 over a window's length, and then falls again.
		level := float64(min(i, 5*keep-i)) * 2 / keep
		all = append(all, math.Exp(5+level+rng.Float64()))
		add(t, w, epoch.Add(time.Duration(i)*time.Second), all[i])
		if n := w.N(); n != min(i+1, keep) {
			t.Fatalf("%d jobs after %d", n, i+1)
		}
		if i%7 != 0 || i < uniformlog.MinSamples {
			continue
		}
		want := slices.Clone(all[max(0, i+1-keep):])
		got, err := w.Fit(time.Time{})
		ref, refErr := uniformlog.FitValues(want)
		if err != nil || refErr != nil || got != ref {
			t.Fatalf("after %d jobs: %+v (%v), want %+v (%v)", i+1, got, err, ref, refErr)
		}
		slices.Sort(want)
		s := w.Snapshot()
		for _, p := range []float64{0, 0.1, 0.5, 0.9, 1} {
			near(t, "quantile", s.Quantile(p)/stat.Quantile(p, stat.Empirical, want, nil), 1, 2e-7)
		}
	}
}

// TestMiddleExpires covers a stretch in the middle of the sorted list whose values expire one by one, between leaves
// that are too full to merge with it.
func TestMiddleExpires(t *testing.T) {
	w := uniformlog.NewWindow(0, time.Hour)
	var stays []float64
	for i := range 4000 {
		lifetime, start := float64(1000+i), epoch.Add(3*time.Hour)
		if i > 1500 && i < 2500 {
			start = epoch.Add(time.Duration(i) * time.Second)
		} else {
			stays = append(stays, lifetime)
		}
		add(t, w, start, lifetime)
	}
	for i := range 2500 {
		w.Expire(epoch.Add(time.Hour + time.Duration(i+1)*time.Second))
		// In the middle, the jobs of the seconds i+1 to 2499 remain.
		if n, want := w.N(), len(stays)+min(2499-i, 999); n != want {
			t.Fatalf("second %d: %d jobs, want %d", i, n, want)
		}
	}
	got, err := w.Fit(time.Time{})
	want, wantErr := uniformlog.FitValues(stays)
	if err != nil || wantErr != nil || got != want {
		t.Errorf("fit %+v (%v), want %+v (%v)", got, err, want, wantErr)
	}
}

// TestExpireWithoutReading proves that a window that is never read still drops old jobs.
func TestExpireWithoutReading(t *testing.T) {
	w := uniformlog.NewWindow(0, time.Hour)
	for i := range 20000 {
		at := epoch.Add(time.Duration(i) * time.Second)
		add(t, w, at, 60)
		w.Expire(at)
	}
	if w.N() != 3601 { // both ends of the hour count
		t.Errorf("%d jobs within the hour, want 3601", w.N())
	}
	add(t, w, epoch, 60)
	if w.N() != 3601 {
		t.Errorf("%d jobs after one from before the limit, want 3601", w.N())
	}
}

// TestSampleIsImmutable proves that a sample never changes while its window continues, also under the race detector.
func TestSampleIsImmutable(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	w := uniformlog.NewWindow(2000, 0)
	now := epoch
	step := func() {
		now = now.Add(time.Second)
		add(t, w, now, paragon.Rand(rng))
	}
	for range 2000 {
		step()
	}
	var readers sync.WaitGroup
	for range 30 {
		s := w.Snapshot()
		sum := func() (n int, sum float64) {
			s.Values(func(v float64) { sum += v; n++ })
			return n, sum
		}
		wantN, wantSum := sum()
		wantKS := s.KS(paragon)
		readers.Go(func() {
			for range 20 {
				if n, got := sum(); n != wantN || n != s.N() || got != wantSum || s.KS(paragon) != wantKS {
					t.Errorf("sample changed: %d values, sum %v, want %d, %v", n, got, wantN, wantSum)
				}
			}
		})
		for range 200 {
			step()
			_ = w.N() // one by one
		}
	}
	readers.Wait()
}

// TestSampleKS proves that KS of a sample is the textbook supremum of both one-sided gaps, also with ties. It compares
// with gonum on a fine reference sample.
func TestSampleKS(t *testing.T) {
	m := uniformlog.Model{B1: 1 / math.Log(10000)} // from 1 s to 10,000 s
	w := uniformlog.NewWindow(0, 0)
	for _, v := range []float64{10, 10, 1000, 100000} {
		add(t, w, epoch, v)
	}
	// The cdf is .25 .25 .75 1, and the steps go to .5 .5 .75 1: the gaps are .25 (below 10 and above it), .25 (just
	// below 1000, .75 - .5) and .25.
	near(t, "KS with ties", w.Snapshot().KS(m), 0.25, 1e-6)
	near(t, "median", w.Snapshot().Quantile(0.5), 10, 1e-5)
	near(t, "third quartile", w.Snapshot().Quantile(0.75), 1000, 1e-3)
	near(t, "minimum", w.Snapshot().Quantile(0), 10, 1e-5)

	rng := rand.New(rand.NewPCG(4, 4))
	var x []float64
	for range 500 {
		x = append(x, 1+math.Floor(paragon.Rand(rng)))
		add(t, w, epoch, x[len(x)-1])
	}
	w2 := uniformlog.NewWindow(0, 0)
	for _, v := range x {
		add(t, w2, epoch, v)
	}
	y := make([]float64, 200000)
	for i := range y {
		y[i] = m.Quantile((float64(i) + 0.5) / float64(len(y)))
	}
	slices.Sort(x)
	near(t, "KS against gonum", w2.Snapshot().KS(m), stat.KolmogorovSmirnov(x, nil, y, nil), 1e-4)
	empty := uniformlog.NewWindow(0, 0).Snapshot()
	if ks, q := empty.KS(m), empty.Quantile(0.5); !math.IsNaN(ks) || !math.IsNaN(q) {
		t.Errorf("empty sample: KS %v, median %v", ks, q)
	}
}
