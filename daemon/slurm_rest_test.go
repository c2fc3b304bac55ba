package daemon_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
)

// startRest starts a slurmrestd beside the cluster and returns its socket.
func (c *slurmCluster) startRest() string {
	c.t.Helper()
	if _, err := exec.LookPath("slurmrestd"); err != nil {
		c.t.Skip("slurmrestd is missing (make test-deps)")
	}
	socket := filepath.Join(c.dir, "rest.socket")
	cmd := exec.Command("slurmrestd", "-a", "rest_auth/local", "-s", "openapi/v0.0.38", "unix:"+socket)
	// root may run it, in a test
	cmd.Env = append(os.Environ(), c.conf(), "SLURMRESTD_SECURITY=disable_user_check", "SLURM_BITSTR_LEN=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may be gone
		_ = cmd.Wait()
	})
	eventually(c.t, "slurmrestd", func() bool { _, err := os.Stat(socket); return err == nil })
	return socket
}

// TestRealSlurmRest proves that a daemon that asks slurmrestd has the same picture, attribute by attribute, as one that
// asks squeue: of jobs that run, wait, are held, of arrays, heterogeneous jobs and whole nodes; and that both see the
// same ends.
func TestRealSlurmRest(t *testing.T) {
	t.Parallel() // it waits for jobs most of the time
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
	eventually(t, "four jobs run and one is over", func() bool { // so that both daemons see the same of them
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

// compareAsking waits until both daemons have all the jobs that squeue shows, as the same.
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

// picturesOf returns the jobs of a daemon's picture, without what depends on when it asked.
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
