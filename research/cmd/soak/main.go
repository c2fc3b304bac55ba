// Command soak lets the real daemon follow a simulated year of a busy cluster with all kinds of disturbances, and
// evaluates the result (research/docs/soak.md). The exit code is 1 if a condition was not met.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/waitcast/waitcast/research/internal/checkout"
	"github.com/waitcast/waitcast/research/soak"
)

func main() {
	checkout.Enter()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	var o soak.Options
	flags.IntVar(&o.Jobs, "jobs", 50_000, "jobs")
	flags.IntVar(&o.Days, "days", 365, "days in which they are submitted")
	flags.IntVar(&o.Nodes, "nodes", 10_000, "nodes of one processor")
	flags.Uint64Var(&o.Seed, "seed", 0, "of the workload and of what befalls it; 0 draws one")
	flags.DurationVar(&o.Every, "every", 72*time.Hour, "mean simulated time between two disturbances")
	flags.DurationVar(&o.Patience, "patience", 10*time.Minute, "how long the daemon may take to read what there is")
	flags.StringVar(&o.Format, "format", "pbs", "of the log: "+strings.Join(soak.Formats(), ", "))
	flags.StringVar(&o.Style, "style", "mixed", "of the rotations: "+strings.Join(soak.Styles(), ", "))
	flags.BoolVar(&o.Calm, "calm", false, "only read the log undisturbed, for measuring")
	flags.BoolVar(&o.Mild, "mild", false, "judge neither memory nor calibration, for which a short run says little")
	flags.StringVar(&o.Program, "daemon", "", "waitcastd; it is built where this is empty")
	stores := flags.String("store", strings.Join(soak.Stores(), ","), "databases, one soak after the other")
	memory := flags.Int64("memory", 256, "most resident memory of a daemon, MiB")
	only := flags.String("only", "", "the only disturbances, separated by commas; empty for all")
	shared := flags.String("shared", "../shared", "folder with traces/")
	dir := flags.String("dir", "",
		"where logs and databases are made and kept; empty: in a temporary folder that is removed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64N(1 << 32)
	}
	o.Memory, o.Out = *memory<<20, os.Stderr
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	o.Trace = filepath.Join(*shared, "traces", "SDSC-SP2-1998-4.2-cln.swf.gz")
	top := *dir
	if top == "" {
		var err error
		if top, err = os.MkdirTemp("", "soak-"); err != nil {
			return err
		}
		defer os.RemoveAll(top) //nolint:errcheck // what is left is in the temporary folder
	}
	if o.Program == "" {
		o.Program = filepath.Join(top, "waitcastd")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.Program,
			"./cmd/daemon").CombinedOutput(); err != nil {
			return fmt.Errorf("building waitcastd: %w\n%s", err, out)
		}
	}
	var missed []error
	for store := range strings.SplitSeq(*stores, ",") {
		o.Store, o.Dir = store, filepath.Join(top, store)
		missed = append(missed, one(ctx, o))
	}
	return errors.Join(missed...)
}

// one soaks the daemon with the kind of database o.Store, and prints the report.
func one(ctx context.Context, o soak.Options) error {
	fmt.Printf("soak with -seed %d, %s\n", o.Seed, o.Store)
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	report, err := soak.Run(ctx, o)
	if errors.Is(err, soak.ErrSkipped) {
		fmt.Printf("skipped: %s: %v\n", o.Store, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("seed %d, %s: %w", o.Seed, o.Store, err)
	}
	report.Write(os.Stdout)
	if n := len(report.Misses); n > 0 {
		return fmt.Errorf("seed %d, %s: %d misses", o.Seed, o.Store, n)
	}
	return nil
}
