// Command liveload submits loads to a real Slurm, lets a daemon without history forecast the jobs, and measures the
// accuracy of the forecasts (research/docs/liveload.md).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/waitcast/waitcast/research/internal/checkout"
	"github.com/waitcast/waitcast/research/liveload"
)

const usage = `usage: liveload VERB [flags] [arguments]; -h after each tells its flags
  plan     print the load of a seed
  load     submit it to a cluster that runs (research/slurm-load)
  run      start clusters and daemons, submit the loads of several seeds, and record them
  report   judge the answers that were recorded
  replay   put the journals of recorded loads through this program's engine, and record its answers
  score    judge the ledger of a database, such as that of a replay
  dayone   record loads that one daemon follows all along and two from the last day on, one of them with the history
  dayone-replay, dayone-report
           put the journals of dayone through this program's engine, and compare the three daemons`

func main() {
	checkout.Enter()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "liveload:", err)
		}
		stop()
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "plan":
		return plan(rest)
	case "load":
		return load(ctx, rest)
	case "run":
		return run(ctx, rest)
	case "report":
		return report(rest)
	case "replay":
		return replay(ctx, rest)
	case "score":
		return score(ctx, rest)
	case "dayone":
		return dayOne(ctx, rest)
	case "dayone-replay":
		return dayOneReplay(ctx, rest)
	case "dayone-report":
		return dayOneReport(ctx, rest)
	default:
		return fmt.Errorf("unknown verb %q\n%s", verb, usage)
	}
}

// planFlags defines the flags that describe a load, and returns the options that they set.
func planFlags(flags *flag.FlagSet) *liveload.PlanOptions {
	var o liveload.PlanOptions
	flags.IntVar(&o.Jobs, "jobs", 300, "submissions")
	flags.IntVar(&o.Nodes, "nodes", 0, "nodes of the cluster; 0: as load finds it, else 16")
	flags.IntVar(&o.CPUs, "cpus", 0, "processors of a node; 0: as load finds it, else 4")
	flags.Float64Var(&o.Shortest, "shortest", 1, "shortest runtime, seconds")
	flags.Float64Var(&o.Longest, "longest", 60, "longest runtime, seconds")
	flags.Float64Var(&o.Load, "load", 0.9, "mean work that comes, as a part of what the cluster can do; it grows from "+
		"a third of that to five thirds")
	flags.BoolVar(&o.FairShareBurst, "fair-share-burst", false,
		"a user who has used nothing submits a seventh of the jobs in a tenth of the time")
	flags.BoolVar(&o.Binding, "binding", false, "jobs with accounts, QOSs, GPUs, memory, begin times, "+
		"dependencies and arrays, for slurm-cluster --binding")
	return &o
}

// plan prints the jobs of a load as lines of JSON.
func plan(args []string) error {
	flags := flag.NewFlagSet("liveload plan", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "of the load")
	o := planFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	jobs, err := liveload.Plan(*seed, *o)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for i := range jobs {
		if err := out.Encode(&jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// load submits a load to a running cluster, and prints a record of each job as a line of JSON.
func load(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("liveload load", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "of the load")
	o := planFlags(flags)
	s := liveload.Submission{}
	flags.BoolVar(&s.TestOnly, "test-only", false, "ask sbatch --test-only before each job")
	flags.StringVar(&s.URL, "ask", "", "URL of a waitcastd that is asked before each job")
	conf := flags.String("conf", os.Getenv("SLURM_CONF"), "slurm.conf of the cluster")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *conf == "" {
		return errors.New("which cluster? Give -conf, or set SLURM_CONF")
	}
	s.Slurm = liveload.Slurm{Conf: *conf}
	if o.Nodes == 0 && o.CPUs == 0 {
		var err error
		if o.Nodes, o.CPUs, err = s.Slurm.Size(ctx); err != nil {
			return err
		}
	}
	var err error
	if s.Jobs, err = liveload.Plan(*seed, *o); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	s.Plan = *o
	s.Seed, s.Record = *seed, func(r *liveload.Record) error { return out.Encode(r) }
	return s.Run(ctx)
}

// run starts clusters, submits a load to each, and records the answers and outcomes.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("liveload run", flag.ContinueOnError)
	o := liveload.Options{Out: os.Stdout}
	planned := planFlags(flags)
	seeds := flags.String("seeds", "1,2,3,4,5", "seeds, with commas")
	flags.StringVar(&o.Dir, "dir", "", "folder that gets one for each seed; those that are done are skipped")
	flags.IntVar(&o.Clusters, "clusters", 2, "seeds that run at a time")
	flags.IntVar(&o.Port, "port", 27500, "first of 100 ports for each cluster")
	flags.StringVar(&o.HalfLife, "half-life", "5", "of fair share, as Slurm writes times: 5 is five minutes")
	flags.IntVar(&o.FairShareWeight, "fair-share-weight", 0, "of fair share; 0 is that of scripts/slurm-cluster")
	flags.DurationVar(&o.Squeue, "squeue", 0, "how often the daemon asks squeue; default 1s")
	flags.DurationVar(&o.Facts, "facts", 0, "how often the daemon asks for facts; default 5s")
	flags.StringVar(&o.Daemon, "daemon", "", "waitcastd; it is built into the folder where this is empty")
	flags.StringVar(&o.ClusterScript, "cluster", "scripts/slurm-cluster", "script that starts a cluster")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.Plan = *planned
	for word := range strings.SplitSeq(*seeds, ",") {
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return fmt.Errorf("-seeds: %w", err)
		}
		o.Seeds = append(o.Seeds, seed)
	}
	if o.Dir == "" {
		return errors.New("where to? Give -dir")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	if err := build(ctx, &o.Daemon, filepath.Join(o.Dir, "waitcastd"), "./cmd/daemon"); err != nil {
		return err
	}
	return liveload.Run(ctx, o)
}

// report evaluates the recorded answers of runs.
func report(args []string) error {
	flags := flag.NewFlagSet("liveload report", flag.ContinueOnError)
	if err := flags.Parse(args); err != nil {
		return err
	}
	dirs, err := folders(flags)
	if err != nil {
		return err
	}
	return liveload.Report(os.Stdout, dirs)
}

// folders returns the folders of runs that were given as arguments. It is an error if there are none.
func folders(flags *flag.FlagSet) ([]string, error) {
	if flags.NArg() == 0 {
		return nil, errors.New("which runs? Name the folders of their seeds")
	}
	return flags.Args(), nil
}

// replay replays the journals of runs, and evaluates the new answers.
func replay(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("liveload replay", flag.ContinueOnError)
	out := flags.String("out", "", "folder that gets one for each seed, as a run has them")
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
		if err := liveload.Replay(ctx, dir, to[len(to)-1]); err != nil {
			return err
		}
	}
	return liveload.Report(os.Stdout, to)
}

// score evaluates the forecasts in the ledgers of runs.
func score(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("liveload score", flag.ContinueOnError)
	database := flags.String("db", "", "database whose ledger is judged; empty: that of each folder")
	truth := flags.String("truth", "", "folder of the run that the database is of; the same as naming it")
	peers := flags.Bool("peers", false, "judge the other methods that the ledger has, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dirs := flags.Args()
	if *truth != "" {
		dirs = append(dirs, *truth)
	}
	if len(dirs) == 0 {
		return errors.New("which runs? Name the folders of their seeds")
	}
	return liveload.Score(ctx, os.Stdout, *database, dirs, *peers)
}
