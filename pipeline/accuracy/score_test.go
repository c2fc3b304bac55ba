package accuracy

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// TestScore checks losses and medians of rows against values worked out by hand.
func TestScore(t *testing.T) {
	s := NewScore(2)
	row := func(outcome string, wait float64, replayed bool, quantiles ...float64) {
		s.Add(&modelstore.Row{
			Outcome: outcome, WaitSeconds: wait, Replayed: replayed, Levels: []float64{.5, .9}, Quantiles: quantiles,
		})
	}
	row(modelstore.Started, 100, false, 99.2, 200)        // 100 <= ceil(99.2), because a log has whole seconds
	row(modelstore.Started, 101, true, 100, 100)          // within neither quantile
	row(modelstore.Started, 10, true, 40, waittime.Never) // within both
	row(modelstore.Started, 10, true)                     // without a forecast
	row(modelstore.Cancelled, 1e6, false, 1, 2)           // cancelled: a lower bound is no observation
	if s.N != 3 || s.Live != 1 || s.Unforecast != 1 || s.Left != 1 {
		t.Errorf("counts: %+v", *s)
	}
	ln := math.Log
	want := .5*(ln(160)-ln(159.2)) + .5*(ln(161)-ln(160)) + .5*(ln(100)-ln(70))
	if math.Abs(s.LogPinball[0]-want) > 1e-12 {
		t.Errorf("loss of the median %v, want %v", s.LogPinball[0], want)
	}
	if got := s.MedianError(); got != 1 { // the median of .8, 1 and 30
		t.Errorf("median error %v s, want 1", got)
	}
	row(modelstore.Started, 0, true, 2, 2)
	if got := s.MedianError(); got != 1.5 { // the median of .8, 1, 2 and 30
		t.Errorf("median error of four %v s, want 1.5", got)
	}
	if !math.IsNaN(NewScore(2).MedianError()) {
		t.Error("the median error of nothing is a number")
	}
	for range recent { // the oldest are overwritten
		row(modelstore.Started, 0, true, 7, 7)
	}
	if got := s.MedianError(); got != 7 || len(s.Errors) != recent {
		t.Errorf("median error of the newest %d: %v s, want 7", len(s.Errors), got)
	}
}

// TestScoreKey proves that the key of a score is read as it was written, whatever the queue's name is.
func TestScoreKey(t *testing.T) {
	for _, queue := range []string{"batch", "", "two words", " "} {
		k := Key{Queue: queue, Size: "2-8"}
		text, err := k.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got Key
		if err := got.UnmarshalText(text); err != nil || got != k {
			t.Errorf("%+v came back as %+v (%v)", k, got, err)
		}
	}
	if err := new(Key).UnmarshalText([]byte("batch")); err == nil {
		t.Error("a key without a size was read")
	}
}

// TestScoreOfPeers proves that another method is scored only on the jobs for which it has an answer, and that the
// served forecast is scored on the same jobs beside it.
func TestScoreOfPeers(t *testing.T) {
	s := NewScore(2)
	levels := []float64{.5, .9}
	s.Add(&modelstore.Row{Outcome: modelstore.Started, WaitSeconds: 100, Levels: levels,
		Quantiles: []float64{100, 200}})
	s.Add(&modelstore.Row{
		Outcome: modelstore.Started, WaitSeconds: 60, Levels: levels, Quantiles: []float64{60, 180},
		Peers: []modelstore.Peer{{Method: "limits", Quantiles: []float64{180, waittime.Never}}},
	})
	s.Add(&modelstore.Row{Outcome: modelstore.Cancelled, WaitSeconds: 150, Levels: levels,
		Quantiles: []float64{149.5, 150}})
	p := s.Peers[0]
	if len(s.Peers) != 1 || p.Method != "limits" || p.N != 1 || p.Served.N != 1 || s.N != 2 {
		t.Fatalf("%+v", *s)
	}
	if want := .5 * math.Ln2; math.Abs(p.LogPinball[0]-want) > 1e-12 || p.Served.LogPinball[0] != 0 {
		t.Errorf("losses of the median %v and %v, want %v and 0", p.LogPinball[0], p.Served.LogPinball[0], want)
	}
	if want := .1 * (math.Log(waittime.ScoredNever+60) - math.Log(120)); math.Abs(p.LogPinball[1]-want) > 1e-12 {
		t.Errorf("the loss of never is %v, want that of a year, %v", p.LogPinball[1], want)
	}
	if p.Within2 != 1 || s.Left != 1 {
		t.Errorf("%+v of %+v", p, *s)
	}
	if c := s.Clone(); !c.sound(2) || c.sound(3) {
		t.Error("a score is of its levels and no others")
	}
}

// TestAnswerFor proves that a job is scored by the answer for its size or, if there is none, for the next larger size.
func TestAnswerFor(t *testing.T) {
	var answers []Answer
	for _, procs := range []int{1, 2, 4, 8, 16, 32, 64, 100} {
		answers = append(answers, Answer{Procs: procs})
	}
	for procs, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 4, 33: 64, 64: 64, 65: 100, 100: 100, 500: 100} {
		if got := answerFor(answers, procs).Procs; got != want {
			t.Errorf("a job of %d processors is scored by the forecast for %d, want %d", procs, got, want)
		}
	}
	if a := answerFor(nil, 4); a.Reason != "unknown_size" {
		t.Errorf("without answers: %+v", a)
	}
	if a := answerFor([]Answer{{Procs: 8}}, 3); a.Procs != 8 {
		t.Errorf("a size known at submission: %+v", a)
	}
}
