package daemon_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

// TestRealSlurm proves on a real Slurm that what the daemon keeps of every job, one of each awkward kind among them, is what Slurm itself says
// in the end, and that its picture is squeue's at random instants, a second of lag allowed. WAITCAST_LONG=1 makes it 300 jobs instead of 60.
func TestRealSlurm(t *testing.T) {
	jobs, instants := 60, 18
	if os.Getenv("WAITCAST_LONG") != "" {
		jobs, instants = 300, 100
	}
	c := newSlurm(t, 16, 4)
	sites := []*site{
		c.site("{format: slurm-log, path: LOG}", "{format: slurm-squeue, command: ASK, interval: 5s}"),
		c.site("{format: slurm-log, path: LOG}", "{format: slurm-jobcomp, path: COMP}", "{format: slurm-squeue, command: ASK, interval: 15s}"),
	}
	var daemons []*running
	for _, s := range sites {
		daemons = append(daemons, s.start(t))
	}
	for _, d := range daemons {
		d.caughtUp()
	}
	awkward := c.awkwardJobs()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.load(jobs)
	}()
	c.awkwardActs(awkward)
	var wrong []string
	for i := range instants {
		wrong = append(wrong, c.compareNow(daemons[i%2], i)...)
	}
	<-done
	for _, d := range daemons {
		c.drain(d)
	}
	t.Logf("%d instants compared with squeue", instants)
	for len(wrong) > 0 {
		t.Errorf("the picture differs from squeue: %s", wrong[0])
		wrong = wrong[1:]
	}
	want := c.jobs()
	for i, d := range daemons {
		d.stop()
		c.compareLives([]string{"log and snapshot", "log, jobcomp and snapshot"}[i], want, livesIn(sites[i].kept(t)), true)
	}
	c.compareLives("slurmctld.log alone", want, c.logAlone(), false)
}

// logAlone returns the lives that slurmctld.log tells by itself.
func (c *slurmCluster) logAlone() map[string]truth {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "slurmctld.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	var events []job.Event
	parser := slurm.Log(nil).New(collector.Options{Cluster: "main", Location: time.Local})
	for line := range bytes.Lines(text) {
		if err := parser.Parse(line, func(ev job.Event) { events = append(events, ev) }); err != nil {
			c.t.Errorf("%s: %v", line, err)
		}
	}
	return livesOf(events)
}

// load submits so many short jobs of all sizes.
func (c *slurmCluster) load(jobs int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range jobs {
		procs := 1 << random.IntN(5)
		c.sbatch(fmt.Sprintf("sleep %.1f", 1.5+3*random.Float64()), "-n", fmt.Sprint(procs), "-t", fmt.Sprint(1+random.IntN(5)),
			"-p", []string{"short", "medium", "long"}[random.IntN(3)])
	}
}

// awkwardJobs submits one job of every awkward kind and returns their numbers by kind.
func (c *slurmCluster) awkwardJobs() map[string]string {
	ids := map[string]string{}
	for _, k := range []struct {
		kind, command string
		args          []string
	}{
		{"failed", "sleep 2; exit 3", []string{"-t", "1"}},
		{"signaled", "sleep 2; kill -SEGV $$", []string{"-t", "1"}},
		{"cancelled running", "sleep 100", []string{"-t", "5"}},
		{"cancelled waiting", "sleep 5", []string{"-t", "5", "--begin=now+1hour"}},
		{"held", "sleep 2", []string{"-t", "2", "--hold"}},
		{"begin", "sleep 2", []string{"-t", "2", "--begin=now+6"}},
		{"array", "sleep 2", []string{"-t", "2", "--array=1-5%2"}},
		{"array cancelled", "sleep 100", []string{"-t", "5", "--array=1-6%2"}},
		{"requeued", "sleep 100", []string{"-t", "2", "--requeue"}},
		{"two queues", "sleep 3", []string{"-t", "2", "-p", "short,medium"}},
		{"updated", "sleep 3", []string{"-t", "3", "--begin=now+6"}},
		{"heterogeneous", "sleep 3", []string{"-N1", "-t", "2", ":", "-N2"}},
		{"over the limit", "sleep 2", []string{"-t", "20", "-p", "short"}},
		{"too wide", "sleep 2", []string{"-t", "2", "-N", "1000"}},
		{"node fails", "sleep 100", []string{"-t", "2", "--no-requeue", "-N1", "--exclusive", "-w", "n08"}},
		{"exclusive", "sleep 3", []string{"-t", "2", "-N1", "--exclusive"}},
	} {
		ids[k.kind] = c.sbatch(k.command, k.args...)
	}
	ids["depends"] = c.sbatch("sleep 2", "-t", "1", "--dependency=afterok:"+ids["exclusive"])
	ids["never"] = c.sbatch("sleep 2", "-t", "1", "--dependency=afternotok:"+ids["exclusive"])
	c.run("srun", "--quiet", "-n2", "-t", "1", "sleep", "1")
	return ids
}

