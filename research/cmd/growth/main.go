// Command growth measures the cost of a log with very many users and names. It writes the accounting log of a PBS
// cluster; flags set the numbers of users, accounts, names, sizes, time limits, hosts and queues. waitcastd imports
// the log as history, or follows it from the beginning. The command reports the resident memory, the size of the
// database, the metrics and the time of a restart.
//
// Half of the jobs belong to one user who gives each job a new name. The other half shows whether other users are
// nevertheless remembered.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/waitcast/waitcast/research/internal/checkout"
)

type options struct {
	daemon string
	log    string
	keep   bool
	follow bool
	size   size
}

func main() {
	checkout.Enter()
	var o options
	flag.StringVar(&o.daemon, "daemon", "bin/waitcastd", "the daemon's binary")
	flag.StringVar(&o.log, "log", "", "write the log to this file, and do no more")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder of the run")
	flag.BoolVar(&o.follow, "follow", false, "follow the log from its beginning, where every job is forecast, instead "+
		"of importing it as history: a million jobs take hours")
	flag.IntVar(&o.size.jobs, "jobs", 1_000_000, "jobs, each with a name of its own")
	flag.IntVar(&o.size.users, "users", 100_000, "users")
	flag.IntVar(&o.size.accounts, "accounts", 100_000, "accounts")
	flag.IntVar(&o.size.hosts, "hosts", 100_000, "hosts")
	flag.IntVar(&o.size.queues, "queues", 16, "queues, three quarters of the jobs in the first four")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if o.log != "" {
		return writeLog(o.log, o.size)
	}
	dir, err := os.MkdirTemp("", "growth-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Fprintln(os.Stderr, "folder", dir)
	} else {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if err := writeLog(filepath.Join(dir, "accounting"), o.size); err != nil {
		return err
	}
	fmt.Printf("%d jobs and names of %d users, %d accounts, %d hosts, %d queues\n", o.size.jobs, o.size.users,
		o.size.accounts, o.size.hosts, o.size.queues)
	for _, phase := range []string{"import", "restart"} {
		if err := measure(ctx, o, dir, phase); err != nil {
			return err
		}
	}
	return nil
}

// measure lets a daemon read the log to its end and prints the cost.
func measure(ctx context.Context, o *options, dir, phase string) error {
	d, err := startDaemon(ctx, o, dir)
	if err != nil {
		return err
	}
	defer d.stop()
	begun := time.Now()
	if err := d.ready(ctx); err != nil {
		return err
	}
	took := time.Since(begun)
	metrics, err := d.get(ctx, "/metrics")
	if err != nil {
		return err
	}
	u, err := d.usage()
	if err != nil {
		return err
	}
	database, err := os.Stat(filepath.Join(dir, "data", "waitcast.db"))
	if err != nil {
		return err
	}
	const mib = 1 << 20
	fmt.Printf("%-8s %7.0f s %7.0f CPU-s, resident %4d MiB, highest %4d MiB, database %5d MiB, metrics %5d KiB\n",
		phase, took.Seconds(), u.cpu, u.resident/mib, u.highest/mib, database.Size()/mib, len(metrics)/1024)
	return nil
}
