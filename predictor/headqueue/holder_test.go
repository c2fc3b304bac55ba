package headqueue

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestEnds proves each rule of Holder.Ends on cases worked out by hand.
func TestEnds(t *testing.T) {
	law := newUniformLog(10, 100_000) // S(1000) = 1/2, S(10000) = 1/4
	for _, tc := range []struct {
		name string
		h    Holder
		t    float64
		want float64
	}{
		{"conditional survival, eq. 4", Holder{Age: 1000, Law: law}, 9000, .5},
		{"nothing has ended yet", Holder{Age: 1000, Law: law}, 0, 0},
		{"before now", Holder{Age: 1000, Law: law}, -5, 0},
		{"a new job", Holder{Law: law}, 1000, .5},
		{"older than tmax", Holder{Age: 200_000, Law: law}, 1e9, 0},
		{"exactly tmax old", Holder{Age: 100_000, Law: law}, 1e9, 0},
		{"older than tmax, before its limit", Holder{Age: 200_000, Limit: 300_000, Law: law}, 99_999, 0},
		{"older than tmax, at its limit", Holder{Age: 200_000, Limit: 300_000, Law: law}, 100_000, 1},
		{"just before its limit", Holder{Age: 1000, Limit: 10_000, Law: law}, math.Nextafter(9000, 0), .5},
		{"at its limit", Holder{Age: 1000, Limit: 10_000, Law: law}, 9000, 1},
		{"over its limit", Holder{Age: 1000, Limit: 500, Law: law}, 9000, .5},
		{"at its limit by age", Holder{Age: 1000, Limit: 1000, Law: law}, 9000, .5},
		{"starts later", Holder{Age: -500, Law: law}, 500, 0},
		{"started since", Holder{Age: -500, Law: law}, 1500, .5},
		{"started since, at its limit", Holder{Age: -500, Limit: 1000, Law: law}, 1500, 1},
		{"no law", Holder{Age: 5}, 1e12, 0},
		{"no law, a limit", Holder{Age: 5, Limit: 15}, 10, 1},
		{"unknown age", Holder{Age: math.NaN(), Law: law}, 1000, .5},
		{"no instant", Holder{Law: law}, math.NaN(), 0},
	} {
		if got := tc.h.Ends(tc.t); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: Ends(%g) = %g, want %g", tc.name, tc.t, got, tc.want)
		}
	}
}

// TestEndsIsDistribution proves that Ends is a cdf: within [0, 1] and non-decreasing.
func TestEndsIsDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Holder{
			Age:   rapid.Float64Range(-1e4, 1e6).Draw(t, "age"),
			Limit: rapid.Float64Range(-1, 1e6).Draw(t, "limit"),
			Law:   drawLaw(t),
		}
		a := rapid.Float64Range(0, 1e6).Draw(t, "t")
		b := a + rapid.Float64Range(0, 1e6).Draw(t, "dt")
		if p, q := h.Ends(a), h.Ends(b); p < 0 || q > 1 || p > q+1e-15 {
			t.Fatalf("Ends(%g) = %g, Ends(%g) = %g", a, p, b, q)
		}
	})
}
