package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/memsize"
)

// noEnd is the text of a quantile that is never reached.
const noEnd = "no end in sight"

// printJSON prints the daemon's answer in one line.
func (a *app) printJSON(raw json.RawMessage) error {
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return err
	}
	line.WriteByte('\n')
	_, err := a.JSONTo().Write(line.Bytes())
	return err
}

// waitText writes a forecast, the median first.
func waitText(w *wire.Wait, zone *time.Location) []byte {
	q := w.WaitSeconds
	var p page
	median := quantile(q.P50)
	if w.Start.P50 != nil {
		median += ", start " + w.Start.P50.In(zone).Format("Mon 2006-01-02 15:04")
	}
	p.Line("Median wait", median)
	p.Line("Half the cases", band(q.P25, q.P75))
	p.Line("8 of 10 cases", band(q.P10, q.P90))
	p.Line("19 of 20 cases", upTo(q.P95))
	p.Line("", "")
	p.Line("Starts within", fmt.Sprintf("%-9s%-9s%-9s%-9s%s", "1 min", "10 min", "1 h", "4 h", "1 d"))
	s := w.StartWithin
	p.Line("", fmt.Sprintf("%-9s%-9s%-9s%-9s%s",
		percent(s.Minute), percent(s.TenMinutes), percent(s.Hour), percent(s.FourHours), percent(s.Day)))
	p.startsBy(w.StartBy, zone)
	p.Line("", "")
	p.Line("Why", w.Reason)
	if q.P95 == nil {
		p.Line("", "(No end in sight: the jobs that can end do not free enough processors.)")
	}
	p.explain(w.WaitsFor, w.Sooner)
	p.asOf(w.AsOf, w.AgeSeconds, zone)
	p.Line("Method", w.Method)
	p.Line("Asked", asked(w))
	if len(w.NotConsidered) > 0 {
		p.Line("Not counted", notCounted(w.NotConsidered)+": without influence on this forecast")
	}
	return p.Bytes()
}

// notCounted names the parts of a request that do not influence its forecast.
func notCounted(parts []string) string {
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = part
		switch part {
		case "gpus":
			names[i] = "GPUs"
		case "limits":
			names[i] = "limits of the QOS or account"
		}
	}
	return strings.Join(names, ", ")
}

// asked describes how the daemon understood the request. The time limit matters most, because users write time limits
// in many ways.
func asked(w *wire.Wait) string {
	text := fmt.Sprintf("queue %s of cluster %s, %d processors", w.Queue, w.Cluster, w.Procs)
	if w.Procs == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if w.Nodes > 0 {
		text += fmt.Sprintf(", nodes: %d", w.Nodes)
	}
	if w.GPUs > 0 {
		text += fmt.Sprintf(", GPUs: %d", w.GPUs)
	}
	if w.MemoryBytes > 0 {
		memory := memsize.Value(w.MemoryBytes)
		text += ", memory " + memory.String()
	}
	if w.TimeLimitSeconds > 0 {
		text += ", time limit " + duration.Format(fromSeconds(w.TimeLimitSeconds))
	}
	return text
}

func quantile(seconds *float64) string {
	if seconds == nil {
		return noEnd
	}
	return duration.Format(fromSeconds(*seconds))
}

// band formats the range between two quantiles.
func band(low, high *float64) string {
	from, to := quantile(low), quantile(high)
	if from == to {
		return from
	}
	return from + " to " + to
}

func upTo(high *float64) string {
	if high == nil {
		return noEnd
	}
	return "at most " + quantile(high)
}

// percent formats a probability. It shows 0 % and 100 % only for the values 0 and 1.
func percent(p float64) string {
	switch {
	case 0 < p && p < 0.01:
		return "<1 %"
	case 0.99 < p && p < 1:
		return ">99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}

// fromSeconds converts seconds to a duration. Values that are too large or too small give the longest positive or
// negative duration.
func fromSeconds(s float64) time.Duration {
	ns := s * float64(time.Second)
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}

// page is a text page that shows an answer of the daemon.
type page struct{ console.TextPage }

// columns returns a writer of cells, which tabs separate. Its Flush appends the cells to the page in aligned columns.
func (p *page) columns() *tabwriter.Writer { return tabwriter.NewWriter(&p.Buffer, 0, 0, 2, ' ', 0) }
