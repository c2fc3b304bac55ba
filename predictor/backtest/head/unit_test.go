package head

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/residual"
	"github.com/waitcast/waitcast/swf"
)

const small = `; MaxProcs: 10
1 0 0 100 6 -1 -1 6 200 -1 1 7 -1 3 1 -1 -1 -1
2 10 0 50 4 -1 -1 4 -1 -1 1 8 -1 -1 1 -1 -1 -1
3 20 -1 -1 4 -1 -1 4 -1 -1 5 8 -1 -1 1 -1 -1 -1
not a job
4 30 0 0 99 -1 -1 99 -1 -1 1 -1 -1 -1 1 -1 -1 -1
5 40 0 5 1 -1 -1 1 -1 -1 1 8 -1 -1 1 -1 -1 -1
6 300 0 5 1 -1 -1 1 -1 -1 1 8 -1 -1 1 -1 -1 -1
`

// TestRead proves that Read leaves out invalid lines and jobs that never ran, reduces the size of too large jobs to
// that of the machine, and raises a runtime of 0 to 1 s.
func TestRead(t *testing.T) {
	trace, err := Read(swf.NewReader(strings.NewReader(small)), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []Job{
		{ID: 1, Runtime: 100, Job: residual.Job{Queue: "1", User: "7", App: "3", Procs: 6, Limit: 200}},
		{ID: 2, Submit: 10, Runtime: 50, Job: residual.Job{Queue: "1", User: "8", Procs: 4}},
		{ID: 4, Submit: 30, Runtime: 1, Job: residual.Job{Queue: "1", Procs: 10}},
		{ID: 5, Submit: 40, Runtime: 5, Job: residual.Job{Queue: "1", User: "8", Procs: 1}},
		{ID: 6, Submit: 300, Runtime: 5, Job: residual.Job{Queue: "1", User: "8", Procs: 1}},
	}
	if trace.Procs != 10 || !slices.Equal(trace.Jobs, want) {
		t.Errorf("%d processors, jobs %+v", trace.Procs, trace.Jobs)
	}
	if _, err := Read(swf.NewReader(strings.NewReader("1 0 0 1 1 -1 -1 1 1 -1 1 7 -1 3 1 -1 -1 -1\n")),
		0); !errors.Is(err, ErrNoProcs) {
		t.Errorf("a log without MaxProcs: %v", err)
	}
}

// recorder is a watcher that records its calls.
type recorder struct {
	events []string
	asks   []ask
}

func (r *recorder) started(_ int64, j *Job) {
	r.events = append(r.events, "start "+string(rune('0'+j.ID)))
}
func (r *recorder) ended(_ int64, j *Job) { r.events = append(r.events, "end "+string(rune('0'+j.ID))) }
func (r *recorder) asked(a *ask) error {
	r.events = append(r.events, "ask "+string(rune('0'+a.job.ID)))
	kept := *a
	kept.running = slices.Clone(a.running)
	r.asks = append(r.asks, kept)
	return nil
}

// TestReplayByHand compares a replay with one worked out by hand. Job 4 needs the whole machine and waits at the head
// from its submission at 30 until job 1 ends at 100. Job 5 reaches the head when job 4 starts, and waits one second.
// Job 6 finds the machine empty.
func TestReplayByHand(t *testing.T) {
	trace, err := Read(swf.NewReader(strings.NewReader(small)), 0)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := trace.schedule()
	if err != nil {
		t.Fatal(err)
	}
	var r recorder
	if err := replay(jobs, trace.Procs, &r); err != nil {
		t.Fatal(err)
	}
	want := []string{"start 1", "start 2", "ask 4", "end 2", "end 1", "start 4", "ask 5", "end 4", "start 5", "end 5"}
	if !slices.Equal(r.events, want) {
		t.Errorf("events %v, want %v", r.events, want)
	}
	a, b := r.asks[0], r.asks[1]
	if a.at != 30 || a.need != 10 || a.free != 0 || a.wait != 70 || len(a.running) != 2 || a.lastStart != 10 ||
		!math.IsNaN(a.lastEnd) {
		t.Errorf("first ask %+v", a)
	}
	if b.at != 100 || b.need != 1 || b.wait != 1 || len(b.running) != 1 || b.lastEnd != 100 || b.passed != 1 {
		t.Errorf("second ask %+v", b)
	}
}

// TestAsksAreConsistent proves three properties of each ask with random jobs: the free processors and those of the
// running jobs add up to the machine, the job lacks at least one processor, and the wait is that of the schedule under
// strict first come, first served.
func TestAsksAreConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := &Trace{Procs: 16}
		at := 0.0
		for i := range rapid.IntRange(1, 60).Draw(t, "jobs") {
			at += float64(rapid.IntRange(0, 50).Draw(t, "gap"))
			trace.Jobs = append(trace.Jobs, Job{
				ID: int64(i % 10), Submit: at, Runtime: float64(rapid.IntRange(1, 200).Draw(t, "runtime")),
				Job: residual.Job{Procs: rapid.IntRange(1, 16).Draw(t, "procs")},
			})
		}
		jobs, err := trace.schedule()
		if err != nil {
			t.Fatal(err)
		}
		var r recorder
		if err := replay(jobs, trace.Procs, &r); err != nil {
			t.Fatal(err)
		}
		waiting := 0
		for i := range jobs {
			if i > 0 && jobs[i].Start > max(jobs[i].Submit, jobs[i-1].Start) {
				waiting++
			}
		}
		if waiting != len(r.asks) {
			t.Fatalf("%d asks for %d jobs that waited at the head", len(r.asks), waiting)
		}
		for _, a := range r.asks {
			used := 0
			for _, j := range a.running {
				used += j.Procs
				if j.Start > a.at || j.End <= a.at {
					t.Fatalf("job from %v to %v runs at %v", j.Start, j.End, a.at)
				}
			}
			if used+a.free != 16 || a.need != a.job.Procs-a.free || a.need < 1 || !(a.wait > 0) {
				t.Fatalf("ask %+v with %d used", a, used)
			}
		}
	})
}

