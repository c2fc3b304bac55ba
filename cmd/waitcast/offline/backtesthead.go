package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/predictor/backtest/head"
	"github.com/waitcast/waitcast/swf"
)

// headTrace has the scores of one trace in the mode head.
type headTrace struct {
	Trace string `json:"trace"`
	*head.Result
}

// backtestHead repeats Downey's own test (1996, sections 6.1 to 6.4) on each trace: forecasts at the head of the queue
// under strict first come, first served (see package head).
func (a *Commands) backtestHead(paths []string, f backtestFlags) (err error) {
	if f.report != "" {
		return console.NewUsageError("--report draws whole waits; leave it out, or --mode head")
	}
	var rows *predictionRows
	if f.predictions != "" {
		if rows, err = newPredictionRows(f.predictions); err != nil {
			return err
		}
		defer func() { err = rows.finish(err) }()
	}
	var out struct {
		Traces []headTrace `json:"traces"`
	}
	for _, path := range paths {
		result, err := headReplay(path, f, rows)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out.Traces = append(out.Traces, headTrace{traceName(path), result})
	}
	if a.JSON {
		e := json.NewEncoder(a.JSONTo())
		e.SetIndent("", "  ")
		return e.Encode(out)
	}
	for _, t := range out.Traces {
		if err := printHead(a.Stdout, &t); err != nil {
			return err
		}
	}
	return nil
}

func headReplay(path string, f backtestFlags, rows *predictionRows) (result *head.Result, err error) {
	file, err := swf.Open(path, swf.OnBadLine(func(*swf.LineError) {})) // Read counts the lines that it cannot use
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	trace, err := head.Read(file.Reader, f.procs)
	if err != nil {
		return nil, err
	}
	var failed error
	result, err = head.Run(trace, head.Options{Forecast: func(c head.Forecast) {
		if rows == nil || failed != nil {
			return
		}
		failed = rows.write(strconv.FormatInt(c.Job.ID, 10), c.Job.Submit, c.Method, c.Quantiles)
	}})
	return result, errors.Join(err, failed)
}

func printHead(to io.Writer, t *headTrace) error {
	_, _ = fmt.Fprintf(to, "%s: %d jobs, strictly first come, first served; the wait from the head of the queue\n\n",
		console.Printable(t.Trace), t.Jobs)
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "method\tn\tr log\tr\tloss .5\tloss .95\tx2\tx3\t")
	for i := range t.Methods {
		m := &t.Methods[i]
		loss := func(level string) float64 {
			if v, ok := m.LogPinball[level]; ok {
				return v
			}
			return math.NaN()
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", m.Method, m.N, m.RLog, m.R, loss("0.5"),
			loss("0.95"), m.WithinFactor2, m.WithinFactor3)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(to)
	return err
}
