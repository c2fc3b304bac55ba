package advice_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/advice"
)

// TestResizeByHand checks a job that has 100 s to go on 10 processors, and would have 50 s on 20. It takes 5 s to
// change. After a wait of 20 s a fifth is done, so it finishes at 20 + 5 + .8 x 50, and has used 20 x 10 + 45 x 20
// processor-seconds. A wait longer than the job itself changes nothing.
func TestResizeByHand(t *testing.T) {
	job := advice.Running{Procs: 10, Left: advice.Fixed(100)}
	for _, c := range []struct{ wait, finish, procSeconds float64 }{
		{0, 55, 1100}, {20, 65, 1100}, {80, 95, 1100}, {100, 100, 1000}, {150, 100, 1000}, {math.Inf(1), 100, 1000},
	} {
		r := must[*advice.Result](t)(advice.Resize(job, []advice.Size{
			{Procs: 20, Wait: advice.Wait{Futures: []float64{c.wait}}, Left: advice.Fixed(50), Overhead: 5},
			{Procs: 5, Left: advice.Fixed(180), Overhead: 5},
		}, advice.Objective{Deadline: 96}))
		near(t, "keep", r.Answers[0].MeanFinish, 100, 1e-9)
		near(t, "expand", r.Answers[1].MeanFinish, c.finish, 1e-9)
		near(t, "expanding uses", r.Answers[1].ProcHours*3600, c.procSeconds, 1e-9)
		near(t, "shrink", r.Answers[2].MeanFinish, 185, 1e-9)
		near(t, "shrinking uses", r.Answers[2].ProcHours*3600, 925, 1e-9)
		near(t, "gain", r.Answers[1].Gain.MeanFinish, 100-c.finish, 1e-9)
		inTime := 0.
		if c.finish <= 96 {
			inTime = 1
		}
		near(t, "in time", r.Answers[1].InTime, inTime, 1e-9)
		want := advice.Expand
		if c.finish == 100 {
			want = advice.Keep
		}
		if got := advice.ActionOf(job.Procs, r.Best().Procs); got != want {
			t.Errorf("wait %v: %v, want %v", c.wait, got, want)
		}
	}
}

// TestShrinkByPrice proves that the price of processors decides whether to shrink. To keep the size takes 1000
// processor-seconds and 100 s, to shrink takes 925 and 185.
func TestShrinkByPrice(t *testing.T) {
	job := advice.Running{Procs: 10, Left: advice.Fixed(100)}
	sizes := []advice.Size{{Procs: 5, Left: advice.Fixed(180), Overhead: 5}}
	// Shrinking saves 75 processor-seconds and costs 85 s, so it pays at prices above 85/75 = 1.13.
	for price, want := range map[float64]advice.Action{
		.1: advice.Keep, 1.1: advice.Keep, 1.2: advice.Shrink, 10: advice.Shrink,
	} {
		r := must[*advice.Result](t)(advice.Resize(job, sizes,
			advice.Objective{Kind: advice.Cost, ProcHour: price, Hour: 1}))
		if got := advice.ActionOf(10, r.Best().Procs); got != want {
			t.Errorf("price %v: %v, want %v", price, got, want)
		}
	}
	if a := []string{advice.Keep.String(), advice.Expand.String(), advice.Shrink.String()}; a[0] != "keep" ||
		a[1] != "expand" || a[2] != "shrink" {
		t.Errorf("names %v", a)
	}
}

