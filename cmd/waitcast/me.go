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

func newMe(a *app) *cobra.Command {
	var q client.MeQuery
	command := &cobra.Command{
		Use:   "me",
		Short: "Show my waiting jobs, and how long my jobs run compared with their time limits",
		Long: "Show the waiting jobs of the caller with their forecasts, and by job name how long the jobs ran " +
			"compared with their\n" +
			"time limit, and the gain of a shorter limit.\n\n" +
			"The daemon identifies the caller by its Unix socket, or by a token of the role user.",
		Example: "  waitcast me\n" +
			"  waitcast me --name relax",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.me(c.Context(), q) },
	}
	flags := command.Flags()
	flags.StringVar(&q.Name, "name", "", "also the habit of jobs of this name, if none of them waits or runs")
	flags.IntVar(&q.Limit, "limit", 100, "maximum number of waiting jobs, those submitted first; up to 100000")
	flags.IntVar(&q.Offset, "offset", 0, "number of waiting jobs to skip at the beginning")
	flags.StringVarP(&q.User, "user", "u", "", "whose jobs, for administrators")
	flags.StringVar(&q.Cluster, "cluster", "", "cluster, if the daemon has several")
	return command
}

func (a *app) me(ctx context.Context, q client.MeQuery) error {
	switch {
	case q.Limit < 1 || q.Limit > 100_000:
		return console.NewUsageError("--limit must be 1 to 100000")
	case q.Offset < 0:
		return console.NewUsageError("--offset cannot be negative")
	}
	return a.query(ctx, func(ctx context.Context, c *client.Client) error {
		answer, raw, err := c.Me(ctx, q)
		if err != nil {
			return err
		}
		return a.printAnswer(raw, meText(answer, a.zone), answer.Stale, answer.AgeSeconds)
	})
}

// meText writes what the daemon knows about the caller.
func meText(m *wire.Me, zone *time.Location) []byte {
	var p page
	p.Line("User", fmt.Sprintf("%s on cluster %s, waiting: %d, running: %d", m.User, m.Cluster, m.Waiting,
		m.RunningJobs))
	if len(m.Jobs) > 0 {
		p.WriteByte('\n')
		jobsTable(&p.Buffer, m.Jobs, zone)
		moreJobs(&p.Buffer, m.Waiting, len(m.Jobs), m.NextOffset)
	}
	p.WriteByte('\n')
	label := "Habits"
	for i := range m.Habits {
		p.Line(label, m.Habits[i].Text)
		label = ""
	}
	if len(m.Habits) == 0 {
		p.Line(label, "none of your jobs that wait or run has a name")
		label = ""
	}
	if m.OtherNames > 0 {
		p.Line(label, fmt.Sprintf("%d more of your job names have a habit: --name NAME shows it", m.OtherNames))
	}
	p.asOf(m.AsOf, m.AgeSeconds, zone)
	return p.Bytes()
}
