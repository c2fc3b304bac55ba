package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job"
)

// factsSite returns a site on which all commands of the scheduler are one shell script, which gets the command's name
// and arguments.
func factsSite(t *testing.T) (s *site, script string) {
	t.Helper()
	dir := t.TempDir()
	script = filepath.Join(dir, "head")
	s = &site{dir: dir, log: filepath.Join(dir, "slurmctld.log"), db: filepath.Join(dir, "waitcast.db"),
		config: filepath.Join(dir, "waitcastd.yaml")}
	write(t, s.log, "")
	write(t, s.config, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
clusters:
  - name: main
    time_zone: UTC
    sources:
      - {format: slurm-log, path: %q, poll: 20ms}
      - {format: slurm-facts, command: [%q], interval: 1s, timeout: 3s}`, dir, s.log, script))
	return s, script
}

// head replaces the script by one that runs only this text.
func head(t *testing.T, script, text string) {
	t.Helper()
	//nolint:gosec // it is run
	if err := os.WriteFile(script+".new", []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(script+".new", script); err != nil {
		t.Fatal(err)
	}
}

// sinfoOf returns the output of sinfo about four nodes.
func sinfoOf(state string) string {
	return "case $1 in sinfo) printf '" + strings.Join([]string{"short", "n[1-4]", "8", "1000", "(null)", "(null)",
		state, "1", ""}, `\037`) +
		"\\n';; *) echo 'no such thing' >&2; exit 1;; esac"
}

// TestFacts proves four properties of polled facts. The picture has the nodes that the scheduler reports. A failing
// command is reported once and does not stop the others. Equal facts are not journaled twice, even after a restart. A
// failure of all commands is a problem of the source, with its cause.
func TestFacts(t *testing.T) {
	s, script := factsSite(t)
	d := s.start(t) // the script is missing
	const problem = `waitcast_source_problem{cluster="main",source="main/slurm-facts"}`
	d.wantLog("the scheduler cannot be queried", "head cannot be run", "install it, or set the source's command")
	d.wantMetric(problem, "1")
	head(t, script, sinfoOf("idle"))
	nodes := func(down int) func() bool {
		return func() bool {
			f := d.Views()[0].Facts
			return f != nil && len(f.Nodes) == 1 && f.Nodes[0].Count == 4 && f.Nodes[0].Down == down &&
				f.Nodes[0].Node.Procs == 8
		}
	}
	d.eventually("four nodes", nodes(0))
	d.wantMetric(problem, "0")
	d.wantLog("the scheduler does not report everything", "scontrol show reservation", "no such thing")
	head(t, script, sinfoOf("down"))
	d.eventually("four nodes that are down", nodes(4))
	d.stop()

	d = s.start(t)
	d.eventually("the facts are kept", nodes(4))
	before := d.snapshots()
	d.eventually("two more calls", func() bool { return d.snapshots() >= before+2 })
	d.stop()
	told := 0
	for _, e := range s.kept(t).Entries {
		if e.Event.Kind == job.Machine {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d events in the journal, want 2", told)
	}
	if all := d.logs.FilterMessageSnippet("does not report everything").All(); len(all) != 3 { // once for each command
		t.Errorf("%d warnings, want 3: %v", len(all), all)
	}
}

// snapshots returns the number of successful calls of the commands.
func (r *running) snapshots() int {
	var n int
	// n stays 0 before the first call, because there is no such metric yet.
	_, _ = fmt.Sscan(r.metric(`waitcast_snapshot_seconds_count{cluster="main",source="main/slurm-facts"}`), &n)
	return n
}

// TestUnknownLinesByVersion proves that lines that the parser of slurmctld.log does not recognize are counted by the
// version of the slurmctld that wrote them.
func TestUnknownLinesByVersion(t *testing.T) {
	s, script := factsSite(t)
	count := func(version string) string {
		return fmt.Sprintf(`waitcast_slurm_unknown_lines_total{cluster="main",version=%q}`, version)
	}
	tell := func(message string) {
		s.add(t, time.Now().UTC().Format("[2006-01-02T15:04:05.000] ")+message+"\n")
	}
	tell("sched: Vanish JobId=2") // read before the scheduler is polled
	head(t, script, `case "$*" in *config) echo 'SLURM_VERSION = 24.05.3';; *) exit 1;; esac`)
	d := s.start(t)
	d.wantMetric(count("unknown"), "1")
	d.eventually("the version", func() bool { f := d.Views()[0].Facts; return f != nil && f.Version == "24.05.3" })
	tell("sched: Vanish JobId=3")
	d.wantMetric(count("24.05.3"), "1")
	tell("slurmctld version 22.05.8 started on cluster main")
	tell("sched: Vanish JobId=4")
	tell("sched: Vanish JobId=5")
	d.wantMetric(count("22.05.8"), "2")
	tell("slurmctld version nonsense started on cluster main")
	tell("sched: Vanish JobId=6")
	d.wantMetric(count("other"), "1")
}
