package readmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
	"gonum.org/v1/gonum/stat/distuv"
)

func near(a, b, tolerance float64) bool { return a == b || math.Abs(a-b) <= tolerance }

// TestLevelsByRank compares the levels of ranks with values worked out by hand. Of two equal waits the first is the one
// for which the other request has the shorter wait in the same future.
func TestLevelsByRank(t *testing.T) {
	for _, c := range []struct{ waits, others, want []float64 }{
		{[]float64{30, 10, 20, 40}, []float64{0, 0, 0, 0}, []float64{.625, .125, .375, .875}},
		{[]float64{5, 0, 0, 0}, []float64{1, 9, 7, 8}, []float64{.875, .625, .125, .375}},
		{[]float64{5, 5}, []float64{3, 3}, []float64{.25, .75}},
		{[]float64{7}, []float64{3}, []float64{.5}},
	} {
		if got := levelsByRank(c.waits, c.others); !slices.Equal(got, c.want) {
			t.Errorf("%v beside %v: %v, want %v", c.waits, c.others, got, c.want)
		}
	}
}

// between returns the wait, in seconds, at a level between lowLevel and highLevel. low and high are the waits at these
// two levels plus 60 s. Between them ln(wait + 60 s) is linear in the normal quantile of the level.
func between(level, lowLevel, highLevel, low, high float64) float64 {
	z := distuv.UnitNormal.Quantile
	return low*math.Pow(high/low, (z(level)-z(lowLevel))/(z(highLevel)-z(lowLevel))) - 60
}

// TestReadAt proves that readAt returns the waits that waittime.Distribution has at the given levels, and +Inf above
// the highest level that is reached.
func TestReadAt(t *testing.T) {
	quantiles := []float64{0, 60, 540, 1000, 2000, 4000}
	got := readAt([]float64{.25, .375, .5, .95}, quantiles)
	if want := []float64{60, between(.375, .25, .5, 120, 600), 540, 4000}; !slices.EqualFunc(got, want,
		func(a, b float64) bool { return near(a, b, 1e-9) }) {
		t.Errorf("%v, want %v", got, want)
	}
	never := math.Inf(1)
	got = readAt([]float64{.4, .5, .6, .99}, []float64{0, 60, 540, never, never, never})
	if !near(got[1], 540, 1e-9) || got[2] != never || got[3] != never || !(got[0] > 60 && got[0] < 540) {
		t.Errorf("reached up to .5 only: %v", got)
	}
	if got := readAt([]float64{.01, .99}, []float64{never, never, never, never, never, never}); got[0] != never ||
		got[1] != never {
		t.Errorf("never: %v", got)
	}
	got = readAt([]float64{.05, .2}, []float64{60, never, never, never, never, never})
	if got[0] != 60 || got[1] != never {
		t.Errorf("one level: %v", got)
	}
}

// TestCouplingByHand compares a coupling with values worked out by hand. In the simulation the option starts sooner in
// two of four futures, and at the same time in the two others. Both sooner starts are materially sooner, so the
// probability is 2.5/5 by Jeffreys's estimate. The differences come from the served quantiles at the levels .125, .375,
// .625 and .875.
func TestCouplingByHand(t *testing.T) {
	// Plus 60 s, the waits of the request are 60, 120, 600, 600, 600 and 600. From the level .5 on, those of the option
	// are half of that.
	request, option := []float64{0, 60, 540, 540, 540, 540}, []float64{0, 0, 240, 240, 240, 240}
	simulated := sameFutures([]float64{1, 2, 3, 4}, []float64{1, 1, 2, 4})
	c := simulated.served(request, option)
	at := func(low, high float64) float64 { return between(.375, .25, .5, low, high) }
	wantRequest := []float64{between(.125, .1, .25, 60, 120), at(120, 600), 540, 540}
	wantOption := []float64{0, at(60, 300), 240, 240}
	for i := range 4 {
		if !near(c.request[i], wantRequest[i], 1e-9) || !near(c.option[i], wantOption[i], 1e-9) {
			t.Errorf("future %d: %v and %v, want %v and %v", i, c.request[i], c.option[i], wantRequest[i],
				wantOption[i])
		}
	}
	if want := []bool{false, true, true, false}; !slices.Equal(c.sooner, want) {
		t.Errorf("sooner in the simulation: %v, want %v", c.sooner, want)
	}
	// The differences are 9.7, 140.3, 300 and 300 s. The last one does not count, because the option does not start
	// sooner there in the simulation.
	if got := c.probability(); !near(got, 2.5/5, 1e-12) {
		t.Errorf("probability %v, want .5", got)
	}
	if got, want := c.gain(), (at(120, 600)-at(60, 300)+300)/2; !near(got, want, 1e-9) {
		t.Errorf("gain %v, want %v", got, want)
	}
}

