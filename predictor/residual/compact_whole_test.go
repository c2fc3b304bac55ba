package residual

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestCompactLawNeedsNoMore proves that a law without its table beyond the limit gives the same results to the last bit
// as the law with the whole table, even directly before and after the limit. It also proves that the table is cut.
func TestCompactLawNeedsNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole, back Law
		left := 1.0
		for i := range whole.tail {
			whole.tail[i] = float64(float32(left))
			left *= rapid.SampledFrom([]float64{1, 1, .99, .9, .3}).Draw(t, "part")
		}
		cell := rapid.IntRange(0, Bins+3).Draw(t, "cell")
		limit := rapid.SampledFrom([]float64{0, 1, 60, 600, 7200, 86400, 1e9, math.Exp(float64(cell) / perUnit),
			math.Nextafter(math.Exp(float64(cell)/perUnit), 0)}).Draw(t, "limit")
		whole.cut(limit, rapid.SampledFrom([]float64{0, .01, .5, 1}).Draw(t, "outlive"))
		compact := whole.Compact()
		compact.Into(&back)
		ages := []float64{0, 1, limit / 2, math.Nextafter(limit, 0), limit, limit + 1, 2 * limit, math.Exp(20), 1e16,
			math.Exp(rapid.Float64Range(0, 22).Draw(t, "age"))}
		for _, age := range ages {
			if got, want := back.Survival(age), whole.Survival(age); got != want {
				t.Fatalf("limit %g: survival of %g s is %g, want %g", limit, age, got, want)
			}
			for _, u := range []float64{0, .5, 1, rapid.Float64Range(0, 1).Draw(t, "level")} {
				if got, want := back.Residual(age, u), whole.Residual(age, u); got != want {
					t.Fatalf("limit %g: quantile of %g at %g s is %g, want %g", limit, u, age, got, want)
				}
			}
		}
		if n := len(compact.tail); limit == 7200 && n > 75 {
			t.Fatalf("%d entries for a limit of two hours, which is in cell 71", n)
		}
	})
}
