package daemon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// ruleSite is a real Slurm with a partition of one node for each rule, and a daemon.
type ruleSite struct {
	t  *testing.T
	c  *slurmCluster
	d  *running
	me string
}

// Each partition of a ruleSite has one node with ruleProcs processors. The jobs of ruleSite.submit run for ruleRuntime,
// so that the daemon learns this runtime from the first of them.
const (
	ruleProcs   = 8
	ruleRuntime = 20 // in seconds
)

// TestRealSlurmRulesDecide tests rules that are no limits, on a real Slurm on which only one rule decides when a job
// starts. It proves that the forecast's median agrees with the true wait within a factor of 1.5, or 15 s.
func TestRealSlurmRulesDecide(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	partitions := []struct {
		name string
		node int
		tier int // PriorityTier
	}{{"window", 1, 1}, {"held", 2, 1}, {"nice", 3, 1}, {"slow", 4, 1}, {"fast", 4, 2}}
	const nodes = 4
	c := newSlurm(t, nodes, ruleProcs, "--tiers")
	for _, p := range partitions {
		c.run("scontrol", "create", "partition="+p.name, fmt.Sprintf("nodes=n%02d", p.node), "maxtime=10",
			fmt.Sprintf("prioritytier=%d", p.tier))
	}
	for _, whole := range []string{"short", "medium", "long"} { // these would make all nodes one pool
		c.run("scontrol", "delete", "partition="+whole)
	}
	d := c.site("{format: slurm-log, path: LOG}", c.asksFacts(),
		"{format: slurm-squeue, command: ASK, interval: 1s}").start(t)
	r := &ruleSite{t, c, d, c.run("id", "-un")}
	d.eventually("facts", func() bool {
		f := d.Views()[0].Facts
		return f != nil && len(f.Queues) == len(partitions) && f.Preemption != nil
	})
	for _, p := range partitions[:nodes] {
		for range ruleProcs {
			r.submit(p.name, 1)
		}
	}
	d.eventually("the first jobs have ended", func() bool {
		return d.Views()[0].Counts.Ended >= int64(ruleProcs*nodes)
	})
	var all sync.WaitGroup
	for _, compare := range []func(){r.compareWindow, r.compareRelease, r.compareNice, r.compareTiers} {
		all.Go(compare)
	}
	all.Wait()
}

// owner returns the user of the jobs that a partition gets, and the account. The partition for nice values has its own
// user, so that no other job shows the priority of this user's jobs without a nice value.
func (r *ruleSite) owner(partition string) (user, account string) {
	if partition == "nice" {
		return "mail", "biology"
	}
	return r.me, "physics"
}

// submit submits a job to a partition, and returns its number.
func (r *ruleSite) submit(partition string, procs int, options ...string) string {
	user, account := r.owner(partition)
	args := []string{"-p", partition, "-t", "1", "-n", fmt.Sprint(procs), "--uid=" + user, "--account=" + account}
	return r.c.sbatch(fmt.Sprintf("sleep %d", ruleRuntime), append(args, options...)...)
}

// question returns the query for a forecast of a job like those of submit.
func (r *ruleSite) question(partition string, procs int) string {
	user, account := r.owner(partition)
	return fmt.Sprintf("queue=%s&procs=%d&time_limit=1m&account=%s&user=%s", partition, procs, account, user)
}

// job returns a waiting or running job, nil if there is none with the id.
func (r *ruleSite) job(id string) *cluster.Job {
	v := r.d.Views()[0]
	for _, jobs := range [...][]*cluster.Job{v.Queued, v.Running} {
		if i := slices.IndexFunc(jobs, func(j *cluster.Job) bool { return j.ID == id }); i >= 0 {
			return jobs[i]
		}
	}
	return nil
}

// started waits until a job runs, and returns its start.
func (r *ruleSite) started(id string) time.Time {
	var start time.Time
	r.d.eventually("job "+id+" starts", func() bool {
		all := r.d.Views()[0].Running
		i := slices.IndexFunc(all, func(j *cluster.Job) bool { return j.ID == id })
		if i >= 0 {
			start = all[i].Start
		}
		return i >= 0
	})
	return start
}

// now returns the answer for a waiting job.
func (r *ruleSite) now(id string) *wire.JobAnswer {
	status, body := r.d.get("/v1/jobs/" + id)
	var w wire.JobAnswer
	if err := json.Unmarshal([]byte(body), &w); status != http.StatusOK || err != nil || w.Forecast == nil {
		r.t.Errorf("job %s: status %d, %v: %s", id, status, err, body)
		return nil
	}
	return &w
}

// check compares a median with the true wait.
func (r *ruleSite) check(what string, median *float64, was float64) {
	if median == nil {
		r.t.Errorf("%s: no median; the wait was %.0f s", what, was)
		return
	}
	said := *median
	r.t.Logf("%s: said %.0f s, was %.0f s", what, said, was)
	if math.Abs(said-was) > 15 && math.Max(said/was, was/said) > 1.5 {
		r.t.Errorf("%s: the median is %.0f s, the wait was %.0f s", what, said, was)
	}
}

