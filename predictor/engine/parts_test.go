package engine

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// TestPartsByHand computes the parts of a served wait in an example. In the half of the futures with the short waits
// nothing is blocked. In the other half three quarters of the wait are blocked. Only levels at which the blocked part
// is known exactly are compared.
func TestPartsByHand(t *testing.T) {
	levels := waittime.Levels() // .10, .25, .50, .75, .90, .95
	served := []float64{100, 200, 400, 800, 1600, 3200}
	d, err := waittime.NewDistribution(levels, served)
	if err != nil {
		t.Fatal(err)
	}
	shares := make([]float64, 200)
	for i := range shares {
		if i >= 100 {
			shares[i] = .75
		}
	}
	g := &pendingForecast{Forecast: Forecast{Quantiles: served}}
	g.split(levels, shares)
	// Half of the waits have no blocked part, so the quantiles of the blocked part are 0 below the median. Above it,
	// 3/4 of each wait are blocked, so each quantile is 3/4 of the wait's quantile at the same level.
	for l, want := range []float64{0, 0, math.NaN(), 600, 1200, 2400} {
		if got := g.Blocked[l]; !math.IsNaN(want) && math.Abs(got-want) > .02*want {
			t.Errorf("blocked at level %v: %v, want %v", levels[l], got, want)
		}
	}
	// Waits up to 400, the lower half, are eligible as a whole. Of a longer wait a quarter is eligible, which is more
	// than 100. So the share of eligible parts up to x is P(W <= min(x, 400)) + P(400 < W <= 4x).
	share := func(x float64) float64 {
		return math.Min(.5, d.CDF(x)) + math.Max(0, d.CDF(4*x)-.5)
	}
	for l, level := range levels {
		if got := share(g.Eligible[l]); math.Abs(got-level) > .01 {
			t.Errorf("eligible at level %v: %v, which a share of %v does not exceed", level, g.Eligible[l], got)
		}
	}
	if g.Cause() != job.LimitReached {
		t.Errorf("the cause is %v, want the limit, which keeps half of them for most of the wait", g.Cause())
	}
}

// TestPartsLaws proves for any shares that the parts rise with the level, that neither exceeds the wait, and that if
// all futures have the same blocked share, each quantile is split by exactly that share, to the last bit.
func TestPartsLaws(t *testing.T) {
	levels := waittime.Levels()
	rapid.Check(t, func(t *rapid.T) {
		served, at := make([]float64, len(levels)), 0.
		for i := range served {
			at += rapid.Float64Range(0, 1e5).Draw(t, "longer")
			served[i] = at
		}
		if rapid.Bool().Draw(t, "may wait for ever") {
			served[len(served)-1] = math.Inf(1)
		}
		shares := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 24).Draw(t, "shares")
		one := rapid.SampledFrom([]float64{0, .5, 1, -1}).Draw(t, "share of all")
		if one >= 0 {
			shares = slices.Repeat([]float64{one}, len(shares))
		}
		g := &pendingForecast{Forecast: Forecast{Quantiles: served}}
		g.split(levels, shares)
		for l, q := range served {
			for name, part := range map[string][]float64{"blocked": g.Blocked, "eligible": g.Eligible} {
				if !(part[l] >= 0) || part[l] > q || l > 0 && part[l] < part[l-1] {
					t.Fatalf("%s %v of %v with shares %v", name, part, served, shares)
				}
			}
			if b, e := parts(q, one); one >= 0 && (g.Blocked[l] != b || g.Eligible[l] != e) {
				t.Fatalf("blocked %v and eligible %v of %v, of which %v is blocked", g.Blocked, g.Eligible, served, one)
			}
		}
	})
}

// TestCauseOfDependents proves that the cause of a request that waits for other jobs is OnHold until they have ended,
// even if a limit keeps it, too.
func TestCauseOfDependents(t *testing.T) {
	e := limited(t)
	first := of("ann", "q", 4)
	first.Name = "1"
	e.Update(5, 1, first)
	own := of("ann", "q", 1) // a limit also keeps it
	own.After = "1"
	if f := e.View(10).Forecast(&own); f.Cause() != job.OnHold || f.Blocked == nil {
		t.Errorf("after a job that runs: %v, blocked for %v", f.Cause(), f.Blocked)
	}
	own.After = "99"
	if f := e.View(10).Forecast(&own); f.Cause() != job.LimitReached {
		t.Errorf("after a job that has ended: %v, want the limit", f.Cause())
	}
}

// TestNotBefore proves that each served quantile is at least the quantile of the simulated time for which limits or
// other jobs keep the request. The quantiles for learning do not change.
func TestNotBefore(t *testing.T) {
	for _, c := range []struct {
		name                  string
		said, blocked, served []float64
	}{
		{"nothing holds for it", []float64{1, 2, 3}, nil, []float64{1, 2, 3}},
		{"of some levels it is longer", []float64{1, 20, 300}, []float64{5, 20, 200}, []float64{5, 20, 300}},
		{"it never ends", []float64{1, 2, 3}, []float64{0, 4, math.Inf(1)}, []float64{1, 4, waittime.Longest}},
		{"no forecast", nil, []float64{5, 5, 5}, nil},
	} {
		g := &pendingForecast{Forecast: Forecast{Quantiles: slices.Clone(c.said)}}
		g.notBefore(c.blocked)
		if !slices.Equal(g.Quantiles, c.served) || !slices.Equal(g.learnt, c.said) {
			t.Errorf("%s: served %v and learnt %v, want %v and %v", c.name, g.Quantiles, g.learnt, c.served, c.said)
		}
	}
}

// TestDependentsWait proves that a forecast is not shorter than the simulated time of the jobs before it, even if all
// waits so far were 0 and most experts know nothing else.
func TestDependentsWait(t *testing.T) {
	e := limited(t)
	first := of("ann", "q", 4)
	first.Name = "1"
	e.Update(5, 1, first)
	plain := of("bob", "q", 1)
	after := plain
	after.After = "1"
	v := e.View(10)
	f, free := v.Forecast(&after), v.Forecast(&plain)
	simulated := f.Experts[ensemble.Simulation]
	for l, level := range waittime.Levels() {
		if f.Quantiles[l] < simulated[l] || f.Quantiles[l] <= free.Quantiles[l] && level >= .5 {
			t.Errorf("level %v: %v, want at least %v, and more than without a job before it: %v", level,
				f.Quantiles[l], simulated[l], free.Quantiles[l])
		}
	}
}

// TestCauseOrder proves which of several obstacles of a request is its cause, in the order in which schedulers examine
// them.
func TestCauseOrder(t *testing.T) {
	for _, c := range []struct {
		f    Forecast
		want job.Cause
	}{
		{Forecast{}, job.Resources}, {Forecast{JobsAhead: 3}, job.Priority},
		{Forecast{Kept: &Kept{}, JobsAhead: 3}, job.LimitReached}, {Forecast{mostlyBlocked: true}, job.LimitReached},
		{Forecast{mostlyBlocked: true, JobsAhead: 3}, job.Priority},
		{Forecast{keptSoon: true, JobsAhead: 3}, job.LimitReached},
		{Forecast{begins: true, Kept: &Kept{}, JobsAhead: 3}, job.OnHold},
		{Forecast{waitsForOthers: true, Kept: &Kept{}, JobsAhead: 3}, job.OnHold},
	} {
		if got := c.f.Cause(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.f, got, c.want)
		}
	}
}
