package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/memsize"
)

const (
	// columns is the width of a terminal that nobody has to make wider.
	columns = 80
	// labels is the width of the column of labels.
	labels = 16
	// noEnd stands for a quantile that is never reached.
	noEnd = "no end in sight"
)

// printJSON prints what the daemon sent, as one line.
func (a *app) printJSON(raw json.RawMessage) error {
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return err
	}
	line.WriteByte('\n')
	_, err := a.stdout.Write(line.Bytes())
	return err
}

// waitText writes a forecast for people: the median first.
func waitText(w *wire.Wait, zone *time.Location) []byte {
	q := w.WaitSeconds
	var p page
	median := quantile(q.P50)
	if w.Start.P50 != nil {
		median += ", start " + w.Start.P50.In(zone).Format("Mon 2006-01-02 15:04")
	}
	p.line("Median wait", median)
	p.line("Half the cases", band(q.P25, q.P75))
	p.line("8 of 10 cases", band(q.P10, q.P90))
	p.line("19 of 20 cases", upTo(q.P95))
	p.line("", "")
	p.line("Starts within", fmt.Sprintf("%-9s%-9s%-9s%-9s%s", "1 min", "10 min", "1 h", "4 h", "1 d"))
	s := w.StartWithin
	p.line("", fmt.Sprintf("%-9s%-9s%-9s%-9s%s",
		percent(s.Minute), percent(s.TenMinutes), percent(s.Hour), percent(s.FourHours), percent(s.Day)))
	p.line("", "")
	p.line("Why", w.Reason)
	if q.P95 == nil {
		p.line("", "(No end in sight: the jobs that can end do not free enough processors.)")
	}
	p.explain(w.WaitsFor, w.Sooner)
	p.line("As of", fmt.Sprintf("%s, %s ago", w.AsOf.In(zone).Format("2006-01-02 15:04:05 -07:00"),
		duration.Format(fromSeconds(w.AgeSeconds))))
	p.line("Method", w.Method)
	p.line("Asked", asked(w))
	return p.Bytes()
}

// asked repeats how the question was understood: above all the time limit, which can be written in many ways.
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

// band writes the range between two quantiles.
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

// percent writes a probability; certainty is left to 0 and 1 themselves.
func percent(p float64) string {
	switch {
	case 0 < p && p < 0.01:
		return "<1 %"
	case 0.99 < p && p < 1:
		return ">99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}

// fromSeconds makes a duration of seconds, bounded by the longest there is.
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

// page is text with a column of labels on the left.
type page struct{ bytes.Buffer }

// line appends a label and its text, wrapped to the columns of the terminal. Spaces inside the text are kept unless it
// must be wrapped.
func (p *page) line(label, text string) {
	rows := []string{printable(text)}
	if len([]rune(text)) > columns-labels {
		rows = wrap(rows[0], columns-labels)
	}
	for _, row := range rows {
		p.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", labels, label, row), " ") + "\n")
		label = ""
	}
}

// wrap breaks text between words into rows of at most width characters; a longer word is cut.
func wrap(text string, width int) []string {
	var rows []string
	var row []rune
	for _, word := range strings.Fields(text) {
		next := []rune(word)
		if len(row) > 0 && len(row)+1+len(next) > width {
			rows, row = append(rows, string(row)), nil
		}
		if len(row) > 0 {
			row = append(row, ' ')
		}
		for row = append(row, next...); len(row) > width; row = row[width:] {
			rows = append(rows, string(row[:width]))
		}
	}
	return append(rows, string(row))
}

// printable replaces control characters: what a log or a server says must not steer the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, text)
}
