package advice_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/advice"
)

// three returns candidates in two futures, for which the results can be computed by hand.
func three() []advice.Candidate {
	return []advice.Candidate{
		// The candidate finishes at 1200 and 2800.
		{Name: "asked", Pool: "p", Procs: 8, Run: advice.Fixed(1000), Wait: advice.Wait{Futures: []float64{200, 1800}}},
		// The candidate finishes at 2000 and 2100.
		{Name: "small", Pool: "p", Procs: 2, Run: advice.Fixed(2000), Wait: advice.Wait{Futures: []float64{0, 100}}},
		// The candidate finishes at 800 and 3000.
		{Name: "large", Pool: "p", Procs: 32, Run: advice.Fixed(400), Wait: advice.Wait{Futures: []float64{400, 2600}}},
	}
}

// TestObjectives proves that every objective chooses the same candidate as a computation by hand.
func TestObjectives(t *testing.T) {
	for _, c := range []struct {
		o      advice.Objective
		order  []int
		scores []float64
	}{
		{advice.Objective{}, []int{2, 0, 1}, []float64{2000, 2050, 1900}},
		{advice.Objective{Kind: advice.FinishQuantile}, []int{2, 0, 1}, []float64{1200, 2000, 800}},
		{advice.Objective{Kind: advice.FinishQuantile, Level: .9}, []int{1, 0, 2}, []float64{2800, 2100, 3000}},
		// The first and the last candidate have the same probability, so the earlier mean finish decides.
		{advice.Objective{Kind: advice.ByDeadline, Deadline: 1200}, []int{2, 0, 1}, []float64{.5, 1, .5}},
		{advice.Objective{Kind: advice.ByDeadline, Deadline: 2100}, []int{1, 2, 0}, []float64{.5, 0, .5}},
		// The candidates use 8000, 4000 and 12800 processor-seconds at 1 per hour, and their mean finish costs 1 or 9
		// per hour.
		{advice.Objective{Kind: advice.Cost, ProcHour: 1, Hour: 1}, []int{1, 0, 2},
			[]float64{10000. / 3600, 6050. / 3600, 14700. / 3600}},
		{advice.Objective{Kind: advice.Cost, Hour: 9}, []int{2, 0, 1}, []float64{5, 5.125, 4.75}},
		{advice.Objective{Kind: advice.Cost, ProcHour: 3600}, []int{1, 0, 2}, []float64{8000, 4000, 12800}},
	} {
		r := choose(t, three(), advice.NoRequest, c.o)
		if !slices.Equal(r.Order, c.order) {
			t.Errorf("%v %+v: order %v, want %v", c.o.Kind, c.o, r.Order, c.order)
		}
		for i, want := range c.scores {
			near(t, fmt.Sprintf("%v %+v: score %d", c.o.Kind, c.o, i), r.Answers[i].Score, want, 1e-9)
		}
	}
}

// TestAnswer checks the parts of an answer by hand: quantiles, probabilities in the two futures, and the gain over the
// request.
func TestAnswer(t *testing.T) {
	r := choose(t, three(), 0, advice.Objective{Deadline: 1200, ProcHour: 2})
	a := r.Answers[2]
	if a.Name != "large" || a.Procs != 32 || r.Best().Name != "large" {
		t.Errorf("answer %+v", a)
	}
	for i, want := range []float64{800, 800, 800, 3000, 3000, 3000} {
		near(t, "finish", a.Finish[i], want, 0)
		near(t, "wait", a.Wait[i], want-400, 0)
		near(t, "run", a.Run[i], 400, 0)
	}
	near(t, "mean wait", a.MeanWait, 1500, 0)
	near(t, "mean run", a.MeanRun, 400, 0)
	near(t, "in time", a.InTime, .5, 0)
	near(t, "processor-hours", a.ProcHours, 12800./3600, 1e-12)
	near(t, "cost", a.Cost, 2*12800./3600, 1e-12)
	near(t, "best", a.Best, .5, 0) // first in the first future, last in the second
	if want := (advice.Gain{Score: 100, MeanFinish: 100, Finish: 400, Better: .5, Worse: .5}); *a.Gain != want {
		t.Errorf("gain %+v, want %+v", *a.Gain, want)
	}
	if want := (advice.Gain{}); *r.Answers[0].Gain != want {
		t.Errorf("gain of the request over itself %+v", *r.Answers[0].Gain)
	}
	near(t, "best of the small one", r.Answers[1].Best, .5, 0)
	near(t, "best of the request", r.Answers[0].Best, 0, 0)
	plain := choose(t, three(), advice.NoRequest, advice.Objective{})
	if a := plain.Answers[0]; !math.IsNaN(a.InTime) || !math.IsNaN(a.Cost) || a.Gain != nil {
		t.Errorf("without a deadline, prices or a request: %v, %v, %v", a.InTime, a.Cost, a.Gain)
	}
}

