// Command accuracy replays the traces beside the repository through every predictor and writes docs/accuracy.md: what
// is promised of the forecasts beside what was measured.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/research/headtest"
	"github.com/waitcast/waitcast/swf"
)

func main() {
	shared := flag.String("shared", "../shared", "folder with traces/")
	out := flag.String("out", "docs/accuracy.md", "file to write")
	keep := flag.String("keep", "", "folder that keeps the result of each replay: what has one is not replayed again")
	flag.Parse()
	if err := run(*shared, *out, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// traces are the names of the traces with recorded waits, and of those whose machine's size makes Downey's test
// possible.
func traces() (waits, heads []string) {
	const kth, ctc, sdsc, par = "KTH-SP2-1996-2.1-cln", "CTC-SP2-1996-3.1-cln", "SDSC-SP2-1998-4.2-cln",
		"SDSC-Par-1996-3.1-cln"
	return []string{kth, ctc, sdsc, par, "DOST-ASTI_COARE-Saliksik-2020-cln"},
		[]string{kth, sdsc, par, ctc, "LANL-CM5-1994-4.1-cln"}
}

func run(shared, out, keep string) error {
	waits, heads := traces()
	if keep == "" {
		folder, err := os.MkdirTemp("", "accuracy")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(folder) }() // what stays is in a temporary folder
		keep = folder
	}
	replays := runs{filepath.Join(shared, "traces"), keep}
	var page strings.Builder
	page.WriteString(preface)
	if err := summary(&page, replays, waits); err != nil {
		return err
	}
	for _, name := range waits {
		r, err := replays.replay(name, false)
		if err != nil {
			return err
		}
		whole(&page, r)
	}
	page.WriteString(headPreface)
	for _, name := range heads {
		r, err := head(filepath.Join(shared, "traces", name+".swf.gz"))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: head of the queue\n", name)
		headTable(&page, name, r)
	}
	return os.WriteFile(out, []byte(page.String()), 0o644) //nolint:gosec // a page that everybody may read
}

func head(path string) (r *headtest.Result, err error) {
	f, err := swf.Open(path, swf.OnBadLine(func(*swf.LineError) {})) // LANL has three records without a size
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	trace, err := headtest.Read(f.Reader, 0)
	if err != nil {
		return nil, err
	}
	return headtest.Run(trace, headtest.Options{})
}

const preface = `# Measured accuracy

<!-- Made by make accuracy; do not edit. -->

Made by ` + "`make accuracy`" + `, which replays recorded logs as ` + "`waitcast backtest`" +
	` does. Every forecast was made
from what was known at its submission; the first tenth of each log is learnt from and not scored.
[How the forecasts are made](predictions.md), and what the figures mean: *loss* is the mean pinball loss of
ln(wait + 60 s), lower is better; *covered* is [P(W < q), P(W <= q)], which must hold the level; *x2* is the share of
medians within a factor 2 of the wait, 60 s added to both.

## The whole wait

`

const headPreface = `## The head of the queue

Downey's own test (1996, section 6): the log is scheduled strictly first come, first served, and every job that does not
fit when it reaches the head of the queue is asked how long it will stay there. *r log* is the correlation of
ln(max(1 s, wait)), his figure; the first 500 are left out.

`

// summary writes a table of what is served, with the processors learnt and told.
func summary(page io.Writer, replays runs, names []string) error {
	fmt.Fprint(page, summaryPreface)
	for _, name := range names {
		learnt, err := replays.replay(name, false)
		if err != nil {
			return err
		}
		told, err := replays.replay(name, true)
		if err != nil {
			return err
		}
		served, qbets := learnt.Method(backtest.Waitcast), learnt.Method("qbets")
		fmt.Fprintf(page, "| %s |", name)
		for _, m := range []*backtest.MethodResult{qbets, served, told.Method(backtest.Waitcast)} {
			fmt.Fprintf(page, " %.3f / %.3f |", m.LogPinball["0.5"], m.LogPinball["0.95"])
		}
		fmt.Fprintf(page, " %.3f | %.3f |\n", learnt.Method("simulation").LogPinball["0.5"],
			told.Method("simulation").LogPinball["0.5"])
	}
	fmt.Fprintln(page)
	return nil
}

const summaryPreface = "" +
	`Nobody told how many processors a machine has, but for the columns *told*, where it is what the log's header says.
*served* is what waitcast forecasts, *simulation* the median of its simulation of the scheduler alone.

| log | qbets .5 / .95 | served | served, told | simulation .5 | simulation, told |
|---|---|---|---|---|---|
`

func levels() []string { return []string{"0.5", "0.75", "0.9", "0.95"} }

func whole(page io.Writer, r *backtest.TraceResult) {
	served, qbets := r.Method(backtest.Waitcast), r.Method("qbets")
	fmt.Fprintf(page, "### %s\n\n%d jobs, %d scored. Against QBETS the loss is %.1f %% lower at .5 and %.1f %% lower "+
		"at .95. Medians within a factor 2: %.3f; the best constant in hindsight: %.3f.\n\n",
		r.Trace, r.Jobs, served.N, 100*(1-served.LogPinball["0.5"]/qbets.LogPinball["0.5"]),
		100*(1-served.LogPinball["0.95"]/qbets.LogPinball["0.95"]), served.Within2, r.Constant.Within2)
	fmt.Fprintln(page,
		"| method | n | loss .5 | .75 | .9 | .95 | covered .5 | .95 | x2 |\n|---|---|---|---|---|---|---|---|---|")
	for i := range r.Methods {
		m := &r.Methods[i]
		fmt.Fprintf(page, "| %s | %d |", m.Method, m.N)
		for _, l := range levels() {
			fmt.Fprintf(page, " %.3f |", m.LogPinball[l])
		}
		for _, l := range [...]string{"0.5", "0.95"} {
			fmt.Fprintf(page, " %.3f - %.3f |", m.Coverage[l][0], m.Coverage[l][1])
		}
		fmt.Fprintf(page, " %.3f |\n", m.Within2)
	}
	c := served.Calibration
	fmt.Fprintf(page, "\nCoverage of waitcast, q rounded to the log's %.0f s: the interval must come within .02 of "+
		"the level. Of %d pairs of level and month %.1f %% hold.\n\n", r.Resolution, c.Months, 100*c.MonthsHeld)
	fmt.Fprintln(page, "| jobs | .5 | .75 | .9 | .95 |\n|---|---|---|---|---|")
	for _, row := range []struct {
		name string
		of   map[string]backtest.CoverageOf
	}{{"all", c.Whole}, {"median above 60 s", c.Long}} {
		fmt.Fprintf(page, "| %s |", row.name)
		for _, l := range levels() {
			v, mark := row.of[l], ""
			if !v.Holds {
				mark = " MISSED"
			}
			fmt.Fprintf(page, " %.3f - %.3f%s |", v.Interval[0], v.Interval[1], mark)
		}
		fmt.Fprintln(page)
	}
	fmt.Fprintf(page, "\nBy the true wait (n, loss .5, x2): up to a minute %d, %.3f, %.3f; up to an hour %d, %.3f, "+
		"%.3f; longer %d, %.3f, %.3f. Mean distance from the median to the .95 quantile: %.0f s. Median error of the "+
		"median: %.0f s.\n\n",
		served.Strata.UpToMinute.N, served.Strata.UpToMinute.LogPinball["0.5"], served.Strata.UpToMinute.Within2,
		served.Strata.UpToHour.N, served.Strata.UpToHour.LogPinball["0.5"], served.Strata.UpToHour.Within2,
		served.Strata.Longer.N, served.Strata.Longer.LogPinball["0.5"], served.Strata.Longer.Within2, *served.Interval,
		*served.MedianAbsError)
}

func headTable(page io.Writer, name string, r *headtest.Result) {
	fmt.Fprintf(page, "### %s\n\n| method | n | r log | loss .5 | .95 | x2 |\n|---|---|---|---|---|---|\n", name)
	for i := range r.Methods {
		m := &r.Methods[i]
		cell := func(l string) string {
			if v, ok := m.LogPinball[l]; ok {
				return fmt.Sprintf("%.3f", v)
			}
			return "-"
		}
		fmt.Fprintf(page, "| %s | %d | %.3f | %s | %s | %.3f |\n", m.Method, m.N, m.RLog, cell("0.5"), cell("0.95"),
			m.WithinFactor2)
	}
	fmt.Fprintln(page)
}
