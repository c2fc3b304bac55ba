package liveload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Settings define the load of a run, the cluster and the daemon. They are stored in the file run.json of every seed.
type Settings struct {
	Plan PlanOptions `json:"plan"`
	// HalfLife is Slurm's PriorityDecayHalfLife in Slurm's notation; by default "5", which means five minutes.
	HalfLife string `json:"half_life"`
	// FairShareWeight is Slurm's PriorityWeightFairshare; 0 means the value of scripts/slurm-cluster.
	FairShareWeight int `json:"fair_share_weight"`
	// Squeue and Facts are the intervals at which the daemon polls squeue and Slurm's facts, 1 s and 5 s by default.
	Squeue time.Duration `json:"squeue_interval_ns"`
	Facts  time.Duration `json:"facts_interval_ns"`
}

// Options are the options of Run.
type Options struct {
	Settings
	// Dir is the folder that gets a folder for each seed.
	Dir   string
	Seeds []uint64
	// Clusters is the number of seeds that run at the same time, 2 by default. A cluster with its load takes 1/10 of a
	// core.
	Clusters int
	// Port is the first port of the first cluster, 27500 by default. Each cluster has 100 ports.
	Port int
	// Daemon and ClusterScript are the paths of waitcastd and of scripts/slurm-cluster.
	Daemon, ClusterScript string
	// Out receives a line for every step.
	Out io.Writer
}

// portsEach is the number of ports of a cluster.
const portsEach = 100

func (o *Options) fill() error {
	if o.Clusters == 0 {
		o.Clusters = 2
	}
	if o.Port == 0 {
		o.Port = 27500
	}
	if o.HalfLife == "" {
		o.HalfLife = "5"
	}
	if o.Squeue == 0 {
		o.Squeue = time.Second
	}
	if o.Facts == 0 {
		o.Facts = 5 * time.Second
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Clusters < 1 || len(o.Seeds) == 0 {
		return fmt.Errorf("%d seeds on %d clusters: give at least one of each", len(o.Seeds), o.Clusters)
	}
	if o.Plan.Nodes+2 > portsEach {
		return fmt.Errorf("%d nodes: give at most %d, one port for each", o.Plan.Nodes, portsEach-2)
	}
	var err error
	o.Dir, err = filepath.Abs(o.Dir)
	return errors.Join(err, o.Plan.fill())
}

// Run runs the loads of all seeds, several at the same time. A seed whose folder is complete is skipped; an interrupted
// seed begins again. A seed that fails does not stop the others. The returned error joins the errors of all seeds.
func Run(ctx context.Context, o Options) error {
	if err := o.fill(); err != nil {
		return err
	}
	seeds := make(chan uint64)
	var all sync.WaitGroup
	var starting, mu sync.Mutex // only one cluster starts at a time, because a start needs all processors
	var failed []error
	for slot := range o.Clusters {
		all.Go(func() {
			for seed := range seeds {
				r := &run{Options: &o, seed: seed, port: o.Port + slot*portsEach, starting: &starting,
					dir: filepath.Join(o.Dir, fmt.Sprintf("seed-%d", seed))}
				if err := r.all(ctx); err != nil {
					r.say("failed: %v", err)
					mu.Lock()
					failed = append(failed, fmt.Errorf("seed %d: %w", seed, err))
					mu.Unlock()
				}
			}
		})
	}
	for _, seed := range o.Seeds {
		if ctx.Err() == nil {
			seeds <- seed
		}
	}
	close(seeds)
	all.Wait()
	return errors.Join(failed...)
}

// run is the run of one seed.
type run struct {
	*Options
	seed     uint64
	port     int
	dir      string // folder of the seed
	starting *sync.Mutex
	slurm    Slurm
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Out, "%s seed %d: %s\n", time.Now().Format(time.TimeOnly), r.seed, fmt.Sprintf(format, args...))
}

// clusterFile is the name of the file that has the folder of a run's cluster, so that a later run can stop a cluster
// that was left behind.
const clusterFile = "cluster"

// all runs the load of the seed, unless its folder is complete.
func (r *run) all(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.dir, doneFile)); err == nil {
		r.say("done already")
		return nil
	}
	if err := r.clear(ctx); err != nil {
		return err
	}
	jobs, err := Plan(r.seed, r.Plan)
	if err != nil {
		return err
	}
	if err := r.writeSettings(r.dir); err != nil {
		return err
	}
	d, err := r.begin(ctx)
	if err != nil {
		return errors.Join(err, r.down(ctx))
	}
	err = r.load(ctx, d, jobs)
	err = errors.Join(err, d.stop())
	err = errors.Join(err, r.keepLogs(r.dir), r.down(ctx))
	if err != nil {
		return err
	}
	r.say("done")
	return os.WriteFile(filepath.Join(r.dir, doneFile), nil, 0o644) //nolint:gosec // research data
}

// writeSettings writes the settings of the run into a folder.
func (r *run) writeSettings(dir string) error {
	text, err := json.MarshalIndent(struct {
		Seed uint64    `json:"seed"`
		At   time.Time `json:"at"`
		Settings
	}{r.seed, time.Now().UTC(), r.Settings}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, settingsFile), append(text, '\n'), 0o644) //nolint:gosec // research data
}