// TestBestByDeadline examines how candidates share a future. For a deadline all candidates that meet it in a future
// share that future. If none meets it, all share the future. At 1000 s only the large candidate meets the deadline in
// the first future, and none in the second. At 2500 s all do in the first future, and only the small one in the
// second.
func TestBestByDeadline(t *testing.T) {
	third := 1. / 3
	for deadline, want := range map[float64][]float64{
		1: {third, third, third}, 1000: {third / 2, third / 2, .5 + third/2},
		2500: {third / 2, .5 + third/2, third / 2}, 1e6: {third, third, third},
	} {
		r := choose(t, three(), advice.NoRequest, advice.Objective{Kind: advice.ByDeadline, Deadline: deadline})
		for i := range want {
			near(t, fmt.Sprintf("deadline %v: best %d", deadline, i), r.Answers[i].Best, want[i], 1e-12)
		}
	}
}

// TestBilling proves that a billing factor multiplies only the price of processors.
func TestBilling(t *testing.T) {
	c := three()
	c[1].Billing = 3
	r := choose(t, c, advice.NoRequest, advice.Objective{Kind: advice.Cost, ProcHour: 1, Hour: 1})
	near(t, "cost", r.Answers[1].Cost, (3*4000+2050)/3600., 1e-12)
	near(t, "of another", r.Answers[0].Cost, 10000./3600, 1e-12)
}

// genPools draws candidates with certain runtimes in a few pools of a few futures each. The times are on a coarse grid
// so that ties occur.
func genPools(t *rapid.T) []advice.Candidate {
	futures := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 3).Draw(t, "futures")
	var out []advice.Candidate
	for i := range rapid.IntRange(1, 6).Draw(t, "candidates") {
		pool := rapid.IntRange(0, len(futures)-1).Draw(t, "pool")
		waits := make([]float64, futures[pool])
		for f := range waits {
			waits[f] = float64(rapid.IntRange(0, 9).Draw(t, "wait"))
		}
		out = append(out, advice.Candidate{
			Name: fmt.Sprint(i), Pool: fmt.Sprint(pool), Procs: rapid.IntRange(1, 8).Draw(t, "procs"),
			Run: advice.Fixed(rapid.IntRange(1, 9).Draw(t, "run")), Wait: advice.Wait{Futures: waits},
		})
	}
	return out
}

// eachFuture calls f with the loss of every candidate in each combination of the pools' futures. All combinations are
// equally probable.
func eachFuture(c []advice.Candidate, loss func(c *advice.Candidate, finish float64) float64,
	f func(losses []float64)) (combinations float64) {
	n := map[string]int{}
	for i := range c {
		n[c[i].Pool] = len(c[i].Wait.Futures)
	}
	pools := []string{"0", "1", "2"}
	at := map[string]int{}
	var walk func(k int)
	walk = func(k int) {
		if k == len(pools) {
			losses := make([]float64, len(c))
			for i := range c {
				losses[i] = loss(&c[i], c[i].Wait.Futures[at[c[i].Pool]]+c[i].Run.Mean())
			}
			combinations++
			f(losses)
			return
		}
		for at[pools[k]] = range max(1, n[pools[k]]) {
			walk(k + 1)
		}
	}
	walk(0)
	return combinations
}

// countOf returns how many values of a list equal x.
func countOf(list []float64, x float64) int {
	n := 0
	for _, y := range list {
		if x == y {
			n++
		}
	}
	return n
}

