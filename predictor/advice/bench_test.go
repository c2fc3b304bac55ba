package advice_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/advice"
)

// benchCandidates returns n sizes of one job in the given number of pools. Waits grow with the size.
func benchCandidates(b *testing.B, n, pools int, spread float64, futures bool) []advice.Candidate {
	rng := rand.New(rand.NewPCG(1, 1))
	common := make([]float64, 100)
	for i := range common {
		common[i] = rng.NormFloat64()
	}
	c := make([]advice.Candidate, n)
	for i := range c {
		procs := 1 + i/pools
		median := math.Log(300 * float64(procs))
		c[i] = advice.Candidate{Name: fmt.Sprint(i), Pool: fmt.Sprint(i % pools), Procs: procs,
			Run: advice.LogNormal{Median: 36000 / float64(procs), Spread: spread}}
		if futures {
			c[i].Wait.Futures = make([]float64, len(common))
			for f, z := range common {
				c[i].Wait.Futures[f] = max(0, math.Exp(median+z+.3*rng.NormFloat64())-60)
			}
			continue
		}
		var seconds []float64
		for _, p := range waittime.Levels() {
			seconds = append(seconds, max(0, math.Exp(median+distuv.UnitNormal.Quantile(p))-60))
		}
		c[i].Wait.Law = must[*waittime.Distribution](b)(waittime.NewDistribution(waittime.Levels(), seconds))
	}
	return c
}

// BenchmarkChoose measures the choice among 256 or 64 candidates. Their waits are 100 futures or six quantiles.
func BenchmarkChoose(b *testing.B) {
	for _, c := range []struct {
		name     string
		n, pools int
		spread   float64
		futures  bool
	}{
		{"256 replicas", 256, 1, 0, true}, {"256 replicas in 4 pools", 256, 4, 0, true},
		{"256 quantiles", 256, 1, 0, false},
		{"256 replicas, uncertain runtime", 256, 1, .3, true}, {"64 replicas", 64, 1, 0, true},
		{"64 quantiles, uncertain runtime", 64, 4, .3, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			candidates := benchCandidates(b, c.n, c.pools, c.spread, c.futures)
			for b.Loop() {
				choose(b, candidates, 0, advice.Objective{Deadline: 3600})
			}
		})
	}
}

// BenchmarkNewDistribution measures making the law of six quantiles.
func BenchmarkNewDistribution(b *testing.B) {
	for b.Loop() {
		must[*waittime.Distribution](b)(waittime.NewDistribution(waittime.Levels(),
			[]float64{0, 60, 600, 3600, 7200, 14400}))
	}
}
