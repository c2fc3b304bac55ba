package ablation

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/backtest"
)

// kth returns a trace with the first jobs of the log KTH-SP2, as many as given.
func kth(t *testing.T, jobs int) *backtest.Trace {
	t.Helper()
	all, err := backtest.Open(refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"), "KTH-SP2-1996-2.1-cln")
	if err != nil {
		t.Fatal(err)
	}
	return First(all, jobs)
}

// TestRun proves that a run that leaves nothing out has the same losses over the same jobs as a backtest, and that
// forecasts change if something is left out. An expert that is left out no longer affects the forecasts, but its own
// loss stays the same.
func TestRun(t *testing.T) {
	log := kth(t, 900)
	all := map[string]*Result{}
	for _, variant := range []string{Nothing, "history", "expert linear", OracleRuntimes} {
		r, err := Run(log, variant)
		if err != nil {
			t.Fatal(err)
		}
		all[variant] = r
	}
	score, err := backtest.Run(log, backtest.Options{Warmup: warmup})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config(log, Nothing)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Downey = true // as in a backtest: Downey's methods may have some weight in forecasts
	like, err := replay(log, Nothing, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, level := range []string{"0.5", "0.9", "0.95"} {
		for name, of := range map[string]*Loss{backtest.Waitcast: like.Total(),
			"linear": all[Nothing].Experts["linear"]} {
			want := score.Method(name)
			if got := of.Mean(i); of.N != want.N || math.Abs(got-want.LogPinball[level]) > 1e-9 {
				t.Errorf("%s: loss %v of %d jobs at %s, a backtest has %v of %d", name, got, of.N, level,
					want.LogPinball[level], want.N)
			}
		}
	}
	for variant, r := range all {
		if same := reflect.DeepEqual(r.Days, all[Nothing].Days); same != (variant == Nothing) {
			t.Errorf("%s: the forecasts are the same is %v", variant, same)
		}
	}
	if a, b := all["expert linear"].Experts["linear"], all[Nothing].Experts["linear"]; !reflect.DeepEqual(a, b) {
		t.Errorf("alone the expert that is left out has %+v, else %+v", a, b)
	}
	if _, err := Run(log, "expert nobody"); err == nil || !strings.Contains(err.Error(), "trees_recent") {
		t.Errorf("an unknown expert: %v: want an error with the names", err)
	}
	if _, err := Run(log, "nobody"); err == nil || !strings.Contains(err.Error(), "gates") {
		t.Errorf("an unknown group: %v: want an error with the names", err)
	}
}

// TestOracleKnows proves that the oracle of runtimes returns the runtime that a job has in the log, NaN if the log does
// not have it.
func TestOracleKnows(t *testing.T) {
	log := &backtest.Trace{Jobs: []backtest.Job{
		{Starts: true, Ends: true, Start: 10, End: 70}, {Starts: true, Start: 20}, {Key: 7, Starts: true, Ends: true},
	}}
	if got := log.Runtime(0); got != 60 {
		t.Errorf("runtime %v, want 60", got)
	}
	for _, id := range []uint64{1, 2, 3} {
		if got := log.Runtime(id); !math.IsNaN(got) {
			t.Errorf("job %d: runtime %v, want none", id, got)
		}
	}
}

// result returns the result of a run with one job on each day. losses has the loss of each job, which is the same at
// all levels.
func result(variant string, losses ...float64) *Result {
	r := &Result{Trace: "made-up", Variant: variant, Jobs: len(losses), Days: map[int]*Loss{},
		Experts: map[string]*Loss{"trees": {N: 1, Sum: []float64{1, .5, .25}}},
		Weights: map[string][]float64{"trees": {.75, .5, 1}}}
	for day, x := range losses {
		r.Days[day] = &Loss{N: 1, Sum: []float64{x, x, x}}
	}
	return r
}

// TestChange checks a change that was worked out by hand: the losses of two weeks, 7 and 7, become 7 and 14. The ratio
// is 1.5. The residuals are 7 - 10.5 and 14 - 10.5, so the error is sqrt((3.5² + 3.5²) x 2/1) / 14 = .5.
func TestChange(t *testing.T) {
	nothing := result(Nothing, slices.Repeat([]float64{1}, 14)...)
	more := result("gates", append(slices.Repeat([]float64{1}, 7), slices.Repeat([]float64{2}, 7)...)...)
	c := ChangeOf(more, nothing, 1)
	if math.Abs(c.Part-.5) > 1e-12 || math.Abs(c.Error-.5) > 1e-12 {
		t.Errorf("change %+v, want .5 ± .5", c)
	}
	more.Days[99] = &Loss{N: 1, Sum: []float64{9, 9, 9}} // a day that only one of the two runs has
	if again := ChangeOf(more, nothing, 1); again != c {
		t.Errorf("change %+v with a day that the other lacks, want %+v", again, c)
	}
	if one := ChangeOf(result("gates", 1), result(Nothing, 1), 0); one.Part != 0 || !math.IsNaN(one.Error) {
		t.Errorf("one week: %+v, want no change, and no error", one)
	}
}

// TestStudyGoesOn proves that a study performs only the runs whose results are missing, that its page can be written
// from the existing results, and that a damaged result is an error that names the file.
func TestStudyGoesOn(t *testing.T) {
	s := &Study{Folder: t.TempDir(), Traces: []string{"/nowhere/made-up.swf.gz"}, Variants: []string{Nothing, "gates"}}
	for _, r := range []*Result{result(Nothing, 1, 1, 1, 1, 1, 1, 1, 1), result("gates", 1, 1, 1, 1, 1, 1, 1, 3)} {
		if err := s.keep(r); err != nil {
			t.Fatal(err)
		}
	}
	s.Progress = func(trace, variant string) { t.Errorf("%s without %s is run again", trace, variant) }
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	page, err := s.Page()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## made-up", "| nothing | 1.0000 | 1.0000 | 1.0000 |",
		// The losses are 10 and 8 in total. By week they are 7 and 3 against 7 and 1. So the residuals are -1.75 and
		// 1.75, and the error is sqrt(2 x 6.125) / 8 = .4375.
		"| gates | 1.2500 (+25.0 ± 43.8) |", "| trees | 1 | 1.0000 | 0.5000 | 0.2500 | 0.75 | 0.50 | 1.00 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	s.Progress = nil
	s.Variants = append(s.Variants, "priority")
	if err := s.Run(); err == nil { // the missing run is tried, and fails because there is no such log
		t.Error("a variant without a result is not run")
	}
	path := filepath.Join(s.Folder, "made-up", "half", "gates.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Page(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged result: %v, want an error with the file", err)
	}
}
