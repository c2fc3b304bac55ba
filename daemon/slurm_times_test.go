package daemon_test

import (
	"strings"
	"testing"
	"time"
)

// TestRealSlurmTimes proves, for every LogTimeFormat, that the log of a real slurmctld in another time zone gives the
// same submit, start and end times as sacct. It also proves that lines in the format clock, which has no time of day,
// are refused with advice.
func TestRealSlurmTimes(t *testing.T) {
	if !long() {
		t.Skip("a Slurm for each time format: only with WAITCAST_LONG=1")
	}
	const offset = 5*time.Hour + 30*time.Minute
	t.Setenv("TZ", "XST-5:30") // in POSIX notation, zones east of Greenwich are negative
	zone := time.FixedZone("XST", int(offset.Seconds()))
	for _, format := range []string{"iso8601", "iso8601_ms", "rfc5424", "rfc5424_ms", "short", "thread_id", "clock"} {
		t.Run(format, func(t *testing.T) {
			c := newSlurm(t, 2, 4, "--accounting", "--log-time", format)
			c.someJobs()
			want := c.accounted()
			if len(want) != 10 {
				t.Errorf("%d tries in sacct, want 10", len(want))
			}
			if format != "clock" {
				c.compareLog(want, zone)
				return
			}
			got, bad := c.logAlone(zone)
			if len(got) > 0 || len(bad) < len(want) {
				t.Errorf("of a log without a time of day %d tries were read, %d lines refused", len(got), len(bad))
			}
			for _, err := range bad {
				if !strings.Contains(err.Error(), "LogTimeFormat") {
					t.Errorf("refused without advice: %v", err)
				}
			}
		})
	}
}

// someJobs runs ten jobs.
func (c *slurmCluster) someJobs() {
	c.t.Helper()
	running := c.sbatch("sleep 100", "-t", "2")
	waiting := c.sbatch("sleep 1", "-t", "1", "--begin=now+1hour")
	c.sbatch("sleep 1; exit 3", "-t", "1", "-n", "3")
	c.sbatch("sleep 1", "-t", "1", "--array=1-3%2")
	c.sbatch("sleep 2", "-t", "1", "-N2")
	c.sbatch("sleep 1", "-t", "1", "--begin=now+4")
	c.run("srun", "--quiet", "-n2", "-t", "1", "sleep", "1")
	eventually(c.t, "a job that runs", func() bool {
		return c.run("squeue", "-h", "-o", "%T", "-j",
			running) == "RUNNING"
	})
	c.run("scontrol", "requeue", running)
	eventually(c.t, "a job that waits again", func() bool {
		return c.run("squeue", "-h", "-o", "%T", "-j",
			running) == "PENDING"
	})
	c.run("scancel", running, waiting)
	eventually(c.t, "an empty queue", func() bool { return c.run("squeue", "-h") == "" })
}