// TestOddsByEnumeration proves that the probabilities equal the counts over all combinations of the futures of
// independent pools, for any objective.
func TestOddsByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genPools(t)
		o := advice.Objective{
			Kind: rapid.SampledFrom([]advice.Kind{advice.ExpectedFinish, advice.ByDeadline, advice.Cost}).Draw(t,
				"kind"),
			Deadline: 9, ProcHour: 1, Hour: 4,
		}
		loss := func(c *advice.Candidate, finish float64) float64 {
			switch o.Kind {
			case advice.ByDeadline:
				if finish <= o.Deadline {
					return 0
				}
				return 1
			case advice.Cost:
				return float64(c.Procs)*c.Run.Mean()/3600 + finish/3600*4
			}
			return finish
		}
		request := rapid.IntRange(0, len(c)-1).Draw(t, "request")
		best, better, worse := make([]float64, len(c)), make([]float64, len(c)), make([]float64, len(c))
		n := eachFuture(c, loss, func(losses []float64) {
			for i, x := range losses {
				if x == slices.Min(losses) {
					best[i] += 1 / float64(countOf(losses, x))
				}
				if x < losses[request] {
					better[i]++
				}
				if x > losses[request] {
					worse[i]++
				}
			}
		})
		r := choose(t, c, request, o)
		sum := 0.
		for i, a := range r.Answers {
			near(t, "best", a.Best, best[i]/n, 1e-9)
			near(t, "better", a.Gain.Better, better[i]/n, 1e-9)
			near(t, "worse", a.Gain.Worse, worse[i]/n, 1e-9)
			sum += a.Best
		}
		near(t, "sum of all best", sum, 1, 1e-9)
		for k := 1; k < len(r.Order); k++ {
			if r.Answers[r.Order[k-1]].Score > r.Answers[r.Order[k]].Score {
				t.Errorf("order %v is not by score", r.Order)
			}
		}
	})
}

// TestCommonRuntime proves that candidates have the same random deviation z of the runtime. One candidate starts at
// once and runs for 100 s z, the other starts after 50 s and runs for 60 s z. They finish together at z = 1.25. A
// log-normal z of spread 0.5 is below 1.25 with the probability Phi(ln 1.25/0.5), in one pool or two.
func TestCommonRuntime(t *testing.T) {
	want := distuv.UnitNormal.CDF(math.Log(1.25) / .5)
	for _, pool := range []string{"a", "b"} {
		r := choose(t, []advice.Candidate{
			{Name: "at once", Pool: "a", Procs: 1, Run: advice.LogNormal{Median: 100, Spread: .5}},
			{Name: "faster", Pool: pool, Procs: 4, Run: advice.LogNormal{Median: 60, Spread: .5},
				Wait: advice.Wait{Law: advice.Fixed(50)}},
		}, 0, advice.Objective{Deadline: 130})
		near(t, "best", r.Answers[0].Best, want, .0026) // a node in 400
		near(t, "better", r.Answers[1].Gain.Better, 1-want, .0026)
		near(t, "in time", r.Answers[1].InTime, distuv.UnitNormal.CDF(math.Log(80./60)/.5), 1e-9)
		near(t, "finish", r.Answers[1].Finish[5], 50+60*math.Exp(.5*1.6448536269514722), 1e-6)
	}
}

// TestSumOfUncertain proves that the finish is the sum of two independent variables if both are uncertain: here exp(7 +
// Z) - 60, at least 0, and 2000 exp(.4 Z'), with Z and Z' normal and Z' cut at .001 and .999. The reference is the
// convolution by numeric integration in Python (statistics.NormalDist, 20,000 middles of Z'). For the mean, the wait
// follows the rules of a waittime.Distribution: from .95 on the wait + 60 is a power, and beyond .975 it stays constant
// (the same integration with 400,000 middles of each).
func TestSumOfUncertain(t *testing.T) {
	var seconds []float64
	for _, p := range waittime.Levels() {
		seconds = append(seconds, math.Exp(7+distuv.UnitNormal.Quantile(p))-60)
	}
	wait := must[*waittime.Distribution](t)(waittime.NewDistribution(waittime.Levels(), seconds))
	run := advice.LogNormal{Median: 2000, Spread: .4}
	r := choose(t, []advice.Candidate{{Name: "x", Procs: 1, Run: run, Wait: advice.Wait{Law: wait}}}, advice.NoRequest,
		advice.Objective{Deadline: 4000})
	a := r.Answers[0]
	for i, want := range []float64{1905.8, 2463.5, 3315.4, 4575.7, 6387, 8041.7} {
		near(t, "finish", a.Finish[i], want, .02*want)
	}
	near(t, "in time", a.InTime, 0.65619, .005)
	near(t, "mean", a.MeanFinish, 3816.58, .1)
}

