package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/job"
)

func newWhen(a *app) *cobra.Command {
	var cluster string
	var request job.Request
	var hours int
	limits := limitList{env: a.env}
	command := &cobra.Command{
		Use:   "when -q QUEUE -n PROCS -t LIMIT",
		Short: "Show when to submit a job: its wait by the hour of submission",
		Long: "Show how long a job would wait by the hour at which it is submitted, over the next days, from the " +
			"forecast of the load. The best hours have a star.\n\n" +
			"A job that is submitted earlier hardly ever starts later: choose an hour with a short wait only to " +
			"be present at the start.",
		Example: "  waitcast when -q short -n 16 -t 2h",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := missing(c, "queue", "procs", "time"); err != nil {
				return err
			}
			switch {
			case len(limits.all) != 1:
				return console.NewUsageError("--time must be one time limit")
			case hours < 1 || hours > 168:
				return console.NewUsageError("--hours must be 1 to 168")
			}
			request.TimeLimit = limits.all[0]
			return a.when(c.Context(), cluster, request, hours)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&request.Queue, "queue", "q", "", "queue or partition (required)")
	flags.IntVarP(&request.Procs, "procs", "n", 0, "number of processors (required)")
	flags.VarP(&limits, "time", "t", "time limit (required)")
	flags.IntVarP(&request.Nodes, "nodes", "N", 0, "number of nodes")
	flags.IntVar(&hours, "hours", 48, "number of full hours to evaluate, up to 168")
	flags.StringVar(&cluster, "cluster", "", "cluster, if the daemon has several")
	flags.Lookup("time").DefValue = "" // the flag has no default value to show
	return command
}

func (a *app) when(ctx context.Context, cluster string, r job.Request, hours int) error {
	if err := checkWait(r, time.Duration(a.timeout)); err != nil {
		return err
	}
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.When(ctx, cluster, r, hours)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, whenText(answer, a.zone), answer.Stale, answer.AgeSeconds)
	})
}

// whenText writes the waits, one line for each hour.
func whenText(w *wire.When, zone *time.Location) []byte {
	var p page
	t := p.columns()
	fmt.Fprintln(t, "\tsubmitted\tmedian wait\thalf the cases\t19 of 20 cases")
	none := true
	for _, h := range w.Hours {
		mark := ""
		if h.Best {
			mark, none = "*", false
		}
		q := h.WaitSeconds
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", mark, h.At.In(zone).Format("Mon 15:04"), quantile(q.P50),
			band(q.P25, q.P75), upTo(q.P95))
	}
	_ = t.Flush() // cannot fail, because it writes to memory
	p.Line("", "")
	if none {
		p.Line("Best", "no hour is marked")
	}
	p.Line("Rests on", w.Note)
	p.asOf(w.AsOf, w.AgeSeconds, zone)
	return p.Bytes()
}