// TestResizeLaws proves that without overhead a faster size never makes the finish later, for any wait. No finish is
// sooner than with the new size from the start. The longer the wait, the later the finish.
func TestResizeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := rapid.Float64Range(1, 1e5).Draw(t, "left")
		spread := rapid.SampledFrom([]float64{0, .5}).Draw(t, "spread")
		faster := left * rapid.Float64Range(.01, 1).Draw(t, "faster")
		waits := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 2e5), rapid.Just(math.Inf(1))), 1, 5).Draw(t, "waits")
		longer := make([]float64, len(waits))
		for i, w := range waits {
			longer[i] = w * 1.5
		}
		law := func(median float64) advice.Law { return advice.LogNormal{Median: median, Spread: spread} }
		r := must[*advice.Result](t)(advice.Resize(advice.Running{Procs: 4, Left: law(left)}, []advice.Size{
			{Procs: 8, Wait: advice.Wait{Futures: waits}, Left: law(faster)},
			{Procs: 9, Wait: advice.Wait{Futures: longer}, Left: law(faster)},
		}, advice.Objective{}))
		keep, sooner, later := r.Answers[0].MeanFinish, r.Answers[1].MeanFinish, r.Answers[2].MeanFinish
		scale := faster / left
		if !(sooner <= later*(1+1e-9) && later <= keep*(1+1e-9) && sooner >= keep*scale*(1-1e-9)) {
			t.Errorf("finish %v keeping, %v and %v expanding, at the least %v", keep, sooner, later, keep*scale)
		}
		if g := r.Answers[1].Gain; g.Worse > 0 && scale < 1 {
			t.Errorf("expanding for nothing is worse with probability %v", g.Worse)
		}
	})
}

// TestBadResize proves that bad input is refused with the size's place. The job itself has place 0.
func TestBadResize(t *testing.T) {
	good := advice.Running{Procs: 10, Left: advice.Fixed(100)}
	for _, c := range []struct {
		job   advice.Running
		size  advice.Size
		place int
		field string
	}{
		{good, advice.Size{Procs: 5, Left: advice.Fixed(1), Wait: advice.Wait{Law: advice.Fixed(3)}}, 1, "wait"},
		{good, advice.Size{Procs: 20, Left: advice.Fixed(1), Overhead: math.NaN()}, 1, "overhead"},
		{good, advice.Size{Procs: 20, Left: advice.Fixed(1), Overhead: -1}, 1, "overhead"},
		{good, advice.Size{Procs: 20, Left: advice.Fixed(0)}, 1, "runtime"},
		{good, advice.Size{Procs: 20}, 1, "runtime"},
		{good, advice.Size{Procs: 0, Left: advice.Fixed(1)}, 1, "size"},
		{good, advice.Size{Procs: 10, Left: advice.Fixed(1)}, 1, "name"},
		{advice.Running{Procs: 10}, advice.Size{Procs: 20, Left: advice.Fixed(1)}, 0, "runtime"},
		{advice.Running{Procs: 10, Left: advice.Fixed(math.NaN())}, advice.Size{Procs: 20, Left: advice.Fixed(1)},
			0, "runtime"},
	} {
		_, err := advice.Resize(c.job, []advice.Size{c.size}, advice.Objective{})
		var bad *advice.CandidateError
		if !errors.As(err, &bad) || bad.Place != c.place || bad.Field != c.field {
			t.Errorf("%+v: %v, want a *CandidateError at %d of %s", c.size, err, c.place, c.field)
		}
	}
	var large *advice.TooLargeError
	if _, err := advice.Resize(good, []advice.Size{{Procs: 20, MaxProcs: 16, Left: advice.Fixed(1)}},
		advice.Objective{}); !errors.As(err, &large) {
		t.Errorf("a size over the machine: %v, want a *TooLargeError", err)
	}
}

// TestPartsOfTheFinish checks the two parts of the mean finish by hand. The job has 1000 s left. With twice the
// processors all of that work would take 500 s; the change takes 10 s. In the first future the processors come after
// 200 s. Four fifths of the work are left then, which take 400 s, so the second part is 410 s. In the other future the
// processors come too late: the job has ended after 1000 s.
func TestPartsOfTheFinish(t *testing.T) {
	r := must[*advice.Result](t)(advice.Resize(advice.Running{Procs: 4, Left: advice.Fixed(1000)}, []advice.Size{
		{Procs: 8, Left: advice.Fixed(500), Overhead: 10, Wait: advice.Wait{Futures: []float64{200, 2000}}},
		{Procs: 2, Left: advice.Fixed(1900), Overhead: 10},
	}, advice.Objective{}))
	for i, want := range [][2]float64{{0, 1000}, {600, 205}, {0, 1910}} {
		a := r.Answers[i]
		near(t, a.Name+", before", a.MeanBefore, want[0], 1e-9)
		near(t, a.Name+", after", a.MeanAfter, want[1], 1e-9)
		near(t, a.Name+", finish", a.MeanFinish, want[0]+want[1], 1e-9)
	}
}
