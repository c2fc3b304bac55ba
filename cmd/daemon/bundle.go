package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon/bundle"
	"github.com/waitcast/waitcast/internal/terminal"
	"github.com/waitcast/waitcast/internal/version"
	"github.com/waitcast/waitcast/internal/wholefile"
)

func bundleCommand() *cobra.Command {
	var out string
	o := bundle.Options{Version: version.String()}
	cmd := &cobra.Command{
		Use:   "bundle [--config FILE] [-o FILE]",
		Short: "Gather data for an error report, without names",
		Long: "bundle writes an archive for a report: versions, the configuration, the findings of waitcastd " +
			"check, and data of a running daemon:\n" +
			"metrics, queues, models, accuracy, the number of bad lines by reason. Users, accounts, jobs, " +
			"hosts, clusters, queues and folders are left out\n" +
			"or have pseudonyms. Inspect the archive before you send it: tar xzf FILE.",
		Example: "  waitcastd bundle --config /etc/waitcast/waitcastd.yaml -o bundle.tar.gz",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, cfgErr := config.Load("", cmd.Flags())
			var content bytes.Buffer
			notes, err := bundle.Write(cmd.Context(), &content, cfg, cfgErr, o)
			if err != nil {
				return err
			}
			if out == "-" {
				_, err = cmd.OutOrStdout().Write(content.Bytes())
				return err
			}
			if out == "" {
				out = "waitcast-bundle-" + time.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
			}
			if err := wholefile.WriteBytes(out, 0o600, content.Bytes()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Written         %s, %d bytes\n", terminal.Line(out), content.Len())
			for _, n := range notes {
				fmt.Fprintf(cmd.OutOrStdout(), "Note            %s\n", terminal.Line(n))
			}
			return nil
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&out, "output", "o", "",
		"file to write, - for standard output; default waitcast-bundle-TIME.tar.gz")
	cmd.Flags().StringVar(&o.URL, "url", "",
		"address of the running daemon; default where the configuration lets it listen")
	cmd.Flags().BoolVar(&o.Goroutines, "goroutines", false,
		"also the goroutine stacks of the daemon: for a daemon that hangs")
	return cmd
}
