package daemon_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/testports"
	"github.com/waitcast/waitcast/job"
)

// startRest starts a slurmrestd beside the cluster and returns its socket.
func (c *slurmCluster) startRest() string {
	c.t.Helper()
	if _, err := exec.LookPath("slurmrestd"); err != nil {
		c.t.Skip("slurmrestd is missing (make test-deps)")
	}
	socket := filepath.Join(c.dir, "rest.socket")
	cmd := exec.Command("slurmrestd", "-a", "rest_auth/local", "-s", "openapi/v0.0.38", "unix:"+socket)
	// In a test, root may run slurmrestd.
	cmd.Env = append(os.Environ(), c.conf(), "SLURMRESTD_SECURITY=disable_user_check", "SLURM_BITSTR_LEN=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = cmd.Wait()
	})
	eventually(c.t, "slurmrestd", func() bool { _, err := os.Stat(socket); return err == nil })
	return socket
}

// TestRealSlurmRest proves that a daemon that polls slurmrestd has the same picture, attribute by attribute, as one
// that polls squeue: running, waiting and held jobs, arrays, heterogeneous jobs and whole nodes. Both also see the same
// ends.
func TestRealSlurmRest(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 4, 4)
	socket := c.startRest()
	for _, j := range []struct{ command, args string }{
		{"exit 3", "-n 1 -t 1"},
		{"sleep 1000", "-n 3 -t 5"},
		{"sleep 1000", "-N 1 --exclusive -t 1-00:00:00 -p long"},
		{"sleep 1000", "-n 8 -t 9 -p short,medium --mem=0"},
		{"sleep 1000", "-n 16 -t 7"},
		{"sleep 1000", "-n 2 -t 7 --hold"},
		{"sleep 1000", "-n 2 -t 7 --begin=now+1day"},
		{"sleep 1000", "--array=1-500:7%2 -t 3"},
		{"sleep 1000", "--array=1,3,4,9,12,17 -t 3 --begin=now+1hour"},
		{"sleep 1000", "-N1 -t 2 : -N2 -t 3"},
		{"sleep 1000", "-n 1000 -t 2"},
	} {
		if id, err := c.try("sbatch", append([]string{"--parsable", "--output=/dev/null", "--chdir=/tmp"},
			append(strings.Fields(j.args), "--wrap", j.command)...)...); err != nil {
			t.Logf("sbatch %s: %s", j.args, id)
		}
	}
	atWork := func() int { return strings.Count(c.run("squeue", "-h", "-t", "RUNNING", "-o", "%i;"), ";") }
	eventually(t, "four jobs run and one is over", func() bool { // so that both daemons see the same states
		return c.run("squeue", "-h", "-t", "FAILED", "-o", "%i") != "" && atWork() == 4
	})
	asking := []*running{
		c.site("{format: slurm-squeue, command: ASK, interval: 1s}").start(t),
		c.site(fmt.Sprintf("{format: slurm-squeue, socket: %q, interval: 1s}", socket)).start(t),
	}
	c.compareAsking(asking)
	c.run("scancel", "-u", c.run("id", "-un"))
	c.compareAsking(asking)
	for _, d := range asking {
		d.eventually("nothing is left", func() bool { v := d.Views()[0]; return len(v.Queued)+len(v.Running) == 0 })
	}
}

// startRests starts two slurmrestd that report facts, beside a cluster made with --jwt: one on a Unix socket, and one
// on a port for clients with the token in a file. If the installed version does not report facts, the test is skipped.
func startRests(t *testing.T, options ...string) (c *slurmCluster, socket, url, token string) {
	t.Helper()
	out, err := exec.Command("slurmrestd", "-V").Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) == 0 {
		t.Skip("slurmrestd is missing (make test-deps)")
	}
	if version := words[len(words)-1]; version < "23.11" {
		t.Skipf("slurmrestd %s tells no facts: it must be of Slurm 23.11 or newer", version)
	}
	if plugins, _ := filepath.Glob("/usr/lib*/*/slurm*/auth_jwt.so"); plugins == nil {
		t.Skip("the plugin auth/jwt is missing (slurm-wlm-jwt-plugin)")
	}
	c = newSlurm(t, 6, 4, append(options, "--jwt")...)
	socket, token = filepath.Join(c.dir, "rest.socket"), filepath.Join(c.dir, "token")
	port := testports.Take(t, 1)
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	for _, start := range []struct{ auth, where, env string }{
		{"rest_auth/local", "unix:" + socket, ""},
		{"rest_auth/jwt", fmt.Sprintf("127.0.0.1:%d", port), "SLURM_JWT=daemon"},
	} {
		cmd := exec.Command("slurmrestd", "-s", "openapi/slurmctld", "-a", start.auth, start.where)
		cmd.Env = append(os.Environ(), c.conf(), "SLURMRESTD_SECURITY=disable_user_check", "SLURM_BITSTR_LEN=0")
		if start.env != "" {
			cmd.Env = append(cmd.Env, start.env)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
			_ = cmd.Wait()
		})
	}
	write(t, token, c.run("scontrol", "token", "username="+c.run("id", "-un"), "lifespan=3600")+"\n")
	eventually(t, "slurmrestd", func() bool {
		_, err := os.Stat(socket)
		answer, failed := http.Get(url) //nolint:gosec // on this machine
		if failed == nil {
			_ = answer.Body.Close()
		}
		return err == nil && failed == nil
	})
	return c, socket, url, token
}