// TestMaterially proves the definition of materially shorter: by at least a minute and a fifth, or finite instead of
// infinite.
func TestMaterially(t *testing.T) {
	never := math.Inf(1)
	for _, c := range []struct {
		than, shorter float64
		want          bool
	}{
		{60, 0, true}, {59, 0, false}, {300, 240, true}, {301, 241, false}, {1000, 800, true}, {1000, 801, false},
		{never, 1e9, true}, {never, never, false}, {100, never, false}, {0, 0, false},
	} {
		if got := materially(c.shorter, c.than); got != c.want {
			t.Errorf("%v instead of %v: %v, want %v", c.shorter, c.than, got, c.want)
		}
	}
}

// world returns random waits of a request and an option in the same futures, with many equal waits, and random served
// quantiles of both.
func world(rng *rand.Rand) (request, option, servedRequest, servedOption []float64) {
	n := 1 + rng.IntN(40)
	for range n {
		request = append(request, float64(rng.IntN(6))*rng.ExpFloat64()*1000)
		option = append(option, math.Max(0, request[len(request)-1]-float64(rng.IntN(3))*rng.ExpFloat64()*1000))
	}
	served := func() []float64 {
		q := make([]float64, len(waittime.Levels()))
		for i := range q {
			q[i] = float64(rng.IntN(4)) * rng.ExpFloat64() * 5000
		}
		slices.Sort(q)
		if rng.IntN(10) == 0 {
			for i := rng.IntN(len(q)); i < len(q); i++ {
				q[i] = math.Inf(1)
			}
		}
		return q
	}
	return request, option, served(), served()
}

// paired returns the pairs of served waits of a request and an option with the given waits in the same futures.
func paired(request, option, servedRequest, servedOption []float64) waitPairs {
	c := sameFutures(request, option)
	return c.served(servedRequest, servedOption)
}

// TestCouplingLaws proves five properties of a coupling. A probability is between 0 and 1. In a pair at most one of the
// two requests starts sooner. Only the order of the simulated waits counts. If the two requests are exchanged, the
// differences change their signs. Each wait keeps its served distribution.
func TestCouplingLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b, qa, qb := world(rng)
		c, back := paired(a, b, qa, qb), paired(b, a, qb, qa)
		p, r := c.probability(), back.probability()
		n := float64(len(a))
		if !(p > 0 && p < 1) || p+r > (n+1.001)/(n+1) {
			t.Fatalf("sooner with %v, later with %v", p, r)
		}
		if !slices.Equal(c.request, back.option) || !slices.Equal(c.option, back.request) {
			t.Fatalf("exchanged: %v and %v, %v and %v", c.request, c.option, back.option, back.request)
		}
		if x, y := c.gain(), back.gain(); x != -y && !(math.IsNaN(x) && math.IsNaN(y)) {
			t.Fatalf("gain %v, exchanged %v", x, y)
		}
		other := func(w []float64) (out []float64) {
			for _, x := range w {
				out = append(out, math.Expm1(x/1e4)+x)
			}
			return out
		}
		if m := paired(other(a), other(b), qa, qb); !slices.Equal(m.request, c.request) ||
			!slices.Equal(m.option, c.option) || m.probability() != p {
			t.Fatalf("another scale of the same order: %v and %v", m, c)
		}
		middles := make([]float64, len(a))
		for i := range middles {
			middles[i] = (float64(i) + .5) / n
		}
		if got := slices.Sorted(slices.Values(c.option)); !slices.Equal(got, readAt(middles, qb)) {
			t.Fatalf("the option's waits %v are not its served ones %v", got, readAt(middles, qb))
		}
		apart := independent(a, b)
		free := apart.served(qa, qb)
		if p := free.probability(); !(p > 0 && p <= apart.probability()) || len(free.request) != len(a)*len(b) {
			t.Fatalf("independent: %v of %v", p, apart.probability())
		}
	}
}

