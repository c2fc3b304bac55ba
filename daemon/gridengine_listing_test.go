package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
)

// TestRealGridEngineListing proves, on a real Grid Engine, that running and waiting jobs are known with their sizes,
// queues and limits from qstat, beside the accounting file, which has no record of them, and beside the reporting file,
// which has no sizes; and that jobs which end leave the picture.
func TestRealGridEngineListing(t *testing.T) {
	t.Parallel() // the test waits for polls most of the time
	c := newGridEngine(t, 4)
	var daemons []*running
	for _, log := range []string{"accounting", "reporting"} {
		s := c.site(log)
		config, err := os.ReadFile(s.config)
		must(t, err)
		write(t, s.config, string(config)+fmt.Sprintf(
			"      - {format: gridengine-qstat, command: [%q], interval: 1s}\n", filepath.Join(c.dir, "run")))
		daemons = append(daemons, s.start(t))
	}
	one := c.qsub("runs", time.Hour, "sleep 1000", "-q", "short.q", "-pe", "smp", "3")
	c.runs(one)
	waits := c.qsub("waits", 2*time.Hour, "sleep 1", "-q", "short.q", "-pe", "smp", "2")
	held := c.qsub("held", time.Hour, "sleep 1", "-q", "long.q", "-h")
	array := c.qsub("array", time.Hour, "sleep 1", "-q", "long.q", "-t", "1-5:2", "-h")
	shown := func(jobs []*cluster.Job) (out []string) {
		for _, j := range jobs {
			a := j.Reported()
			out = append(out, fmt.Sprintf("%s %s %d %s %t %d", j.ID, a.Queue, a.Procs, a.TimeLimit, j.Held, a.Tasks))
		}
		slices.Sort(out)
		return out
	}
	for _, d := range daemons {
		var got [2][]string
		want := [2][]string{{one + " short.q 3 1h0m0s false 0"}, {waits + " short.q 2 2h0m0s false 0",
			held + " long.q 1 1h0m0s true 0", array + " long.q 1 1h0m0s true 3"}}
		d.eventually("the jobs of qstat", func() bool {
			v := d.Views()[0]
			got = [2][]string{shown(v.Running), shown(v.Queued)}
			return slices.Equal(got[0], want[0]) && slices.Equal(got[1], want[1])
		})
		if t.Failed() {
			t.Fatalf("running %q, waiting %q; want %q", got[0], got[1], want)
		}
	}
	for _, id := range []string{waits, held, array, one} { // waits would run once the other is gone
		c.run("qdel", "-f", id)
	}
	for _, d := range daemons {
		d.eventually("no job", func() bool {
			v := d.Views()[0]
			return len(v.Running)+len(v.Queued) == 0
		})
	}
}
