package headqueue

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// slack returns how far a returned instant may lie above the true one.
func slack(t float64) float64 { return max(AbsTolerance, RelTolerance*t) }

// TestQuantileInvertsExact proves that a quantile is the smallest t, up to the tolerance, with Pr{F(t) >= need} >= q,
// for laws with and without jumps, and +Inf exactly if no t reaches that.
func TestQuantileInvertsExact(t *testing.T) {
	var c Calc
	levels := []float64{.1, .25, .5, .75, .9, .95}
	rapid.Check(t, func(t *rapid.T) {
		holders := drawHolders(t, 1, 30)
		need := rapid.IntRange(1, totalProcs(holders)+1).Draw(t, "need")
		within := rapid.Float64Range(0, 1e5).Draw(t, "within")
		r, err := c.Forecast(&State{Capacity: need, Running: holders}, need, levels, []float64{within})
		ever := c.AtLeast(holders, need, horizon)
		var cannot *CannotSay
		if errors.As(err, &cannot) {
			if ever > 1e-9 {
				t.Fatalf("%v, but Pr{F >= %d} reaches %g", err, need, ever)
			}
			return
		}
		if want := c.AtLeast(holders, need, within); math.Abs(r.Within[0]-want) > 1e-12 {
			t.Fatalf("Within(%g) = %g, want %g", within, r.Within[0], want)
		}
		last := 0.0
		for i, q := range levels {
			at := r.Quantiles[i]
			if at < last {
				t.Fatalf("quantiles cross: %v", r.Quantiles)
			}
			last = at
			if math.IsInf(at, 1) {
				if ever > q+1e-9 {
					t.Fatalf("quantile %g is +Inf, but %g is reached", q, ever)
				}
				continue
			}
			if p := c.AtLeast(holders, need, at); p < q-1e-9 {
				t.Fatalf("quantile %g: %g, where the probability is only %g", q, at, p)
			}
			if before := at - slack(at); before > 0 && c.AtLeast(holders, need, before) > q+1e-9 {
				t.Fatalf("quantile %g: %g, but it is reached before %g", q, at, before)
			}
		}
	})
}

