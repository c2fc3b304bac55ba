package daemon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// limitCase has two jobs that use up a limit, and a third job that the limit blocks.
type limitCase struct {
	name, qos      string
	limit          []string // the limit that sacctmgr sets for the QOS, or for an account if there is no QOS
	queue, account string
	holders, asker string // users
	procs          int    // processors of each job
	needs          string // options of sbatch of each job for GPUs or memory
	query          string // parameters of GET /v1/wait for the same job
}

// held returns the options for a job of the holders. In the account chemistry a limit of their QOS takes precedence
// over the account's limit. So the account's limit does not bound these jobs, but they count in it.
func (l *limitCase) held() []string {
	flags := l.flags(l.holders)
	if l.account == "chemistry" {
		flags = append(flags, "--qos=q16")
	}
	return flags
}

// refuses reports whether the limit is on submissions, not on starts.
func (l *limitCase) refuses() bool { return strings.Contains(l.limit[0], "Submit") }

// flags returns the options for a job of a user.
func (l *limitCase) flags(user string) []string {
	flags := []string{"-p", l.queue, "-t", "1", "-n", fmt.Sprint(l.procs), "--uid=" + user, "--account=" + l.account}
	if l.qos != "" {
		flags = append(flags, "--qos="+l.qos)
	}
	return append(flags, strings.Fields(l.needs)...)
}

