package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/manual"
)

// app is what the subcommands share.
type app struct {
	console.Console
	env func(string) string
	// zone is the zone that instants are shown in.
	zone *time.Location

	// The persistent flags.
	url     string
	timeout duration.Value
	shows   credentials

	// tokenFrom is the file of the admin token, where it was found in one of the default places.
	tokenFrom string
	// asked is the client of the daemon, once there is one; health is its last report.
	asked  *client.Client
	health *wire.Health
	// urlFrom reports where the daemon's address comes from.
	urlFrom string
	// started is true once a subcommand's own code runs: errors before are errors of usage.
	started bool
}

// newRoot returns the command with all its subcommands.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "waitcast",
		Short: "How long would this job wait?",
		Long: "waitcast asks the daemon of a cluster (waitcastd) how long a job would wait, " +
			"and what to ask for instead.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no forecast possible, 4 data stale\n" +
			"(the answer is printed all the same).",
		Example: "  waitcast wait -q short -n 16 -t 2h\n" +
			"  waitcast wait job.sh\n" +
			"  waitcast --url http://head:9817 now",
		Version:       buildVersion().String(),
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = "print the version, as waitcast version does"
	a.timeout = duration.Value(10 * time.Second)
	flags := root.PersistentFlags()
	flags.StringVar(&a.url, "url", "", "address of the daemon; default WAITCAST_URL, else "+client.DefaultURL)
	flags.BoolVar(&a.JSON, "json", false, "print JSON")
	flags.Var(&a.timeout, "timeout", "how long to wait for the daemon's answer")
	a.shows.flags(flags)
	addCommands(root, a)
	root.AddCommand(newVersion(a), manual.Command(manualPages))
	for _, sub := range below(root) {
		inner := sub.RunE
		if inner == nil {
			continue
		}
		sub.RunE = func(c *cobra.Command, args []string) error {
			a.started = true
			if err := checkNumbers(c.Flags()); err != nil {
				return err
			}
			return inner(c, args)
		}
	}
	return root
}

// checkNumbers refuses flags that are no number, infinite or absurdly large, which pass comparisons with a bound. What
// else a flag wants is checked by its command.
func checkNumbers(flags *pflag.FlagSet) error {
	var problems []error
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		switch f.Value.Type() {
		case "float64":
		case "float64Slice":
			values = f.Value.(pflag.SliceValue).GetSlice()
		default:
			return
		}
		for _, text := range values {
			if _, err := console.ParseNumber(text); err != nil {
				problems = append(problems,
					console.NewUsageError(fmt.Sprintf("--%s is %s; want a number, at most %g", f.Name, text,
						console.MostNumber)))
			}
		}
	})
	return errors.Join(problems...)
}

// client returns a client for the daemon that the user means.
func (a *app) client() (*client.Client, error) {
	address := client.DefaultURL
	a.urlFrom = "the default address"
	if fromEnv := a.env("WAITCAST_URL"); fromEnv != "" {
		address, a.urlFrom = fromEnv, "as WAITCAST_URL says"
	}
	if a.url != "" {
		address, a.urlFrom = a.url, "as --url says"
	}
	shown, err := a.credentials()
	if err != nil {
		return nil, err
	}
	c, err := client.New(address, shown)
	if err != nil {
		return nil, console.NewUsageError(fmt.Sprintf("%v (%s)", err, a.urlFrom))
	}
	a.asked = c
	return c, nil
}

// below returns all commands below one.
func below(c *cobra.Command) []*cobra.Command {
	all := c.Commands()
	for _, sub := range c.Commands() {
		all = append(all, below(sub)...)
	}
	return all
}