// TestJump proves that a search converges to a jump of the cdf, as at a time limit.
func TestJump(t *testing.T) {
	law := newUniformLog(10, 1e7)
	s := State{Capacity: 64, Running: []Holder{{Procs: 64, Age: 100, Limit: 50_000, Law: law}}}
	var c Calc
	r, err := c.Forecast(&s, 64, []float64{.9, .95}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range r.Quantiles {
		if d := got - 49_900; d < 0 || d > slack(got) {
			t.Errorf("quantile %g, want 49900 and at most %g more", got, slack(got))
		}
	}
}

// TestPredictorA proves eq. 8 for one benefactor under Downey's law: its median is
// the median remaining lifetime sqrt(tmax a) - a of section 4, whatever smaller jobs
// do.
func TestPredictorA(t *testing.T) {
	const tmax, age = 87_120, 3600
	law := newUniformLog(5.8, tmax)
	s := State{Capacity: 100, Running: []Holder{
		{Procs: 40, Age: age, Law: law},
		{Procs: 10, Age: 500, Law: law},
		{Procs: 25, Age: 900, Law: law},
	}}
	var c Calc
	r, err := c.Forecast(&s, 30, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := math.Sqrt(tmax*age) - age
	for _, m := range []MethodMedian{r.Medians[0], r.Medians[2]} {
		if d := m.Seconds - want; d < 0 || d > slack(want) {
			t.Errorf("%s: %g, want %g", m.Name, m.Seconds, want)
		}
	}
	if exact := r.Medians[3].Seconds; exact >= want {
		t.Errorf("exact median %g, want below A's %g: two small jobs help too", exact, want)
	}
}

// TestPredictorATwoBenefactors proves the product of eq. 8: two equal benefactors have both ended with probability 1/2
// when each has ended with probability sqrt(1/2).
func TestPredictorATwoBenefactors(t *testing.T) {
	const tmax, age = 50_000, 1000
	law := newUniformLog(5, tmax)
	s := State{Capacity: 100, Running: []Holder{{Procs: 40, Age: age, Law: law}, {Procs: 50, Age: age, Law: law}}}
	var c Calc
	r, err := c.Forecast(&s, 40, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// ln(tmax/(a+t))/ln(tmax/a) = sqrt(1/2).
	want := tmax*math.Pow(age/float64(tmax), math.Sqrt(.5)) - age
	if d := r.Medians[0].Seconds - want; d < 0 || d > slack(want) {
		t.Errorf("downey_a: %g, want %g", r.Medians[0].Seconds, want)
	}
}

// TestPredictorB proves eq. 12 and the statement of Figure 4: B's median is where N cdf(t) = n, and the exact median
// comes close to it as N grows.
func TestPredictorB(t *testing.T) {
	const tmax, age = 87_120, 300
	law := newUniformLog(5.8, tmax)
	apart := map[int]float64{}
	for _, n := range []int{5, 20, 2000} {
		s := State{Capacity: 2 * n}
		for range 2 * n {
			s.Running = append(s.Running, Holder{Procs: 1, Age: age, Law: law})
		}
		var c Calc
		r, err := c.Forecast(&s, n, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		// cdf = 1 - ln(tmax/(a+t))/ln(tmax/a) = 1/2.
		want := math.Sqrt(tmax*age) - age
		b, exact := r.Medians[1].Seconds, r.Medians[3].Seconds
		if d := b - want; d < 0 || d > slack(want) {
			t.Errorf("N %d: downey_b %g, want %g", 2*n, b, want)
		}
		apart[n] = math.Abs(math.Log(exact / b))
	}
	if apart[5] > math.Log(3) || apart[20] >= apart[5] || apart[2000] >= apart[20] || apart[2000] > .01 {
		t.Errorf("|ln exact/B| by n: %v, want falling, from below ln 3 to below .01", apart)
	}
}

// TestCombined proves which predictor the combined one uses.
func TestCombined(t *testing.T) {
	law := newUniformLog(5, 1e5)
	s := State{Capacity: 1000}
	for i := range 20 {
		s.Running = append(s.Running, Holder{Procs: 50, Age: float64(10 + 100*i), Law: law})
	}
	var c Calc
	for _, tc := range []struct{ need, from int }{{1, 0}, {31, 0}, {32, 1}, {50, 1}, {51, 1}} {
		r, err := c.Forecast(&s, tc.need, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.Medians[2].Seconds, r.Medians[tc.from].Seconds; got != want {
			t.Errorf("n' %d: combined %g, want %s's %g", tc.need, got, r.Medians[tc.from].Name, want)
		}
		if a := r.Medians[0]; (a.Cannot != nil) != (tc.need > 50) ||
			a.Cannot != nil && a.Cannot.Reason != NoBenefactors {
			t.Errorf("n' %d: downey_a cannot say: %v", tc.need, a.Cannot)
		}
	}
	s.Running = []Holder{{Procs: 10, Age: 1, Law: law}, {Procs: 10, Age: 1, Law: law}}
	r, err := c.Forecast(&s, 12, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Medians[2]; got.Cannot != nil || got.Seconds != r.Medians[1].Seconds {
		t.Errorf("without a benefactor: combined %+v, want B's %g", got, r.Medians[1].Seconds)
	}
}

// TestOneMoreBenefactor proves that one more running job never delays the start.
func TestOneMoreBenefactor(t *testing.T) {
	var c Calc
	rapid.Check(t, func(t *rapid.T) {
		holders := drawHolders(t, 2, 30)
		need := rapid.IntRange(1, 200).Draw(t, "need")
		more, err := c.Forecast(&State{Capacity: need, Running: holders}, need, nil, []float64{1000})
		less, errLess := c.Forecast(&State{Capacity: need, Running: holders[1:]}, need, nil, []float64{1000})
		if errLess != nil {
			return // no start is later than never
		}
		if err != nil {
			t.Fatalf("one more job: %v", err)
		}
		for i, q := range less.Levels {
			a, b := more.Quantiles[i], less.Quantiles[i]
			if a > b+slack(a)+1e-9 {
				t.Fatalf("level %g: %g with one more job, %g without", q, a, b)
			}
		}
		if more.Within[0] < less.Within[0]-1e-11 {
			t.Fatalf("Within: %g with one more job, %g without", more.Within[0], less.Within[0])
		}
	})
}

// TestCannotSay proves each refusal to forecast.
func TestCannotSay(t *testing.T) {
	law := newUniformLog(5, 1000)
	old := Holder{Procs: 60, Age: 5000, Law: law}
	young := Holder{Procs: 30, Age: 50, Law: law}
	for _, tc := range []struct {
		name  string
		s     State
		procs int
		want  Reason
	}{
		{"too wide", State{Capacity: 64, Running: []Holder{young}}, 65, LargerThanMachine},
		{"all down", State{}, 1, LargerThanMachine},
		{"nothing runs", State{Capacity: 64, Free: 3}, 4, NothingRunning},
		{"nothing runs and the head does not fit", State{Capacity: 64, Free: 3, Ahead: []Ahead{{Procs: 4, Law: law}}},
			1, NothingRunning},
		{"too little runs", State{Capacity: 64, Running: []Holder{young}}, 31, NeverEnough},
		{"all older than tmax", State{Capacity: 64, Running: []Holder{old}}, 1, NeverEnough},
		{"enough only with the old one", State{Capacity: 90, Running: []Holder{old, young}}, 31, NeverEnough},
		{"the head never starts",
			State{Capacity: 90, Running: []Holder{old, young}, Ahead: []Ahead{{Procs: 80, Law: law}}}, 1, NeverEnough},
		{"a million jobs", State{Capacity: 64, Running: make([]Holder, MaxJobs+1)}, 1, TooMuchWork},
	} {
		var c Calc
		_, err := c.Forecast(&tc.s, tc.procs, nil, nil)
		var cannot *CannotSay
		if !errors.As(err, &cannot) || cannot.Reason != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}

// TestBadArguments proves that arguments out of range are refused.
func TestBadArguments(t *testing.T) {
	s := State{Capacity: 8, Running: []Holder{{Procs: 8, Limit: 60}}}
	var c Calc
	for _, tc := range []struct {
		procs          int
		levels, within []float64
	}{
		{procs: 0}, {procs: -3},
		{procs: 1, levels: []float64{1.5}}, {procs: 1, levels: []float64{math.NaN()}},
		{procs: 1, within: []float64{math.NaN()}},
	} {
		if _, err := c.Forecast(&s, tc.procs, tc.levels, tc.within); err == nil {
			t.Errorf("%+v: no error", tc)
		}
	}
}

// TestNow proves that a job that fits, with no job ahead, does not wait.
func TestNow(t *testing.T) {
	s := State{Capacity: 64, Free: 8, Running: []Holder{{Procs: 56}}}
	var c Calc
	r, err := c.Forecast(&s, 8, nil, []float64{-1, 0, 60})
	if err != nil {
		t.Fatal(err)
	}
	if r.Method != MethodNow || r.Need != 0 || len(r.Quantiles) != 6 || r.Quantiles[5] != 0 {
		t.Errorf("got %+v, want a zero wait", r)
	}
	if w := r.Within; w[0] != 0 || w[1] != 1 || w[2] != 1 {
		t.Errorf("within -1, 0 and 60 s: %v, want 0 1 1", w)
	}
}

// TestPartlyNever proves +Inf for the levels that are never reached: the one job that matters ends with probability .6.
func TestPartlyNever(t *testing.T) {
	s := State{Capacity: 8, Running: []Holder{{Procs: 8, Law: mortal{.6, 1000}}}}
	var c Calc
	r, err := c.Forecast(&s, 8, []float64{0, .3, .5, .75, 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0, 1000 * math.Log(2), 1000 * math.Log(6), math.Inf(1), math.Inf(1)} {
		if got := r.Quantiles[i]; got != want && !(got >= want && got <= want+slack(want)) {
			t.Errorf("level %g: %g, want %g", r.Levels[i], got, want)
		}
	}
}

// TestReuse proves that a used Calc and Result answer like new ones, and that they do not allocate once they have
// grown.
func TestReuse(t *testing.T) {
	law := newUniformLog(5, 1e5)
	big := State{Capacity: 400, Running: []Holder{{Procs: 300, Age: 10, Law: law}, {Procs: 100, Age: 700, Law: law}}}
	small := State{Capacity: 400, Running: []Holder{{Procs: 5, Age: 70, Law: law}},
		Ahead: []Ahead{{Procs: 3, Law: law}}}
	var used Calc
	var r Result
	within := []float64{60}
	for _, s := range []*State{&big, &small, &big} {
		if err := used.ForecastInto(&r, s, 2, nil, within); err != nil {
			t.Fatal(err)
		}
		fresh, err := new(Calc).Forecast(s, 2, nil, within)
		if err != nil {
			t.Fatal(err)
		}
		for i := range fresh.Quantiles {
			if r.Quantiles[i] != fresh.Quantiles[i] {
				t.Errorf("used Calc: %v, new one: %v", r.Quantiles, fresh.Quantiles)
			}
		}
	}
	allocs := testing.AllocsPerRun(20, func() {
		for _, s := range []*State{&big, &small} {
			if err := used.ForecastInto(&r, s, 2, nil, within); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocs > 0 {
		t.Errorf("%g allocations per forecast, want none", allocs)
	}
}

// erratic breaks every promise of a Lifetime.
type erratic struct{ values []float64 }

func (e erratic) Survival(t float64) float64 {
	i := math.Abs(math.Mod(t, float64(len(e.values))))
	if !(i >= 0) { // true for an infinite t
		i = 0
	}
	return e.values[int(i)]
}

// TestHostileStates proves that no state, however senseless, makes a forecast panic, run forever, or give a quantile
// that is negative or not a number.
func TestHostileStates(t *testing.T) {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e-300, .5, 1, 2, 1e9, 1e300}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom(odd)
		s := State{Capacity: 100, Free: rapid.IntRange(-10, 50).Draw(t, "free")}
		law := erratic{rapid.SliceOfN(value, 1, 5).Draw(t, "survivals")}
		for range rapid.IntRange(0, 20).Draw(t, "running") {
			s.Running = append(s.Running, Holder{
				rapid.IntRange(-2, 40).Draw(t, "procs"), value.Draw(t, "age"), value.Draw(t, "limit"), law,
			})
		}
		for range rapid.IntRange(0, 5).Draw(t, "ahead") {
			s.Ahead = append(s.Ahead, Ahead{rapid.IntRange(-2, 40).Draw(t, "procs"), value.Draw(t, "limit"), law})
		}
		c := Calc{WorkLimit: rapid.SampledFrom([]int{0, -1}).Draw(t, "limit")}
		r, err := c.Forecast(&s, rapid.IntRange(1, 100).Draw(t, "request"), nil, []float64{0, math.Inf(1)})
		if err != nil {
			return
		}
		for _, x := range append(r.Quantiles, r.Within...) {
			if !(x >= 0) {
				t.Fatalf("quantiles %v, within %v", r.Quantiles, r.Within)
			}
		}
	})
}

// TestWithinForever proves that Pr{start within +Inf} is the probability that the running job ends at all.
func TestWithinForever(t *testing.T) {
	s := State{Capacity: 8, Running: []Holder{{Procs: 8, Law: mortal{.6, 1000}}}}
	r, err := new(Calc).Forecast(&s, 8, nil, []float64{math.Inf(1)})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Within[0]; math.Abs(got-.6) > 1e-12 {
		t.Errorf("Within(+Inf) = %g, want .6", got)
	}
}
