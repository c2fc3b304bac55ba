package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// forecastSeeds is the number of loads that are compared. learntFrom is the number of jobs at the beginning of each
// load that are not scored.
const (
	forecastSeeds = 5
	learntFrom    = 100
)

// These are the targets: the error of the forecast at submission divided by the errors of Slurm's two predictions
// (medians of absolute errors), and the coverage of the 0.9 quantile.
const (
	ofTestOnly, ofSqueue = 1. / 3, 1. / 6
	leastCovered         = .85
	mostCovered          = .95
)

// TestRealSlurmForecasts compares Waitcast with a real Slurm under load. It proves that the median error of forecasts
// at submission is at most 1/3 of that of sbatch --test-only at the same instant, and at most 1/6 of that of the first
// output of squeue --start. The 0.9 quantile covers 85 to 95 % of the waits. Each seed has its own cluster and daemon,
// without history. The seeds run in parallel, because they mostly wait for jobs (a cluster takes 1/20 of a core). If
// WAITCAST_OUT names a folder, the test writes a row for every job there.
func TestRealSlurmForecasts(t *testing.T) {
	if !long() {
		t.Skip("five loads of a quarter of an hour: only with WAITCAST_LONG=1")
	}
	t.Parallel()
	// mu guards the outcomes of all seeds. Only one cluster at a time starts, because a start needs all cores.
	var mu sync.Mutex
	var all []outcome
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(forecastSeeds) {
			t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
				t.Parallel()
				out := runLoad(t, seed+1, &mu)
				save(t, fmt.Sprintf("slurm-forecasts-%d.csv", seed+1), out)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, out...)
			})
		}
	})
	if len(all) == 0 {
		t.Skip("no load ran")
	}
	judge(t, all)
}

// runLoad submits one load to a new cluster and returns the outcomes when all jobs have ended.
func runLoad(t *testing.T, seed uint64, starting *sync.Mutex) []outcome {
	t.Helper()
	c, d, s := startBoth(t, starting)
	watch := c.watchEstimates()
	plan := planLoad(seed, forecastJobs)
	out := make([]outcome, len(plan))
	begun := time.Now()
	for i := range plan {
		<-time.After(plan[i].after - time.Since(begun)) // at once if it is late
		o := &out[i]
		*o = outcome{planned: plan[i], seed: seed, number: i, asked: time.Now()}
		o.testOnly = c.wouldStart(&o.planned)
		o.id = c.run("sbatch", append([]string{"--parsable"}, o.args()...)...)
	}
	t.Logf("seed %d: submitted in %.0f s (planned %.0f s)", seed, time.Since(begun).Seconds(),
		plan[len(plan)-1].after.Seconds())
	c.drained()
	watch.stop()
	t.Logf("seed %d: over after %.0f s", seed, time.Since(begun).Seconds())
	d.eventually("an empty picture", func() bool {
		v := d.Views()[0]
		return len(v.Running)+len(v.Queued) == 0
	})
	d.stop()
	c.tellOutcomes(out, watch, s.kept(t).Rows)
	replay(t, out)
	return out
}

// startBoth starts a cluster, and a daemon that follows it.
func startBoth(t *testing.T, starting *sync.Mutex) (*slurmCluster, *running, *site) {
	t.Helper()
	starting.Lock()
	defer starting.Unlock()
	c := newSlurm(t, forecastNodes, forecastCPUs)
	c.likeReference()
	s := c.site("{format: slurm-log, path: LOG}", "{format: slurm-squeue, command: ASK, interval: 1s}", c.asksFacts())
	d := s.start(t)
	d.caughtUp()
	return c, d, s
}

// drained waits until no job is left.
func (c *slurmCluster) drained() {
	c.t.Helper()
	deadline := time.Now().Add(20 * time.Minute)
	for c.run("squeue", "-h", "-o", "%A") != "" {
		if time.Now().After(deadline) {
			c.t.Fatal("the queue does not run empty")
		}
		<-time.After(time.Second)
	}
}

// priorities returns the priorities of all jobs at their submissions, by job.
func (c *slurmCluster) priorities() map[string]int64 {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "slurmctld.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]int64{}
	parser := slurm.Log(nil).New(collector.Options{Cluster: "main", Location: time.Local})
	for line := range bytes.Lines(text) {
		_ = parser.Parse(line, func(ev job.Event) { // errors were reported before
			if ev.Kind == job.Submit {
				out[ev.ID] = ev.Priority
			}
		})
	}
	return out
}

// tellOutcomes adds the data of the log, of squeue and of the daemon's ledger to each outcome.
func (c *slurmCluster) tellOutcomes(out []outcome, watch *estimates, rows []modelstore.Row) {
	c.t.Helper()
	lives, bad := c.logAlone(time.Local)
	for _, err := range bad {
		c.t.Error(err)
	}
	priorities := c.priorities()
	served := map[string]modelstore.Row{}
	for _, r := range rows {
		served[r.JobID] = r
	}
	for i := range out {
		o := &out[i]
		l, known := lives[try{o.id, 0}]
		if !known || !l.ran || l.end.IsZero() {
			c.t.Fatalf("job %q did not run to its end: %+v", o.id, l)
		}
		o.submit, o.start, o.end, o.squeue, o.priority = l.submit, l.start, l.end, watch.first[o.id], priorities[o.id]
		row, ok := served[o.id]
		if !ok {
			c.t.Errorf("job %s is not in the ledger", o.id)
			continue
		}
		if o.late = row.Replayed; row.Quantiles != nil {
			o.served = pick(row.Levels, row.Quantiles)
		}
	}
}
