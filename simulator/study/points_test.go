package study_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/simulator/study"
	"github.com/waitcast/waitcast/workload/shake"
)

func point(policy string, load, single, mean, low, high float64) study.Group {
	return study.Group{
		Policy: policy, Estimates: "limits", Load: load, Offered: load, MeanWait: 10 * single, Bounded: single,
		Shaken: &study.Shaken{Bounded: &shake.Summary{Original: single, Mean: mean, Low: low, High: high,
			Runs: 7, Span: .25}},
	}
}

// TestPoints proves that points are written as one line per group, with empty fields for missing values.
func TestPoints(t *testing.T) {
	var text bytes.Buffer
	plain := study.Group{Policy: "fcfs", Estimates: "actual", Load: .5, Offered: .5, Bounded: 3}
	if err := study.WritePoints(&text, []study.Group{point("easy", .7, 10, 11, 9, 12), plain}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v: %v", rows, err)
	}
	at := func(row int, column string) string {
		for i, name := range rows[0] {
			if name == column {
				return rows[row][i]
			}
		}
		t.Fatalf("no column %s", column)
		return ""
	}
	for column, want := range map[string]string{
		"policy": "easy", "load_asked": "0.7", "shaken_runs": "7", "mean_bounded_slowdown": "10",
		"mean_bounded_slowdown_shaken_mean": "11",
		"mean_bounded_slowdown_shaken_p05":  "9", "mean_bounded_slowdown_shaken_p95": "12",
		"mean_bounded_slowdown_span": "0.25", "mean_wait_seconds": "100", "mean_wait_seconds_span": "",
	} {
		if got := at(1, column); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
	if at(2, "shaken_runs") != "0" || at(2, "mean_bounded_slowdown_span") != "" || at(2, "estimates") != "actual" {
		t.Errorf("without shakes: %v", rows[2])
	}
}

// TestReadPoints proves that ReadPoints returns the points that were written, and refuses other files.
func TestReadPoints(t *testing.T) {
	both := point("easy", .7, 10, 11, 9, 12)
	both.Shaken.Wait = &shake.Summary{Original: 100, Mean: 101, Low: 90, High: 120, Span: .3, Distance: .01,
		Concentration: .4, Runs: 7}
	want := []study.Group{both, point("easy", .8, 20, 21, 19, 22),
		{Policy: "fcfs", Estimates: "actual", Load: .5, Offered: .5, MeanWait: 7, Bounded: 3, Saturated: true}}
	var text bytes.Buffer
	if err := study.WritePoints(&text, want); err != nil {
		t.Fatal(err)
	}
	got, err := study.ReadPoints(strings.NewReader(text.String()))
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-written +read):\n%s", err, d)
	}
	for problem, bad := range map[string]string{
		"another header": "a,b\n1,2\n", "line 2": strings.Replace(text.String(), "0.7", "x", 1),
		"wrong number of fields": text.String() + "1,2\n", "line 1": "",
	} {
		if _, err := study.ReadPoints(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", problem, err)
		}
	}
}

// TestRoughness checks values that were computed by hand: 1, 2, 4 grows evenly; e^0, e^1, e^0, e^1 turns by 2 at
// either inner point.
func TestRoughness(t *testing.T) {
	for _, c := range []struct {
		y    []float64
		want float64
	}{
		{[]float64{1, 2, 4, 8}, 0}, {[]float64{1, math.E, 1, math.E}, 2},
		{[]float64{1, math.E, math.E * math.E, math.E}, 1}, {[]float64{1, 2}, 0}, {nil, 0}, {[]float64{1, 0, 1}, 0},
	} {
		if got := study.Roughness(c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.y, got, c.want)
		}
	}
}

// TestCurves proves that curves are separated by policy and sorted by load, and that their text names both roughnesses.
func TestCurves(t *testing.T) {
	groups := []study.Group{
		point("easy", .7, math.E, 2, 1, 3), point("easy", .5, 1, 1, 1, 3), point("fcfs", .5, 1, 1, 1, 1),
		point("easy", .6, 1, 1.5, 1, 3),
	}
	curves := study.Curves(groups)
	if len(curves) != 2 || len(curves[0].Groups) != 3 || curves[0].Groups[0].Load != .5 ||
		curves[0].Groups[2].Load != .7 {
		t.Fatalf("%+v", curves)
	}
	if text := curves[0].String(); !strings.Contains(text, "jumps by 100.00 %") ||
		!strings.Contains(text, "7 shaken copies") {
		t.Errorf("%q", text)
	}
	if text := curves[1].String(); text != "" {
		t.Errorf("of one point: %q", text)
	}
}

// TestPlotCurves proves that the picture is XML with the curves' names in it, with shakes and without, and for one
// load.
func TestPlotCurves(t *testing.T) {
	for name, groups := range map[string][]study.Group{
		"shaken": {point("easy", .5, 10, 11, 9, 12), point("easy", .6, 20, 21, 15, 30),
			point("easy", .7, 200, 210, 150, 300)},
		"plain": {{Policy: "easy", Estimates: "limits", Offered: .5, Bounded: 3},
			{Policy: "easy", Estimates: "limits", Offered: .6, Bounded: 4}},
		"one load": {point("easy", .5, 10, 11, 9, 12)},
	} {
		var text bytes.Buffer
		if err := study.PlotCurves(&text, "a title", groups); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if svg := text.String(); !strings.Contains(svg, "a title") ||
			!strings.Contains(svg, "easy, the trace itself") ||
			name != "plain" != strings.Contains(svg, "mean of shaken") {
			t.Errorf("%s: %s", name, svg)
		}
		for d := xml.NewDecoder(&text); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if err := study.PlotCurves(io.Discard, "", nil); err == nil {
		t.Error("nothing was drawn without an error")
	}
}

// FuzzReadPoints proves that any file is either refused, or gives the same points after it is written and read again.
func FuzzReadPoints(f *testing.F) {
	var text bytes.Buffer
	if err := study.WritePoints(&text,
		[]study.Group{point("easy", .7, 10, 11, 9, 12), {Policy: "fcfs", Estimates: "limits"}}); err != nil {
		f.Fatal(err)
	}
	f.Add(text.String())
	f.Add(strings.ReplaceAll(text.String(), "7", "NaN"))
	f.Add("\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		groups, err := study.ReadPoints(strings.NewReader(text))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := study.WritePoints(&first, groups); err != nil {
			t.Fatal(err)
		}
		again, err := study.ReadPoints(&first)
		if err != nil {
			t.Fatalf("%v of\n%s", err, text)
		}
		first.Reset()
		if err := errors.Join(study.WritePoints(&first, groups), study.WritePoints(&second, again)); err != nil ||
			first.String() != second.String() {
			t.Errorf("%v\n%s\n%s", err, first.String(), second.String())
		}
	})
}
