package daemon_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// journalRemote is a program that writes real journal files.
const journalRemote = "/lib/systemd/systemd-journal-remote"

// TestJournal proves that a daemon reads slurmctld's log in systemd's journal: existing entries, new ones, and after a
// restart those written in between, each once. It also proves that losses of the journal itself are counted and
// reported.
func TestJournal(t *testing.T) {
	for _, program := range []string{"journalctl", journalRemote} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing (make test-deps)", program)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "slurm.journal")
	n := 0
	add := func(fields ...string) {
		t.Helper()
		n++
		cmd := exec.Command(journalRemote, "-o", path, "-")
		cmd.Stdin = strings.NewReader(fmt.Sprintf("__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n"+
			"_BOOT_ID=0123456789abcdef0123456789abcdef\n%s\n\n", time.Now().UnixMicro(), n, strings.Join(fields, "\n")))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	submit := func(id int) {
		t.Helper()
		add("SYSLOG_IDENTIFIER=slurmctld",
			fmt.Sprintf("MESSAGE=_slurm_rpc_submit_batch_job: JobId=%d InitPrio=1 usec=9", id))
	}
	s := &site{dir: dir, db: filepath.Join(dir, "waitcast.db"), config: filepath.Join(dir, "waitcastd.yaml")}
	write(t, s.config, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
clusters:
  - name: main
    sources: [{format: slurm-log, journal: [SYSLOG_IDENTIFIER=slurmctld], path: %q, poll: 20ms}]
`, dir, path))
	submit(1)
	d := s.start(t)
	waiting := func(jobs int) func() bool {
		return func() bool { return len(d.Views()[0].Queued) == jobs }
	}
	d.eventually("the job that was there", waiting(1))
	submit(2)
	d.eventually("the one that came", waiting(2))
	add("SYSLOG_IDENTIFIER=systemd-journald", "MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e", "N_DROPPED=12",
		"MESSAGE=Suppressed 12 messages from slurmctld.service")
	d.wantMetric(`waitcast_tail_suppressed_total{source="main/slurm-log"}`, "12")
	d.wantLog("problem with a log", "Suppressed 12 messages", "LogRateLimitIntervalSec=0")
	d.stop()
	submit(3)
	d = s.start(t)
	d.eventually("the one that came meanwhile", waiting(3))
	submit(4)
	d.eventually("and the next", waiting(4))
	d.stop()
	if got := len(s.kept(t).Entries); got != 4 {
		t.Errorf("%d events in the journal of the store, want 4", got)
	}
}
