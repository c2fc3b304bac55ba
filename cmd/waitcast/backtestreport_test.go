package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata, which call the real program and check its files and messages.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			pbs := strings.ReplaceAll(pbsText(300), "u1", "mallory")
			cut := strings.Index(pbs[len(pbs)/2:], "\n") + len(pbs)/2 + 1
			for name, text := range map[string]string{
				"small.swf": backtestText(400, "batch"), "script.swf": backtestText(30, "<script>alert(1)</script>"),
				"five.swf": backtestText(5, "batch"), "20260302": pbs[:cut], "20260303": pbs[cut:] + "garbage\n",
			} {
				if err := os.WriteFile(filepath.Join(env.WorkDir, name), []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"figures": figuresOfReport},
	})
}

// figuresOfReport implements the script command "figures RESULT.json REPORT.html". It makes the rows of the report's
// tables from the JSON, and checks that the page has them.
func figuresOfReport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: figures RESULT.json REPORT.html")
	}
	var result struct{ Traces []reportedTrace }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &result))
	page, trace := ts.ReadFile(args[1]), result.Traces[0]
	for _, row := range trace.rows() {
		if !strings.Contains(page, row) {
			ts.Fatalf("the report lacks the row\n%s", row)
		}
	}
}

// reportedTrace has those parts of a trace's result that the test needs.
type reportedTrace struct {
	Methods []struct {
		Method      string
		N           int
		Coverage    map[string][2]float64
		LogPinball  map[string]float64 `json:"log_pinball"`
		Within2     float64            `json:"within_factor_2"`
		Calibration struct {
			Whole map[string]struct {
				Interval [2]float64
				Holds    bool
			}
		}
	}
	Population struct{ Scored int }
	Queues     []struct {
		Name string
		N    int
	} `json:"by_queue"`
	Comparisons []struct {
		Method string
		N      int
		Levels map[string]struct{ Waitcast, Other, Ratio float64 }
	}
}

// rows returns the beginnings of the rows that the report must contain.
func (r *reportedTrace) rows() (rows []string) {
	levels := []string{"0.5", "0.75", "0.9", "0.95"}
	served := r.Methods[0]
	for _, level := range levels {
		rows = append(rows, fmt.Sprintf("<td>%s</td><td>%s</td><td>%s</td>", promisedText(level),
			rangeText(served.Coverage[level]), rangeText(served.Calibration.Whole[level].Interval)))
	}
	for _, m := range r.Methods {
		if m.N == 0 {
			continue
		}
		row := fmt.Sprintf("<td>%d</td>", m.N)
		for _, level := range levels {
			row += fmt.Sprintf("<td>%.3f</td>", m.LogPinball[level])
		}
		for _, level := range levels {
			row += "<td>" + rangeText(m.Coverage[level]) + "</td>"
		}
		rows = append(rows, row+fmt.Sprintf("<td>%.1f %%</td>", 100*m.Within2))
	}
	for _, q := range r.Queues {
		rows = append(rows, fmt.Sprintf("<td>%s</td><td>%d</td>", q.Name, q.N))
	}
	for _, c := range r.Comparisons {
		l := c.Levels["0.5"]
		rows = append(rows, fmt.Sprintf("<td>%d</td><td>50 %%</td><td>%.3f</td><td>%.3f</td><td>%.2f</td>", c.N,
			l.Other, l.Waitcast, l.Ratio))
	}
	return append(rows, fmt.Sprintf("<td>scored</td><td>%d</td>", r.Population.Scored))
}

func promisedText(level string) string {
	return map[string]string{"0.5": "50 %", "0.75": "75 %", "0.9": "90 %", "0.95": "95 %"}[level]
}

// rangeText writes an interval of two shares, or one share if both are equal.
func rangeText(c [2]float64) string {
	low, high := fmt.Sprintf("%.1f", 100*c[0]), fmt.Sprintf("%.1f", 100*c[1])
	if low == high {
		return low + " %"
	}
	return low + " to " + high + " %"
}
