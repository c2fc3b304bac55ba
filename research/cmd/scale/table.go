package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/waitcast/waitcast/research/benchtext"
)

// row is a point, with the size of its dimension and its cost.
type row struct {
	point
	size int
	cost cost
}

func header() []string {
	return []string{"dimension", "size", "nodes", "running", "queued", "users", "history", "load_cpu_us_per_event",
		"event_cpu_us", "event_and_view_cpu_us", "forecast_cpu_us", "event_view_and_first_forecast_cpu_us", "refresh_s",
		"training_s", "save_cpu_ms", "snapshot_bytes", "journal_bytes_per_event", "heap_bytes"}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (r *row) fields() []string {
	out := []string{r.grown}
	for _, n := range [...]int{r.size, r.nodes, r.running, r.queued, r.users, r.historical} {
		out = append(out, fmt.Sprint(n))
	}
	c := &r.cost
	for _, v := range [...]float64{
		micros(c.load), micros(c.event), micros(c.view), micros(c.forecast), micros(c.first), c.refresh.Seconds(),
		c.train.Seconds(), micros(c.save) / 1e3,
	} {
		out = append(out, fmt.Sprintf("%.4g", v))
	}
	return append(out, fmt.Sprint(c.snapshot), fmt.Sprint(c.journal), fmt.Sprint(c.heap))
}

// table returns the row of the greatest size of each dimension as Markdown. The CSV file has all rows.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("By `make scale`:\n\n| grown | to | event | event and view | forecast | refresh | training | " +
		"snapshot | heap |\n|---|---|---|---|---|---|---|---|---|\n")
	for i := range rows {
		r := &rows[i]
		if i+1 < len(rows) && rows[i+1].grown == r.grown {
			continue
		}
		refresh := "-"
		if r.cost.refresh > 0 {
			refresh = fmt.Sprintf("%.3g s", r.cost.refresh.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f us | %.3g ms | %.3g ms | %s | %.2g s | %.3g MB | %.0f MiB |\n",
			r.grown, thousands(r.size), micros(r.cost.event), micros(r.cost.view)/1e3, micros(r.cost.forecast)/1e3,
			refresh, r.cost.train.Seconds(), float64(r.cost.snapshot)/1e6, float64(r.cost.heap)/(1<<20))
	}
	return b.String()
}

// thousands formats a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func writeTable(path string, rows []row) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := benchtext.Between(string(page), "scale", table(rows))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a page that everybody may read
}
