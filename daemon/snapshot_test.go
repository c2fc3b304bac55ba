package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// squeueLine returns a line of squeue's output about a job.
func squeueLine(id, state, queue, user string, procs int, submit, start time.Time, reason string) string {
	begun := "N/A"
	if !start.IsZero() {
		begun = fmt.Sprint(start.Unix())
	}
	return strings.Join([]string{
		id, id, state, queue, user, "physics", "normal", fmt.Sprint(procs), "1", "2:00", fmt.Sprint(submit.Unix()),
		fmt.Sprint(submit.Unix()), begun, "N/A", reason,
		"1000", "OK", fmt.Sprintf("cpu=%d,node=1,billing=%d", procs, procs), "N/A", "N/A", "N/A", "1",
		"(null)", "0", "",
	}, "\x1f") + "\n"
}

// slurmSite is a folder with a slurmctld.log and a script that replaces squeue.
type slurmSite struct {
	*site
	t      *testing.T
	squeue string
}

func newSlurmSite(t *testing.T) *slurmSite {
	t.Helper()
	dir := t.TempDir()
	s := &slurmSite{
		site: &site{dir: dir, log: filepath.Join(dir, "slurmctld.log"), db: filepath.Join(dir, "waitcast.db"),
			config: filepath.Join(dir, "waitcastd.yaml")},
		t: t, squeue: filepath.Join(dir, "squeue"),
	}
	write(t, s.config, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
access: {others: public}
clusters:
  - name: main
    procs: 64
    time_zone: UTC
    sources:
      - {format: slurm-log, path: %q, poll: 20ms}
      - {format: slurm-squeue, command: [%q], interval: 1s, timeout: 3s}`, dir, s.log, s.squeue))
	return s
}

// answers replaces the script by another.
func (s *slurmSite) answers(script string) {
	s.t.Helper()
	if err := os.WriteFile(s.squeue+".new", []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.squeue+".new", s.squeue); err != nil {
		s.t.Fatal(err)
	}
}

// shows makes the script print lines.
func (s *slurmSite) shows(lines ...string) {
	s.t.Helper()
	write(s.t, s.squeue+".txt", strings.Join(lines, ""))
	s.answers("cat " + s.squeue + ".txt")
}

// tells appends a message of slurmctld at an instant to its log.
func (s *slurmSite) tells(at time.Time, message string) {
	s.t.Helper()
	s.add(s.t, at.UTC().Format("[2006-01-02T15:04:05.000] ")+message+"\n")
}

// TestSnapshotBadInput proves that the daemon reports and counts every failure of squeue (here a fake) and continues
// with the log, and that squeue's output is used again once it works.
func TestSnapshotBadInput(t *testing.T) {
	t.Parallel() // the test waits for commands that do not answer most of the time
	s := newSlurmSite(t)
	submitted := time.Now().Add(-10 * time.Minute)
	s.tells(submitted, "_slurm_rpc_submit_batch_job: JobId=1 InitPrio=100 usec=350")
	d := s.start(t) // squeue is missing
	failures := func(reason string) string {
		return fmt.Sprintf(`waitcast_snapshot_failures_total{cluster="main",reason=%q,source="main/slurm-squeue"}`,
			reason)
	}
	d.wantLog("following 2 sources", "main/slurm-squeue")
	d.wantLog("the scheduler cannot be queried", "squeue cannot be run", "install it, or set the source's command")
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/slurm-squeue"}`, "1")
	for _, c := range []struct{ reason, script, says string }{
		{"exit", "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
			"Unable to contact slurm controller"},
		{"timeout", "sleep 1000", "did not answer in 3s and was killed"},
		{"output", "echo '  JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)'", "want 24 fields"},
	} {
		s.answers(c.script)
		d.wantLog("the scheduler cannot be queried", c.says)
		d.eventually("a failure "+c.reason, func() bool { return d.metric(failures(c.reason)) != "0" })
		s.shows(squeueLine("1", "PENDING", "long", "alice", 4, submitted, time.Time{}, "Priority"))
		d.wantMetric(`waitcast_source_problem{cluster="main",source="main/slurm-squeue"}`, "0")
	}
	s.tells(submitted.Add(10*time.Second), "_slurm_rpc_submit_batch_job: JobId=2 InitPrio=100 usec=350")
	d.eventually("the log is read on", func() bool { return len(d.Views()[0].Queued) == 2 })
	s.shows(
		squeueLine("1", "RUNNING", "long", "alice", 4, submitted, submitted.Add(20*time.Second), "None"),
		squeueLine("2", "PENDING", "short", "bob", 8, submitted.Add(10*time.Second), time.Time{}, "Dependency"),
		squeueLine("3", "PENDING", "short", "bob", 16, submitted.Add(15*time.Second), time.Time{}, "Priority"),
	)
	d.eventually("the snapshot counts", func() bool {
		v := d.Views()[0]
		return len(v.Running) == 1 && v.Used == 4 && len(v.Queued) == 2 && v.Queued[0].Held && v.Queued[1].Procs == 16
	})
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/slurm-squeue"}`, "0")
	d.wantLog("the scheduler answers again")
	// Three jobs have gone, which the log does not show. If no job were left, or if the three had been submitted just
	// now, Slurm could hide them from an ordinary user.
	s.shows(squeueLine("4", "RUNNING", "long", "carol", 4, submitted, submitted.Add(25*time.Second), "None"))
	d.eventually("a picture of one job", func() bool {
		v := d.Views()[0]
		return len(v.Queued) == 0 && len(v.Running) == 1 && v.Running[0].ID == "4"
	})
	d.stop()
	if k := s.kept(t); len(k.Bad) < 1 || k.Bad[0].Path != s.squeue {
		t.Errorf("in quarantine: %+v", k.Bad)
	}
}