// TestRealSlurmLimitDecides uses a real Slurm with free processors, on which only one limit delays the start of a job.
// It proves that the forecast names the limit, and that its median agrees with the true wait within a factor of 1.5, or
// 15 s.
func TestRealSlurmLimitDecides(t *testing.T) {
	t.Parallel()                          // the test waits for jobs most of the time
	c := newSlurm(t, 18, 16, "--binding") // 8 GB on each node; three nodes with 2 a100, three with 4 v100
	c.run("scontrol", "create", "partition=whole", "nodes=ALL", "oversubscribe=exclusive", "maxtime=10")
	me := c.run("id", "-un")
	cases := limitCases(me)
	c.run("sacctmgr", "-i", "add", "account", "chemistry")
	c.run("sacctmgr", "-i", "add", "qos", "q16", "set", "GrpTRES=cpu=100")
	c.run("sacctmgr", "-i", "add", "user", me, "account=chemistry", "qos=normal,q16")
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
	const runtime = 25 // in seconds; earlier jobs of these users took as long
	for range 30 {
		c.sbatch(fmt.Sprintf("sleep %d", runtime), "-p", "short", "-t", "1", "--account=physics", "--uid="+me)
	}
	d.eventually("30 jobs have ended", func() bool { return d.Views()[0].Counts.Ended >= 30 })
	for i := range cases {
		for range 2 {
			c.sbatch(fmt.Sprintf("sleep %d", runtime), cases[i].held()...)
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
	// All requests come first: a job that was just submitted has no size yet, and all other jobs of its pool wait for
	// it.
	answers := make([]wire.Wait, len(cases))
	for i := range cases {
		answers[i] = cases[i].ask(t, d)
	}
	var all sync.WaitGroup
	for i := range cases {
		if cases[i].refuses() {
			all.Go(func() { cases[i].compareRefusal(t, c, d, &answers[i]) })
			continue
		}
		all.Go(func() { cases[i].compare(t, c, d, &answers[i]) })
	}
	all.Wait()
}

// limitCases returns a case for each limit.
func limitCases(me string) []limitCase {
	const gpu, typed, memory = "-N 1 --gres=gpu:1", "-N 1 --gres=gpu:v100:1", "--mem-per-cpu=2000M"
	const short, phys = "short", "physics"
	return []limitCase{
		{"jobs of each user", "q1", []string{"MaxJobsPerUser=2"}, short, phys, me, me, 1, "", ""},
		{"processors of each user", "q2", []string{"MaxTRESPerUser=cpu=4"}, short, phys, me, me, 2, "", ""},
		{"processors of each account", "q3", []string{"MaxTRESPerAccount=cpu=4"}, short, phys, me, "games", 2, "", ""},
		{"processors of all", "q4", []string{"GrpTRES=cpu=4"}, short, phys, me, "games", 2, "", ""},
		{"jobs of each account", "q11", []string{"MaxJobsPerAccount=2"}, short, phys, me, "games", 1, "", ""},
		{"jobs of all", "q5", []string{"GrpJobs=2"}, short, phys, me, "games", 1, "", ""},
		{"jobs of each user of an account", "", []string{"MaxJobs=2"}, short, "biology", "news", "news", 1, "", ""},
		// Each job has a time limit of a minute. Slurm reduces the remaining minutes only when a job ends, or every
		// PriorityCalcPeriod.
		{"minutes left to time limits", "q6", []string{"GrpTRESRunMins=cpu=2"}, short, phys, me, "games", 1, "", ""},
		{"GPUs of each user", "q7", []string{"MaxTRESPerUser=gres/gpu=2"}, short, phys, me, me, 1, gpu, "&gpus=1"},
		{"GPUs of a type of all", "q8", []string{"GrpTRES=gres/gpu:v100=2"}, short, phys, me, "games", 1, typed,
			"&gpus=1&gpu_type=v100"},
		{"memory of all", "q9", []string{"GrpTRES=mem=4000M"}, short, phys, me, "games", 1, memory, "&memory=2000M"},
		{"memory of each user", "q10", []string{"MaxTRESPerUser=mem=4000M"}, short, phys, me, me, 1, memory,
			"&memory=2000M"},
		// In Slurm a node that several jobs share counts once. A job with a whole node, or one that fills a node,
		// shares it with no other job.
		{"whole nodes of all", "q12", []string{"GrpTRES=node=2"}, "whole", phys, me, "games", 1, "-N 1",
			"&nodes=1"},
		{"full nodes of each user", "q13", []string{"MaxTRESPerUser=node=2"}, short, phys, me, me, 16,
			"-N 1 --mem=1000M", "&nodes=1"},
		{"processors of an account with jobs of a QOS", "", []string{"GrpTRES=cpu=4"}, short, "chemistry", me, me, 2,
			"", ""},
		{"submitted jobs of each user", "q14", []string{"MaxSubmitJobsPerUser=2"}, short, phys, me, me, 1, "", ""},
		{"submitted jobs of all", "q15", []string{"GrpSubmitJobs=2"}, short, phys, me, "games", 1, "", ""},
	}
}

// ask requests a forecast for a job like those of the holders.
func (l *limitCase) ask(t *testing.T, d *running) (w wire.Wait) {
	query := fmt.Sprintf("/v1/wait?queue=%s&procs=%d&time_limit=1m&user=%s&account=%s", l.queue, l.procs, l.asker,
		l.account)
	query += l.query
	if l.qos != "" {
		query += "&qos=" + l.qos
	}
	status, body := d.get(query)
	if err := json.Unmarshal([]byte(body), &w); status != http.StatusOK || err != nil {
		t.Fatalf("%s: status %d, %v: %s", l.name, status, err, body)
	}
	return w
}

// compare submits a job like those of the holders and compares its wait with the answer.
func (l *limitCase) compare(t *testing.T, c *slurmCluster, d *running, w *wire.Wait) {
	id := c.sbatch("sleep 10", l.flags(l.asker)...)
	started, reason := d.startOf(c, id)
	if started == nil || w.WaitSeconds.P50 == nil {
		t.Errorf("%s: no start, or no median: %+v", l.name, w)
		return
	}
	said, was := *w.WaitSeconds.P50, started.Start.Sub(started.Submit).Seconds()
	t.Logf("%s: said %.0f s, was %.0f s; %s (%s)", l.name, said, was, reason, w.Reason)
	l.check(t, said, was)
	if w.Cause == nil || w.Cause.Class != job.CauseOf(reason).String() {
		t.Errorf("%s: cause %+v, squeue says %s", l.name, w.Cause, reason)
	}
}

func (l *limitCase) check(t *testing.T, said, was float64) {
	if math.Abs(said-was) > 15 && math.Max(said/was, was/said) > 1.5 {
		t.Errorf("%s: the median is %.0f s, the wait was %.0f s", l.name, said, was)
	}
}

// compareRefusal compares the answer for a job that Slurm refuses to accept with the time until Slurm accepts it.
func (l *limitCase) compareRefusal(t *testing.T, c *slurmCluster, d *running, w *wire.Wait) {
	if w.Refused == nil || w.Refused.ComesFree == nil || strings.Contains(w.Reason, "starts at once") ||
		!strings.Contains(w.Reason, "the scheduler would refuse it now: ") {
		t.Errorf("%s: %+v", l.name, w)
		return
	}
	args := append([]string{"--parsable", "--output=/dev/null", "--chdir=/tmp"}, l.flags(l.asker)...)
	if out, err := c.try("sbatch", append(args, "--wrap", "true")...); err == nil {
		t.Errorf("%s: Slurm accepted it: %s; we say %s", l.name, out, w.Reason)
		return
	}
	first := w.Refused.ComesFree.ID
	d.eventually("job "+first+" ends", func() bool {
		return !slices.ContainsFunc(d.Views()[0].Running, func(j *cluster.Job) bool { return j.ID == first })
	})
	id := c.sbatch("sleep 10", l.flags(l.asker)...)
	d.eventually("job "+id+" starts", func() bool {
		return slices.ContainsFunc(d.Views()[0].Running, func(j *cluster.Job) bool { return j.ID == id })
	})
	said, was := w.Refused.ComesFree.Seconds, d.Views()[0].At.Sub(w.AsOf).Seconds()
	t.Logf("%s: said %.0f s, was %.0f s; %s", l.name, said, was, w.Reason)
	l.check(t, said, was)
}
