package offline

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/swflog"
	"github.com/waitcast/waitcast/internal/version"
	"github.com/waitcast/waitcast/internal/wholefile"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/backtest/report"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/swf"
)

// backtestFlags are the flags of the subcommand backtest.
type backtestFlags struct {
	logFlags
	mode        string
	warmup      float64
	procs       int
	predictions string
	report      string
	fast        bool
	fastGiven   bool
}

// exactJobs is the number of jobs from which on a replay is fast, unless the user chooses the mode.
const exactJobs = 100_000

func newBacktest(a *Commands) *cobra.Command {
	var f backtestFlags
	command := &cobra.Command{
		Use:   "backtest LOG...",
		Short: "Replay recorded logs and score every method",
		Long: "Replay logs as if they happened now. Every method forecasts every submission from the " +
			"information of that time; every start\n" +
			"is learnt from and scored. Logs may have any format that waitcast reads, plain, gzip or zstd. " +
			"Each workload file (SWF) is a\n" +
			"separate trace; all other files are one log, in any order. --mode head is Downey's own test for " +
			"workload files: the log is\n" +
			"scheduled strictly first come, first served, and the wait from reaching the head of the queue is " +
			"forecast.",
		Example: "  waitcast backtest KTH-SP2-1996-2.1-cln.swf.gz\n" +
			"  waitcast backtest --report report.html /var/spool/pbs/server_priv/accounting/2026*\n" +
			"  waitcast backtest --time-zone Europe/Berlin dump.psv.zst\n" +
			"  waitcast backtest SDSC-SP2-1998-4.2-cln.swf.gz --json --predictions forecasts.csv\n" +
			"  waitcast backtest KTH-SP2-1996-2.1-cln.swf.gz --mode head",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.fastGiven = c.Flags().Changed("fast")
			return a.backtest(c.Context(), args, f)
		},
	}
	flags := command.Flags()
	f.add(flags)
	flags.StringVar(&f.mode, "mode", "wait",
		"the forecast wait: wait is the whole wait from the submission; head is that from reaching the head of "+
			"the queue")
	flags.Float64Var(&f.warmup, "warmup", .1,
		"part of the jobs, from the beginning, that are learnt from but not scored")
	flags.BoolVar(&f.fast, "fast", false, fmt.Sprintf(
		"forecast and score the last %d jobs only, and learn little more than "+
			"facts from most others; by default from %d jobs on (--fast=false forecasts all)",
		engine.Replay{Submissions: math.MaxInt}.Forecasts(), exactJobs))
	flags.IntVar(&f.procs, "procs", 0, "processors of the machine; 0 learns them (mode head: the header's MaxProcs)")
	flags.StringVar(&f.predictions, "predictions", "", "file for a row per job and method, CSV")
	flags.StringVar(&f.report, "report", "",
		"file for a report with plots and plain sentences, HTML: one page, which loads nothing and names no users")
	return command
}

// backtest replays traces and prints the accuracy of each method.
func (a *Commands) backtest(ctx context.Context, paths []string, f backtestFlags) (err error) {
	switch {
	case f.mode != "wait" && f.mode != "head":
		return console.NewUsageError(fmt.Sprintf("--mode is %q; allowed: wait, head", f.mode))
	case !(f.warmup >= 0 && f.warmup < 1):
		return console.NewUsageError(fmt.Sprintf("--warmup is %v; want a part from 0 to below 1", f.warmup))
	case f.procs < 0:
		return console.NewUsageError(fmt.Sprintf("--procs is %d; want 0 or more", f.procs))
	case f.mode == "head" && f.fastGiven:
		return console.NewUsageError("--fast is of --mode wait")
	case f.mode == "head":
		return a.backtestHead(paths, f)
	}
	var rows *predictionRows
	if f.predictions != "" {
		if rows, err = newPredictionRows(f.predictions); err != nil {
			return err
		}
		defer func() { err = rows.finish(err) }()
	}
	var page *wholefile.File
	if f.report != "" { // created before the replay, because the replay takes long
		if page, err = wholefile.Create(f.report, outMode); err != nil {
			return err
		}
		defer func() { err = page.Finish(err) }()
	}
	var out backtest.Result
	err = a.traces(ctx, paths, f, func(trace *backtest.Trace, files []backtest.File) error {
		result, err := a.replay(trace, f, rows)
		if err != nil {
			return fmt.Errorf("%s: %w", trace.Name, err)
		}
		result.Files = files
		out.Traces = append(out.Traces, *result)
		return nil
	})
	if err != nil {
		return err
	}
	if page != nil {
		if err := report.Write(page, &out, report.Options{Version: version.String()}); err != nil {
			return err
		}
		a.Note("%s: open it in a browser", f.report)
	}
	if a.JSON {
		e := json.NewEncoder(a.JSONTo())
		e.SetIndent("", "  ")
		return e.Encode(out)
	}
	return printBacktest(a.Stdout, &out)
}

// traces reads logs and calls do with each trace. Each workload file is one trace. All other files together are one
// trace.
func (a *Commands) traces(ctx context.Context, paths []string, f backtestFlags,
	do func(*backtest.Trace, []backtest.File) error) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	workloads, others, err := a.areWorkloads(paths, &cfg)
	if err != nil {
		return err
	}
	for _, path := range workloads {
		trace, file, err := a.openTrace(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := do(trace, []backtest.File{file}); err != nil {
			return err
		}
	}
	if len(others) == 0 {
		return nil
	}
	l, files, err := a.readLives(ctx, others, cfg)
	if err != nil {
		return err
	}
	trace, err := backtest.FromLives(traceName(others[0]), l)
	if err != nil {
		return fmt.Errorf("%w: %s", err, summary(files))
	}
	trace.Bad = int(leftOut(files))
	a.Note("%s: %d jobs of %s", trace.Name, len(trace.Jobs), summary(files))
	return do(trace, filesOf(files))
}

