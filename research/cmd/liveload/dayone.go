package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/waitcast/waitcast/research/liveload"
)

// dayOne records the runs of liveload.DayOne for some seeds.
func dayOne(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("liveload dayone", flag.ContinueOnError)
	o := liveload.DayOneOptions{Options: liveload.Options{Out: os.Stdout}}
	planned := planFlags(flags)
	flags.StringVar(&o.Dir, "out", "", "folder that gets one for each seed; those that are done are skipped")
	flags.IntVar(&o.Days, "days", 2, "loads before the one that is asked about")
	flags.IntVar(&o.Port, "port", 27500, "first of 100 ports for the cluster")
	flags.DurationVar(&o.Squeue, "squeue", 0, "how often the daemons ask squeue; default 1s")
	flags.DurationVar(&o.Facts, "facts", 0, "how often the daemons ask for facts; default 5s")
	flags.StringVar(&o.Daemon, "daemon", "", "waitcastd; it is built into the folder where this is empty")
	flags.StringVar(&o.Client, "client", "", "waitcast, which imports; it is built where this is empty")
	flags.StringVar(&o.ClusterScript, "cluster", "scripts/slurm-cluster", "script that starts a cluster")
	noImport := flags.Bool("no-import", false, "record without the daemon that imports: replays take its place")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.Plan, o.HalfLife = *planned, "5"
	for _, word := range flags.Args() {
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return fmt.Errorf("seeds: %w", err)
		}
		o.Seeds = append(o.Seeds, seed)
	}
	if o.Dir == "" {
		return errors.New("where to? Give -out")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	if err := build(ctx, &o.Daemon, filepath.Join(o.Dir, "waitcastd"), "./cmd/daemon"); err != nil {
		return err
	}
	if !*noImport {
		if err := build(ctx, &o.Client, filepath.Join(o.Dir, "waitcast"), "./cmd/waitcast"); err != nil {
			return err
		}
	}
	if err := liveload.DayOne(ctx, o); err != nil {
		return err
	}
	var dirs []string
	for _, seed := range o.Seeds {
		dirs = append(dirs, filepath.Join(o.Dir, fmt.Sprintf("seed-%d", seed)))
	}
	return liveload.CompareDayOne(ctx, os.Stdout, dirs, false)
}

// build builds the Go package named what and writes the program to the file named to. Then it sets *path to the name of
// that file. It does nothing if *path is set already.
func build(ctx context.Context, path *string, to, what string) error {
	if *path != "" {
		return nil
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", to, what).CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", what, err, out)
	}
	*path = to
	return nil
}

// dayOneReplay replays recorded runs of liveload.DayOne, and compares the new answers of their daemons.
func dayOneReplay(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("liveload dayone-replay", flag.ContinueOnError)
	out := flags.String("out", "", "folder that gets one for each seed")
	ledger := ledgerFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	dirs, err := folders(flags)
	if err != nil {
		return err
	}
	if *out == "" {
		return errors.New("where to? Give -out")
	}
	var to []string
	for _, dir := range dirs {
		to = append(to, filepath.Join(*out, filepath.Base(filepath.Clean(dir))))
		if err := liveload.ReplayDayOne(ctx, dir, to[len(to)-1]); err != nil {
			return err
		}
	}
	return liveload.CompareDayOne(ctx, os.Stdout, to, *ledger)
}

func ledgerFlag(flags *flag.FlagSet) *bool {
	return flags.Bool("ledger", false, "compare the forecasts of the ledgers instead of the answers")
}

// dayOneReport compares the recorded answers of the daemons of liveload.DayOne.
func dayOneReport(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("liveload dayone-report", flag.ContinueOnError)
	ledger := ledgerFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	dirs, err := folders(flags)
	if err != nil {
		return err
	}
	return liveload.CompareDayOne(ctx, os.Stdout, dirs, *ledger)
}
