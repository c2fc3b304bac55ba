package accuracy

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

func sec(s int) time.Time { return time.Unix(1_700_000_000+int64(s), 0).UTC() }

// TestSummaryByHand checks the counts of each kind of submission as of second 100 against values worked out by hand.
// The forecast median of every submission is 50 s.
func TestSummaryByHand(t *testing.T) {
	a := NewSummary(Bounds{Since: sec(0), AsOf: sec(100), Seq: 7})
	row := func(submit, left int, started bool, seq int64) {
		r := modelstore.Row{Seq: seq, Submit: sec(submit), Outcome: modelstore.Cancelled, Levels: waittime.Levels(),
			WaitSeconds: float64(left - submit), Quantiles: []float64{1, 2, 50, 60, 70, waittime.Never},
			Peers: []modelstore.Peer{{Method: "limits", Quantiles: []float64{0, 0, 0, 0, 0, math.NaN()}}}}
		if started {
			r.Outcome, r.Start = modelstore.Started, sec(left)
		}
		a.Add(&r)
	}
	wait := func(submit int, replayed bool) {
		a.AddWaiting(&Waiting{Submit: sec(submit), Quantiles: []float64{1, 2, 50, 60, 70, 80}, Replayed: replayed})
	}
	row(0, 10, true, 1)    // starts before the median
	row(0, 50, true, 1)    // starts at the median
	row(0, 51, true, 1)    // starts later
	row(0, 20, false, 1)   // cancelled before the median
	row(0, 70, false, 1)   // cancelled after the median
	row(51, 60, true, 1)   // started early; its 50 s end at 101
	row(51, 60, false, 1)  // cancelled early; its 50 s end at 101
	row(0, 60, true, 8)    // written after entry 7, the bound
	row(-1, 30, true, 1)   // submitted too early: it has a loss but no coverage
	row(101, 101, true, 1) // submitted later: it has a loss but no coverage
	wait(50, false)        // the median passes at this very instant
	wait(51, false)        // the median is still to come
	wait(10, true)         // a replayed forecast
	groups := a.Groups()
	if len(groups) != 4 || groups[0].Replayed || groups[0].Size != "" || !groups[2].Replayed {
		t.Fatalf("%d groups, want all and one size, live and replayed: there are no queues", len(groups))
	}
	live := groups[0]
	m := live.Served[waittime.Median]
	got := [...]int64{m.Counts().Below, m.Counts().Tied, m.Counts().Missed, m.Counts().Censored, m.Waiting, m.Left,
		m.Undecided, m.Early, live.Waits, live.N, live.Left}
	if d := cmp.Diff([...]int64{1, 1, 3, 1, 1, 1, 1, 2, 2, 6, 3}, got); d != "" {
		t.Errorf("below, tied, missed, censored; waiting, left, undecided, early; waits, starts, cancelled "+
			"(-want +got): %s", d)
	}
	if top := live.Served[5]; top.Counts().Decided() != 0 || top.Early != 7 {
		t.Errorf("a quantile that is never reached counts after a year: %+v", top)
	}
	limits := live.Submissions.Peers[0]
	if limits.Method != "limits" || limits.Coverage[2].Counts().Missed != 7 || limits.Coverage[5].Early != 0 {
		t.Errorf("another method: %+v", limits)
	}
	if replayed := groups[2]; replayed.Waits != 1 || replayed.Served[waittime.Median].Waiting != 1 || replayed.N != 0 {
		t.Errorf("replayed: %+v", replayed)
	}
}

// TestSummaryIsDeterministic proves that the same rows always give the same figures, to the last digit, and the same
// order of the other methods.
func TestSummaryIsDeterministic(t *testing.T) {
	var first []*Group
	for range 20 {
		a := NewSummary(Bounds{AsOf: sec(10_000)})
		for i := range 200 {
			r := modelstore.Row{Queue: string(rune('a' + i%7)), Procs: 1 << (i % 11), Submit: sec(i),
				Start: sec(i + i*i%777), Outcome: modelstore.Started, WaitSeconds: float64(i * i % 777),
				Levels:    waittime.Levels(),
				Quantiles: []float64{1, 3, 7, 31, 127, float64(i)}}
			r.Peers = []modelstore.Peer{{Method: []string{"x", "y", "z"}[i%3], Quantiles: r.Quantiles}}
			a.Add(&r)
		}
		groups := a.Groups()
		if first == nil {
			first = groups
		}
		if d := cmp.Diff(first, groups); d != "" {
			t.Fatalf("another summary of the same rows (-first +this): %s", d)
		}
	}
}

// TestSummaryAsOfThePast proves that a summary as of an earlier instant counts a job as waiting if the job started
// after that instant.
func TestSummaryAsOfThePast(t *testing.T) {
	a := NewSummary(Bounds{Since: sec(0), Until: sec(40), AsOf: sec(1000)})
	six := []float64{5, 10, 20, 30, 40, 50}
	a.Add(&modelstore.Row{Submit: sec(5), Start: sec(60), Outcome: modelstore.Started, WaitSeconds: 55,
		Levels: waittime.Levels(), Quantiles: six})
	g := a.Groups()[0]
	if g.N != 0 || g.Waits != 1 || g.Served[3].Waiting != 1 || g.Served[4].Undecided != 1 {
		t.Errorf("%+v", g)
	}
	if !a.AsOf().Equal(sec(40)) {
		t.Errorf("as of %v", a.AsOf())
	}
}

// TestWaitingForecast proves that the forecast of a waiting job of unknown size is the one for the largest size. A job
// that has left, that has no forecast yet, or that can have none does not count.
func TestWaitingForecast(t *testing.T) {
	f := Forecast{Live: true, Made: true, Job: &cluster.Job{Submit: sec(3)},
		Answers: []Answer{{Procs: 1, Quantiles: []float64{1}}, {Procs: 8, Quantiles: []float64{9}}}}
	f.Job.Attributes = job.Attributes{Queue: "q"}
	w, ok := f.Waiting()
	if !ok || w.Queue != "q" || w.Quantiles[0] != 9 || w.Replayed || !w.Submit.Equal(sec(3)) {
		t.Errorf("size unknown: %+v, %v", w, ok)
	}
	f.Job.Procs = 1
	if w, _ := f.Waiting(); w.Quantiles[0] != 1 {
		t.Errorf("one processor: %+v", w)
	}
	f.After = true
	if w, _ := f.Waiting(); !w.Replayed {
		t.Errorf("made afterwards: %+v", w)
	}
	for name, change := range map[string]func(*Forecast){
		"left": func(f *Forecast) { f.Closed = sec(9) }, "not made": func(f *Forecast) { f.Made = false },
		"impossible": func(f *Forecast) { f.Answers = []Answer{{Reason: ReasonNotFitted}} },
	} {
		g := f
		if change(&g); func() bool { _, ok := g.Waiting(); return ok }() {
			t.Errorf("%s: it counts", name)
		}
	}
}