// compareWindow plans maintenance of an idle node. A job that would reach into the maintenance starts after it.
func (r *ruleSite) compareWindow() {
	const begins, ends = 15, 45 // in seconds from now; the job requests a minute
	r.c.run("scontrol", "create", "reservation", "reservationname=upkeep", "flags=maint", "nodes=n01", "users=root",
		fmt.Sprintf("starttime=now+%d", begins), fmt.Sprintf("endtime=now+%d", ends))
	r.d.eventually("the window", func() bool { return len(r.d.Views()[0].Facts.Outages) == 1 })
	w := r.d.mustWait(r.question("window", 1))
	id := r.submit("window", 1)
	start := r.started(id)
	j := r.job(id)
	r.check("a maintenance window: "+w.Reason, w.WaitSeconds.P50, start.Sub(j.Submit).Seconds())
	if w.Cause == nil || w.Cause.Class != job.Unavailable.String() {
		r.t.Errorf("a maintenance window: cause %+v", w.Cause)
	}
}

// compareRelease releases a held job. A later job has been released before and has the whole node, so that the held job
// starts after it.
func (r *ruleSite) compareRelease() {
	r.submit("held", ruleProcs)
	id := r.submit("held", ruleProcs, "--hold")
	before := r.submit("held", ruleProcs)
	r.d.eventually("the hold", func() bool { j := r.job(id); return j != nil && j.Held && j.Procs == ruleProcs })
	if w := r.now(id); w != nil && w.HeldClass != job.OnHold.String() {
		r.t.Errorf("a held job: %+v", w)
	}
	r.started(before)
	r.c.run("scontrol", "release", id)
	r.d.eventually("the release", func() bool {
		j := r.job(id)
		return j != nil && !j.Held && j.Eligible.After(j.Submit)
	})
	w := r.now(id)
	if start := r.started(id); w != nil {
		r.check("a released job", w.Forecast.Now.P50, start.Sub(w.AsOf).Seconds())
	}
}

// compareNice submits a job with a nice value to a node that another job uses, and then a job without a nice value. The
// second job must start first, in the forecasts as in Slurm.
func (r *ruleSite) compareNice() {
	known := func(id string) func() bool {
		return func() bool { j := r.job(id); return j != nil && j.Priority > 0 && j.Procs > 0 && j.Account != "" }
	}
	r.started(r.submit("nice", ruleProcs))
	nice := r.submit("nice", ruleProcs, "--nice=50")
	r.d.eventually("the priority of the job with a nice value", known(nice))
	w := r.d.mustWait(r.question("nice", ruleProcs))
	plain := r.submit("nice", ruleProcs)
	start := r.started(plain)
	r.check("before a nice value: "+w.Reason, w.WaitSeconds.P50, start.Sub(r.job(plain).Submit).Seconds())
	if alone := simulated(w); !(alone < 1.5*ruleRuntime) {
		r.t.Errorf("before a nice value: simulated are %.0f s, as behind it", alone)
	}
	if r.started(nice).Before(start) {
		r.t.Error("the job with a nice value started first")
	}
}

// compareTiers fills a node with jobs of a low tier for minutes. A job of the high tier must preempt them, and a job of
// the low tier must wait for their ends.
func (r *ruleSite) compareTiers() {
	const long = 300 // in seconds
	for range ruleProcs {
		r.c.sbatch(fmt.Sprintf("sleep %d", long), "-p", "slow", "-t", "10", "--account=physics", "--uid=games")
	}
	r.d.eventually("jobs of a low tier fill the node, and are known", func() bool {
		low := 0
		for _, j := range r.d.Views()[0].Running {
			if j.Queue == "slow" && j.User == "games" && !j.DetailsPending() {
				low++
			}
		}
		return low == ruleProcs
	})
	low, high := r.d.mustWait(r.question("slow", ruleProcs)), r.d.mustWait(r.question("fast", ruleProcs))
	id := r.submit("fast", ruleProcs)
	start := r.started(id)
	r.check("of a high tier: "+high.Reason, high.WaitSeconds.P50, start.Sub(r.job(id).Submit).Seconds())
	if now, later := simulated(high), simulated(low); now > 15 || later < long/4 {
		r.t.Errorf("simulated are %.0f s in the high tier, %.0f s in the low one", now, later)
	}
}

// simulated returns the median of the simulation in seconds, or NaN if there is none. The test uses it because the
// served forecast depends on few learned waits. Most of them were waits for idle nodes.
func simulated(w *wire.Wait) float64 {
	for _, m := range w.Methods {
		if m.Name == "simulation" && m.MedianSeconds != nil {
			return *m.MedianSeconds
		}
	}
	return math.NaN()
}
