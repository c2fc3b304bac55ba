package daemon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// nodeCase has two jobs that leave processors free on two nodes, and a third job that must nevertheless wait until one
// of the two ends.
type nodeCase struct {
	name    string
	holders [2][]string // options of sbatch
	asker   []string
	query   string // parameters of GET /v1/wait for the asker's job
}

// TestRealSlurmNodesDecide uses a real Slurm with free processors, on which fragmented GPUs, fragmented memory or nodes
// that are not empty delay the start of a job. It proves that the median agrees with the true wait within a factor of
// 1.5, or 15 s.
func TestRealSlurmNodesDecide(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 6, 8, "--binding")
	c.run("scontrol", "create", "partition=lab", "nodes=n[05-06]", "maxtime=10")
	c.run("scontrol", "create", "partition=pair", "nodes=n[01-02]", "maxtime=10")
	c.run("scontrol", "create", "partition=own", "nodes=n[03-04]", "maxtime=10", "oversubscribe=exclusive")
	d := c.site("{format: slurm-log, path: LOG}", c.asksFacts(),
		"{format: slurm-squeue, command: ASK, interval: 1s}").start(t)
	d.eventually("facts", func() bool { f := d.Views()[0].Facts; return f != nil && len(f.Queues) == 6 })
	const runtime = 25 // in seconds; the user's earlier jobs took as long
	work := fmt.Sprintf("sleep %d", runtime)
	for range 30 {
		c.sbatch(work, "-p", "lab", "-t", "1", "--mem=100")
	}
	d.eventually("30 jobs have ended", func() bool { return d.Views()[0].Counts.Ended >= 30 })
	on := func(node string, options ...string) []string {
		return append([]string{"-p", "short", "-t", "1", "-n", "1", "-w", node}, options...)
	}
	cases := []nodeCase{
		{"GPUs in fragments",
			[2][]string{on("n05", "--gres=gpu:1", "--mem=100"), on("n06", "--gres=gpu:3", "--mem=100")},
			[]string{"-p", "short", "-n", "1", "-N", "1", "--gres=gpu:2", "--mem=100"},
			"queue=short&procs=1&nodes=1&gpus=2&memory=100M"},
		{"memory", [2][]string{on("n01", "--mem=6000"), on("n02", "--mem=6000")},
			[]string{"-p", "pair", "-n", "1", "-N", "1", "--mem=3000"}, "queue=pair&procs=1&nodes=1&memory=3000M"},
		{"nodes that are not empty", [2][]string{on("n03", "--mem=100"), on("n04", "--mem=100")},
			[]string{"-p", "own", "-n", "1", "-N", "1", "--mem=100"}, "queue=own&procs=1&nodes=1&memory=100M"},
	}
	for _, k := range cases {
		for _, holder := range k.holders {
			c.sbatch(work, holder...)
		}
	}
	d.eventually("all holders run, and are known", func() bool {
		known := 0
		for _, j := range d.Views()[0].Running {
			if !j.DetailsPending() && j.Memory > 0 && j.NodeNames != "" {
				known++
			}
		}
		return known == 2*len(cases)
	})
	// All requests come first: a job that was just submitted has no size yet, and all other jobs of its pool wait for
	// it.
	answers := make([]wire.Wait, len(cases))
	for i := range cases {
		answers[i] = cases[i].ask(t, c, d)
	}
	var all sync.WaitGroup
	for i := range cases {
		all.Go(func() { cases[i].compare(t, c, d, &answers[i]) })
	}
	all.Wait()
}

// startOf waits until squeue has examined a waiting job and shows a reason of its own, and then until the job starts.
// It returns the running job, nil if it never started, and the reason.
func (d *running) startOf(c *slurmCluster, id string) (started *cluster.Job, reason string) {
	d.eventually("squeue has a reason", func() bool {
		r := c.run("squeue", "-h", "-j", id, "-o", "%r")
		return r != "None" && r != "Priority"
	})
	reason = c.run("squeue", "-h", "-j", id, "-o", "%r")
	d.eventually("job "+id+" starts", func() bool {
		all := d.Views()[0].Running
		if i := slices.IndexFunc(all, func(j *cluster.Job) bool { return j.ID == id }); i >= 0 {
			started = all[i]
		}
		return started != nil
	})
	return started, reason
}

// ask requests a forecast for the asker's job.
func (k *nodeCase) ask(t *testing.T, c *slurmCluster, d *running) (w wire.Wait) {
	status, body := d.get("/v1/wait?time_limit=1m&user=" + c.run("id", "-un") + "&" + k.query)
	if err := json.Unmarshal([]byte(body), &w); status != http.StatusOK || err != nil || w.WaitSeconds.P50 == nil {
		t.Fatalf("%s: status %d, %v: %s", k.name, status, err, body)
	}
	return w
}

// compare submits the asker's job and compares its wait with the answer.
func (k *nodeCase) compare(t *testing.T, c *slurmCluster, d *running, w *wire.Wait) {
	id := c.sbatch("sleep 10", append([]string{"-t", "1"}, k.asker...)...)
	started, reason := d.startOf(c, id)
	if started == nil {
		t.Errorf("%s: no start", k.name)
		return
	}
	said, was := *w.WaitSeconds.P50, started.Start.Sub(started.Submit).Seconds()
	t.Logf("%s: said %.0f s, was %.0f s; %s (%s)", k.name, said, was, reason, w.Reason)
	if math.Abs(said-was) > 15 && math.Max(said/was, was/said) > 1.5 || was < 5 {
		t.Errorf("%s: the median is %.0f s, the wait was %.0f s", k.name, said, was)
	}
	// If a partition has no node with room, squeue reports that its nodes are down or reserved, although they are in
	// use.
	if w.Cause == nil || w.Cause.Class != job.Resources.String() {
		t.Errorf("%s: cause %+v, squeue says %s; want %v", k.name, w.Cause, reason, job.Resources)
	}
	if len(w.NotConsidered) > 0 {
		t.Errorf("%s: %s not considered", k.name, strings.Join(w.NotConsidered, ", "))
	}
}
