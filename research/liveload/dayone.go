package liveload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/waitcast/waitcast/collector/slurm"
)

// DayOneOptions are the options of DayOne.
type DayOneOptions struct {
	Options
	// Days is the number of loads that come before the load with forecasts, each with Plan.Jobs jobs; 2 by default.
	Days int
	// Client is the path of the program waitcast, which imports the history. If it is empty, no daemon imports the
	// history while the cluster runs. ReplayDayOne can do so later.
	Client string
}

// These are the names of the daemons that DayOne starts for a seed. Each has a folder with its name, which has the
// files of a run.
const (
	followedDir = "followed" // the daemon that has followed the cluster from its start
	taughtDir   = "taught"   // the daemon that started after the history, and imported it
	freshDir    = "fresh"    // the daemon that started together with taught, without history
)

const (
	// historyFile has the dump of sacct. recordsFile in the same folder has the submissions before the dump.
	historyFile = "history.psv"
	// importFile has the output of the command that imports the history.
	importFile = "import.txt"
	// rotatedLog is the name of slurmctld's log after the dump. No daemon reads a file of that name.
	rotatedLog = "before-slurmctld.log"
)

// DayOne records a cluster for each seed. One daemon follows the cluster from its start, and two more start after some
// days of load. One of these two imports sacct's history of those days. All three daemons forecast each job of the load
// that follows.
//
// Slurm's log is rotated when the two daemons start, so that only sacct has the earlier days. A seed whose folder is
// complete is skipped; an interrupted seed begins again. Seeds run one after the other.
func DayOne(ctx context.Context, o DayOneOptions) error {
	if o.Days == 0 {
		o.Days = 2
	}
	if err := o.fill(); err != nil {
		return err
	}
	var failed []error
	for _, seed := range o.Seeds {
		if ctx.Err() != nil {
			break
		}
		r := &dayOne{days: o.Days, client: o.Client, run: run{Options: &o.Options, seed: seed, port: o.Port,
			dir: filepath.Join(o.Dir, fmt.Sprintf("seed-%d", seed))}}
		if err := r.all(ctx); err != nil {
			r.say("failed: %v", err)
			failed = append(failed, fmt.Errorf("seed %d: %w", seed, err))
		}
	}
	return errors.Join(failed...)
}

// dayOne is the run of DayOne for one seed.
type dayOne struct {
	run
	days      int
	client    string
	daemons   map[string]*process // by folder
	submitted int                 // number of jobs that Slurm has accepted
}

// all records the cluster of the seed, unless its folder is complete.
func (r *dayOne) all(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.dir, doneFile)); err == nil {
		r.say("done already")
		return nil
	}
	for _, name := range []string{followedDir, taughtDir, freshDir} {
		if err := endLeftover(ctx, filepath.Join(r.dir, name)); err != nil {
			return err
		}
	}
	if err := r.clear(ctx); err != nil {
		return err
	}
	if err := r.writeSettings(r.dir); err != nil {
		return err
	}
	r.daemons = map[string]*process{}
	err := r.startCluster(ctx)
	if err == nil {
		err = r.record(ctx)
	}
	for _, d := range r.daemons {
		err = errors.Join(err, d.stop())
	}
	for name := range r.daemons {
		err = errors.Join(err, r.keepLogs(filepath.Join(r.dir, name)))
	}
	if err = errors.Join(err, r.down(ctx)); err != nil {
		return err
	}
	r.say("done")
	return os.WriteFile(filepath.Join(r.dir, doneFile), nil, 0o644) //nolint:gosec // research data
}

// record submits the loads, starts the daemons at their times, and writes the outcomes of the jobs.
func (r *dayOne) record(ctx context.Context) error {
	if err := r.start(ctx, followedDir); err != nil {
		return err
	}
	for day := range r.days {
		if err := r.submit(ctx, day, &Submission{}, r.dir); err != nil {
			return err
		}
	}
	if err := r.arrive(ctx); err != nil {
		return err
	}
	others := []string{freshDir}
	if r.daemons[taughtDir] != nil {
		others = append(others, taughtDir)
	}
	if err := r.ask(ctx, others); err != nil {
		return err
	}
	if err := r.drain(ctx); err != nil {
		return err
	}
	for _, d := range r.daemons {
		if err := d.idle(ctx); err != nil {
			return err
		}
	}
	fates, err := r.fates(ctx, r.submitted)
	if err != nil {
		return err
	}
	for _, name := range append(others, followedDir) {
		if err := writeFates(filepath.Join(r.dir, name), fates); err != nil {
			return err
		}
	}
	return nil
}

