package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/manual"
)

// newRoot returns the command with all its subcommands.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "waitcast",
		Short: "How long would this job wait?",
		Long: "waitcast asks the daemon of a cluster (waitcastd) how long a job would wait, and which request " +
			"would start sooner.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no forecast possible, 4 data stale\n" +
			"(the answer is still printed).",
		Example: "  waitcast wait -q short -n 16 -t 2h\n" +
			"  waitcast wait job.sh\n" +
			"  waitcast --url http://head:9817 now",
		Version:       buildVersion().String(),
		SilenceErrors: true, // run prints the errors
		SilenceUsage:  true,
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = "print the version, as waitcast version does"
	a.timeout = duration.Value(10 * time.Second)
	flags := root.PersistentFlags()
	flags.StringVar(&a.url, "url", "", "address of the daemon; default WAITCAST_URL, else unix://"+
		client.DefaultSocket+" if it answers, else "+client.DefaultURL)
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
		if sub.Args != nil && len(sub.ValidArgs) == 0 && !sub.HasSubCommands() {
			sub.Args = explainArguments(sub.Args)
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

// checkNumbers returns an error for flags whose number is NaN, infinite or absurdly large, because comparisons with a
// limit would accept such values. Each command checks the other rules of its flags.
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

// explainArguments returns a check of a command's arguments. An error shows how the command is written. cobra's own
// errors count arguments, or call a superfluous argument an unknown command.
func explainArguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch err := check(c, args); {
		case err == nil:
			return nil
		case !ofCobra(err):
			return err
		case len(args) == 0:
			return fmt.Errorf("an argument is missing; write %s", c.UseLine())
		default:
			return fmt.Errorf("the arguments %q do not fit; write %s", args, c.UseLine())
		}
	}
}

// ofCobra reports whether an error comes from one of cobra's checks of the number of arguments.
func ofCobra(err error) bool {
	for _, begin := range []string{"accepts ", "requires ", "unknown command "} {
		if strings.HasPrefix(err.Error(), begin) {
			return true
		}
	}
	return false
}