// TestScoreByHand compares the scores of four forecasts with scores that were worked out by hand.
func TestScoreByHand(t *testing.T) {
	var c methodForecasts
	c.add(0, []float64{0, 60, 120, 180})
	c.add(60, []float64{180, 180, 180, 180})
	c.add(540, []float64{60, 90, 600, 900})
	c.add(7140, []float64{7140, 8000, 9000, 9140})
	c.add(5, []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}) // no answer
	s := c.score("m")
	if s.N != 4 || s.Coverage["0.5"] != [2]float64{.25, .75} || s.Coverage["0.9"] != [2]float64{1, 1} {
		t.Errorf("n %d, coverage %v", s.N, s.Coverage)
	}
	// Two of the four medians are wrong: one is too long by ln(240/120) = ln 2, the other too short by ln(600/120) = ln
	// 5. The loss of a median is half its error on this scale.
	if want := (math.Ln2 + math.Log(5)) / 8; math.Abs(s.LogPinball["0.5"]-want) > 1e-12 {
		t.Errorf("log-pinball %v, want %v", s.LogPinball["0.5"], want)
	}
	if m := s.Strata["le_1m"]; m.N != 2 || math.Abs(m.LogPinball["0.5"]-math.Ln2/4) > 1e-12 {
		t.Errorf("up to a minute: %+v", m)
	}
	if s.Strata["le_1h"].N != 1 || s.Strata["gt_1h"].N != 1 {
		t.Errorf("strata %+v", s.Strata)
	}
	if s.WithinFactor2 != .75 || s.WithinFactor3 != .75 || s.MedianAbsError != 0 || s.Interval != 180 {
		t.Errorf("within 2 %v, within 3 %v, error %v, interval %v", s.WithinFactor2, s.WithinFactor3,
			s.MedianAbsError, s.Interval)
	}
	if _, err := json.Marshal(Result{Methods: []Score{s, (&methodForecasts{}).score("none")}}); err != nil {
		t.Error(err)
	}
}

// TestScoreOfMediansOnly proves that medians that equal the waits have a correlation of 1, that a method that forecasts
// only medians has no scores at other levels, and that the scores can be written as JSON.
func TestScoreOfMediansOnly(t *testing.T) {
	var c methodForecasts
	nan := math.NaN()
	for i := range 50 {
		c.add(float64(i*i), []float64{float64(i * i), nan, nan, nan})
	}
	s := c.score("m")
	if math.Abs(s.R-1) > 1e-12 || math.Abs(s.RLog-1) > 1e-12 || s.LogPinball["0.5"] != 0 || len(s.LogPinball) != 1 ||
		len(s.Coverage) != 1 {
		t.Errorf("%+v", s)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

// TestLearnerCorrects proves that the learner corrects the quantiles of a method if they are too close together and
// wrong by a factor that depends on a feature. The corrected quantiles are covered as their levels say, have a lower
// loss and are in order, and no calibration diverges.
func TestLearnerCorrects(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	l := newLearner()
	n := float64(0)
	covered, own, served := make([]float64, 4), 0.0, 0.0
	for i := range 4000 {
		kind := float64(rng.IntN(2))
		wait := math.Exp(6 + 3*kind + .8*rng.NormFloat64())
		exact := []float64{4000, 4100, 4200, 4300}
		row := []float64{kind, rng.Float64()}
		got := l.forecast(row, exact)
		if !slices.IsSorted(got) {
			t.Fatalf("quantiles %v are not in order", got)
		}
		if i >= 1000 {
			n++
			for k, q := range got {
				if wait <= q {
					covered[k]++
				}
			}
			own += math.Abs(logOf(wait) - logOf(exact[0]))
			served += math.Abs(logOf(wait) - logOf(got[0]))
		}
		if err := l.learn(row, exact, wait); err != nil {
			t.Fatal(err)
		}
	}
	for k, level := range Levels() {
		if math.Abs(covered[k]/n-level) > .02 {
			t.Errorf("the quantile at %v covers %.3f", level, covered[k]/n)
		}
		if math.Abs(l.shift[k]) > 1 {
			t.Errorf("the calibration at %v has run away to %v", level, l.shift[k])
		}
	}
	if served > .55*own {
		t.Errorf("loss %.3f, of the uncorrected %.3f", served/n, own/n)
	}
}

// TestCalibrationDoesNotRunAway proves that the calibration of every level stays small, even if the uncalibrated
// quantiles are in the wrong order.
func TestCalibrationDoesNotRunAway(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	l := newLearner()
	for range 20000 {
		base := math.Exp(3 * rng.NormFloat64())
		exact := []float64{base * 2, base, base, base}
		row := []float64{rng.Float64()}
		_ = l.forecast(row, exact)
		l.models = nil // test the calibration alone, without trees
		y := base * math.Exp(.5*rng.NormFloat64())
		l.seen = 0
		if err := l.learn(row, exact, y); err != nil {
			t.Fatal(err)
		}
	}
	for k, s := range l.shift {
		if math.Abs(s) > 2 {
			t.Errorf("shift %v at %v", s, Levels()[k])
		}
	}
}

func BenchmarkRun(b *testing.B) {
	trace := load(b, "SDSC-Par-1996-3.1-cln")
	trace.Jobs = trace.Jobs[:5000]
	for b.Loop() {
		if _, err := Run(trace, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
