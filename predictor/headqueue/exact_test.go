package headqueue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// TestExactIsEnumeration proves that the dynamic program, for one need and for all, equals the sum over all outcomes
// (eq. 7) for up to 16 random jobs.
func TestExactIsEnumeration(t *testing.T) {
	var c Calc
	var tail []float64
	rapid.Check(t, func(t *rapid.T) {
		holders := drawHolders(t, 0, 16)
		at := rapid.Float64Range(0, 1e5).Draw(t, "t")
		top := totalProcs(holders) + 2
		need := rapid.IntRange(0, top).Draw(t, "need")
		want := enumerate(holders, need, at)
		if got := c.AtLeast(holders, need, at); math.Abs(got-want) > 1e-9 {
			t.Fatalf("AtLeast(%d, %g) = %.12g, enumeration %.12g", need, at, got, want)
		}
		// The tail ends at need, or after it.
		for _, top := range []int{need, top} {
			tail = c.Tail(tail, holders, at, top)
			if got := tail[need]; math.Abs(got-want) > 1e-9 {
				t.Fatalf("Tail to %d [%d] = %.12g, enumeration %.12g", top, need, got, want)
			}
		}
	})
}

// TestExactTwentyJobs proves that the dynamic program equals the sum over all outcomes for 20 jobs, for every need of
// one state.
func TestExactTwentyJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, size := range []func() int{
		func() int { return 1 + rng.IntN(9) },
		func() int { return 16 * (1 + rng.IntN(4)) },
	} {
		holders := machine(rng, 20, size)
		var c Calc
		tail := c.Tail(nil, holders, 3000, totalProcs(holders))
		for need := 0; need < len(tail); need += 1 + len(tail)/5 {
			if want := enumerate(holders, need, 3000); math.Abs(tail[need]-want) > 1e-9 {
				t.Errorf("Pr{F >= %d} = %.12g, enumeration %.12g", need, tail[need], want)
			}
		}
	}
}

// TestTailSums proves that Tail returns 1 at 0, never rises, and returns 0 beyond all processors. The values sum to the
// mean number of processors freed (eq. 13), and are those of AtLeast.
func TestTailSums(t *testing.T) {
	var c Calc
	rapid.Check(t, func(t *rapid.T) {
		holders := drawHolders(t, 0, 60)
		at := rapid.Float64Range(0, 1e5).Draw(t, "t")
		total := totalProcs(holders)
		tail := c.Tail(nil, holders, at, total+1)
		if tail[0] != 1 || tail[total+1] != 0 {
			t.Fatalf("tail from %g to %g, want from 1 to 0", tail[0], tail[total+1])
		}
		var sum, mean float64
		for n := 1; n <= total; n++ {
			if tail[n] > tail[n-1] {
				t.Fatalf("tail rises at %d from %g to %g", n, tail[n-1], tail[n])
			}
			sum += tail[n]
		}
		for _, h := range holders {
			mean += float64(h.Procs) * h.Ends(at)
		}
		if math.Abs(sum-mean) > 1e-8*(1+mean) {
			t.Fatalf("sum of the tail %.12g, mean %.12g", sum, mean)
		}
		need := rapid.IntRange(0, total+1).Draw(t, "need")
		if got := c.AtLeast(holders, need, at); math.Abs(got-tail[need]) > 1e-11 {
			t.Fatalf("AtLeast(%d) = %.14g, Tail %.14g", need, got, tail[need])
		}
	})
}

// TestBinomial proves eq. 10: single-processor jobs of one age free a binomial number of processors. The reference is
// gonum's distuv.Binomial.
func TestBinomial(t *testing.T) {
	law := newUniformLog(5.8, 87_000) // Table 1 of the report
	holders := make([]Holder, 400)
	for i := range holders {
		holders[i] = Holder{Procs: 1, Age: 600, Law: law}
	}
	var c Calc
	for _, at := range []float64{10, 600, 7200, 80_000} {
		binomial := distuv.Binomial{N: 400, P: holders[0].Ends(at)}
		tail := c.Tail(nil, holders, at, 400)
		for n := 1; n <= 400; n += 7 {
			want := 1 - binomial.CDF(float64(n-1))
			if math.Abs(tail[n]-want) > 1e-9 {
				t.Errorf("t %g: Pr{F >= %d} = %.12g, binomial %.12g", at, n, tail[n], want)
			}
			if got := c.AtLeast(holders, n, at); math.Abs(got-want) > 1e-9 {
				t.Errorf("t %g: AtLeast(%d) = %.12g, binomial %.12g", at, n, got, want)
			}
		}
	}
}

// TestOrderDoesNotMatter proves that a shuffled state gives the same answer.
func TestOrderDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	holders := machine(rng, 50, func() int { return 1 + rng.IntN(30) })
	shuffled := slices.Clone(holders)
	rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	var c Calc
	for _, need := range []int{1, 100, 400} {
		a, b := c.AtLeast(holders, need, 1800), c.AtLeast(shuffled, need, 1800)
		if math.Abs(a-b) > 1e-12 {
			t.Errorf("need %d: %.15g, shuffled %.15g", need, a, b)
		}
		ra, erra := c.Forecast(&State{Capacity: 1000, Running: holders}, need, nil, nil)
		rb, errb := c.Forecast(&State{Capacity: 1000, Running: shuffled}, need, nil, nil)
		if erra != nil || errb != nil {
			t.Fatal(erra, errb)
		}
		for i := range ra.Quantiles {
			if a, b := ra.Quantiles[i], rb.Quantiles[i]; math.Abs(a-b) > 2e-3*a+.5 {
				t.Errorf("need %d level %g: %g, shuffled %g", need, ra.Levels[i], a, b)
			}
		}
	}
}

// TestMonteCarlo proves that the exact probabilities agree with 40,000 independent draws of all jobs, within five
// standard errors.
func TestMonteCarlo(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	holders := machine(rng, 120, func() int { return 1 + rng.IntN(32) })
	need := totalProcs(holders) / 3
	var c Calc
	r, err := c.Forecast(&State{Capacity: 1 << 20, Running: holders}, need, []float64{.1, .5, .9}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const draws = 40_000
	hits := make([]int, len(r.Quantiles))
	ends := make([]float64, len(holders))
	for range draws {
		for j, h := range holders {
			law := h.Law.(uniformLog)
			// This is the inverse of eq. 4: ln(tmax/L) = U ln(tmax/max(age, tmin)).
			age := max(h.Age, law.tmin)
			life := law.tmax * math.Pow(age/law.tmax, rng.Float64())
			if h.Limit > 0 {
				life = min(life, h.Limit)
			}
			ends[j] = life - h.Age
		}
		for k, at := range r.Quantiles {
			freed := 0
			for j, h := range holders {
				if ends[j] <= at {
					freed += h.Procs
				}
			}
			if freed >= need {
				hits[k]++
			}
		}
	}
	for k, at := range r.Quantiles {
		want := c.AtLeast(holders, need, at)
		se := math.Sqrt(want * (1 - want) / draws)
		if got := float64(hits[k]) / draws; math.Abs(got-want) > 5*se {
			t.Errorf("level %g at %g s: %.4f of the draws, exact %.4f", r.Levels[k], at, got, want)
		}
	}
}
