package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon/check"
	"github.com/waitcast/waitcast/internal/terminal"
	"github.com/waitcast/waitcast/internal/version"
)

// These are the default limits of the trial reading of each log.
const (
	trialRecords = 20_000
	trialLimit   = 5 * time.Second
)

// errChecksFailed is returned after a check printed its failures.
var errChecksFailed = errors.New("not all is well, see above")

// noArguments returns an error if there are arguments.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}

func checkCommand() *cobra.Command {
	var asJSON bool
	o := check.Options{Version: version.String(), Limit: trialLimit}
	cmd := &cobra.Command{
		Use:   "check [--config FILE]",
		Short: "Check whether the daemon would work here",
		Long: "check examines the configuration, the permissions of the logs, the files of the history, the polled " +
			"schedulers,\n" +
			"the time zones and clocks, the database and the address, and parses the newest lines of each log. It\n" +
			"changes nothing, and may run beside the daemon.\n" +
			"The exit code is 0 if nothing failed, else 1.",
		Example: "  waitcastd check --config /etc/waitcast/waitcastd.yaml --as waitcast",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Records < 0 {
				return usageError{errors.New("--dry-run must not be below 0")}
			}
			var report *check.Report
			if cfg, err := config.Load("", cmd.Flags()); err != nil {
				report = check.Unusable(err, o)
			} else {
				report = check.Run(cmd.Context(), cfg, o)
			}
			if asJSON {
				enc := json.NewEncoder(terminal.NewJSONWriter(cmd.OutOrStdout()))
				enc.SetIndent("", "  ")
				if err := enc.Encode(report); err != nil {
					return err
				}
			} else if err := report.Print(cmd.OutOrStdout()); err != nil {
				return err
			}
			if !report.OK() {
				return errChecksFailed
			}
			return nil
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&o.Records, "dry-run", trialRecords,
		"newest lines of each log to parse, for at most 5 s; 0 means only a few")
	cmd.Flags().StringVar(&o.As, "as", "",
		"a user, such as that of the service, who must be able to read everything too, by the mode bits")
	return cmd
}
