package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/daemon/check"
)

// TestPrivateScheduler proves that the check fails with the command that helps if Slurm hides data from the daemon's
// user, and if squeue lacks jobs that the log has just announced. It also proves that the check says who sees the jobs
// of others.
func TestPrivateScheduler(t *testing.T) {
	s := newSite(t)
	private, err := filepath.Abs("../../collector/slurm/testdata/private")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\ncase \"$*\" in *\"show config\") cat P/config.txt;; *configuration) " +
		"cat P/configuration.txt;; id*) echo daemon;; *\"show user\"*name=daemon*) " +
		"cat P/user-LEVEL.txt;; *\"show user\"*) exit 1;; esac\n"
	program := func(name, text string) {
		s.write(name, strings.ReplaceAll(text, "P/", private+"/"), s.now)
		if err := os.Chmod(s.path(name), 0o700); err != nil { //nolint:gosec // a program must be executable
			t.Fatal(err)
		}
	}
	program("none", strings.ReplaceAll(script, "LEVEL", "none"))
	program("operator", strings.ReplaceAll(script, "LEVEL", "operator"))
	program("list", "#!/bin/sh\n")
	program("squeue", "#!/bin/sh\n")
	program("scontrol", "#!/bin/sh\necho PrivateData = usage\n")
	var log strings.Builder
	for i := range 3 {
		fmt.Fprintf(&log, "[%s] _slurm_rpc_submit_batch_job: JobId=%d InitPrio=1 usec=1\n",
			s.now.Add(-time.Minute).UTC().Format("2006-01-02T15:04:05.000"), i+1)
	}
	s.write("slurmctld.log", log.String(), s.now)
	const head = "\n  - name: main\n    time_zone: UTC\n    sources:\n"
	const only = "users see only their own waiting jobs; callers without a credential see totals"

	r := s.run(head + "      - {format: slurm-facts, command: [DIR/none]}\n")
	want(t, r, "scheduler.rights", check.Failed, "hides jobs, nodes, partitions, reservations, usage, accounts, "+
		"users from user daemon", "sacctmgr -i modify user daemon set adminlevel=operator")
	want(t, r, "access.others", check.OK, only, "PrivateData: accounts,jobs,")
	if r.OK() {
		t.Error("hidden jobs are well")
	}
	r = s.run(head + "      - {format: slurm-facts, command: [DIR/operator]}\n")
	want(t, r, "access.others", check.OK, only, "PrivateData: accounts,jobs,")
	for _, f := range r.Findings {
		if f.ID == "scheduler.rights" {
			t.Errorf("an operator: %+v", f)
		}
	}

	r = s.run(head + "      - {format: slurm-log, path: DIR/slurmctld.log}\n      - {format: slurm-squeue, command: " +
		"[DIR/list]}\n")
	want(t, r, "scheduler.jobs", check.Failed, "does not list 3 of the 3 jobs", "docs/formats/slurm.md#operator")
	want(t, r, "access.others", check.Warning, only, "has not reported PrivateData", "slurm-facts")
	r = s.run(head + "      - {format: slurm-squeue, command: [DIR/squeue]}\naccess: {others: user}\n")
	want(t, r, "access.others", check.OK, "users see all waiting jobs",
		"access.others: user, Slurm's PrivateData: usage")
	r = s.run(head + "      - {format: slurm-log, path: DIR/slurmctld.log}\n")
	want(t, r, "access.others", check.OK, "everybody who reaches the daemon sees all waiting jobs")
}
