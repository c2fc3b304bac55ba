package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

func newForecast(a *app) *cobra.Command {
	var cluster, queue string
	var hours, days float64
	command := &cobra.Command{
		Use:   "forecast",
		Short: "Show the forecast of the load for the next hours and days",
		Long: "Show the forecast of the load from an hour to a week ahead: queued work, waiting jobs, " +
			"processors in use,\n" +
			"arriving jobs, and how long standard jobs would wait.\n\n" +
			"Each has the median, and in brackets the band in which nine of ten outcomes should fall.",
		Example: "  waitcast forecast --hours 24\n" +
			"  waitcast forecast -q batch --json | jq '.loads[0].horizons[0].queued_jobs'",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch flags := c.Flags(); {
			case flags.Changed("hours") && flags.Changed("days"):
				return console.NewUsageError("give --hours or --days, not both")
			case flags.Changed("days"):
				hours = 24 * days
			}
			if !(hours >= 1) || math.IsInf(hours, 1) {
				return console.NewUsageError("the first horizon is an hour ahead: --hours must be 1 or more")
			}
			return a.forecast(c.Context(), cluster, queue, hours)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&queue, "queue", "q", "", "only this queue")
	flags.Float64Var(&hours, "hours", 168, "only so many hours ahead")
	flags.Float64Var(&days, "days", 7, "only so many days ahead")
	flags.StringVar(&cluster, "cluster", "", "cluster, if the daemon has several")
	return command
}

func (a *app) forecast(ctx context.Context, cluster, queue string, hours float64) error {
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.Forecast(ctx, cluster, queue, hours)
		if err != nil {
			return err
		}
		text := forecastText(answer, a.zone, console.IsTerminal(a.RawOut()))
		return a.printAnswer(raw, text, answer.Stale, answer.AgeSeconds)
	})
}

// forecastText writes the load of the cluster or of one queue, with a bar chart of its waiting work.
func forecastText(f *wire.LoadForecast, zone *time.Location, terminal bool) []byte {
	var p page
	if len(f.Loads) == 0 {
		p.Line("", "There is no load forecast.")
		return p.Bytes()
	}
	load := &f.Loads[0]
	what := "cluster " + f.Cluster
	if load.Queue != "" {
		what = "queue " + load.Queue + " of " + what
	}
	p.Line("Load of", what)
	p.Line("From", fmt.Sprintf("%s, %s ago", f.MadeFor.In(zone).Format("2006-01-02 15:04:05 -07:00"),
		duration.Format(fromSeconds(f.MadeAge))))
	p.WriteByte('\n')
	loadTable(&p.Buffer, load, zone)
	p.WriteByte('\n')
	drawLoad(&p.Buffer, load, terminal)
	standardTable(&p, f)
	p.WriteByte('\n')
	if n := len(f.Loads) - 1; n > 0 {
		p.Line("Queues", fmt.Sprintf("%d more: -q QUEUE shows one", n))
	}
	p.Line("Saturation", saturationText(f.Saturation))
	p.Line("So far", scoreText(f))
	return p.Bytes()
}

// ahead describes a horizon: the time from now.
func ahead(seconds float64) string { return "in " + duration.Format(fromSeconds(seconds)) }

// loadTable writes a table of medians and ranges by horizon.
func loadTable(out *bytes.Buffer, load *wire.LoadAhead, zone *time.Location) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) } //nolint:errcheck // a buffer
	now := &load.Now
	row("", "", "queued proc h", "waiting jobs", "in use, %", "jobs per h")
	row("now", "", amount(now.QueuedWork/3600), amount(now.QueuedJobs), amount(100*now.Utilization),
		amount(now.JobsPerHour))
	for i := range load.Horizons {
		h := &load.Horizons[i]
		row(ahead(h.HorizonSeconds), h.At.In(zone).Format("Mon 15:04"), scaled(h.QueuedWork, 1./3600),
			scaled(h.QueuedJobs, 1), scaled(h.Utilization, 100), scaled(h.JobsPerHour, 1))
	}
	_ = t.Flush() // cannot fail, because it writes to memory
}

// scaled formats a median and its range, each multiplied by unit.
func scaled(b wire.Band, unit float64) string {
	return fmt.Sprintf("%s (%s-%s)", amount(b.P50*unit), amount(b.P05*unit), amount(b.P95*unit))
}

