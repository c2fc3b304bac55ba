// Command waitcastd is the waitcast daemon. It follows the accounting logs of a batch scheduler and forecasts how
// long a job would wait. This package only handles flags and signals. Package daemon does the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // time zones for logs, on systems without zone files

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/daemon/demo"
	"github.com/waitcast/waitcast/internal/manual"
	"github.com/waitcast/waitcast/internal/signals"
	"github.com/waitcast/waitcast/internal/softlimit"
	"github.com/waitcast/waitcast/internal/terminal"
	"github.com/waitcast/waitcast/internal/version"
)

// These are the exit codes. The daemon itself does not use exitUsage: a panic of a Go program ends with 2 too, and
// systemd must start the daemon again after a panic, but not after a mistake in the configuration.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2  // wrong usage of a subcommand
	exitConfig = 78 // wrong usage of the daemon, or a mistake in its configuration: EX_CONFIG of sysexits.h
)

func main() { os.Exit(run(os.Args[1:])) }

// usageError marks an error of the command line.
type usageError struct{ error }

func run(args []string) int {
	ctx, stop := signals.Terminated(context.Background())
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "waitcastd: %s\nsee waitcastd --help\n", readable(err))
		if cmd.HasParent() {
			return exitUsage
		}
		return exitConfig
	default:
		fmt.Fprintf(os.Stderr, "waitcastd: %s\n", readable(err))
		return exitFailed
	}
}

// readable formats an error for a terminal. An error of the configuration has one line for each mistake; any other
// error has one line.
func readable(err error) string {
	var list interface{ Unwrap() []error }
	if !errors.As(err, &list) {
		return terminal.Line(err.Error())
	}
	var lines []string
	for _, e := range list.Unwrap() {
		lines = append(lines, terminal.Line(e.Error()))
	}
	return strings.Join(lines, "\n")
}

func rootCommand() *cobra.Command {
	var oneShot, asJSON bool
	cmd := &cobra.Command{
		Use:   "waitcastd [--config FILE] | waitcastd --one-shot [FILE...]",
		Short: "Follow a batch scheduler's logs and forecast queue times",
		Long: "waitcastd follows the accounting logs of a batch scheduler, keeps models of every queue up to date, " +
			"and answers\n" +
			"over HTTP how long a job would wait. waitcastd demo needs no scheduler.\n\n" +
			"Exit codes: 0 done, 1 failed, 78 wrong usage or a mistake in the configuration. The subcommands exit " +
			"with 2 after wrong usage.",
		Example: "  waitcastd demo\n" +
			"  waitcastd check --config /etc/waitcast/waitcastd.yaml --as waitcast\n" +
			"  waitcastd --config /etc/waitcast/waitcastd.yaml\n" +
			"  waitcastd --one-shot --format pbs /var/spool/pbs/server_priv/accounting/2026*",
		Version: version.String(), SilenceUsage: true, SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if !oneShot && len(args) > 0 {
				return usageError{
					fmt.Errorf("unexpected argument %q: it is no command (bundle, check, demo), and files go with "+
						"--one-shot", args[0])}
			}
			return nil
		},
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			if cmd.HasParent() || oneShot {
				signals.EndOnHangup() // only the daemon can reload
			}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if oneShot {
				return runOneShot(cmd, args, asJSON)
			}
			if asJSON {
				return usageError{errors.New("--json goes with --one-shot")}
			}
			return runDaemon(cmd)
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&oneShot, "one-shot", false, "read the logs to their end, print state and models, and exit")
	cmd.Flags().BoolVar(&asJSON, "json", false, "with --one-shot: print JSON")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.AddCommand(demoCommand(), checkCommand(), bundleCommand(), manual.Command(manualPages))
	return cmd
}

// daemonGC lets the daemon's heap grow to 1.5 times the live data before a collection, and less while collections take
// next to no CPU time. Go's default is 2 times. The live data are mostly numbers, so a collection is cheap.
const daemonGC = 50

// softLimit is the soft limit of Go's memory. Go exceeds it if the live data need more. The program's pages and SQLite
// need some 60 MiB in addition. Together this is the 256 MiB that the daemon of one cluster may need.
const softLimit = 192 << 20

// spareThread sets GOMAXPROCS to one more than the number of processors, and returns the number of processors. If the
// environment sets GOMAXPROCS, spareThread leaves and returns that value. So one thread can poll the network while all
// others compute. Otherwise Go would poll only every 10 ms, and requests would wait for the next poll.
func spareThread() (cores int) {
	cores = runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(cores + 1)
	}
	return cores
}

