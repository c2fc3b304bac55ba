package qbets

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// TestIndex proves that the order statistic is the least one whose binomial probability, computed as a sum, reaches the
// confidence. At least 59 waits are needed for .95 and .95 (the papers' own example).
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		q := rapid.Float64Range(.05, .99).Draw(t, "q")
		c := rapid.Float64Range(.5, .99).Draw(t, "confidence")
		law := distuv.Binomial{N: float64(n), P: q}
		want, sum := 0, 0.0
		for k := 1; k <= n && want == 0; k++ {
			if sum += law.Prob(float64(k - 1)); sum >= c {
				want = k
			}
		}
		if got := Index(n, q, c); got != want && math.Abs(sum-c) > 1e-9 {
			t.Fatalf("Index(%d, %v, %v) = %d, want %d", n, q, c, got, want)
		}
	})
	if Index(58, .95, .95) != 0 || Index(59, .95, .95) != 59 || Least(.95, .95) != 59 {
		t.Errorf("with 58 waits %d, with 59 %d, least %d; want 0, 59, 59", Index(58, .95, .95), Index(59, .95, .95),
			Least(.95, .95))
	}
}

// TestBoundHolds proves that at least the promised share of independent waits is below the bound, and that the bound is
// not much too high.
func TestBoundHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, q := range []float64{.5, .95} {
		above, told := 0, 0
		for range 400 { // the number of histories
			s, err := New(Config{})
			if err != nil {
				t.Fatal(err)
			}
			for range 200 {
				s.Add(math.Exp(3 * rng.NormFloat64()))
			}
			bound, ok := s.Bound(q)
			if !ok {
				t.Fatal("no bound after 200 waits")
			}
			told++
			if bound >= math.Exp(3*distuv.UnitNormal.Quantile(q)) {
				above++
			}
		}
		if share := float64(above) / float64(told); share < .92 {
			t.Errorf("level %v: %.3f of the bounds are above the quantile, want .95", q, share)
		}
	}
}

// TestChangeIsNoticed proves that a jump of the waits is noticed after a few misses, and that the history before it is
// forgotten.
func TestChangeIsNoticed(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		s.Add(10 * rng.ExpFloat64())
	}
	before := s.Trimmed()
	for i := range 30 {
		s.Add(10_000 + rng.Float64())
		if s.Trimmed() > before && i > 8 {
			break
		}
	}
	if s.Trimmed() == before || s.N() > 100 {
		t.Errorf("the history was cut %d times, %d waits are left", s.Trimmed()-before, s.N())
	}
	if bound, ok := s.Bound(.95); !ok || bound < 10_000 {
		t.Errorf("the bound is %v, %v", bound, ok)
	}
}

// TestRun proves the number of successive misses that is not chance: three for independent waits, and more for
// correlated ones. On simulated series its probability is that of three independent misses.
func TestRun(t *testing.T) {
	if got := Run(0, .95); got != 3 {
		t.Errorf("independent waits need %d misses, want 3", got)
	}
	last := 0
	for _, rho := range []float64{0, .1, .3, .5, .7, .9} {
		n := Run(rho, .95)
		if n < last {
			t.Errorf("correlation %v needs %d misses, a smaller one %d", rho, n, last)
		}
		last = n
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, rho := range []float64{.3, .6} {
		z, runs, x, row := distuv.UnitNormal.Quantile(.95), map[int]int{}, 0.0, 0
		const steps = 2_000_000
		for range steps {
			if x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64(); x > z {
				row++
			} else {
				row = 0
			}
			runs[row]++
		}
		atLeast := func(n int) (count int) {
			for r, c := range runs {
				if r >= n {
					count += c
				}
			}
			return count
		}
		n := Run(rho, .95)
		if p := float64(atLeast(n)) / steps; p > 1.3e-4*1.3 {
			t.Errorf("correlation %v: runs of %d misses have the probability %v", rho, n, p)
		}
		if p := float64(atLeast(n-1)) / steps; p < 1.2e-4/1.3 {
			t.Errorf("correlation %v: already runs of %d misses have the probability %v", rho, n-1, p)
		}
	}
}

// TestSortedIsTheHistory proves that after any additions and deletions the sorted waits are those of the history.
func TestSortedIsTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(Config{Most: 60})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range rapid.SliceOfN(rapid.Float64Range(-1, 9), 0, 200).Draw(t, "waits") {
			s.Add(math.Floor(w * float64(1+s.N())))
			if !slices.Equal(slices.Sorted(slices.Values(s.waits)), s.sorted) || s.N() > 60 {
				t.Fatalf("%d waits, sorted %v", s.N(), s.sorted)
			}
		}
	})
	for _, c := range []Config{{Level: 2}, {Confidence: -1}, {Most: 5}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if Size(4) != 0 || Size(5) != 1 || Size(64) != 2 || Size(65) != 3 {
		t.Error("the classes of sizes are not the papers'")
	}
}

// TestRestore proves that a series that is saved and restored many times keeps the same waits, and finds the same
// number of changes, as one that is never restored. After each wait its bound is the order statistic that Index names.
func TestRestore(t *testing.T) {
	for _, level := range []float64{.1, .5, .95} {
		rng := rand.New(rand.NewPCG(7, uint64(100*level)))
		cfg := Config{Level: level, Confidence: .5, Run: 4}
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4000 {
			if i%97 == 0 {
				again, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if err := again.Restore(s.waits, s.Misses()); err != nil {
					t.Fatal(err)
				}
				again.trimmed = s.trimmed
				s = again
			}
			scale := float64(1 + i/500%3*20)
			s.Add(rng.ExpFloat64() * scale)
			got, ok := s.Bound(level)
			if k := Index(s.N(), level, .5); ok != (k > 0) || ok && got != s.sorted[k-1] {
				t.Fatalf("level %v, %d waits: bound %v, %v; want the %dth", level, s.N(), got, ok, k)
			}
		}
		plain, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		rng = rand.New(rand.NewPCG(7, uint64(100*level)))
		for i := range 4000 {
			plain.Add(rng.ExpFloat64() * float64(1+i/500%3*20))
		}
		if !slices.Equal(plain.waits, s.waits) || plain.trimmed != s.trimmed || s.trimmed == 0 {
			t.Errorf("level %v: %d waits after %d cuts, restored now and then %d after %d", level, plain.N(),
				plain.trimmed, s.N(), s.trimmed)
		}
		if s.Restore([]float64{1, math.NaN()}, 0) == nil || s.Restore([]float64{1}, 2) == nil {
			t.Error("a damaged history is accepted")
		}
	}
}