// awkwardActs does to them what makes them awkward.
func (c *slurmCluster) awkwardActs(ids map[string]string) {
	c.run("scontrol", "update", "jobid="+ids["updated"], "timelimit=2", "partition=medium")
	c.run("scontrol", "release", ids["held"])
	c.run("scontrol", "requeue", ids["requeued"])
	c.run("scontrol", "update", "nodename=n08", "state=down", "reason=test")
	eventually(c.t, "the dependency that cannot come true", func() bool {
		return strings.Contains(c.run("squeue", "-h", "-o", "%r", "-j", ids["never"]), "DependencyNeverSatisfied")
	})
	c.run("scancel", ids["cancelled running"], ids["cancelled waiting"], ids["array cancelled"], ids["over the limit"], ids["too wide"], ids["never"])
	_, _ = c.try("scontrol", "update", "nodename=n08", "state=resume") // it may have come back by itself
	eventually(c.t, "the requeued job to wait", func() bool {
		return c.run("squeue", "-h", "-o", "%T", "-j", ids["requeued"]) == "PENDING"
	})
	c.run("scancel", ids["requeued"]) // else it waits for two minutes
}

// drain waits until nothing is left, in Slurm and in the picture.
func (c *slurmCluster) drain(d *running) {
	c.t.Helper()
	eventually(c.t, "an empty queue", func() bool { return c.run("squeue", "-h", "-o", "%A %T") == "" })
	eventually(c.t, "an empty picture", func() bool {
		v := d.Views()[0]
		return len(v.Running)+len(v.Queued) == 0
	})
	over := float64(time.Now().Unix() + 3) // what ended just now is told by a snapshot that comes later
	eventually(c.t, "a last snapshot", func() bool {
		at, err := strconv.ParseFloat(d.metric(`waitcast_snapshot_last_success_timestamp_seconds{cluster="main",source="main/slurm-squeue"}`), 64)
		return err == nil && at > over
	})
}

// whole collapses the waiting tasks of an array, which the picture tells apart only after a snapshot.
func whole(id string) string {
	w, _, _ := strings.Cut(id, "_")
	return w
}

// states returns what a view says of its jobs.
func states(v *pipeline.View) map[string]string {
	out := map[string]string{}
	for _, j := range v.Queued {
		out[whole(j.ID)] = "waits"
	}
	for _, j := range v.Running {
		out[j.ID] = "runs"
	}
	return out
}

