package advice_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/workload/speedup"
)

// TestConsiderateByHand computes the price by hand. On 100 processors with 10 waiting jobs, a processor-hour costs
// (10 + 40)/100 of an hour. A job of 8 h on 1 processor then costs 8 + 0.5 x 8 = 12, one of 2 h on 8 processors costs
// 2 + 0.5 x 16 = 10, and one of 3 h on 8 processors costs 3 + 0.5 x 24 = 15. Without the price the 8 processors would
// always be chosen.
func TestConsiderateByHand(t *testing.T) {
	o := advice.Considerate(10, 100)
	near(t, "price", o.ProcHour, .5, 1e-12)
	for _, c := range []struct {
		hours, score float64
		want         string
	}{{2, 10, "wide"}, {3, 15, "narrow"}} {
		sizes := []advice.Candidate{
			{Name: "narrow", Procs: 1, Run: advice.Fixed(8 * 3600)},
			{Name: "wide", Procs: 8, Run: advice.Fixed(c.hours * 3600)},
		}
		if got := choose(t, sizes, 0, advice.Objective{}).Best().Name; got != "wide" {
			t.Errorf("%v h, on its own: %s", c.hours, got)
		}
		r := choose(t, sizes, 0, o)
		near(t, "narrow", r.Answers[0].Score, 12, 1e-9)
		near(t, "wide", r.Answers[1].Score, c.score, 1e-9)
		if r.Best().Name != c.want {
			t.Errorf("%v h: %s, want %s", c.hours, r.Best().Name, c.want)
		}
	}
}

// TestConsiderateGivesWay proves that the more jobs wait, the fewer processor-hours the advised size takes, for any job
// and waits.
func TestConsiderateGivesWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := speedup.Profile{A: rapid.Float64Range(1, 64).Draw(t, "A"),
			Sigma: rapid.Float64Range(0, 2).Draw(t, "sigma")}
		curve := must[*speedup.Downey](t)(speedup.NewDowney(p, 36000))
		var c []advice.Candidate
		for procs := 1; procs <= 64; procs *= 2 {
			c = append(c, advice.Candidate{
				Name: advice.SizeName(procs), Procs: procs, Run: must[advice.Law](t)(advice.RunOf(curve, procs)),
				Wait: advice.Wait{Law: advice.Fixed(rapid.Float64Range(0, 36000).Draw(t, "wait"))},
			})
		}
		few := rapid.IntRange(0, 100).Draw(t, "few")
		many := few + rapid.IntRange(0, 1000).Draw(t, "more")
		quiet := choose(t, c, 0, advice.Considerate(few, 64)).Best().ProcHours
		if busy := choose(t, c, 0, advice.Considerate(many, 64)).Best().ProcHours; busy > quiet*(1+1e-9) {
			t.Errorf("%v processor-hours with %d waiting, %v with %d", quiet, few, busy, many)
		}
	})
}

// TestConsiderateEndsThrifty proves that as the queue grows the advised size never takes more processor-hours, and that
// with an unbounded queue it takes the fewest possible.
func TestConsiderateEndsThrifty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := speedup.Profile{A: rapid.Float64Range(1, 64).Draw(t, "A"),
			Sigma: rapid.Float64Range(0, 2).Draw(t, "sigma")}
		curve := must[*speedup.Downey](t)(speedup.NewDowney(p, rapid.Float64Range(60, 1e6).Draw(t, "T1")))
		var c []advice.Candidate
		least := math.Inf(1)
		for procs := 1; procs <= 64; procs *= 2 {
			run := must[advice.Law](t)(advice.RunOf(curve, procs))
			least = min(least, run.Mean()*float64(procs)/3600)
			c = append(c, advice.Candidate{Name: advice.SizeName(procs), Procs: procs, Run: run,
				Wait: advice.Wait{Law: advice.Fixed(rapid.Float64Range(0, 36000).Draw(t, "wait"))}})
		}
		before := math.Inf(1)
		for _, waiting := range []int{0, 3, 40, 1e12} {
			took := choose(t, c, 0, advice.Considerate(waiting, 64)).Best().ProcHours
			if took > before*(1+1e-9) {
				t.Errorf("with %d waiting it takes %v processor-hours, with fewer %v", waiting, took, before)
			}
			before = took
		}
		if before > least*(1+1e-6) {
			t.Errorf("without bound it takes %v processor-hours, and %v would do", before, least)
		}
	})
}

// TestConsiderateBounds proves that neither an unknown machine size nor a negative queue length gives a price that a
// choice refuses.
func TestConsiderateBounds(t *testing.T) {
	for _, o := range []advice.Objective{
		advice.Considerate(0, 0), advice.Considerate(-5, 10), advice.Considerate(1e9, 1),
	} {
		choose(t, three(), 0, o)
	}
}
