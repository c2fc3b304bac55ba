package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
)

func newNow(a *app) *cobra.Command {
	var cluster string
	var request job.Request
	command := &cobra.Command{
		Use:   "now",
		Short: "Show which jobs would start at once",
		Long: "Show for each queue the largest sizes and time limits that would start at once. They follow from " +
			"the free processors, and\n" +
			"from the time until the waiting jobs need them. Each has the probability that such a job starts " +
			"within a minute.",
		Example: "  waitcast now\n" +
			"  waitcast now -q batch",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.now(c.Context(), cluster, request) },
	}
	flags := command.Flags()
	flags.StringVarP(&request.Queue, "queue", "q", "", "only this queue")
	flags.StringVar(&cluster, "cluster", "", "only this cluster")
	flags.StringVarP(&request.User, "user", "u", "", "user who would submit the job")
	flags.StringVarP(&request.Account, "account", "A", "", "account that is charged")
	flags.StringVar(&request.QOS, "qos", "", "quality of service")
	return command
}

func (a *app) now(ctx context.Context, cluster string, request job.Request) error {
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.Now(ctx, cluster, request)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, nowText(answer, a.zone), answer.Stale, answer.AgeSeconds)
	})
}

// nowText writes the jobs that would start at once. Each opening has one line.
func nowText(n *wire.Now, zone *time.Location) []byte {
	var p page
	w := p.columns()
	fmt.Fprintln(w, "queue\tfree\tup to procs\tfor up to\tstarts at once\tlikely (90 %)")
	several := false
	for i := range n.Queues {
		several = several || n.Queues[i].Cluster != n.Queues[0].Cluster
	}
	for i := range n.Queues {
		q := &n.Queues[i]
		name := q.Queue
		if several {
			name = q.Cluster + ":" + q.Queue
		}
		free := fmt.Sprintf("%d of %d", q.Free, q.Procs)
		if len(q.Openings) == 0 {
			fmt.Fprintf(w, "%s\t%s\t-\t-\t-\t-\n", console.Printable(name), free)
		}
		for k, o := range q.Openings {
			if k > 0 {
				name, free = "", ""
			}
			limit := "any time limit"
			if o.TimeLimitSeconds != nil {
				limit = duration.Format(fromSeconds(*o.TimeLimitSeconds))
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%d\n", console.Printable(name), free, o.Procs, limit,
				percent(o.Probability), o.LikelyProcs)
		}
	}
	_ = w.Flush() // cannot fail, because it writes to memory
	p.Line("", "")
	for i := range n.Queues {
		if q := &n.Queues[i]; len(q.Openings) == 0 {
			p.Line(q.Queue, q.Reason)
		}
	}
	p.asOf(n.AsOf, n.AgeSeconds, zone)
	return p.Bytes()
}
