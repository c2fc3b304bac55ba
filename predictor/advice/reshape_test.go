package advice_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/advice"
)

// By hand: four futures get the quantiles at .125, .375, .625 and .875 of each law in the order of their waits; starts at once are ranked by the other candidate.
func TestReshapeByHand(t *testing.T) {
	law := func(q ...float64) advice.Law {
		return must[*advice.Samples](t)(advice.NewSamples(q))
	}
	got := must[[][]float64](t)(advice.Reshape([][]float64{{0, 0, 7, 0}, {30, 10, 90, 20}}, []advice.Law{law(1, 2, 3, 4), law(10, 20, 30, 40)}))
	for i, want := range [][]float64{{3, 1, 4, 2}, {30, 10, 40, 20}} {
		if !slices.Equal(got[i], want) {
			t.Errorf("candidate %d: %v, want %v", i, got[i], want)
		}
	}
}

// Whatever the futures, the new waits are the middles of the law, and a wait that was longer is not shorter now.
func TestReshapeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "futures")
		waits := rapid.SliceOfN(rapid.SliceOfN(genSeconds(), n, n), 1, 4).Draw(t, "waits")
		laws := make([]advice.Law, len(waits))
		for i := range laws {
			laws[i] = advice.LogNormal{Median: float64(1 + i), Spread: 1}
		}
		out := must[[][]float64](t)(advice.Reshape(waits, laws))
		for i := range out {
			sorted := slices.Clone(out[i])
			slices.Sort(sorted)
			for f, x := range sorted {
				near(t, "wait", x, laws[i].Quantile((float64(f)+.5)/float64(n)), 0)
			}
			for f := range n {
				for g := range n {
					if waits[i][f] < waits[i][g] && out[i][f] > out[i][g] {
						t.Errorf("waits %v, reshaped %v", waits[i], out[i])
					}
				}
			}
		}
	})
}

// Bad input is refused with the candidate's place.
func TestBadReshape(t *testing.T) {
	law := advice.Fixed(1)
	for _, c := range []struct {
		waits [][]float64
		laws  []advice.Law
		place int
	}{
		{nil, nil, 0}, {[][]float64{{1}}, nil, 0}, {[][]float64{{}}, []advice.Law{law}, 1}, {[][]float64{{1}, {1, 2}}, []advice.Law{law, law}, 2},
		{[][]float64{{1, math.NaN()}}, []advice.Law{law}, 1}, {[][]float64{{1}, {-1}}, []advice.Law{law, law}, 2}, {[][]float64{{1}}, []advice.Law{nil}, 1},
	} {
		var bad *advice.LawError
		if _, err := advice.Reshape(c.waits, c.laws); !errors.As(err, &bad) || bad.Place != c.place {
			t.Errorf("%v: %v, want a *LawError at %d", c.waits, err, c.place)
		}
	}
}
