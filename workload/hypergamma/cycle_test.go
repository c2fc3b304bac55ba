package hypergamma_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/workload/hypergamma"
)

// TestCycleComesBack draws a million arrivals by the program's daily law (7.99 and 3.69) and by two others, and fits
// them. The fitted law is within 2 % of the true one, where the plain fit of Table 7 is 12 % off (9.0 and 3.25).
func TestCycleComesBack(t *testing.T) {
	for _, want := range []hypergamma.Gamma{
		{Shape: 7.99, Scale: 3.69}, {Shape: 12.3, Scale: 2.49}, {Shape: 5, Scale: 5.6},
	} {
		p := hypergamma.ProgramAll(128).Arrival
		p.Daily, p.Shift, p.FirstSlot = want, 10, 1
		p.Peak = hypergamma.Gamma{Shape: 60, Scale: .1} // gaps of about 7 min: half hours are nearly independent
		arrivals, rng := hypergamma.NewArrivals(p), rand.New(rand.NewPCG(1, 1))
		local := make([]float64, 1_000_000)
		for i := range local {
			local[i] = arrivals.Next(rng)
		}
		f := must[hypergamma.ArrivalFit](t)(hypergamma.FitArrivals(local, hypergamma.ArrivalOptions{}))
		t.Logf("drawn by %+v: cycle %+v, plain %+v", want, f.Cycle, f.Daily)
		within(t, "shape", f.Cycle.Shape, want.Shape, .02*want.Shape)
		within(t, "scale", f.Cycle.Scale, want.Scale, .02*want.Scale)
		if f.Params().Daily != f.Cycle {
			t.Error("the model does not draw by the fitted cycle")
		}
		if want.Shape == 7.99 && math.Abs(f.Daily.Shape/want.Shape-1) < .1 {
			t.Errorf("the plain fit is %+v: nothing was to be mended", f.Daily)
		}
	}
}

// TestCycleOfAnyDay fits days that follow no Gamma law: flat days, and days with nearly all jobs in one half hour, or
// only in the first or last half hours. It proves that jobs can be drawn from the fitted law, and that the counts are
// at least as likely by it as by the plain fit.
func TestCycleOfAnyDay(t *testing.T) {
	of := func(in bool) float64 {
		if in {
			return 1
		}
		return .02 // one job, because without any the gaps at peak hours could not be fitted
	}
	for name, share := range map[string]func(k int) float64{
		"flat":           func(int) float64 { return 1 },
		"one half hour":  func(k int) float64 { return of(k == 20) },
		"first of a day": func(k int) float64 { return of(k >= 10 && k < 13) },
		"last of a day":  func(k int) float64 { return of(k >= 7 && k < 10) },
		"two humps":      func(k int) float64 { return .51 + .49*math.Cos(4*math.Pi*float64(k)/hypergamma.Slots) },
	} {
		var local []float64
		for day := range 60 {
			for k := range hypergamma.Slots {
				n := int(50 * share(k))
				for i := range n {
					local = append(local, float64(day)*86400+(float64(k)+math.Pow(float64(i)/float64(n), 1.5))*
						hypergamma.SlotSeconds+float64(k*k%97))
				}
			}
		}
		f, err := hypergamma.FitArrivals(local, hypergamma.ArrivalOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := hypergamma.ProgramAll(64)
		p.Arrival = f.Params()
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %+v: %v", name, f.Cycle, err)
		}
		likelihood := func(g hypergamma.Gamma) (sum float64) {
			a := f.Params()
			a.Daily = g
			for k, w := range a.Weights() {
				sum += f.HalfHours[k] * math.Log(w)
			}
			return sum
		}
		t.Logf("%s: plain %+v, cycle %+v", name, f.Daily, f.Cycle)
		if got, plain := likelihood(f.Cycle), likelihood(f.Daily); !(got >= plain) {
			t.Errorf("%s: log-likelihood %v of a job, by the plain fit %v", name, got, plain)
		}
	}
}

// TestCycleFitsTheLogsBetter proves that the law Cycle is at least as near as the law Daily to the half hours of the
// log to which both were fitted.
func TestCycleFitsTheLogsBetter(t *testing.T) {
	f := must[hypergamma.ArrivalFit](t)(hypergamma.FitArrivals(readTrace(t, kth).jobs().Local,
		hypergamma.ArrivalOptions{}))
	distance := func(g hypergamma.Gamma) float64 {
		p := f.Params()
		p.Daily = g
		var model, data [hypergamma.Slots]float64
		for k, w := range p.Weights() {
			model[k], data[k] = w/hypergamma.Slots*float64(f.DailyN), f.HalfHours[k]*float64(f.DailyN)
		}
		return hypergamma.CycleDistance(model, data)
	}
	t.Logf("KTH: plain %+v %.0f, cycle %+v %.0f", f.Daily, distance(f.Daily), f.Cycle, distance(f.Cycle))
	if distance(f.Cycle) > distance(f.Daily) {
		t.Errorf("distance %v of the fitted cycle, %v of the plain law", distance(f.Cycle), distance(f.Daily))
	}
}
