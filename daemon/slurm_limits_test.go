package daemon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// limitCase is two jobs that have as much as a limit allows, and a third one that the limit keeps.
type limitCase struct {
	name, qos      string
	limit          []string // that sacctmgr sets, of the QOS, or of an account where there is none
	account        string
	holders, asker string // users
	procs          int    // of each job
}

// flags are those of a job of a user.
func (l *limitCase) flags(user string) []string {
	flags := []string{"-p", "short", "-t", "1", "-n", fmt.Sprint(l.procs), "--uid=" + user, "--account=" + l.account}
	if l.qos != "" {
		flags = append(flags, "--qos="+l.qos)
	}
	return flags
}

// TestRealSlurmLimitDecides proves of each limit, on a real Slurm with free processors in which it alone decides a
// start, that the forecast tells of it and that its median is the true wait: within a factor 1.5, or 15 s.
func TestRealSlurmLimitDecides(t *testing.T) {
	t.Parallel() // it waits for jobs most of the time
	c := newSlurm(t, 4, 16, "--limits")
	me := c.run("id", "-un")
	cases := []limitCase{
		{"jobs of each user", "q1", []string{"MaxJobsPerUser=2"}, "physics", me, me, 1},
		{"processors of each user", "q2", []string{"MaxTRESPerUser=cpu=4"}, "physics", me, me, 2},
		{"processors of each account", "q3", []string{"MaxTRESPerAccount=cpu=4"}, "physics", me, "games", 2},
		{"processors of all", "q4", []string{"GrpTRES=cpu=4"}, "physics", me, "games", 2},
		{"jobs of all", "q5", []string{"GrpJobs=2"}, "physics", me, "games", 1},
		{"jobs of each user of an account", "", []string{"MaxJobs=2"}, "biology", "news", "news", 1},
	}
	for i := range cases {
		l := &cases[i]
		if l.qos == "" {
			c.run("sacctmgr", append([]string{"-i", "modify", "account", l.account, "set"}, l.limit...)...)
			continue
		}
		c.run("sacctmgr", append([]string{"-i", "add", "qos", l.qos, "set"}, l.limit...)...)
		c.run("sacctmgr", "-i", "modify", "user", me+",games", "set", "qos+="+l.qos)
	}
	d := c.site("{format: slurm-log, path: LOG}", c.asksFacts(),
		"{format: slurm-squeue, command: ASK, interval: 1s}").start(t)
	d.eventually("facts", func() bool { f := d.Views()[0].Facts; return f != nil && len(f.Limits) >= len(cases) })
	const runtime = 25 // seconds; jobs of these users have taken as long before
	for range 30 {
		c.sbatch(fmt.Sprintf("sleep %d", runtime), "-p", "short", "-t", "1", "--account=physics", "--uid="+me)
	}
	d.eventually("30 jobs have ended", func() bool { return d.Views()[0].Counts.Ended >= 30 })
	for i := range cases {
		for range 2 {
			c.sbatch(fmt.Sprintf("sleep %d", runtime), cases[i].flags(cases[i].holders)...)
		}
	}
	d.eventually("all holders run, and are known", func() bool {
		v := d.Views()[0]
		known := 0
		for _, j := range v.Running {
			if !j.DetailsPending() && j.Account != "" && j.QOS != "" {
				known++
			}
		}
		return known == 2*len(cases)
	})
	var all sync.WaitGroup
	for i := range cases {
		all.Go(func() { cases[i].compare(t, c, d) })
	}
	all.Wait()
}

// compare asks for a forecast, submits the same job, and compares what becomes of it.
func (l *limitCase) compare(t *testing.T, c *slurmCluster, d *running) {
	query := fmt.Sprintf("/v1/wait?queue=short&procs=%d&time_limit=1m&user=%s&account=%s", l.procs, l.asker, l.account)
	if l.qos != "" {
		query += "&qos=" + l.qos
	}
	status, body := d.get(query)
	var w wire.Wait
	if err := json.Unmarshal([]byte(body), &w); status != http.StatusOK || err != nil {
		t.Errorf("%s: status %d, %v: %s", l.name, status, err, body)
		return
	}
	id := c.sbatch("sleep 10", l.flags(l.asker)...)
	find := func() *cluster.Job {
		for _, j := range d.Views()[0].Running {
			if j.ID == id {
				return j
			}
		}
		return nil
	}
	d.eventually("squeue has a reason", func() bool {
		r := c.run("squeue", "-h", "-j", id, "-o", "%r")
		return r != "None" && r != "Priority"
	})
	reason := c.run("squeue", "-h", "-j", id, "-o", "%r")
	var started *cluster.Job
	d.eventually("the third job starts", func() bool { started = find(); return started != nil })
	if started == nil || w.WaitSeconds.P50 == nil {
		t.Errorf("%s: no start, or no median: %s", l.name, body)
		return
	}
	said, was := *w.WaitSeconds.P50, started.Start.Sub(started.Submit).Seconds()
	t.Logf("%s: said %.0f s, was %.0f s; %s (%s)", l.name, said, was, reason, w.Reason)
	if math.Abs(said-was) > 15 && math.Max(said/was, was/said) > 1.5 {
		t.Errorf("%s: the median is %.0f s, the wait was %.0f s", l.name, said, was)
	}
	if w.Cause == nil || w.Cause.Class != job.CauseOf(reason).String() {
		t.Errorf("%s: cause %+v, squeue says %s", l.name, w.Cause, reason)
	}
}