func runDaemon(cmd *cobra.Command) error {
	// The limits stay in force during the stop, when the daemon saves its state.
	limited, unlimit := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer unlimit()
	if os.Getenv("GOGC") == "" {
		go softlimit.Pace(limited, daemonGC)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		go softlimit.Hold(limited, softLimit)
	}
	go softlimit.DropUnused(limited)
	cfg, err := config.Load("", cmd.Flags())
	if err != nil {
		return usageError{err}
	}
	log, level, err := daemon.NewLeveledLogger(cfg.Log)
	if err != nil {
		return err
	}
	reload, stop := hangups()
	defer stop()
	return daemon.Run(cmd.Context(), cfg, daemon.Options{
		Log: log, Level: level, Version: version.String(), Reload: reload, Cores: spareThread(),
		Load: func() (*config.Config, error) { return config.Load("", cmd.Flags()) },
	})
}

// hangups returns a channel that receives a value for each SIGHUP, until stop is called. Several signals in a short
// time may give one value.
func hangups() (told <-chan struct{}, stop func()) {
	out, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-signals.Hangups():
				select {
				case out <- struct{}{}:
				default:
				}
			case <-done:
				return
			}
		}
	}()
	return out, func() { close(done) } // a SIGHUP during the stop has no effect
}

// oneShotGC lets the heap of a short-lived process grow to five times the live data before a collection. With Go's
// default an import would spend a fifth of its time on collections.
const oneShotGC = 400

func runOneShot(cmd *cobra.Command, files []string, asJSON bool) error {
	debug.SetGCPercent(oneShotGC)
	cfg, err := daemon.OneShotConfig(cmd.Flags(), files)
	if err != nil {
		return usageError{err}
	}
	log, err := daemon.NewLogger(cfg.Log)
	if err != nil {
		return err
	}
	reports, err := daemon.OneShot(cmd.Context(), cfg, log)
	if err != nil {
		return err
	}
	if asJSON {
		return daemon.PrintJSON(cmd.OutOrStdout(), reports)
	}
	return daemon.PrintText(cmd.OutOrStdout(), reports)
}

func demoCommand() *cobra.Command {
	o := demo.Options{}
	var logLevel string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run on a simulated cluster, without a scheduler",
		Long: "demo simulates a cluster of 128 nodes with three queues that writes a real PBS accounting log into a " +
			"temporary\n" +
			"folder, and runs the daemon on it: it learns two days of history first, prints its address, and then\n" +
			"simulated time continues from a weekday morning.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unexpected argument %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(o.Speed > 0 && o.Speed <= 1e6) {
				return usageError{errors.New("--speed must be a number above 0, at most 1e6")}
			}
			if o.History < 0 {
				return usageError{errors.New("--history must not be negative")}
			}
			log, err := daemon.NewLogger(config.Log{Level: logLevel, Format: "console"})
			if err != nil {
				return usageError{err}
			}
			o.Log, o.Version, o.Out, o.Terminal = log, version.String(), cmd.OutOrStdout(), isTerminal(os.Stdout)
			o.Open = o.Open && o.Terminal
			return demo.Run(cmd.Context(), o)
		},
	}
	demoFlags(cmd.Flags(), &o, &logLevel)
	return cmd
}

func demoFlags(f *pflag.FlagSet, o *demo.Options, logLevel *string) {
	f.StringVar(&o.Listen, "listen", "127.0.0.1:9817", "address to serve on")
	f.Float64Var(&o.Speed, "speed", 60, "speed of the simulated cluster relative to real time")
	f.DurationVar(&o.For, "for", 0, "stop after this real time from the printing of the address on; 0 runs until "+
		"Ctrl-C")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the simulated workload")
	f.BoolVar(&o.Open, "open", true, "open the page in a browser, on a terminal of a desktop")
	f.StringVar(logLevel, "log-level", "warn", "debug, info, warn or error")
	// Hidden: a short history trains too few forecasts to show anything. It is enough to test how the command ends.
	f.DurationVar(&o.History, "history", 0, "simulated time that is learnt before the start; 0 means 50 hours")
	_ = f.MarkHidden("history") // it exists
}

// isTerminal reports whether the file is a terminal, on which a line can be overwritten, or another character device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
