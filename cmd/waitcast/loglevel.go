package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// longestLevel is the longest time for which a level can be set. The daemon has the same limit.
const longestLevel = 7 * 24 * time.Hour

func newLogLevel(a *app) *cobra.Command {
	var span duration.Value
	levels := []string{"debug", "info", "warn", "error"}
	command := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or change the daemon's log level",
		Long: "Show the daemon's log level, or change it while the daemon runs: debug, info, warn or error.\n\n" +
			"After --for the level returns to that of the configuration, which is not changed.",
		Example:   "  waitcast log-level debug --for 10m",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: levels,
		RunE: func(c *cobra.Command, args []string) error {
			level := ""
			if len(args) > 0 {
				level = args[0]
			}
			set := c.Flags().Changed("for")
			switch d := time.Duration(span); {
			case a.timeout <= 0:
				return console.NewUsageError("--timeout must be more than 0")
			case set && !slices.Contains(levels, level):
				return console.NewUsageError("--for goes with a level")
			case set && (d <= 0 || d > longestLevel):
				return console.NewUsageError("--for must be more than 0, and at most 7 days")
			}
			return a.logLevel(c.Context(), level, time.Duration(span))
		},
	}
	flags := command.Flags()
	flags.Var(&span, "for", "return to the configured level after this time, up to 7 days; by default never")
	flags.Lookup("for").DefValue = ""
	return command
}

func (a *app) logLevel(ctx context.Context, level string, span time.Duration) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	token, err := a.token()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.timeout))
	defer cancel()
	var answer *wire.LogLevel
	var raw json.RawMessage
	if level == "" {
		answer, raw, err = c.LogLevel(ctx, token)
	} else {
		answer, raw, err = c.SetLogLevel(ctx, token, level, span)
	}
	var problem *client.ProblemError
	switch {
	case a.JSON && errors.As(err, &problem):
		return errors.Join(err, a.printJSON(problem.JSON))
	case err != nil:
		return err
	case a.JSON:
		return a.printJSON(raw)
	}
	until := ""
	if answer.Until != nil {
		until = ", until " + answer.Until.In(a.zone).Format(time.DateTime)
	}
	_, err = fmt.Fprintf(a.Stdout, "Logged now      %s%s\nConfigured      %s\n", console.Printable(answer.Level), until,
		console.Printable(answer.Configured))
	return err
}