// TestFinishOfFutures proves that the finish of an uncertain wait and an uncertain runtime is the quantile of all their
// sums, which the test sorts. It is infinite if the job never starts in too many futures.
func TestFinishOfFutures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waits := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1e6),
			rapid.SampledFrom([]float64{0, 100, math.Inf(1)})), 2, 40).Draw(t, "waits")
		run := advice.LogNormal{Median: rapid.Float64Range(1, 1e5).Draw(t, "median"), Spread: .5}
		r, err := advice.Choose([]advice.Candidate{{Name: "x", Procs: 1, Run: run, Wait: advice.Wait{Futures: waits}}},
			advice.NoRequest, advice.Objective{Kind: advice.ByDeadline, Deadline: 10})
		if err != nil {
			t.Fatal(err)
		}
		nodes := min(max(2000/len(waits), 20), 400)
		var sums []float64
		for _, w := range waits {
			for k := range nodes {
				sums = append(sums, w+run.Quantile((float64(k)+.5)/float64(nodes)))
			}
		}
		slices.Sort(sums)
		for i, p := range waittime.Levels() {
			want := sums[int(math.Ceil(p*float64(len(sums))-1e-9))-1]
			near(t, "finish", r.Answers[0].Finish[i], want, 2e-6*want)
		}
	})
}

// TestDependence proves that waits in one pool that are known only by quantiles are compared at the same level. A
// candidate that is later at every level is never first. In separate pools the waits are independent: for two normal
// laws of ln(wait + 60 s) with equal spread, the sooner candidate is best with probability Phi(difference of the means
// / (spread sqrt 2)).
func TestDependence(t *testing.T) {
	law := func(shift float64) advice.Law {
		var seconds []float64
		for _, p := range waittime.Levels() {
			seconds = append(seconds, math.Exp(9+shift+.5*distuv.UnitNormal.Quantile(p))-60)
		}
		return must[*waittime.Distribution](t)(waittime.NewDistribution(waittime.Levels(), seconds))
	}
	for pool, want := range map[string]float64{"a": 1, "b": distuv.UnitNormal.CDF(.3 / (.5 * math.Sqrt2))} {
		r := choose(t, []advice.Candidate{
			{Name: "sooner", Pool: "a", Procs: 1, Run: advice.Fixed(10), Wait: advice.Wait{Law: law(0)}},
			{Name: "later", Pool: pool, Procs: 2, Run: advice.Fixed(10), Wait: advice.Wait{Law: law(.3)}},
		}, advice.NoRequest, advice.Objective{})
		near(t, "best, pool "+pool, r.Answers[0].Best, want, .01)
	}
}

// TestNever proves that a candidate that may never start has an infinite expected finish, but is still ranked by a
// deadline.
func TestNever(t *testing.T) {
	inf := math.Inf(1)
	c := []advice.Candidate{
		{Name: "maybe", Procs: 64, Run: advice.Fixed(10), Wait: advice.Wait{Futures: []float64{0, inf}}},
		{Name: "slow", Procs: 1, Run: advice.Fixed(1000), Wait: advice.Wait{Futures: []float64{0, 0}}},
	}
	if r := choose(t, c, 0, advice.Objective{}); r.Best().Name != "slow" || !math.IsInf(r.Best().Gain.MeanFinish, 1) {
		t.Errorf("best %+v", r.Best())
	}
	if r := choose(t, c, 0, advice.Objective{Kind: advice.ByDeadline, Deadline: 100}); r.Best().Name != "maybe" {
		t.Errorf("best by a deadline %+v", r.Best())
	}
	if _, err := advice.Choose(c[:1], 0, advice.Objective{}); !errors.Is(err, advice.ErrNever) {
		t.Errorf("all infinite: %v, want ErrNever", err)
	}
}
