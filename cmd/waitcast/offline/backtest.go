package offline

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
)

// backtestFlags are the flags of the subcommand backtest.
type backtestFlags struct {
	mode        string
	warmup      float64
	procs       int
	predictions string
	report      string
}

func newBacktest(a *Commands) *cobra.Command {
	var f backtestFlags
	command := &cobra.Command{
		Use:   "backtest TRACE.swf...",
		Short: "Replay recorded logs and score every method",
		Long: "Replay logs in the Standard Workload Format as if they happened now: every submission is forecast by " +
			"every method from what was\n" +
			"known then, every start is learnt from and scored. --mode head is Downey's own test: the log is " +
			"scheduled strictly first come, first\n" +
			"served, and the wait from reaching the head of the queue is forecast. TRACE may be compressed with gzip.",
		Example: "  waitcast backtest KTH-SP2-1996-2.1-cln.swf.gz\n" +
			"  waitcast backtest SDSC-SP2-1998-4.2-cln.swf.gz --json --predictions forecasts.csv --report " +
			"report.html\n" +
			"  waitcast backtest KTH-SP2-1996-2.1-cln.swf.gz --mode head",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.backtest(args, f) },
	}
	flags := command.Flags()
	flags.StringVar(&f.mode, "mode", "wait",
		"what is forecast: wait, the whole wait from the submission; head, that from reaching the head of the queue")
	flags.Float64Var(&f.warmup, "warmup", .1,
		"part of the jobs, from the beginning, that are learnt from but not scored")
	flags.IntVar(&f.procs, "procs", 0, "processors of the machine; 0 learns them (mode head: the header's MaxProcs)")
	flags.StringVar(&f.predictions, "predictions", "", "file for a row per job and method, CSV")
	flags.StringVar(&f.report, "report", "", "file for a report with plots, HTML")
	return command
}

// backtest replays traces and prints how the methods did.
func (a *Commands) backtest(paths []string, f backtestFlags) (err error) {
	switch {
	case f.mode != "wait" && f.mode != "head":
		return console.NewUsageError(fmt.Sprintf("--mode is %q; allowed: wait, head", f.mode))
	case !(f.warmup >= 0 && f.warmup < 1):
		return console.NewUsageError(fmt.Sprintf("--warmup is %v; want a part from 0 to below 1", f.warmup))
	case f.procs < 0:
		return console.NewUsageError(fmt.Sprintf("--procs is %d; want 0 or more", f.procs))
	case f.mode == "head":
		return a.backtestHead(paths, f)
	}
	var rows *predictionRows
	if f.predictions != "" {
		if rows, err = newPredictionRows(f.predictions); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.close()) }()
	}
	var out backtest.Result
	var samples []*backtest.Sample
	for _, path := range paths {
		result, sample, err := a.replay(path, f, rows)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out.Traces = append(out.Traces, *result)
		samples = append(samples, sample)
	}
	if f.report != "" {
		if err := writeReport(f.report, &out, samples); err != nil {
			return err
		}
	}
	if a.JSON {
		e := json.NewEncoder(a.JSONTo())
		e.SetIndent("", "  ")
		return e.Encode(out)
	}
	return printBacktest(a.Stdout, &out)
}

// replay replays one trace.
func (a *Commands) replay(path string, f backtestFlags, rows *predictionRows) (*backtest.TraceResult,
	*backtest.Sample, error) {
	trace, err := backtest.Open(path, traceName(path))
	if err != nil {
		return nil, nil, err
	}
	bar := a.CountBar(len(trace.Jobs), "jobs")
	sample := backtest.NewSample(trace)
	options := backtest.Options{
		Warmup: f.warmup, Engine: engine.Config{Capacity: f.procs},
		Progress: func(done int) { _ = bar.Set(done) }, // it is only decoration
		Predict: func(j *backtest.Job, method string, q []float64) error {
			if method == backtest.Waitcast {
				sample.Add(j, q)
			}
			if rows == nil {
				return nil
			}
			return rows.write(j.Number, j.Submit, method, q)
		},
	}
	result, err := backtest.Run(trace, options)
	_ = bar.Clear()
	return result, sample, err
}

// traceName is the file's name without the endings of its format.
func traceName(path string) string {
	name := filepath.Base(path)
	for _, suffix := range [...]string{".gz", ".swf"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// predictionRows writes forecasts as CSV: job, submit, method, p50, p75, p90, p95, all in seconds.
type predictionRows struct {
	file *os.File
	out  *csv.Writer
}

func newPredictionRows(path string) (*predictionRows, error) {
	file, err := os.Create(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	r := &predictionRows{file, csv.NewWriter(file)}
	return r, r.out.Write([]string{"job", "submit", "method", "p50", "p75", "p90", "p95"})
}

func (r *predictionRows) write(job int64, submit float64, method string, q []float64) error {
	row := []string{strconv.FormatInt(job, 10), strconv.FormatFloat(submit, 'f', -1, 64), method}
	for _, v := range q {
		cell := "" // a method that gives medians only
		if !math.IsNaN(v) {
			cell = strconv.FormatFloat(v, 'f', 3, 64)
		}
		row = append(row, cell)
	}
	return r.out.Write(row)
}

func (r *predictionRows) close() error {
	r.out.Flush()
	return errors.Join(r.out.Error(), r.file.Close())
}

func writeReport(path string, r *backtest.Result, samples []*backtest.Sample) error {
	file, err := os.Create(path) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	return errors.Join(backtest.WriteReport(file, r, samples), file.Close())
}

// printBacktest prints the figures as a table.
func printBacktest(to io.Writer, r *backtest.Result) error {
	for i := range r.Traces {
		t := &r.Traces[i]
		_, _ = fmt.Fprintf(to, "%s: %d jobs, %.0f s; log-pinball loss (ln(wait + 60 s)), coverage P(W <= q), medians "+
			"within a factor 2 (best constant %.3f)\n\n",
			console.Printable(t.Trace), t.Jobs, t.Seconds, t.Constant.Within2)
		w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "method\tn\tloss .5\t.75\t.9\t.95\tcovered .5\t.75\t.9\t.95\tx2\tx3\tr\tr log\t")
		for k := range t.Methods {
			m := &t.Methods[k]
			_, _ = fmt.Fprintf(w, "%s\t%d\t", m.Method, m.N)
			for _, level := range [...]string{"0.5", "0.75", "0.9", "0.95"} {
				_, _ = fmt.Fprintf(w, "%.4f\t", m.LogPinball[level])
			}
			for _, level := range [...]string{"0.5", "0.75", "0.9", "0.95"} {
				_, _ = fmt.Fprintf(w, "%.3f\t", m.Coverage[level][1])
			}
			_, _ = fmt.Fprintf(w, "%.3f\t%.3f\t%s\t%s\t\n", m.Within2, m.Within3, orDash(m.R), orDash(m.RLog))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(to)
	}
	return nil
}

func orDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 3, 64)
}
