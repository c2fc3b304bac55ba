package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
)

// TestRealSlurmSeveralQueues proves on a real Slurm that a job of two partitions is one job, with the priorities in
// each that sprio shows; that its forecast is at no level later than in either; and that it is in the partition in
// which it runs once it has started.
func TestRealSlurmSeveralQueues(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 2, 4, "--priorities")
	d := c.site("{format: slurm-log, path: LOG}", c.asksFacts(),
		"{format: slurm-squeue, command: ASK, interval: 1s}").start(t)
	d.caughtUp()
	full := c.sbatch("sleep 60", "-p", "short", "-n", "8", "-t", "2")
	d.eventually("the machine is full, and its rules are known", func() bool {
		v := d.Views()[0]
		return len(v.Running) == 1 && v.Rules != nil
	})
	between := c.sbatch("sleep 20", "-p", "medium", "-n", "8", "-t", "1")
	both := c.sbatch("sleep 20", "-p", "long,short", "-n", "8", "-t", "1")
	var job *cluster.Job
	d.eventually("both jobs wait, one of them in two partitions", func() bool {
		v := d.Views()[0]
		i := slices.IndexFunc(v.Queued, func(j *cluster.Job) bool { return j.ID == both && j.Queues != "" })
		if i >= 0 {
			job = v.Queued[i]
		}
		return i >= 0 && len(v.Queued) == 2 && !v.Queued[0].DetailsPending()
	})
	if job.Queue != "long" || job.Queues != "long,short" {
		t.Errorf("it counts in %q of %q", job.Queue, job.Queues)
	}
	c.comparePriorities(d.Views()[0].Rules, job)
	ask := func(queues string) *wire.Wait { return d.mustWait("queue=" + queues + "&procs=8&time_limit=1m") }
	short, long, one := ask("short"), ask("long"), ask("long,short")
	levels := func(w *wire.Wait) []*float64 {
		q := w.WaitSeconds
		return []*float64{q.P10, q.P25, q.P50, q.P75, q.P90, q.P95}
	}
	for l, at := range levels(one) {
		for _, other := range []*wire.Wait{short, long} {
			if than := levels(other)[l]; at == nil || than != nil && *at > *than {
				t.Errorf("at level %d later than in %s: %+v and %+v", l, other.Queue, one.WaitSeconds,
					other.WaitSeconds)
			}
		}
	}
	if one.Queue != "short" || *long.WaitSeconds.P50 < *short.WaitSeconds.P50 {
		t.Errorf("soonest in %s; in long %v s, in short %v s", one.Queue, *long.WaitSeconds.P50, *short.WaitSeconds.P50)
	}
	c.run("scancel", full)
	d.eventually("the job runs in the better partition, before the older one", func() bool {
		v := d.Views()[0]
		return len(v.Running) == 1 && v.Running[0].ID == both && v.Running[0].Queue == "short" &&
			v.Running[0].Queues == "" && len(v.Queued) == 1 && v.Queued[0].ID == between
	})
}

// comparePriorities compares the priorities of a job in each of its partitions with those that sprio shows. They may
// differ by what the age adds in a minute or two.
func (c *slurmCluster) comparePriorities(rules *cluster.Rules, j *cluster.Job) {
	c.t.Helper()
	const aged = 20
	got := rules.InEachQueue(&j.Attributes, j.Updated.Sub(j.Submit))
	for i, queue := range j.EachQueue() {
		compared := false
		for line := range strings.Lines(c.run("sprio", "--noheader", "--jobs="+j.ID, "--format=%r %Y")) {
			var name string
			var want int64
			if n, _ := fmt.Sscan(line, &name, &want); n == 2 && name == queue {
				if compared = true; max(got[i]-want, want-got[i]) > aged {
					c.t.Errorf("in %s the priority is %d, want %d", queue, got[i], want)
				}
			}
		}
		if !compared {
			c.t.Errorf("sprio does not show the job in %s", queue)
		}
	}
}
