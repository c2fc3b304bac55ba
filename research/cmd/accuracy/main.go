// Command accuracy replays the traces beside the repository with every predictor. It writes docs/accuracy.md, which
// compares the targets for the forecasts with the measured values.
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
	"github.com/waitcast/waitcast/predictor/backtest/head"
	"github.com/waitcast/waitcast/research/internal/checkout"
	"github.com/waitcast/waitcast/swf"
)

func main() {
	checkout.Enter()
	shared := flag.String("shared", "../shared", "folder with traces/")
	out := flag.String("out", "docs/accuracy.md", "file to write")
	keep := flag.String("keep", "", "folder that keeps the result of each replay: what has one is not replayed again")
	flag.Parse()
	if err := run(*shared, *out, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// traces returns the names of the traces with recorded waits, and of those for which Downey's test is possible because
// the machine's size is known.
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
		defer func() { _ = os.RemoveAll(folder) }() // all results that must be kept are elsewhere
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
		r, err := headResult(filepath.Join(shared, "traces", name+".swf.gz"))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: head of the queue\n", name)
		headTable(&page, name, r)
	}
	return os.WriteFile(out, []byte(page.String()), 0o644) //nolint:gosec // a page that everybody may read
}

func headResult(path string) (r *head.Result, err error) {
	f, err := swf.Open(path, swf.OnBadLine(func(*swf.LineError) {})) // LANL has three records without a size
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	trace, err := head.Read(f.Reader, 0)
	if err != nil {
		return nil, err
	}
	return head.Run(trace, head.Options{})
}

const preface = `# Measured accuracy

<!-- Made by make accuracy; do not edit. -->

Made by ` + "`make accuracy`" + `, which replays recorded logs as ` + "`waitcast backtest`" +
	` does. Every forecast uses only information
from before its submission. The first tenth of each log serves for learning only, and is not scored.
[Predictions](predictions.md) describes how the forecasts are made. In the tables, *loss* is the mean pinball loss of
ln(wait + 60 s); lower is better. *covered* is an interval between two shares: the share of waits that are shorter than
their quantile, and the share of waits that are not longer. The two ends differ because many waits equal their quantile
(often both are 0 s). For perfect forecasts the interval contains the level. *x2* is the share of medians within a
factor of 2 of the wait, after 60 s are added to both.

The second table of each log has the coverage of waitcast, with quantiles rounded to the resolution of the log's times.
Each interval must come within .02 of the level; each level is also checked in each month, with the [tolerance for
months](predictions.md#what-is-promised-and-checked).

## The whole wait

`

const headPreface = `## The head of the queue

This is Downey's own test (1996, section 6). The log is scheduled strictly first come, first served. For every job that
does not fit when it reaches the head of the queue, the forecast is the time for which it will stay there. *r log* is
Downey's figure, the correlation of ln(max(1 s, wait)) between forecasts and waits. The first 500 forecasts are left
out.

`

// summary writes a table of the served forecasts, with the estimated and with the true number of processors.
func summary(page io.Writer, replays runs, names []string) error {
	fmt.Fprint(page, summaryPreface)
	for _, name := range names {
		learnt, err := replays.replay(name, false)
		if err != nil {
			return err
		}
		known, err := replays.replay(name, true)
		if err != nil {
			return err
		}
		served, qbets := learnt.Method(backtest.Waitcast), learnt.Method("qbets")
		fmt.Fprintf(page, "| %s |", name)
		for _, m := range []*backtest.MethodResult{qbets, served, known.Method(backtest.Waitcast)} {
			fmt.Fprintf(page, " %.3f / %.3f |", m.LogPinball["0.5"], m.LogPinball["0.95"])
		}
		fmt.Fprintf(page, " %.3f | %.3f |\n", learnt.Method("simulation").LogPinball["0.5"],
			known.Method("simulation").LogPinball["0.5"])
	}
	fmt.Fprintln(page)
	return nil
}

const summaryPreface = "" +
	`*served* is the forecast that waitcast serves, a combination of several experts. *simulation* is the median of one
of these experts, which simulates the scheduler. The number of processors was estimated, except in the columns *known
size*, where it is the number in the log's header.

| log | qbets .5 / .95 | served | served, known size | simulation .5 | simulation, known size |
|---|---|---|---|---|---|
`

func levels() []string { return []string{"0.5", "0.75", "0.9", "0.95"} }

func whole(page io.Writer, r *backtest.TraceResult) {
	served, qbets := r.Method(backtest.Waitcast), r.Method("qbets")
	fmt.Fprintf(page, "### %s\n\nOf %d jobs, %d are scored. Against QBETS the loss is %.1f %% lower at .5 and %.1f %% "+
		"lower at .95.\n%.1f %% of the medians are within a factor of 2 of the wait. The best constant forecast, "+
		"chosen in\nhindsight, would reach %.1f %%.\n\n",
		r.Trace, r.Jobs, served.N, 100*(1-served.LogPinball["0.5"]/qbets.LogPinball["0.5"]),
		100*(1-served.LogPinball["0.95"]/qbets.LogPinball["0.95"]), 100*served.Within2,
		100*r.Constant.Within2)
	fmt.Fprintln(page,
		"| method | n | loss .5 | .95 | covered .5 | .95 | x2 |\n|---|---|---|---|---|---|---|")
	for i := range r.Methods {
		m := &r.Methods[i]
		fmt.Fprintf(page, "| %s | %d |", m.Method, m.N)
		fmt.Fprintf(page, " %.3f | %.3f |", m.LogPinball["0.5"], m.LogPinball["0.95"])
		for _, l := range [...]string{"0.5", "0.95"} {
			fmt.Fprintf(page, " %.3f-%.3f |", m.Coverage[l][0], m.Coverage[l][1])
		}
		fmt.Fprintf(page, " %.3f |\n", m.Within2)
	}
	c := served.Calibration
	fmt.Fprintf(page, "\nThe log's times have a resolution of %.0f s. Of %d checks of a level in a month, %.1f %% "+
		"hold.\n\n", r.Resolution, c.Months, 100*c.MonthsHeld)
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
			fmt.Fprintf(page, " %.3f-%.3f%s |", v.Interval[0], v.Interval[1], mark)
		}
		fmt.Fprintln(page)
	}
	fmt.Fprintln(page, "\n| true wait | n | loss .5 | x2 |\n|---|---|---|---|")
	for _, row := range []struct {
		name string
		of   backtest.Figures
	}{
		{"up to a minute", served.Strata.UpToMinute}, {"up to an hour", served.Strata.UpToHour},
		{"longer", served.Strata.Longer},
	} {
		fmt.Fprintf(page, "| %s | %d | %.3f | %.3f |\n", row.name, row.of.N, row.of.LogPinball["0.5"], row.of.Within2)
	}
	fmt.Fprintf(page, "\nThe mean distance from the median to the .95 quantile is %.0f s. The median absolute error "+
		"of the median is %.0f s.\n\n", *served.Interval, *served.MedianAbsError)
}

func headTable(page io.Writer, name string, r *head.Result) {
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
