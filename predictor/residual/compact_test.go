package residual_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/residual"
)

// TestCompactLaw proves that a law that is restored from its compact form has the same limit, and a survival that never
// rises. The survival differs from the original one by no more than the rounding to float32. So do the quantiles where
// the law is not flat.
func TestCompactLaw(t *testing.T) {
	m := residual.New(residual.Config{})
	rng := rand.New(rand.NewPCG(3, 1))
	for i := range 300 {
		j := residual.Job{Queue: "work", User: fmt.Sprint("u", i%3), Procs: 1 << (i % 6), Limit: 7200}
		start := float64(i) * 3000
		m.Started(int64(i), j, start)
		m.Ended(int64(i), start+math.Exp(8*rng.Float64()))
	}
	rapid.Check(t, func(t *rapid.T) {
		job := residual.Job{Queue: "work", User: "u1", Procs: rapid.IntRange(1, 64).Draw(t, "procs"),
			Limit: rapid.SampledFrom([]float64{0, 600, 7200, 86400}).Draw(t, "limit")}
		law := m.Law(job, 1e6)
		var back residual.Law
		law.Compact().Into(&back)
		if back.Limit() != law.Limit() {
			t.Fatalf("limit %g, want %g", back.Limit(), law.Limit())
		}
		last := 1.0
		for x := 1.0; x < 1e9; x *= 1.5 {
			got, want := back.Survival(x), law.Survival(x)
			if math.Abs(got-want) > 1e-7*want || got > last {
				t.Fatalf("survival of %g s: %g after %g, want %g", x, got, last, want)
			}
			last = got
		}
		u := rapid.Float64Range(.01, .95).Draw(t, "level")
		if q := back.Quantile(u); math.Abs(law.Survival(q)-(1-u)) > 1e-6 && q < law.Limit() {
			t.Fatalf("quantile of %g is %g s, whose survival is %g", u, q, law.Survival(q))
		}
	})
}
