package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

func newQueues(a *app) *cobra.Command {
	var cluster string
	command := &cobra.Command{
		Use:     "queues",
		Short:   "Show the queues and their jobs now",
		Long:    "Show the queues, the jobs that wait and run in each, and how much of its nodes is in use.",
		Example: "  waitcast queues",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.queues(c.Context(), cluster) },
	}
	command.Flags().StringVar(&cluster, "cluster", "", "only this cluster")
	return command
}

func (a *app) queues(ctx context.Context, cluster string) error {
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.Queues(ctx, cluster)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, queuesText(answer, a.zone), answer.Stale, answer.AgeSeconds)
	})
}

// queuesText writes one line for each queue.
func queuesText(all *wire.Queues, zone *time.Location) []byte {
	var p page
	w := p.columns()
	fmt.Fprintln(w, "queue\twaiting\t(procs)\theld\trunning\t(procs)\tin use")
	for i := range all.Queues {
		q := &all.Queues[i]
		name := q.Name
		if q.Cluster != all.Queues[0].Cluster || all.Queues[len(all.Queues)-1].Cluster != q.Cluster {
			name = q.Cluster + ":" + q.Name
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\n", console.Printable(name), q.QueuedJobs, q.QueuedProcs, q.HeldJobs,
			q.RunningJobs, q.RunningProcs, inUse(all, q))
	}
	_ = w.Flush() // cannot fail, because it writes to memory
	p.Line("", "")
	p.asOf(all.AsOf, all.AgeSeconds, zone)
	return p.Bytes()
}

// inUse describes how much of the queue's pool is in use.
func inUse(all *wire.Queues, q *wire.Queue) string {
	for i := range all.Pools {
		if p := &all.Pools[i]; p.Cluster == q.Cluster && p.Name == q.Pool && p.Capacity.Procs > 0 {
			return fmt.Sprintf("%d of %d procs", p.Used.Procs, p.Capacity.Procs)
		}
	}
	return "-"
}
