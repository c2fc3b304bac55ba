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

// Bounds of the trial reading of each log, by default.
const (
	trialRecords = 20_000
	trialLimit   = 5 * time.Second
)

// errChecksFailed is the end of a check that was printed already.
var errChecksFailed = errors.New("not all is well, see above")

// noArguments refuses arguments.
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
		Short: "Look whether the daemon would work here",
		Long: "check looks at the configuration, at who may read the logs, at schedulers that are asked, at zones " +
			"and clocks, at the database\n" +
			"and the address, and reads the newest lines of each log on trial. It changes nothing, and a running " +
			"daemon is no hindrance.\n" +
			"It ends with 0 if nothing failed, with 1 if something did.",
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
		"newest lines of each log that are read on trial, in 5 s at most; 0 means only a few")
	cmd.Flags().StringVar(&o.As, "as", "",
		"a user for whom everything must be readable too, judged by the mode bits: that of the service")
	return cmd
}
