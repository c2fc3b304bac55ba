package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/research/sizestudy"
)

// TestReadTrials proves that the file that -weights writes can be read, that a damaged file causes an error with the
// line, and that a missing file counts as empty.
func TestReadTrials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.csv")
	if got, err := readTrials(path); got != nil || err != nil {
		t.Errorf("missing: %v, %v", got, err)
	}
	header := []string{"base", "waiting", "lately", "submission", "head", "both", "median_regret"}
	if err := writeCSV(path, [][]string{header, {"10", "4", "2", ".6", ".7", ".65", ".06"}}); err != nil {
		t.Fatal(err)
	}
	got, err := readTrials(path)
	want := []sizestudy.Trial{{Weights: sizestudy.Weights{Base: 10, Waiting: 4, Lately: 2}, Submit: .6, Head: .7,
		Regret: .06}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("read back (%v):\n%s", err, d)
	}
	for _, bad := range [][]string{{"10", "4", "2", ".6", ".7", ".65", "few"}, {"10"}} {
		h := header[:len(bad)]
		if err := writeCSV(path, [][]string{h, bad}); err != nil {
			t.Fatal(err)
		}
		if _, err := readTrials(path); err == nil || !strings.Contains(err.Error(), "weights.csv:2") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestWorst proves that worst returns the comparison with the highest ratio, averaged over the seeds. By hand it is
// (75/50 + 90/100) / 2 = 1.2.
func TestWorst(t *testing.T) {
	cell := func(load float64, rule sizestudy.Rule, means ...float64) sizestudy.Cell {
		c := sizestudy.Cell{Trace: "x", Load: load, Choice: sizestudy.Choice{Rule: rule, Share: 1}}
		for _, m := range means {
			c.Outcomes = append(c.Outcomes, sizestudy.Outcome{Mean: m})
		}
		return c
	}
	s := &results{}
	w := s.worst([]sizestudy.Cell{
		cell(.5, sizestudy.Request, 100, 100), cell(.5, sizestudy.Largest, 50, 100), cell(.5, sizestudy.AtHead, 75, 90),
		cell(.7, sizestudy.Request, 100, 100), cell(.7, sizestudy.AtHead, 95, 105),
	}, sizestudy.AtHead)
	if w.rule != sizestudy.Largest || w.load != .5 || w.Mean != (1.5+.9)/2 || w.N != 2 {
		t.Errorf("worst %+v, want 1.2 against the largest at load .5", w)
	}
}

// TestRunErrors proves that an invalid number of seeds and missing traces cause errors that name them.
func TestRunErrors(t *testing.T) {
	dir := t.TempDir()
	if err := run(t.Context(), options{shared: dir, out: dir, seeds: 1}); err == nil ||
		!strings.Contains(err.Error(), "-seeds 1") {
		t.Errorf("one seed: %v", err)
	}
	if err := run(t.Context(), options{shared: dir, out: dir, seeds: 2}); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "KTH-SP2") {
		t.Errorf("no traces: %v", err)
	}
}

// TestPromises proves that the page names the missed promises. In the test, advice at the head reduces the turnaround
// by 30 % on one of two traces and by 10 % on the other, and the rule of the largest sizes is 5 % better than advice on
// both. The median regret is 12 %.
func TestPromises(t *testing.T) {
	s := &results{Seeds: 2, Traces: []string{"good", "bad"}, Others: []variant{{Name: "stretches"}},
		Regrets: []regret{{All: []sizestudy.Regretted{{Median: .12}, {Median: .12}}}}}
	add := func(trace string, rule sizestudy.Rule, mean float64) {
		o := sizestudy.Outcome{Mean: mean, Change: mean/100 - 1}
		s.Main = append(s.Main, sizestudy.Cell{Trace: trace, Load: .7, Choice: sizestudy.Choice{Rule: rule, Share: 1},
			Outcomes: []sizestudy.Outcome{o, o}})
	}
	for trace, mean := range map[string]float64{"good": 70, "bad": 90} {
		add(trace, sizestudy.Request, 100)
		add(trace, sizestudy.Largest, mean/1.05)
		for _, rule := range []sizestudy.Rule{sizestudy.AtSubmit, sizestudy.AtHead, sizestudy.AtBoth} {
			add(trace, rule, mean)
		}
	}
	s.Others[0].Cells = s.Main
	var b strings.Builder
	s.promises(func(format string, args ...any) { fmt.Fprintf(&b, format, args...) })
	for _, want := range []string{
		"| 12.0 % of what came after the advice, 0.0 % of what came after the submission | **missed** |",
		"load .7, good | -30.0 ± 0.0 % | holds |", "load .7, bad | -10.0 ± 0.0 % | **missed** |",
		"waitcast at the head, never worse than a fixed rule by more than 2 % at any load | at worst +5.0 % (5.0 to " +
			"5.0) against largest on ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	// Five promises are missed: the regret, the gain on the trace "bad", and for each of the three rules of advice the
	// comparison with a fixed rule.
	if n := strings.Count(b.String(), "**missed**"); n != 5 {
		t.Errorf("%d missed", n)
	}
}
