package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// jobsFlags are those of waitcast jobs.
type jobsFlags struct {
	cluster, queue string
	limit          int
	keep           float64
}

func newJobs(a *app) *cobra.Command {
	var f jobsFlags
	command := &cobra.Command{
		Use:   "jobs [ID]",
		Short: "Show the jobs that wait with their forecasts",
		Long: "Show every job that waits: what was forecast for it at its submission, what that means now that it " +
			"has waited so long, and why it moved.\n" +
			"With ID, that job alone and in full.",
		Example: "  waitcast jobs -q batch\n" +
			"  waitcast jobs 4711",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if f.keep, err = keepOf(c, f.keep); err != nil {
				return err
			}
			return a.jobs(c.Context(), f, args)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&f.queue, "queue", "q", "", "only this queue")
	flags.IntVar(&f.limit, "limit", 1000, "at most so many jobs, those submitted first; up to 100000")
	flags.StringVar(&f.cluster, "cluster", "", "cluster, if the daemon watches several")
	keepFlag(flags, &f.keep)
	return command
}

func (a *app) jobs(ctx context.Context, f jobsFlags, args []string) error {
	switch {
	case a.timeout <= 0:
		return console.NewUsageError("--timeout must be more than 0")
	case f.limit < 1 || f.limit > 100_000:
		return console.NewUsageError("--limit must be 1 to 100000")
	case len(args) == 1 && args[0] == "":
		return console.NewUsageError("ID is empty")
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.timeout))
	defer cancel()
	if len(args) == 1 {
		one, raw, err := c.Job(ctx, f.cluster, args[0], f.keep)
		if err != nil {
			return a.refusedAs(err)
		}
		return a.printAnswer(raw, jobText(one, a.zone), one.Stale, one.AgeSeconds)
	}
	all, raw, err := c.Jobs(ctx, f.cluster, f.queue, f.limit)
	if err != nil {
		return a.refusedAs(err)
	}
	return a.printAnswer(raw, jobsText(all, a.zone), all.Stale, all.AgeSeconds)
}

// printAnswer prints an answer as JSON or as text, and returns an error where it is stale.
func (a *app) printAnswer(raw json.RawMessage, text []byte, stale bool, age float64) error {
	var err error
	if a.JSON {
		err = a.printJSON(raw)
	} else {
		_, err = a.Stdout.Write(text)
	}
	if err == nil && stale {
		return &staleError{fromSeconds(age)}
	}
	return err
}

// jobsText writes a line for each job.
func jobsText(all *wire.Jobs, zone *time.Location) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "Cluster %s, as of %s: %d jobs wait\n", console.Printable(all.Cluster),
		all.AsOf.In(zone).Format("2006-01-02 15:04:05"), all.Waiting)
	if len(all.Jobs) == 0 {
		return out.Bytes()
	}
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "job\tqueue\tprocs\twaited\tforecast\tstill\tmost likely start\tahead\t\n")
	for i := range all.Jobs {
		j := &all.Jobs[i]
		forecast, still, start := "none", j.NoForecast, ""
		if f := j.Forecast; f != nil {
			forecast, still = quantile(f.AtSubmit.P50), band(f.Now.P25, f.Now.P75)
			if f.Start.P50 != nil {
				start = f.Start.P50.In(zone).Format("Mon 15:04")
			}
		}
		held := ""
		if j.Held {
			held = "held " + console.Printable(j.HeldReason)
		}
		queue, procs := detailsOf(j)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", console.Printable(j.ID), queue, procs,
			duration.Format(fromSeconds(j.WaitedSeconds)), forecast, console.Printable(still), start, j.AheadJobs, held)
	}
	_ = t.Flush() // a buffer
	if n := all.Waiting - len(all.Jobs); n > 0 {
		fmt.Fprintf(&out, "and %d more: see --limit\n", n)
	}
	return out.Bytes()
}

// detailsPending stands for a value that the log of a job's submission lacks.
const detailsPending = "details pending"

// detailsOf returns a job's queue and size for a table.
func detailsOf(j *wire.Job) (queue, procs string) {
	if !j.DetailsPending {
		return console.Printable(j.Queue), strconv.Itoa(j.Procs)
	}
	return cmp.Or(console.Printable(j.Queue), detailsPending), "?"
}

// whatIs returns in words what a job is.
func whatIs(one *wire.JobAnswer) string {
	j := &one.Job
	what := console.Printable(j.ID)
	if j.Queue != "" {
		what += ", queue " + console.Printable(j.Queue) + " of"
	} else {
		what += ","
	}
	what += " cluster " + console.Printable(one.Cluster)
	if j.DetailsPending {
		return what + ", " + detailsPending
	}
	return what + fmt.Sprintf(", %d processors", j.Procs)
}

// jobText writes one job in full.
func jobText(one *wire.JobAnswer, zone *time.Location) []byte {
	j := &one.Job
	var p page
	what := whatIs(one)
	if j.Tasks > 1 {
		what += fmt.Sprintf(", %d tasks", j.Tasks)
	}
	if j.TimeLimitSeconds > 0 {
		what += ", time limit " + duration.Format(fromSeconds(j.TimeLimitSeconds))
	}
	p.Line("Job", what)
	p.Line("Submitted", fmt.Sprintf("%s, waited %s", j.Submit.In(zone).Format("Mon 2006-01-02 15:04:05"),
		duration.Format(fromSeconds(j.WaitedSeconds))))
	if j.Held {
		p.Line("Held", console.Printable(j.HeldReason))
	}
	if f := j.Forecast; f == nil {
		p.Line("Forecast", "none: "+console.Printable(j.NoForecast))
	} else {
		p.Line("Then", fmt.Sprintf("median wait %s, 8 of 10 cases %s", quantile(f.AtSubmit.P50),
			band(f.AtSubmit.P10, f.AtSubmit.P90)))
		rest := fmt.Sprintf("median rest %s, 8 of 10 cases %s", quantile(f.Now.P50), band(f.Now.P10, f.Now.P90))
		if f.Start.P50 != nil {
			rest += ", start " + f.Start.P50.In(zone).Format("Mon 2006-01-02 15:04")
		}
		p.Line("Now", rest)
		for _, m := range f.Methods {
			p.Line("  "+console.Printable(m.Name), "median wait "+quantile(m.MedianSeconds)+", as forecast then")
		}
	}
	p.Line("Ahead", fmt.Sprintf("%d jobs with %d processors", j.AheadJobs, j.AheadProcs))
	if j.Moved != "" {
		p.Line("Why", console.Printable(j.Moved))
	}
	p.explain(j.WaitsFor, j.Sooner)
	p.Line("As of", fmt.Sprintf("%s, %s ago", one.AsOf.In(zone).Format("2006-01-02 15:04:05 -07:00"),
		duration.Format(fromSeconds(one.AgeSeconds))))
	return p.Bytes()
}
