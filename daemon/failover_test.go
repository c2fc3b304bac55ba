package daemon_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// readyz returns the status and the lines of /readyz.
func (r *running) readyz() (status int, lines []string) {
	status, body := r.get("/readyz")
	return status, strings.Split(strings.TrimSpace(body), "\n")
}

// standsBy reports whether the daemon is ready, and its only condition is that a source cannot be read but another one
// replaces it.
func (r *running) standsBy(source, other string) bool {
	status, lines := r.readyz()
	return status == http.StatusOK && len(lines) == 2 && lines[0] == "ready" &&
		strings.HasPrefix(lines[1], "source_standby: source main/"+source+": ") &&
		strings.Contains(lines[1], "main/"+other+" is followed. What was written here since ")
}

// isReady reports whether the daemon is ready and has no condition.
func (r *running) isReady() bool {
	_, lines := r.readyz()
	return len(lines) == 1 && lines[0] == "ready"
}

// sameNames reports whether two lists have the same names, in any order.
func sameNames(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// TestFailover uses the logs of two slurmctld. It proves that the daemon is not degraded if one log has no new lines,
// or if one cannot be read and the other one grows. If one log cannot be read and the other one has not grown since
// then, the daemon is degraded and names the log. When the log can be read again, its records are used.
func TestFailover(t *testing.T) {
	dir := t.TempDir()
	host := func(name string) string { return filepath.Join(dir, name, "slurmctld.log") }
	s := &site{dir: dir, db: filepath.Join(dir, "waitcast.db"), config: filepath.Join(dir, "waitcastd.yaml")}
	write(t, s.config, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
clusters:
  - name: main
    time_zone: UTC
    sources:
      - {format: slurm-log, name: one, path: %q, poll: 20ms}
      - {format: slurm-log, name: two, path: %q, poll: 20ms}
`, dir, host("one"), host("two")))
	for _, name := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	add := func(path, message string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(time.Now().UTC().Format("[2006-01-02T15:04:05.000] ") + message + "\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	jobs := func(d *running, queued, running int) func() bool {
		return func() bool { v := d.Views()[0]; return len(v.Queued) == queued && len(v.Running) == running }
	}
	submit := func(id int) string {
		return fmt.Sprintf("_slurm_rpc_submit_batch_job: JobId=%d InitPrio=1 usec=9", id)
	}
	add(host("one"), submit(1))
	d := s.start(t)
	d.eventually("a job", jobs(d, 1, 0))
	d.eventually("the log of the second has never been there", func() bool { return d.standsBy("two", "one") })
	d.wantMetric("waitcast_degraded", "0")
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/two"}`, "0")
	add(host("two"), "slurmctld running in background mode")
	d.eventually("the second is there, and silent", func() bool {
		return d.isReady() && !slices.ContainsFunc(d.Views()[0].Sources, // the only line of the log has been read
			func(s readmodel.SourceStatus) bool { return s.LastLine.IsZero() })
	})

	away := filepath.Join(dir, "away")
	if err := os.Rename(filepath.Join(dir, "one"), away); err != nil {
		t.Fatal(err)
	}
	d.eventually("the first is gone, the second silent", func() bool {
		status, lines := d.readyz()
		return status == http.StatusOK && len(lines) == 2 && lines[0] == "degraded" &&
			strings.HasPrefix(lines[1], "source_unreadable: source main/one: ")
	})
	// The first slurmctld wrote the record before it died. The daemon reads the record now if the file was open, and
	// otherwise when the host is back.
	add(filepath.Join(away, "slurmctld.log"), submit(2))
	add(host("two"), "Running as primary controller")
	add(host("two"), submit(3))
	d.eventually("the second has taken over", func() bool {
		return slices.ContainsFunc(d.Views()[0].Queued, func(j *cluster.Job) bool { return j.ID == "3" })
	})
	d.eventually("it stands in for the first", func() bool { return d.standsBy("one", "two") })
	if err := os.Rename(away, filepath.Join(dir, "one")); err != nil {
		t.Fatal(err)
	}
	d.eventually("what was missing is read", jobs(d, 3, 0))
	d.eventually("nothing is wrong", d.isReady)
}

// TestRealSlurmFailover uses two real slurmctld. The second takes over when the first is killed and its host is gone.
// Before that, the daemon's picture must equal squeue's. Afterwards it must include the jobs of the second slurmctld,
// whose log must replace that of the first.
func TestRealSlurmFailover(t *testing.T) {
	t.Parallel() // the test waits for Slurm most of the time
	if err := exec.Command("unshare", "--uts", "--mount", "true").Run(); err != nil {
		t.Skipf("a second host's name needs namespaces of its own: %v", err)
	}
	c := newSlurm(t, 2, 4, "--backup")
	first := filepath.Join(c.dir, "slurmctld.log")
	d := c.site("{format: slurm-log, name: one, path: LOG}",
		fmt.Sprintf("{format: slurm-log, name: two, path: %q}", filepath.Join(c.dir, "backup.log"))).start(t)
	asShown := func() bool { // reports whether the daemon's picture equals squeue's
		v := d.Views()[0]
		var got []string
		for _, j := range v.Running {
			got = append(got, j.ID)
		}
		shown := strings.Fields(c.run("squeue", "-h", "-t", "RUNNING,COMPLETING", "-o", "%i"))
		waiting := strings.Fields(c.run("squeue", "-h", "-t", "PENDING", "-o", "%i"))
		return sameNames(got, shown) && len(v.Queued) == len(waiting)
	}
	runs := func(id string) bool {
		return slices.ContainsFunc(d.Views()[0].Running, func(j *cluster.Job) bool { return j.ID == id })
	}
	a, b := c.sbatch("sleep 1000", "-n", "2"), c.sbatch("sleep 1000", "-n", "2")
	d.eventually("two jobs run", func() bool { return runs(a) && runs(b) && asShown() })
	d.eventually("the second slurmctld is silent", d.isReady)

	pids, err := os.ReadFile(filepath.Join(c.dir, "slurmctld.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(pids), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.dir, "away"), 0o700); err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(c.dir, "away", "slurmctld.log")
	if err := os.Rename(first, away); err != nil { // the host of the log is gone
		t.Fatal(err)
	}
	var third string
	eventually(t, "a job is taken", func() bool {
		out, err := c.try("sbatch", "--parsable", "--output=/dev/null", "--chdir=/tmp", "--wrap", "sleep 1000")
		third = out
		return err == nil
	})
	d.eventually("it runs", func() bool { return runs(third) })
	c.run("scancel", third)
	d.eventually("it is over", func() bool { return !runs(third) })
	d.eventually("the second stands in for the first", func() bool { // the second one must log something
		_, _ = c.try("sbatch", "--parsable", "--output=/dev/null", "--chdir=/tmp", "--wrap", "true")
		return d.standsBy("one", "two")
	})
	if err := os.Rename(away, first); err != nil {
		t.Fatal(err)
	}
	d.eventually("the first host's log is there again", d.isReady)
}