// TestDetailsAreAskedForEarly proves that a job that the log reports without details is shown as such, and makes the
// daemon poll squeue at once instead of an hour later.
func TestDetailsAreAskedForEarly(t *testing.T) {
	s := newSlurmSite(t)
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.config, strings.Replace(string(text), "interval: 1s, timeout: 500ms", "interval: 1h, timeout: 5m", 1))
	s.tells(time.Now().Add(-time.Hour), "_slurm_rpc_submit_batch_job: JobId=9 InitPrio=100 usec=350")
	s.tells(time.Now().Add(-time.Hour), "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9 uid 0")
	asked, may := filepath.Join(s.dir, "asked"), filepath.Join(s.dir, "may")
	wait := fmt.Sprintf("echo x >>%s; while [ $(wc -l <%s) -gt 1 ] && ! [ -e %s ]; do sleep 0.02; done; ", asked, asked,
		may)
	submitted := time.Now()
	write(t, s.squeue+".txt", squeueLine("1", "PENDING", "long", "alice", 4, submitted, time.Time{}, "Priority"))
	s.answers(wait + "[ ! -e " + may + " ] || cat " + s.squeue + ".txt")
	d := s.start(t)
	d.caughtUp()
	s.tells(submitted, "_slurm_rpc_submit_batch_job: JobId=1 InitPrio=100 usec=350")
	get := func(path string) (jobs wire.Jobs, one wire.JobAnswer) {
		resp, err := http.Get("http://" + d.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		// The body is either a list of jobs or one job. If the job is unknown, it is neither.
		_, _ = json.Unmarshal(body, &jobs), json.Unmarshal(body, &one)
		return jobs, one
	}
	d.eventually("squeue is asked early", func() bool {
		calls, _ := os.ReadFile(asked)
		listed, _ := get("/v1/jobs")
		return strings.Count(string(calls), "x") == 2 && len(listed.Jobs) == 1
	})
	all, _ := get("/v1/jobs")
	_, one := get("/v1/jobs/1")
	if len(all.Jobs) != 1 || !all.Jobs[0].DetailsPending || all.Jobs[0].Queue != "" || !one.DetailsPending ||
		one.Queue != "" || one.ID != "1" {
		t.Errorf("before squeue answers: %+v, %+v", all.Jobs, one.Job)
	}
	write(t, may, "")
	d.eventually("the details are known", func() bool {
		_, one := get("/v1/jobs/1")
		return !one.DetailsPending && one.Queue == "long" && one.Procs == 4
	})
	d.stop()
}
