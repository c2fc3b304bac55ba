package daemon_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRealSlurmSnapshotCost proves that the snapshots of a daemon with the default interval cost a real slurmctld with
// 2,000 pending jobs less than 1 % of a core, by slurmctld's own statistics (REQUEST_JOB_INFO in sdiag).
func TestRealSlurmSnapshotCost(t *testing.T) {
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("2,000 jobs: only with WAITCAST_LONG=1")
	}
	c := newSlurm(t, 2, 4)
	const pending = 2000
	for range pending {
		c.sbatch("sleep 1", "--begin=now+1day", "-t", "2")
	}
	d := c.site("{format: slurm-log, path: LOG}", "{format: slurm-squeue, command: ASK}").start(t)
	const taken = `waitcast_snapshot_seconds_count{cluster="main",source="main/slurm-squeue"}`
	d.wantMetric(taken, "1")
	d.eventually("all jobs in the picture, held", func() bool {
		v := d.Views()[0]
		return len(v.Queued) == pending && v.Queued[0].Held && v.Queued[pending-1].Held
	})
	calls, micros := c.jobInfo()
	begun := time.Now()
	for _, n := range []string{"2", "3", "4", "5"} {
		d.wantMetric(taken, n)
	}
	moreCalls, moreMicros := c.jobInfo()
	share := float64(moreMicros-micros) / float64(time.Since(begun).Microseconds())
	t.Logf("%d calls of squeue took slurmctld %d us, %.3f %% of a core", moreCalls-calls, moreMicros-micros, 100*share)
	if moreCalls-calls < 4 || share > .01 {
		t.Errorf("%d calls took %.2f %% of a core, want at least 4 calls and less than 1 %%", moreCalls-calls,
			100*share)
	}
}

// jobInfo returns the number of requests for jobs that slurmctld has answered, and their total duration in
// microseconds.
func (c *slurmCluster) jobInfo() (calls, micros int) {
	c.t.Helper()
	out := c.run("sdiag")
	line := regexp.MustCompile(`REQUEST_JOB_INFO\s+\(\s*\d+\)\s+count:(\d+)\s+ave_time:\d+\s+total_time:(\d+)`)
	m := line.FindStringSubmatch(out)
	if m == nil {
		if !strings.Contains(out, "Remote Procedure Call statistics") {
			c.t.Fatalf("sdiag says %q", out)
		}
		return 0, 0
	}
	calls, _ = strconv.Atoi(m[1])
	micros, _ = strconv.Atoi(m[2])
	return calls, micros
}
