package ensemble

import (
	"math"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
)

func tenths() *Prior {
	var p Prior
	for c := range p {
		for i := range 10 {
			p[c] = append(p[c], float64(i)+10*float64(c))
		}
	}
	return &p
}

// TestEarlyForecastWithoutWaits proves that before any wait is known the errors are the prior's: its quantile at .5 is
// the fifth of ten, and at .95 the last.
func TestEarlyForecastWithoutWaits(t *testing.T) {
	var e EarlyErrors
	got := e.Forecast(0, tenths(), []float64{.1, .5, .95})
	for c, want := range [][]float64{{0, 4, 9}, {10, 14, 19}} {
		if got[c].Known != 0 || !slices.Equal(got[c].Errors, want) {
			t.Errorf("class %d: %d waits and errors %v, want 0 and %v", c, got[c].Known, got[c].Errors, want)
		}
	}
	early := got
	combined := []float64{waittime.Log(0), waittime.Log(0), waittime.Log(0)}
	Mix(&early, waittime.Log(1000), []float64{.1, .5, .95}, combined)
	if want := waittime.Log(1000) + 14; math.Abs(combined[1]-want) > 1e-9 {
		t.Errorf("the median of a request that waits is %v, want the early forecast's %v", combined[1], want)
	}
}

// TestEarlyForecastLearns proves that with as many waits of a class as the prior counts for, half of the errors are
// those of the waits. The weight of the experts grows with the waits, and at EarlyWaits there is no early forecast any
// more. The other class has not learnt.
func TestEarlyForecastLearns(t *testing.T) {
	var e EarlyErrors
	for i := range uint64(priorJobs) {
		e.Add(i, 0, waittime.Log(0))
		e.Started(i, waittime.Log(0)-1) // below all of the prior's
	}
	got := e.Forecast(0, tenths(), []float64{.49, .51})
	if want := []float64{-1, 0}; !slices.Equal(got[StartsAtOnce].Errors, want) {
		t.Errorf("errors %v, want %v", got[StartsAtOnce].Errors, want)
	}
	for level, want := range map[float64]float64{.25: priorJobs / 200., .5: priorJobs / 100., .95: priorJobs / 400.} {
		if now, later := got[StartsAtOnce].trust(level), got[StartsLater].trust(level); now != want || later != 0 {
			t.Errorf("at level %v the experts have the parts %v and %v, want %v and 0", level, now, later, want)
		}
	}
	for i := uint64(1000); !e.over(StartsAtOnce); i++ {
		e.Add(i, 0, waittime.Log(0))
		e.Started(i, waittime.Log(0))
	}
	got = e.Forecast(0, tenths(), []float64{.5})
	f := got[StartsAtOnce]
	if n := len(e.Known[StartsAtOnce]); n != EarlyWaits || f.Errors != nil || f.trust(.95) != 1 {
		t.Errorf("after %d waits the early forecast is %+v", n, f)
	}
	e.Add(5000, 0, waittime.Log(0))
	if e.Gone(5000); len(e.Waiting) != 0 {
		t.Errorf("%d jobs are still followed", len(e.Waiting))
	}
}

// TestEarlyForecastOfAGrowingQueue proves that jobs that have already waited longer than any other raise the quantiles
// before they start.
func TestEarlyForecastOfAGrowingQueue(t *testing.T) {
	var e EarlyErrors
	prior := tenths()
	prior[StartsLater] = []float64{0, 1, 2, 9}
	before := e.Forecast(1e6, prior, []float64{.5})
	for i := range uint64(30) {
		e.Add(i, 0, waittime.Log(100)) // at 1e6 s the errors of the waiting jobs are at least ln(1e6/160) = 8.7
	}
	after := e.Forecast(1e6, prior, []float64{.5})
	if b, a := before[StartsLater].Errors[0], after[StartsLater].Errors[0]; b != 1 || a != 9 {
		t.Errorf("the median error was %v and is %v, want 1 and 9", b, a)
	}
}

// TestMeasuredPrior proves that the table exists, rises, and leaves out the given log.
func TestMeasuredPrior(t *testing.T) {
	all, err := MeasuredPrior("")
	if err != nil {
		t.Fatal(err)
	}
	without, err := MeasuredPrior("KTH-SP2-1996-2.1-cln")
	if err != nil {
		t.Fatal(err)
	}
	for c := range all {
		if !slices.IsSorted(all[c]) || !slices.IsSorted(without[c]) || slices.Equal(all[c], without[c]) {
			t.Errorf("class %d: %v and without KTH %v", c, all[c], without[c])
		}
	}
}
