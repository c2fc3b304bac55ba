package daemon_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// asksFacts returns the configuration of a source that polls this cluster for facts every second.
func (c *slurmCluster) asksFacts() string {
	return fmt.Sprintf("{format: slurm-facts, command: [env, %q], interval: 1s}", c.conf())
}

// TestRealSlurmFacts proves that the daemon has the facts of a real Slurm: overlapping partitions, a drained node and a
// node that is down, and a maintenance reservation that begins in an hour. It also proves that the daemon notices
// changes.
func TestRealSlurmFacts(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 6, 4)
	c.run("scontrol", "create", "partition=left", "nodes=n[01-03]", "prioritytier=5", "priorityjobfactor=7",
		"maxtime=30",
		"oversubscribe=exclusive")
	c.run("scontrol", "create", "partition=right", "nodes=n[03-04]", "maxnodes=1", "defaulttime=10")
	c.run("scontrol", "update", "nodename=n05", "state=drain", "reason=test")
	c.run("scontrol", "update", "nodename=n06", "state=down", "reason=test")
	from := time.Now().Add(time.Hour).Truncate(time.Second)
	c.run("scontrol", "create", "reservation", "reservationname=upkeep",
		"starttime="+from.Local().Format("2006-01-02T15:04:05"), "duration=120",
		"flags=maint,ignore_jobs", "nodes=n[03-04]", "users=root")
	d := c.site("{format: slurm-log, path: LOG}", c.asksFacts()).start(t)
	facts := func() *job.Facts { return d.Views()[0].Facts }
	d.eventually("facts", func() bool { return facts() != nil })

	node := job.NodeResources{Procs: 4, Threads: 1} // CR_CPU: memory is no resource
	both := []string{"left", "long", "medium", "right", "short"}
	want := &job.Facts{
		Nodes: []job.NodeGroup{
			{Queues: both, Count: 1, Names: []string{"n03"}, Node: node},
			{Queues: []string{"left", "long", "medium", "short"}, Count: 2, Names: []string{"n01", "n02"}, Node: node},
			{Queues: []string{"long", "medium", "right", "short"}, Count: 1, Names: []string{"n04"}, Node: node},
			{Queues: []string{"long", "medium", "short"}, Count: 2, Down: 2, Node: node},
		},
		Outages: []job.Outage{{
			Name: "upkeep", Maintenance: true, From: from.UTC(), Until: from.Add(2 * time.Hour).UTC(), Queues: both,
			Nodes: 2,
			Procs: 8,
			Users: []string{"root"}, NodeList: "n[03-04]", Names: []string{"n03", "n04"},
			Flags: []string{"IGNORE_JOBS", "MAINT", "SPEC_NODES"},
		}},
		Queues: []job.QueueFacts{
			{Name: "left", Tier: 5, Factor: 7, MaxTime: 30 * time.Minute, Whole: true},
			{Name: "long", Tier: 1, Factor: 1, MaxTime: 24 * time.Hour, DefaultTime: time.Hour},
			{Name: "medium", Tier: 1, Factor: 1, MaxTime: time.Hour, DefaultTime: 10 * time.Minute},
			{Name: "right", Tier: 1, Factor: 1, DefaultTime: 10 * time.Minute, MaxNodes: 1},
			{Name: "short", Tier: 1, Factor: 1, MaxTime: 10 * time.Minute, DefaultTime: 2 * time.Minute},
		},
		Version: strings.Fields(c.run("sinfo", "--version"))[1], Private: "none",
	}
	if diff := cmp.Diff(*want, *facts()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	c.run("scontrol", "update", "nodename=n05", "state=resume")
	c.run("scontrol", "delete", "reservation=upkeep")
	d.eventually("one node less is down, and no maintenance", func() bool {
		f := facts()
		return len(f.Outages) == 0 && f.Nodes[3].Down == 1
	})
	if n := d.logs.FilterMessageSnippet("does not report everything").Len(); n > 0 {
		t.Errorf("%d times a warning that something is missing", n)
	}
}