// TestGainIsTheDifferenceOfMedians proves that the gain is the difference of the medians, up to the distance of two
// levels, if both waits are in the same order and the difference rises with the wait. If the option starts at once, the
// gain is the median of the request.
func TestGainIsTheDifferenceOfMedians(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		n := 12 + rng.IntN(40)
		simulated := make([]float64, n)
		for i := range simulated {
			simulated[i] = rng.ExpFloat64() * 1e4
		}
		request := make([]float64, len(waittime.Levels()))
		for i := range request {
			request[i] = rng.ExpFloat64() * 2e4
		}
		slices.Sort(request)
		share := rng.Float64() * .8
		option, sooner := make([]float64, len(request)), slices.Clone(simulated)
		for i, q := range request {
			option[i] = math.Max(0, (q+60)*share-60)
		}
		for i := range sooner {
			sooner[i] *= share
		}
		c := paired(simulated, sooner, request, option)
		slack := readAt([]float64{.5 - .5/float64(n), .5 + .5/float64(n)}, request)
		if got, want := c.gain(), request[2]-option[2]; !near(got, want, slack[1]-slack[0]+1e-6) {
			t.Fatalf("%d futures: gain %v, the medians differ by %v; slack %v", n, got, want, slack)
		}
	}
}

// TestProposedAgrees proves in many random cases that a proposed option agrees with the two forecasts: its median is
// shorter by at least a minute and a fifth, and its gain is between half and twice the difference of the medians.
func TestProposedAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	n := 0
	for range 20000 {
		a, b, than, q := world(rng)
		if rng.IntN(2) == 0 { // forecasts that agree with the simulation
			for i := range q {
				q[i] = than[i] * rng.Float64() * .8
			}
			slices.Sort(q)
			for i := range b {
				b[i] = a[i]*rng.Float64() - 1
			}
		}
		c := paired(a, b, than, q)
		o := Option{Quantiles: q, Probability: c.probability(), Gain: c.gain()}
		if !proposed(&o, than) {
			continue
		}
		n++
		before, after := than[waittime.Median], q[waittime.Median]
		switch {
		case math.IsInf(before, 1):
			if !math.IsInf(o.Gain, 1) || math.IsInf(after, 1) {
				t.Fatalf("gain %v, medians %v and %v", o.Gain, before, after)
			}
		case before-after < 60 || before-after < .2*before || o.Gain < (before-after)/2 || o.Gain > 2*(before-after) ||
			o.Probability < .9:
			t.Fatalf("gain %v with %v, medians %v and %v", o.Gain, o.Probability, before, after)
		}
	}
	if n < 100 {
		t.Errorf("%d proposals: the test shows nothing", n)
	}
}

// TestIndependent proves that for different pools every wait of the request is combined with every wait of the option,
// with values worked out by hand: in 4 of 2 x 4 pairs the option starts sooner in the simulation.
func TestIndependent(t *testing.T) {
	request, option := []float64{20, 10}, []float64{1, 30, 15, 16}
	c := independent(request, option)
	if got := c.probability(); !near(got, 4.5/9, 1e-12) { // 20 > 1, 15, 16 and 10 > 1
		t.Errorf("sooner at all with %v, want 4 of 8", got)
	}
	// The levels of the request are .25 and .75, and those of the option .125, .375, .625 and .875.
	pairs := c.served([]float64{0, 1000, 1000, 1000, 1000, 1000}, []float64{0, 0, 0, 900, 900, 900})
	middle := between(.625, .5, .75, 60, 960)
	want := []float64{0, 900, 0, middle, 0, 900, 0, middle}
	if !slices.EqualFunc(pairs.option, want, func(a, b float64) bool { return near(a, b, 1e-9) }) {
		t.Errorf("the option's waits are %v, want %v", pairs.option, want)
	}
	// In the four pairs with a sooner start the wait is materially shorter: three times 0 s, and once about 180 s,
	// instead of 1000 s.
	if got := pairs.probability(); !near(got, 4.5/9, 1e-12) {
		t.Errorf("materially sooner with %v, want 4 of 8", got)
	}
	// Four of the eight differences are 1000 s. The gain is the mean of the two middle differences, 1000 s and 1000 s
	// minus the wait middle.
	if got := pairs.gain(); !near(got, 1000-middle/2, 1e-9) {
		t.Errorf("gain %v", got)
	}
}

func TestJeffreys(t *testing.T) {
	for _, c := range []struct {
		successes, n int
		want         float64
	}{{0, 0, .5}, {24, 24, .98}, {22, 24, .9}, {0, 24, .02}, {8, 8, 8.5 / 9}} {
		if got := jeffreys(c.successes, c.n); !near(got, c.want, 1e-12) {
			t.Errorf("%d of %d: %v, want %v", c.successes, c.n, got, c.want)
		}
	}
}