// clear stops the daemon and the cluster of an interrupted run, and empties the folder of the seed.
func (r *run) clear(ctx context.Context) error {
	if err := endLeftover(ctx, r.dir); err != nil {
		return err
	}
	if name, err := os.ReadFile(filepath.Join(r.dir, clusterFile)); err == nil {
		r.slurm.Conf = filepath.Join(string(name), "slurm.conf")
		if _, err := os.Stat(filepath.Join(string(name), "pids")); err == nil {
			r.say("taking the cluster of an interrupted run down")
			if err := r.down(ctx); err != nil {
				return err
			}
		}
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	return os.MkdirAll(r.dir, 0o755) //nolint:gosec // research data
}

// begin starts the cluster and then the daemon, which it returns.
func (r *run) begin(ctx context.Context) (*process, error) {
	r.starting.Lock()
	defer r.starting.Unlock()
	if err := r.startCluster(ctx); err != nil {
		return nil, err
	}
	return r.startBeside(ctx, r.dir)
}

// startCluster starts the cluster.
func (r *run) startCluster(ctx context.Context) error {
	parent, err := os.MkdirTemp("", "liveload-") // a short path: the name of a socket has at most 107 bytes
	if err != nil {
		return err
	}
	if err := os.Chmod(parent, 0o755); err != nil { //nolint:gosec // jobs of other users have their scripts there
		return err
	}
	cluster := filepath.Join(parent, "c")
	r.slurm.Conf = filepath.Join(cluster, "slurm.conf")
	if err := os.WriteFile(filepath.Join(r.dir, clusterFile), []byte(cluster), 0o600); err != nil {
		return err
	}
	args := []string{
		"up", cluster, "--nodes", strconv.Itoa(r.Plan.Nodes), "--cpus", strconv.Itoa(r.Plan.CPUs),
		"--port", strconv.Itoa(r.port), "--fair-share", r.HalfLife,
	}
	if r.Plan.Binding {
		args = append(args, "--binding", "--slurm-user", "slurm")
	}
	if r.FairShareWeight > 0 {
		args = append(args, "--fair-share-weight", strconv.Itoa(r.FairShareWeight))
	}
	r.say("starting a cluster in %s, ports from %d", cluster, r.port)
	if out, err := exec.CommandContext(ctx, r.ClusterScript, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("starting the cluster: %w\n%s", err, out)
	}
	return nil
}

// startBeside starts a daemon for the cluster, with its files in the folder dir. It returns when the daemon answers
// requests.
func (r *run) startBeside(ctx context.Context, dir string) (*process, error) {
	if err := writeConfig(dir, r.slurm, r.Squeue, r.Facts); err != nil {
		return nil, err
	}
	d, err := startDaemon(ctx, r.Daemon, dir)
	if err != nil {
		return nil, err
	}
	if err := d.ready(ctx); err != nil {
		return nil, d.fail(err)
	}
	return d, nil
}

// drainLimit is the maximum time from the last submission to the end of all jobs.
const drainLimit = 30 * time.Minute

// load submits the jobs, waits until they have ended, and writes their outcomes.
func (r *run) load(ctx context.Context, d *process, jobs []Job) error {
	r.say("%d jobs in %.0f s", len(jobs), jobs[len(jobs)-1].After)
	submitted := 0
	s := Submission{Slurm: r.slurm, Seed: r.seed, Plan: r.Plan, Jobs: jobs, TestOnly: true, URL: d.url,
		Record: func(rec *Record) error {
			if rec.ID != "" {
				submitted++
			}
			return appendLine(filepath.Join(r.dir, recordsFile), rec)
		}}
	begun := time.Now()
	stop := r.watch(ctx)
	err := s.Run(ctx)
	if err == nil {
		r.say("submitted after %.0f s", time.Since(begun).Seconds())
		err = r.drain(ctx)
	}
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	if err := d.idle(ctx); err != nil {
		return err
	}
	fates, err := r.fates(ctx, submitted)
	if err != nil {
		return err
	}
	return writeFates(r.dir, fates)
}

// drain waits until all jobs have ended.
func (r *run) drain(ctx context.Context) error {
	begun := time.Now()
	err := poll(ctx, drainLimit, "all jobs to end", func() (bool, error) { return r.slurm.empty(ctx) })
	if err == nil {
		r.say("all jobs are over after another %.0f s", time.Since(begun).Seconds())
	}
	return err
}

// fates waits until sacct has the ends of all submitted jobs, and returns their outcomes.
func (r *run) fates(ctx context.Context, submitted int) (fates []Fate, err error) {
	err = poll(ctx, time.Minute, "sacct to know the end of every job", func() (bool, error) {
		var err error
		fates, err = r.slurm.fates(ctx)
		known := map[string]bool{}
		for i := range fates {
			if fates[i].End.IsZero() {
				return false, err
			}
			known[whole(fates[i].ID)] = true
		}
		return len(known) == submitted, err
	})
	return fates, err
}

// writeFates writes the outcomes of the jobs of a run.
func writeFates(dir string, fates []Fate) error {
	for i := range fates {
		if err := appendLine(filepath.Join(dir, fatesFile), &fates[i]); err != nil {
			return err
		}
	}
	return nil
}

// keepLogs copies Slurm's logs and slurm.conf into a folder.
func (r *run) keepLogs(dir string) error {
	for _, name := range []string{logFile, "jobcomp.log", "slurm.conf"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(r.slurm.Conf), name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // research data
			return err
		}
	}
	return nil
}

// down stops the cluster and removes its files.
func (r *run) down(ctx context.Context) error {
	if r.slurm.Conf == "" {
		return nil // there is no cluster yet
	}
	cluster := filepath.Dir(r.slurm.Conf)
	if _, err := os.Stat(filepath.Join(cluster, "pids")); err == nil {
		if out, err := exec.CommandContext(context.WithoutCancel(ctx), r.ClusterScript, "down",
			cluster).CombinedOutput(); err != nil { // also after an interruption
			return fmt.Errorf("taking the cluster down: %w\n%s", err, out)
		}
	}
	return os.RemoveAll(filepath.Dir(cluster))
}
