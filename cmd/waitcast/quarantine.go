package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

// quarantineFlags are the flags of waitcast quarantine.
type quarantineFlags struct {
	cluster, reason string
	limit           int
}

func newQuarantine(a *app) *cobra.Command {
	var f quarantineFlags
	command := &cobra.Command{
		Use:   "quarantine",
		Short: "List lines of the logs that could not be used",
		Long: "List lines of the logs that the daemon could not use, by file, line and reason, the newest last.\n\n" +
			"The daemon keeps the newest 10000. Unprintable bytes are shown as \\xNN, a backslash as two.",
		Example: "  waitcast quarantine --reason procs\n" +
			"  waitcast quarantine --limit 10000 --json | jq -r '.bad_lines[].text'",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.quarantine(c.Context(), f) },
	}
	flags := command.Flags()
	flags.StringVar(&f.cluster, "cluster", "", "only lines of this cluster")
	flags.StringVar(&f.reason, "reason", "",
		"only lines of this reason: format, field, time, procs, future, long_line, unknown")
	flags.IntVar(&f.limit, "limit", 100, "maximum number of lines, the newest; up to 10000")
	return command
}

func (a *app) quarantine(ctx context.Context, f quarantineFlags) error {
	switch {
	case a.timeout <= 0:
		return console.NewUsageError("--timeout must be more than 0")
	case f.limit < 1 || f.limit > 10_000:
		return console.NewUsageError("--limit must be 1 to 10000")
	}
	token, err := a.token()
	if err != nil {
		return err
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.timeout))
	defer cancel()
	answer, raw, err := c.Quarantine(ctx, token, f.cluster, f.reason, f.limit)
	var problem *client.ProblemError
	switch {
	case a.JSON && errors.As(err, &problem):
		return errors.Join(err, a.printJSON(problem.JSON))
	case err != nil:
		return err
	case a.JSON:
		return a.printJSON(raw)
	}
	_, err = a.Stdout.Write(a.quarantineText(answer))
	return err
}

// quarantineText writes each bad line: its place and reason, below them the error, and then the text of the line.
func (a *app) quarantineText(q *wire.Quarantine) []byte {
	var out strings.Builder
	for _, b := range q.BadLines {
		place := b.Path
		if place == "" {
			place = b.Source
		}
		if b.Line > 0 {
			place += fmt.Sprintf(":%d", b.Line)
		}
		fmt.Fprintf(&out, "%s  %s  (%s, %s)\n", console.Printable(place), console.Printable(b.Reason),
			console.Printable(b.Source), b.At.In(a.zone).Format("2006-01-02 15:04:05"))
		for _, row := range console.Wrap(console.Printable(b.Message), console.Columns-4) {
			fmt.Fprintf(&out, "    %s\n", row)
		}
		if b.Text != "" {
			fmt.Fprintf(&out, "    | %s\n", console.Printable(b.Text))
		}
	}
	fmt.Fprintf(&out, "%d of %d lines; %d in quarantine", len(q.BadLines), q.Matching, q.Kept)
	if q.Dropped > 0 {
		fmt.Fprintf(&out, ", %d older ones were dropped", q.Dropped)
	}
	return []byte(out.String() + "\n")
}