// TestRealSlurmLimits proves that limits set with sacctmgr are known if there is a slurmdbd, and that an account, a QOS
// and a size are refused exactly if sbatch refuses them.
func TestRealSlurmLimits(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 2, 4, "--accounting")
	c.run("sacctmgr", "-i", "modify", "qos", "high", "set", "GrpTRES=cpu=6,mem=10G", "MaxJobsPerUser=3",
		"MaxWall=1-00:00:00", "Priority=100", "MaxTRESPerAccount=cpu=5", "GrpTRESRunMins=cpu=900")
	c.run("sacctmgr", "-i", "modify", "account", "biology", "set", "MaxJobs=2", "GrpTRES=node=1")
	d := c.site("{format: slurm-log, path: LOG}", c.asksFacts()).start(t)
	d.eventually("facts", func() bool { return d.Views()[0].Facts != nil })
	want := []job.Limit{
		{QOS: "high", Procs: 6, Memory: 10 << 30, MaxTime: 24 * time.Hour, Priority: 100,
			RunMinutes: job.Amounts{Procs: 900}},
		{QOS: "high", PerUser: true, Jobs: 3},
		{QOS: "high", PerAccount: true, Procs: 5},
		{Account: "biology", Nodes: 1},
		{Account: "biology", PerUser: true, Jobs: 2},
	}
	if diff := cmp.Diff(want, d.Views()[0].Facts.Limits); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, q := range []struct{ query, flags string }{
		{"", ""}, {"&account=biology&user=news", "--account=biology --uid=news"},
		{"&account=physics&user=news", "--account=physics --uid=news"},
		{"&account=chemistry&user=news", "--account=chemistry --uid=news"},
		{"&qos=high", "--qos=high"}, {"&qos=best", "--qos=best"},
	} {
		status, body := d.get("/v1/wait?queue=short&procs=1" + q.query)
		flags := append(strings.Fields("--test-only -p short -n 1 --wrap=true"), strings.Fields(q.flags)...)
		out, err := c.try("sbatch", flags...)
		answered := status == http.StatusOK
		if answered != (err == nil) || !answered && status != http.StatusUnprocessableEntity {
			t.Errorf("%q: status %d, sbatch %v: %s\n%s", q.query, status, err, out, body)
		}
	}
}

// TestRealSlurmArray proves that a waiting array of 2,000 tasks is one record with the same count as in squeue, while
// tasks are started, killed, held and suspended.
func TestRealSlurmArray(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 2, 4)
	d := c.site("{format: slurm-log, path: LOG}", "{format: slurm-squeue, command: ASK, interval: 1s}").start(t)
	d.caughtUp()
	rare := c.site("{format: slurm-log, path: LOG}", "{format: slurm-squeue, command: ASK, interval: 1h}").start(t)
	rare.caughtUp()
	id := c.sbatch("sleep 1000", "--array=1-2000", "-t", "5")
	rare.eventually("squeue is asked an hour before its time", func() bool {
		v := rare.Views()[0]
		return len(v.Queued) == 1 && !v.Queued[0].DetailsPending() && v.Queued[0].Queue == "short"
	})
	rare.stop()
	find := func(id string) *cluster.Job {
		v := d.Views()[0]
		for _, list := range [][]*cluster.Job{v.Queued, v.Running} {
			for _, j := range list {
				if j.ID == id {
					return j
				}
			}
		}
		return nil
	}
	waiting := func(tasks, running int) func() bool {
		return func() bool {
			whole, v := find(id), d.Views()[0]
			return whole != nil && whole.Tasks == tasks && len(v.Queued) == 1 && len(v.Running) == running
		}
	}
	d.eventually("8 tasks run, 1,992 wait as one", waiting(1992, 8))
	if j := find(id); j.Procs != 1 || j.Queue != "short" || j.Memory == 0 || j.Running() {
		t.Errorf("the array: %+v", j)
	}
	c.run("scancel", id+"_[101-300]")
	d.eventually("200 tasks are killed", waiting(1792, 8))
	c.run("scancel", id+"_1", id+"_2")
	d.eventually("two end, two start", waiting(1790, 8))
	c.run("scontrol", "suspend", id+"_3")
	d.eventually("one is suspended", func() bool { j := find(id + "_3"); return j != nil && !j.Suspended.IsZero() })
	c.run("scontrol", "resume", id+"_3")
	d.eventually("it runs again", func() bool { j := find(id + "_3"); return j != nil && j.Suspended.IsZero() })
	_, _ = c.try("scontrol", "hold", id) // it returns an error for the tasks that have ended
	d.eventually("the waiting ones are held", func() bool {
		j := find(id)
		return j != nil && j.Held &&
			j.Reason == "JobHeldAdmin"
	})
	if n := c.run("squeue", "-h", "-r", "-t", "PENDING", "-o", "%i"); strings.Count(n, "\n")+1 != find(id).Tasks {
		t.Errorf("squeue shows %d waiting tasks, the picture %d", strings.Count(n, "\n")+1, find(id).Tasks)
	}
	c.run("scancel", id)
	d.eventually("all are gone", func() bool { v := d.Views()[0]; return len(v.Queued)+len(v.Running) == 0 })
}