// start starts the daemon with a name, and returns when it answers requests.
func (r *dayOne) start(ctx context.Context, name string) error {
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // research data
		return err
	}
	if err := r.writeSettings(dir); err != nil {
		return err
	}
	d, err := r.startBeside(ctx, dir)
	if err == nil {
		r.daemons[name] = d
	}
	return err
}

// submit submits the load of a day, counted from 0, and appends its records to those in the folder dir.
func (r *dayOne) submit(ctx context.Context, day int, s *Submission, dir string) error {
	jobs, err := Plan(r.seed*100+uint64(day), r.Plan) //nolint:gosec // few days
	if err != nil {
		return err
	}
	r.say("day %d: %d jobs in %.0f s", day+1, len(jobs), jobs[len(jobs)-1].After)
	s.Slurm, s.Seed, s.Jobs = r.slurm, r.seed, jobs
	s.Record = func(rec *Record) error {
		if rec.ID != "" {
			r.submitted++
		}
		return appendLine(filepath.Join(dir, recordsFile), rec)
	}
	return s.Run(ctx)
}

// arrive does what a site does on the day on which it installs waitcast: it rotates Slurm's log, starts the late
// daemons, writes the dump of sacct, and imports it into the daemon taughtDir. Without a client there is no such daemon
// and no import.
func (r *dayOne) arrive(ctx context.Context) error {
	if err := r.rotateLog(); err != nil {
		return err
	}
	if err := r.start(ctx, freshDir); err != nil {
		return err
	}
	if r.client != "" {
		if err := r.start(ctx, taughtDir); err != nil {
			return err
		}
	}
	dump, err := r.dump(ctx)
	if err != nil {
		return err
	}
	path := filepath.Join(r.dir, historyFile)
	if err := os.WriteFile(path, []byte(dump+"\n"), 0o644); err != nil { //nolint:gosec // research data
		return err
	}
	r.say("sacct has %d of %d jobs", strings.Count(dump, "\n"), r.submitted)
	if r.client == "" {
		return nil
	}
	begun := time.Now()
	taught := filepath.Join(r.dir, taughtDir)
	out, err := exec.CommandContext(ctx, r.client, "--url", r.daemons[taughtDir].url, "--token-file", //nolint:gosec,lll // whoever runs this names it
		filepath.Join(taught, "admin-token"), "import", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("importing the history: %w\n%s", err, out)
	}
	r.say("imported in %.1f s:\n%s", time.Since(begun).Seconds(), out)
	return os.WriteFile(filepath.Join(taught, importFile), out, 0o644) //nolint:gosec // research data
}

// dump returns sacct's records of all jobs so far. It waits until at least half of the jobs have records, because sacct
// reports the newest jobs some seconds late.
func (r *dayOne) dump(ctx context.Context) (dump string, err error) {
	err = poll(ctx, time.Minute, "sacct to know half of the jobs", func() (bool, error) {
		var err error
		dump, err = r.slurm.run(ctx, "sacct", "-a", "-X", "-D", "-P", "-S", "now-1day", "-E", "now",
			"--format="+slurm.SacctColumns)
		return 2*strings.Count(dump, "\n") >= r.submitted, err
	})
	return dump, err
}

// rotateLog renames slurmctld's log and makes slurmctld open a new one.
func (r *dayOne) rotateLog() error {
	cluster := filepath.Dir(r.slurm.Conf)
	if err := os.Rename(filepath.Join(cluster, logFile), filepath.Join(cluster, rotatedLog)); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(cluster, "slurmctld.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("the file of slurmctld's process: %w", err)
	}
	return syscall.Kill(pid, syscall.SIGUSR2)
}

// ask submits the last load, and requests forecasts from all daemons before each of its jobs. others names those beside
// the daemon that followed from the start.
func (r *dayOne) ask(ctx context.Context, others []string) error {
	s := &Submission{URL: r.daemons[followedDir].url}
	for _, name := range others {
		s.Others = append(s.Others, r.daemons[name].url)
	}
	s.Answered = func(rec Record, answers []Answer) error {
		for i, name := range others {
			rec.Answer = answers[i]
			if err := appendLine(filepath.Join(r.dir, name, recordsFile), &rec); err != nil {
				return err
			}
		}
		return nil
	}
	return r.submit(ctx, r.days, s, filepath.Join(r.dir, followedDir))
}
