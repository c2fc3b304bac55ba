package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// jobsFlags are the flags of waitcast jobs.
type jobsFlags struct {
	cluster, queue string
	limit, offset  int
	keep           float64
}

func newJobs(a *app) *cobra.Command {
	var f jobsFlags
	command := &cobra.Command{
		Use:   "jobs [ID]",
		Short: "Show the waiting jobs with their forecasts",
		Long: "Show every waiting job: its forecast at its submission, the rest of its wait now, and why the " +
			"forecast moved.\n" +
			"With ID, only that job, in full.",
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
	flags.IntVar(&f.limit, "limit", 1000, "maximum number of jobs, those submitted first; up to 100000")
	flags.IntVar(&f.offset, "offset", 0, "number of jobs to skip at the beginning")
	flags.StringVar(&f.cluster, "cluster", "", "cluster, if the daemon has several")
	keepFlag(flags, &f.keep)
	return command
}

func (a *app) jobs(ctx context.Context, f jobsFlags, args []string) error {
	switch {
	case f.limit < 1 || f.limit > 100_000:
		return console.NewUsageError("--limit must be 1 to 100000")
	case f.offset < 0:
		return console.NewUsageError("--offset cannot be negative")
	case len(args) == 1 && args[0] == "":
		return console.NewUsageError("ID is empty")
	}
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		if len(args) == 1 {
			one, raw, err := c.Job(ctx, f.cluster, args[0], f.keep)
			if err != nil {
				return err
			}
			return a.printAnswer(raw, jobText(one, a.zone), one.Stale, one.AgeSeconds)
		}
		all, raw, err := c.Jobs(ctx, client.JobsQuery{Cluster: f.cluster, Queue: f.queue, Limit: f.limit,
			Offset: f.offset})
		if err != nil {
			return err
		}
		return a.printAnswer(raw, jobsText(all, a.zone), all.Stale, all.AgeSeconds)
	})
}

// jobsText writes the waiting jobs.
func jobsText(all *wire.Jobs, zone *time.Location) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "Cluster %s, %s: %d jobs wait\n", console.Printable(all.Cluster),
		inTitle(all.AsOf, zone), all.Waiting)
	if len(all.Jobs) == 0 {
		return out.Bytes()
	}
	jobsTable(&out, all.Jobs, zone)
	moreJobs(&out, all.Waiting, len(all.Jobs), all.NextOffset)
	return out.Bytes()
}

// jobsTable writes a line for each job.
func jobsTable(out *bytes.Buffer, jobs []wire.Job, zone *time.Location) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "job\tqueue\tprocs\twaited\tforecast\tstill\tmost likely start\tahead\t\n")
	for i := range jobs {
		j := &jobs[i]
		forecast, still, start := "none", withoutForecast(j.NoForecast), ""
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
	_ = t.Flush() // cannot fail, because it writes to memory
}

// withoutForecast describes in words why a job has no forecast. reason is the code in the daemon's answer.
func withoutForecast(reason string) string {
	text, known := map[string]string{
		"pending":             "comes with the next record",
		"unknown":             "details not known yet",
		"afterwards":          "became known late",
		"not_fitted":          "too few jobs ended",
		"nothing_read":        "nothing read yet",
		"unknown_queue":       "unknown queue",
		"unknown_size":        "unknown size",
		"unknown_capacity":    "cluster's size unknown",
		"larger_than_machine": "larger than the cluster",
		"over_queue_limit":    "over the queue's limit",
		"over_limit":          "over a limit",
		"not_allowed":         "not allowed in the queue",
		"nothing_running":     "no running job frees enough",
		"no_benefactors":      "no running job frees enough",
		"never_enough":        "no running job frees enough",
		"too_much_work":       "too many jobs wait",
	}[reason]
	if !known {
		return strings.ReplaceAll(reason, "_", " ")
	}
	return text
}

// moreJobs writes how many of the waiting jobs the table shows, and how to show the next ones. It writes nothing if
// none follow.
func moreJobs(out *bytes.Buffer, waiting, shown int, next *int) {
	if next != nil {
		fmt.Fprintf(out, "%d of %d jobs are shown: --offset %d shows the next ones\n", shown, waiting, *next)
	}
}

// detailsPending is printed in place of a value that is missing in the log of a job's submission.
const detailsPending = "details pending"

// detailsOf returns a job's queue and size for a table.
func detailsOf(j *wire.Job) (queue, procs string) {
	if !j.DetailsPending {
		return console.Printable(j.Queue), strconv.Itoa(j.Procs)
	}
	return cmp.Or(console.Printable(j.Queue), detailsPending), "?"
}

// whatIs names a job with its queue, its cluster and its size.
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

// jobText writes all details of one job.
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
		p.Line("Forecast", "none: "+console.Printable(withoutForecast(j.NoForecast)))
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
	p.asOf(one.AsOf, one.AgeSeconds, zone)
	return p.Bytes()
}
