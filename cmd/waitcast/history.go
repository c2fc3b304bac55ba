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
)

func newHistory(a *app) *cobra.Command {
	var q client.HistoryQuery
	command := &cobra.Command{
		Use:   "history",
		Short: "Show how long jobs waited, by queue and day",
		Long: "Show how long the jobs waited that started on each day, by queue: half of them no longer than the " +
			"median, nine tenths no longer than the last column.",
		Example: "  waitcast history -q batch --since 7d\n" +
			"  waitcast history --json | jq '.days[] | [.day, .queue, .median_seconds]'",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.history(c.Context(), q) },
	}
	flags := command.Flags()
	flags.StringVarP(&q.Queue, "queue", "q", "", "only this queue")
	flags.StringVar(&q.Since, "since", "",
		"only jobs that started since: 7d before the newest record, or 2026-03-02; default 30d")
	flags.StringVar(&q.Until, "until", "", "and before")
	flags.IntVar(&q.Limit, "limit", 0, "maximum number of rows; default 200")
	flags.IntVar(&q.Offset, "offset", 0, "number of rows to skip at the beginning")
	flags.StringVar(&q.Cluster, "cluster", "", "cluster, if the daemon has several")
	return command
}

func (a *app) history(ctx context.Context, q client.HistoryQuery) error {
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.History(ctx, q)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, historyText(answer, a.zone), answer.Stale, answer.AgeSeconds)
	})
}

// historyText writes one line for each day and queue.
func historyText(h *wire.History, zone *time.Location) []byte {
	var p page
	if len(h.Days) == 0 {
		p.Line("", "No job has started in this time.")
	} else {
		w := p.columns()
		fmt.Fprintln(w, "day\tqueue\tstarted\tmedian wait\t9 of 10 waited at most")
		for _, d := range h.Days {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", d.Day, console.Printable(d.Queue), d.Started,
				duration.Format(fromSeconds(d.Median)), duration.Format(fromSeconds(d.P90)))
		}
		_ = w.Flush() // cannot fail, because it writes to memory
	}
	p.Line("", "")
	if h.NextOffset != nil {
		p.Line("More", fmt.Sprintf("%d of %d rows: --offset %d", len(h.Days), h.Total, *h.NextOffset))
	}
	p.asOf(h.AsOf, h.AgeSeconds, zone)
	return p.Bytes()
}