// amount formats a number with few digits.
func amount(x float64) string {
	switch {
	case math.Abs(x) >= 1e6:
		return fmt.Sprintf("%.3g", x)
	case math.Abs(x) >= 10 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

// barWidth is the width of a bar in characters.
const barWidth = 50

// drawLoad draws a bar of the waiting work for each horizon. The bar is dark up to the median, and light from there
// to the upper end of the range.
func drawLoad(out *bytes.Buffer, load *wire.LoadAhead, terminal bool) {
	most := load.Now.QueuedWork
	for i := range load.Horizons {
		most = math.Max(most, load.Horizons[i].QueuedWork.P95)
	}
	if !(most > 0) {
		out.WriteString("No queue is expected.\n")
		return
	}
	full, light := "#", "-"
	if terminal {
		full, light = "\u2588", "\u2591"
	}
	bar := func(label string, median, high float64) {
		to := func(x float64) int { return int(math.Round(min(1, max(0, x/most)) * barWidth)) }
		drawn := strings.Repeat(full, to(median)) + strings.Repeat(light, max(0, to(high)-to(median)))
		out.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", console.Labels, label, drawn), " ") + "\n")
	}
	fmt.Fprintf(out, "%-*s%s to the median, %s to the end of the band, of %s\n", console.Labels, "Queued proc h", full,
		light, amount(most/3600))
	bar("now", load.Now.QueuedWork, 0)
	for i := range load.Horizons {
		bar(ahead(load.Horizons[i].HorizonSeconds), load.Horizons[i].QueuedWork.P50, load.Horizons[i].QueuedWork.P95)
	}
}

// standardTable writes the waits of standard jobs if the answer is about one pool.
func standardTable(p *page, f *wire.LoadForecast) {
	var jobs []string
	byHorizon := map[float64][]string{}
	for i := range f.StandardWaits {
		w := &f.StandardWaits[i]
		if w.Pool != f.StandardWaits[0].Pool {
			return
		}
		if w.HorizonSeconds == f.StandardWaits[0].HorizonSeconds {
			jobs = append(jobs, console.Printable(w.Job))
		}
		byHorizon[w.HorizonSeconds] = append(byHorizon[w.HorizonSeconds],
			quantile(w.WaitSeconds.P50)+" ("+quantile(w.WaitSeconds.P95)+")")
	}
	if len(jobs) == 0 {
		return
	}
	p.WriteString("\nHow long a job would wait that is submitted then, in the simulation: the median (and 19 of 20)\n")
	t := p.columns()
	fmt.Fprintln(t, "\t"+strings.Join(jobs, "\t")) //nolint:errcheck // a buffer
	for i := range f.Loads[0].Horizons {
		h := f.Loads[0].Horizons[i].HorizonSeconds
		fmt.Fprintln(t, ahead(h)+"\t"+strings.Join(byHorizon[h], "\t")) //nolint:errcheck // a buffer
	}
	_ = t.Flush() // cannot fail, because it writes to memory
}

// leastWeeks is the minimum number of weekly counts for which the growth of the queue is shown. With fewer counts the
// daemon never reports saturation.
const leastWeeks = 5

// saturationText describes the saturation of a queue or the cluster. Every command uses the same words.
func saturationText(s *wire.Saturation) string {
	if s == nil {
		return "not known yet: too few jobs have been seen"
	}
	if s.GrowthWeeks < leastWeeks && !s.Saturated {
		return fmt.Sprintf("not known yet: it takes %d weeks of records", leastWeeks)
	}
	text := "not saturated"
	if s.Saturated {
		text = "SATURATED: jobs come faster than they can be run"
	}
	text += fmt.Sprintf("; the jobs in the system grew by %s a week (of %d weekly counts)", amount(s.Growth),
		s.GrowthWeeks)
	if s.Probability == nil || s.JobsPerWeek == nil {
		return text + ", and no future has been simulated yet"
	}
	return text + fmt.Sprintf(", and if jobs keep arriving like this they grow without bound with a probability of "+
		"%s (by %s a week in the median, over %d weeks)",
		percent(*s.Probability), amount(s.JobsPerWeek.P50), s.Weeks)
}

// scoreHorizon is the preferred horizon of the printed scores in seconds: six hours. If it has none, those of the
// nearest horizon are printed.
const scoreHorizon = 6 * 3600

// scoreText describes how accurate the forecasts of the cluster's queued work were.
func scoreText(f *wire.LoadForecast) string {
	var best *wire.LoadScore
	far := func(s *wire.LoadScore) float64 { return math.Abs(math.Log(s.HorizonSeconds / scoreHorizon)) }
	for i := range f.Scores {
		s := &f.Scores[i]
		if s.Scope == "cluster" && s.Series == "queued_work" && (best == nil || far(s) < far(best)) {
			best = s
		}
	}
	if best == nil {
		return "no forecast has been scored yet; " + f.Learnt.Note
	}
	less := func(other float64) string {
		if !(other > 0) {
			return "-"
		}
		return fmt.Sprintf("%+.0f %%", 100*(best.Losses.Waitcast/other-1))
	}
	return fmt.Sprintf("%d outcomes %s ahead: the loss of the queued work was %s against that all stays as it is, "+
		"and %s against that it is as a week before; %s fell into the band",
		best.N, duration.Format(fromSeconds(best.HorizonSeconds)), less(best.Losses.Persistence),
		less(best.Losses.LastWeek), percent(1-best.Below-best.Above))
}
