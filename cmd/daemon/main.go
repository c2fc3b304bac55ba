// Command waitcastd is the waitcast daemon: it follows the accounting logs of a batch scheduler and answers how long a
// job would wait. This package only maps flags and signals; package daemon does the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // zones of log times, also where the system has no zone files

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

// Exit codes, the same as the waitcast command's.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:])) }

// usageError marks an error of the command line.
type usageError struct{ error }

func run(args []string) int {
	ctx, stop := signals.Terminated(context.Background())
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "waitcastd: %s\nwaitcastd --help tells how to call it\n", readable(err))
		return exitUsage
	default:
		fmt.Fprintf(os.Stderr, "waitcastd: %s\n", readable(err))
		return exitFailed
	}
}

// readable returns the text of an error for a terminal: a line for each mistake in the configuration, else one line.
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
			"Exit codes: 0 done, 1 failed, 2 wrong usage or a mistake in the configuration.",
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
				signals.EndOnHangup() // nothing but the daemon reloads
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

// daemonGC lets the daemon's heap grow to one and a half times what is live, not to twice, before it is collected: what
// is live is mostly numbers, so that collecting costs little.
const daemonGC = 50

// softLimit is what Go's memory is held to while what lives leaves room: with the program's pages and SQLite's some 60
// MiB less than the 256 MiB that a cluster's daemon may need.
const softLimit = 192 << 20

// spareThread sets GOMAXPROCS to one more than the processors and returns their number. A thread is then free to poll
// the network while all others compute; without it Go polls every 10 ms only, and requests wait for that.
func spareThread() (cores int) {
	cores = runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(cores + 1)
	}
	return cores
}

func runDaemon(cmd *cobra.Command) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(daemonGC)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		ctx, stop := context.WithCancel(cmd.Context())
		defer stop()
		go softlimit.Hold(ctx, softLimit)
	}
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

// hangups returns a channel that receives each SIGHUP, until it is stopped; several in a row count once.
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
	return out, func() { close(done) } // a SIGHUP while it stops changes nothing
}

// oneShotGC lets the heap of a short-lived process grow to five times what is live before it is collected: a fifth of
// the time of an import would go into collecting.
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
		Short: "Run on a simulated cluster: needs nothing",
		Long: "demo simulates a cluster of 128 nodes with three queues that writes a real PBS accounting log into a " +
			"temporary\n" +
			"folder, and runs the daemon on it: three days of history first, then simulated time goes on.",
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
	f.Float64Var(&o.Speed, "speed", 600, "how much faster than real time the simulated cluster goes on")
	f.DurationVar(&o.For, "for", 0, "stop after so much real time; 0 runs until Ctrl-C")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the simulated workload")
	f.BoolVar(&o.Open, "open", true, "open the page in a browser, on a terminal of a desktop")
	f.StringVar(logLevel, "log-level", "warn", "debug, info, warn or error")
}

// isTerminal reports whether the file is a terminal, on which a line may be written over.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