// openTrace reads a workload file. On standard error it reports records that could not be used.
func (a *Commands) openTrace(path string) (*backtest.Trace, backtest.File, error) {
	file := backtest.File{Path: path, Format: swflog.Name}
	text, closeText, err := openText(path)
	if err != nil {
		return nil, file, err
	}
	defer closeText()
	bad, refused := 0, lineReport{to: a.Console}
	trace, err := backtest.Read(swf.NewReader(text, swf.Name(path), swf.OnBadLine(func(e *swf.LineError) {
		bad++
		refused.refused(source.BadLine{Path: path, Number: e.Line, Reason: collector.ReasonField, Err: e.Err})
	})), traceName(path))
	refused.summarize()
	if trace == nil {
		return nil, file, err
	}
	file.Reasons = map[string]int64{}
	for reason, n := range map[string]int{collector.ReasonField: bad, collector.ReasonProcs: trace.Bad} {
		if n > 0 {
			file.Reasons[reason] = int64(n)
		}
	}
	if trace.Bad > 0 {
		a.Note("%s: left out: %d records without a number of processors", path, trace.Bad)
	}
	trace.Bad += bad
	file.Records, file.LeftOut = int64(len(trace.Jobs)+trace.Bad), int64(trace.Bad)
	return trace, file, err
}

// filesOf returns the list of files for the results.
func filesOf(files []readFile) (out []backtest.File) {
	for _, f := range files {
		out = append(out, backtest.File{Path: f.Path, Format: f.Format, Records: f.Records, LeftOut: f.Bad,
			Reasons: f.reasons, Notices: f.notices})
	}
	return out
}

func leftOut(files []readFile) (n int64) {
	for _, f := range files {
		n += f.Bad
	}
	return n
}

// replay replays one trace.
func (a *Commands) replay(trace *backtest.Trace, f backtestFlags, rows *predictionRows) (*backtest.TraceResult,
	error) {
	bar := a.CountBar(len(trace.Jobs), "jobs")
	options := backtest.Options{
		Warmup: f.warmup, Engine: engine.Config{Capacity: f.procs},
		Progress: func(done int) { _ = bar.Set(done) }, // an error only spoils the bar
		Predict: func(j *backtest.Job, method string, q []float64) error {
			if rows == nil {
				return nil
			}
			return rows.write(j.ID(), j.Submit, method, q)
		},
	}
	if f.fast || !f.fastGiven && len(trace.Jobs) >= exactJobs {
		options.Fast = &engine.Replay{}
	}
	result, err := backtest.Run(trace, options)
	_ = bar.Clear()
	return result, err
}

// traceName returns the file's name without the endings of its format.
func traceName(path string) string {
	name := filepath.Base(path)
	for _, suffix := range [...]string{".gz", ".zst", ".swf"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// predictionRows writes forecasts as CSV. The columns are job, submit, method, p50, p75, p90 and p95. Times are in
// seconds.
type predictionRows struct {
	file *wholefile.File
	out  *csv.Writer
}

func newPredictionRows(path string) (*predictionRows, error) {
	file, err := wholefile.Create(path, outMode)
	if err != nil {
		return nil, err
	}
	r := &predictionRows{file, csv.NewWriter(file)}
	return r, r.out.Write([]string{"job", "submit", "method", "p50", "p75", "p90", "p95"})
}

func (r *predictionRows) write(job string, submit float64, method string, q []float64) error {
	row := []string{job, strconv.FormatFloat(submit, 'f', -1, 64), method}
	for _, v := range q {
		cell := "" // empty for a method that has only medians
		if !math.IsNaN(v) {
			cell = strconv.FormatFloat(v, 'f', 3, 64)
		}
		row = append(row, cell)
	}
	return r.out.Write(row)
}

// finish gives the file its name if err is nil.
func (r *predictionRows) finish(err error) error {
	r.out.Flush()
	return r.file.Finish(errors.Join(err, r.out.Error()))
}

// printBacktest prints the figures as a table.
func printBacktest(to io.Writer, r *backtest.Result) error {
	for i := range r.Traces {
		t := &r.Traces[i]
		_, _ = fmt.Fprintf(to, "%s: %d jobs, %.0f s; log-pinball loss (ln(wait + 60 s)), coverage P(W <= q), medians "+
			"within a factor 2 (best constant %.3f)\n\n",
			console.Printable(t.Trace), t.Jobs, t.Seconds, t.Constant.Within2)
		if t.ForecastJobs > 0 {
			_, _ = fmt.Fprintf(to, "fast replay: the last %d jobs are forecast and scored; --fast=false forecasts "+
				"all\n\n", t.ForecastJobs)
		}
		w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "method\tn\tloss .5\t.75\t.9\t.95\tcovered .5\t.75\t.9\t.95\tx2\tx3\tr\tr log\t")
		for k := range t.Methods {
			m := &t.Methods[k]
			_, _ = fmt.Fprintf(w, "%s\t%d\t", m.Method, m.N)
			if m.N == 0 {
				_, _ = fmt.Fprintln(w, strings.Repeat("-\t", 12))
				continue
			}
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