// TestRealSlurmFactsOverRest proves that the facts of one real cluster are the same from its commands, from slurmrestd
// on a Unix socket and from slurmrestd on a port with a token, except for the configuration, which slurmrestd does not
// report. It also proves that a daemon with neither commands nor logs gets the machine and its jobs from slurmrestd.
// Limits, accounts and shares are compared on captured answers (TestFactsRestAsCommands).
func TestRealSlurmFactsOverRest(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c, socket, url, token := startRests(t, "--priorities")
	c.run("scontrol", "create", "partition=left", "nodes=n[01-03]", "prioritytier=5", "priorityjobfactor=7",
		"maxtime=30", "oversubscribe=exclusive", "allowaccounts=physics")
	c.run("scontrol", "create", "partition=right", "nodes=n[03-04]", "maxnodes=1", "defaulttime=10",
		"oversubscribe=force:2")
	c.run("scontrol", "update", "nodename=n05", "state=drain", "reason=test")
	c.run("scontrol", "update", "nodename=n06", "state=down", "reason=test")
	c.run("scontrol", "create", "reservation", "reservationname=upkeep", "starttime=now+100hours", "duration=120",
		"flags=maint,ignore_jobs", "nodes=n[03-04]", "users=root")
	c.run("scontrol", "create", "reservation", "reservationname=course", "starttime=now+200hours", "duration=60",
		"nodes=n01", "users=root")
	id := c.sbatch("sleep 1000", "-n", "2", "-t", "5", "-p", "short")
	eventually(t, "a job runs", func() bool { return c.run("squeue", "-h", "-t", "RUNNING", "-o", "%i") == id })

	options := collector.Options{Cluster: "main", Location: time.Local}
	ask := func(s config.Source) *job.Facts {
		s.Timeout = time.Minute
		a := daemon.AskFacts(s, options, func() *job.Facts { return nil }, "")(t.Context(), time.Now())
		if a.Err != nil || len(a.Bad) > 0 || len(a.Notes) > 0 || len(a.Events) != 1 {
			t.Fatalf("%+v: %+v", s, a)
		}
		return a.Events[0].Facts
	}
	sources := []config.Source{
		{Command: []string{"env", c.conf()}}, {Socket: socket},
		{URL: url, User: c.run("id", "-un"), TokenFile: token},
	}
	eventually(t, "the same facts", func() bool { // usage and running jobs change between two queries
		commands := ask(sources[0])
		if commands.Weights == nil || len(commands.Outages) != 2 {
			t.Fatalf("%+v", commands)
		}
		commands.Weights, commands.Enforced, commands.Preemption, commands.Private = nil, job.Enforced{}, nil, ""
		diff := ""
		for _, s := range sources[1:] {
			rest := ask(s)
			// In this configuration memory is no resource (CR_CPU).
			for i := range rest.Nodes {
				rest.Nodes[i].Node.Memory = 0
			}
			for i := range rest.Outages {
				rest.Outages[i].Memory = 0
			}
			diff += cmp.Diff(commands, rest)
		}
		if diff != "" {
			t.Logf("-commands +slurmrestd:\n%s", diff)
		}
		return diff == ""
	})

	at := fmt.Sprintf("url: %q, token_file: %q, interval: 1s", url, token)
	d := c.site("{format: slurm-squeue, "+at+"}", "{format: slurm-facts, "+at+"}").start(t)
	d.eventually("the machine and its job", func() bool {
		v := d.Views()[0]
		return v.Facts != nil && len(v.Facts.Queues) == 5 && len(v.Running) == 1 && v.Running[0].Procs == 2
	})
	write(t, token, "worn out\n")
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/slurm-facts"}`, "1")
	d.wantLog("the scheduler cannot be queried", "holds no token", "scontrol token")
	if f := d.Views()[0].Facts; f == nil || len(f.Queues) != 5 {
		t.Errorf("facts were lost with the token: %+v", f)
	}
}

// compareAsking waits until both daemons have all the jobs that squeue shows, with equal data.
func (c *slurmCluster) compareAsking(asking []*running) {
	c.t.Helper()
	shown := func() []string {
		var ids []string
		for line := range strings.Lines(c.run("squeue", "-h", "-a", "-O", "JobArrayID:|,JobID:|,State:|")) {
			if f := strings.Split(line, "|"); f[2] != "COMPLETING" {
				ids = append(ids, f[1])
			}
		}
		return ids
	}
	var diff string
	for range 30 { // each round takes more than a second
		n := len(shown())
		var pictures [2]map[string]cluster.Job
		for i, d := range asking {
			d.eventually("as many jobs as squeue shows",
				func() bool { v := d.Views()[0]; return len(v.Queued)+len(v.Running) == n || len(shown()) != n })
			pictures[i] = picturesOf(d)
		}
		if diff = cmp.Diff(pictures[0], pictures[1]); diff == "" && len(pictures[0]) == len(shown()) {
			c.t.Logf("%d jobs are the same: %v", n, slices.Sorted(maps.Keys(pictures[0])))
			return
		}
	}
	c.t.Errorf("-squeue +slurmrestd:\n%s", diff)
}

// picturesOf returns the jobs of a daemon's picture, without data that depends on when it polled.
func picturesOf(d *running) map[string]cluster.Job {
	jobs := map[string]cluster.Job{}
	v := d.Views()[0]
	for _, list := range [][]*cluster.Job{v.Queued, v.Running} {
		for _, j := range list {
			k := *j
			k.Seq, k.Updated, k.Order, k.Submit = 0, k.Start, k.Order.Truncate(1e9), k.Submit.Truncate(1e9)
			jobs[k.ID] = k
		}
	}
	return jobs
}