// compareNow asks squeue once and returns what the picture does not say so within a second before or after.
func (c *slurmCluster) compareNow(d *running, i int) []string {
	c.t.Helper()
	var views []map[string]string
	watch := func(until time.Time) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for views = append(views, states(d.Views()[0])); time.Now().Before(until); <-tick.C {
			views = append(views, states(d.Views()[0]))
		}
	}
	watch(time.Now().Add(time.Duration(100+(i*379)%900) * time.Millisecond)) // up to a second before
	shown := map[string]string{}
	for line := range strings.Lines(c.run("squeue", "-h", "-a", "-o", "%i %A %T")) {
		f := strings.Fields(line)
		id := f[0]
		if w, _, _ := strings.Cut(strings.ReplaceAll(id, "+", "_"), "_"); w == f[1] {
			id = w
		}
		switch f[2] {
		case "PENDING":
			shown[whole(id)] = "waits"
		case "RUNNING":
			shown[id] = "runs"
		}
	}
	views = append(views, states(d.Views()[0]))
	watch(time.Now().Add(time.Second))
	var wrong []string
	for id, state := range shown {
		if !slices.ContainsFunc(views, func(v map[string]string) bool { return v[id] == state }) {
			wrong = append(wrong, fmt.Sprintf("instant %d: job %s %s in squeue, %q in the picture", i, id, state, views[len(views)/2][id]))
		}
	}
	for id, state := range views[0] {
		stays := !slices.ContainsFunc(views, func(v map[string]string) bool { return v[id] != state })
		if stays && shown[id] != state {
			wrong = append(wrong, fmt.Sprintf("instant %d: job %s %s in the picture, %q in squeue", i, id, state, shown[id]))
		}
	}
	return wrong
}

// compareLives compares the lives of all jobs with what Slurm says of them, size, queue and limit only if asked for.
func (c *slurmCluster) compareLives(source string, want, got map[string]truth, attributes bool) {
	c.t.Helper()
	var diffs []string
	differ := func(id, what string, got, should any) {
		diffs = append(diffs, fmt.Sprintf("%s (%s): %s %v, want %v", id, want[id].state, what, got, should))
	}
	near := func(a, b time.Time) bool { return a.Truncate(time.Second).Sub(b).Abs() <= time.Second }
	for id, w := range want {
		g, ok := got[id]
		if !ok {
			differ(id, "known", false, true)
			continue
		}
		if !near(g.submit, w.submit) {
			differ(id, "submit", g.submit, w.submit)
		}
		if !near(g.end, w.end) {
			differ(id, "end", g.end, w.end)
		}
		if g.ran != w.ran {
			differ(id, "ran", g.ran, w.ran)
		} else if w.ran && !near(g.start, w.start) {
			differ(id, "start", g.start, w.start)
		}
		if !attributes {
			continue
		}
		if g.procs != w.procs {
			differ(id, "size", g.procs, w.procs)
		}
		if !slices.Contains(strings.Split(w.queue, ","), g.queue) {
			differ(id, "queue", g.queue, w.queue)
		}
		if g.limit != w.limit {
			differ(id, "limit", g.limit, w.limit)
		}
	}
	for id, g := range got {
		_, ok := want[id]
		if array, part := want[whole(id)]; part && !array.ran && !g.ran && near(g.end, array.end) {
			continue // Slurm keeps the tasks of an array that were cancelled while they waited as one job
		}
		if !ok {
			differ(id, "known", true, false)
		}
	}
	c.t.Logf("%s: %d jobs in Slurm, %d differences", source, len(want), len(diffs))
	if slices.Sort(diffs); len(diffs) > 0 {
		c.t.Errorf("%s:\n%s", source, strings.Join(diffs, "\n"))
	}
}

// livesIn returns the last life of every job by the journal.
func livesIn(k kept) map[string]truth {
	events := make([]job.Event, len(k.Entries))
	for i, e := range k.Entries {
		events[i] = e.Event
	}
	return livesOf(events)
}

// livesOf folds events and returns the last life of every job.
func livesOf(events []job.Event) map[string]truth {
	state, out := cluster.New("main", 0), map[string]truth{}
	for _, ev := range events {
		state.Apply(ev, &cluster.Hooks{Changed: func(ch cluster.Change) {
			ev, j := ch.Event, ch.After
			life := out[ev.ID]
			if j == nil {
				j = ch.Before
			}
			life.submit, life.procs, life.queue, life.limit = j.Submit, j.Procs, j.Queue, j.TimeLimit
			switch {
			case ev.Kind == job.Requeue:
				life.ran = false
			case ev.Kind == job.Start:
				life.start, life.ran = j.Start, true
			case ev.Kind == job.End:
				life.start, life.end = ev.Times.Start, ev.Times.End
			case ev.Kind == job.Cancel && ch.After == nil:
				life.end, life.ran = ev.Time, false
			}
			out[ev.ID] = life
		}})
	}
	return out
}
