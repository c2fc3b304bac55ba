package daemon_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

// TestRealSlurm proves two things on a real Slurm. At random instants the daemon's picture equals the output of squeue.
// In the end the daemon's data of every attempt of every job are equal to sacct's, also for jobs of each awkward kind.
// With WAITCAST_LONG=1 there are more jobs and instants.
func TestRealSlurm(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	jobs, instants, pause, slow := 60, 20, time.Second, "5s"
	if long() {
		jobs, instants, pause, slow = 300, 100, 2*time.Second, "15s"
	}
	c := newSlurm(t, 16, 4, "--accounting")
	beside := []*beside{
		{name: "log and snapshot", lag: time.Second, sources: []string{"{format: slurm-log, path: LOG}",
			"{format: slurm-squeue, command: ASK, interval: 5s}"}},
		{name: "log, jobcomp and snapshot", lag: time.Second, sources: []string{
			"{format: slurm-log, path: LOG}", "{format: slurm-jobcomp, path: COMP}",
			"{format: slurm-squeue, command: ASK, interval: " + slow + "}",
		}},
		{name: "sacct's dump and snapshot", lag: aloneLag, sources: []string{"{format: slurm-sacct, path: DUMP}",
			"{format: slurm-squeue, command: ASK, interval: 1s}"}},
	}
	beside[0].begin(c)
	beside[1].begin(c)
	c.history()
	beside[2].begin(c)
	awkward := c.awkwardJobs()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.load(jobs)
	}()
	c.awkwardActs(awkward, beside)
	var seen []moment
	random := rand.New(rand.NewPCG(3, 4))
	for range instants {
		<-time.After(time.Duration(random.Int64N(int64(pause))))
		seen = append(seen, c.look())
	}
	<-done
	// Otherwise these jobs would wait for two minutes.
	c.run("scancel", awkward["requeued"], awkward["preempted, requeued"], awkward["node fails, requeued"])
	eventually(t, "an empty queue", func() bool { return c.run("squeue", "-h", "-o", "%A %T") == "" })
	for _, b := range beside {
		b.drain()
	}
	want := c.accounted()
	c.wantStates(want)
	for _, b := range beside {
		b.pictures.stop()
		b.comparePictures(seen)
		b.daemon.stop()
		k := b.site.kept(t)
		for _, bad := range k.Bad {
			t.Errorf("%s: %+v", b.name, bad)
		}
		c.compareLives(b.name, want, triesIn(k), comparison{attributes: true})
	}
	c.compareLog(want, time.Local)
}

// wantStates checks that every possible kind of ending occurred.
func (c *slurmCluster) wantStates(all map[try]truth) {
	c.t.Helper()
	states, jobs := map[string]int{}, map[string]bool{}
	for id, f := range all {
		state, _, _ := strings.Cut(f.state, " ") // for example "CANCELLED by 0"
		states[state]++
		jobs[id.id] = true
	}
	c.t.Logf("%d tries of %d jobs in sacct: %v", len(all), len(jobs), states)
	wanted := []string{"COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "REQUEUED", "PREEMPTED"}
	if long() {
		wanted = append(wanted, "TIMEOUT")
	}
	for _, state := range wanted {
		if states[state] == 0 {
			c.t.Errorf("no job in sacct is %s", state)
		}
	}
}

// aloneLag is the maximum delay of a picture that is fed only by one snapshot per second: an end is reported after 2 s,
// in whole seconds, and a job that has vanished must be missing in two snapshots.
const aloneLag = 5 * time.Second

// long reports whether tests may take minutes.
func long() bool { return os.Getenv("WAITCAST_LONG") != "" }

// busy returns a time that is added to the permitted delays of pictures in the short form of the tests, which may run
// beside other tests on a busy machine.
func busy() time.Duration {
	if long() {
		return 0
	}
	return 10 * time.Second
}

// beside is a daemon beside the cluster.
type beside struct {
	name     string
	sources  []string
	lag      time.Duration // permitted time by which its picture may be behind squeue, or ahead
	site     *site
	daemon   *running
	pictures *recorder
}

// begin starts the daemon and waits until it has read everything.
func (b *beside) begin(c *slurmCluster) {
	c.t.Helper()
	b.site = c.site(b.sources...)
	b.daemon = b.site.start(c.t)
	b.daemon.caughtUp()
	b.pictures = recordPictures(b.daemon)
	c.t.Cleanup(b.pictures.stop)
}

// comparePictures compares the daemon's pictures at every instant with squeue.
func (b *beside) comparePictures(seen []moment) {
	t := b.daemon.t
	t.Helper()
	var wrong []string
	for _, m := range seen {
		wrong = append(wrong, b.pictures.against(m, b.lag+busy())...)
	}
	t.Logf("%s: %d instants compared with squeue, %d differences", b.name, len(seen), len(wrong))
	if len(wrong) > 0 {
		t.Errorf("%s: the picture differs from squeue:\n%s", b.name, strings.Join(wrong, "\n"))
	}
}

// drain waits until the daemon's picture is empty and a snapshot was taken after that.
func (b *beside) drain() {
	over := float64(time.Now().Unix() + 3) // a later snapshot reports jobs that ended just now
	b.daemon.eventually("an empty picture", func() bool {
		v := b.daemon.Views()[0]
		return len(v.Running)+len(v.Queued) == 0
	})
	b.daemon.eventually("a last snapshot", func() bool {
		success := "waitcast_snapshot_last_success_timestamp_seconds" + `{cluster="main",source="main/slurm-squeue"}`
		at, err := strconv.ParseFloat(b.daemon.metric(success), 64)
		return err == nil && at > over
	})
}

// logAlone returns the data of every attempt from slurmctld.log alone, and the errors of the lines that cannot be read.
// The controller that wrote the log was in the given time zone.
func (c *slurmCluster) logAlone(zone *time.Location) (map[try]truth, []error) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "slurmctld.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	var events []job.Event
	var bad []error
	parser := slurm.Log(nil).New(collector.Options{Cluster: "main", Location: zone})
	for line := range bytes.Lines(text) {
		if err := parser.Parse(line, func(ev job.Event) { events = append(events, ev) }); err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", line, err))
		}
	}
	return triesOf(events), bad
}

// compareLog compares the data from the log alone with the wanted data.
func (c *slurmCluster) compareLog(want map[try]truth, zone *time.Location) {
	c.t.Helper()
	got, bad := c.logAlone(zone)
	for _, err := range bad {
		c.t.Error(err)
	}
	c.compareLives("slurmctld.log alone", want, got, comparison{})
}

// history runs jobs of several kinds and dumps their records. The last job is submitted after the others have ended,
// because records that are later than the last submission in a dump are held back for some seconds.
func (c *slurmCluster) history() {
	c.t.Helper()
	c.sbatch("sleep 1", "-t", "1", "--job-name=two\nlines|and a bar")
	c.sbatch("sleep 1; exit 3", "-t", "1", "-n", "8", "--uid=games", "-p", "long")
	c.sbatch("sleep 1", "-t", "1", "--array=1-4%3", "--uid=news")
	unseen := c.sbatch("sleep 1", "-t", "1", "--begin=now+1hour", "-N2")
	overs := func(jobs, parts int) func() bool {
		return func() bool { // a task of an array has its own number as a name until slurmdbd has all its data
			out := c.run("sacct", "-a", "-X", "-P", "-n", "-S", "now-1day", "-E", "now", "--state="+allStates,
				"--format=JobID,Start,End")
			return len(strings.Fields(out)) == jobs && strings.Count(out, "_") == parts &&
				strings.Count(out, "Unknown") <= 1
		}
	}
	eventually(c.t, "the first jobs to be over", func() bool {
		return len(strings.Fields(c.run("squeue", "-h", "-o",
			"%A"))) == 1
	})
	c.run("scancel", unseen)
	eventually(c.t, "sacct to know them", overs(7, 4))
	second := time.Now().Unix()
	eventually(c.t, "the next second", func() bool { return time.Now().Unix() > second })
	c.sbatch("sleep 6", "-t", "2", "-n", "4", "--uid=mail")
	eventually(c.t, "sacct to know one that runs", overs(8, 4))
	c.takeDump()
}

// load submits a number of short jobs of all sizes.
func (c *slurmCluster) load(jobs int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range jobs {
		procs := 1 << random.IntN(5)
		c.sbatch(fmt.Sprintf("sleep %.1f", 1.5+3*random.Float64()), "-n", fmt.Sprint(procs), "-t",
			fmt.Sprint(1+random.IntN(5)),
			"-p", []string{"short", "medium", "long"}[random.IntN(3)],
			"--uid="+[]string{"root", "games", "news", "mail"}[random.IntN(4)],
			"--qos="+[]string{"normal", "batch"}[random.IntN(2)])
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
		{"canceled running", "sleep 100", []string{"-t", "5"}},
		{"canceled waiting", "sleep 5", []string{"-t", "5", "--begin=now+1hour"}},
		{"held", "sleep 2", []string{"-t", "2", "--hold"}},
		{"begin", "sleep 2", []string{"-t", "2", "--begin=now+6"}},
		{"array", "sleep 2", []string{"-t", "2", "--array=1-5%2"}},
		{"array canceled", "sleep 100", []string{"-t", "5", "--array=1-6%2"}},
		{"requeued", "sleep 100", []string{"-t", "2", "--requeue"}},
		{"two queues", "sleep 3", []string{"-t", "2", "-p", "short,medium"}},
		{"updated", "sleep 3", []string{"-t", "3", "--begin=now+25"}},
		{"heterogeneous", "sleep 3", []string{"-N1", "-t", "2", ":", "-N2"}},
		{"over the limit", "sleep 2", []string{"-t", "20", "-p", "short"}},
		{"too wide", "sleep 2", []string{"-t", "2", "-N", "1000"}},
		{"node fails", "sleep 100", []string{"-t", "2", "--no-requeue", "-N1", "--exclusive", "-w", "n08"}},
		{"node fails, requeued", "sleep 100", []string{"-t", "2", "--requeue", "-N1", "-n4", "--exclusive", "-w",
			"n07"}},
		{"suspended", "sleep 9", []string{"-t", "2", "--uid=news"}},
		{"prolonged", "sleep 9", []string{"-t", "2", "--qos=high"}},
		{"preempted", "sleep 100", []string{"-t", "2", "--no-requeue", "-N1", "--exclusive", "-w", "n15", "--qos=low",
			"--uid=games"}},
		{"preempted, requeued", "sleep 100", []string{"-t", "2", "--requeue", "-N1", "-n4", "--exclusive", "-w", "n16",
			"--qos=low", "--uid=mail"}},
		{"exclusive", "sleep 3", []string{"-t", "2", "-N1", "--exclusive"}},
	} {
		ids[k.kind] = c.sbatch(k.command, k.args...)
	}
	ids["depends"] = c.sbatch("sleep 2", "-t", "1", "--dependency=afterok:"+ids["exclusive"])
	ids["never"] = c.sbatch("sleep 2", "-t", "1", "--dependency=afternotok:"+ids["exclusive"])
	if long() {
		c.sbatch("sleep 1000", "-t", "1") // exceeds its time limit; Slurm's shortest is a minute
	}
	c.run("srun", "--quiet", "-n2", "-t", "1", "sleep", "1")
	c.run("salloc", "--quiet", "-n1", "-t", "1", "--account=physics", "sleep", "1")
	return ids
}

// awkwardActs performs the actions that make the jobs awkward.
func (c *slurmCluster) awkwardActs(ids map[string]string, daemons []*beside) {
	is := func(kind, state string) {
		eventually(c.t, kind+" to be "+state, func() bool {
			return c.run("squeue", "-h", "-o", "%T", "-j",
				ids[kind]) == state
		})
	}
	c.run("scontrol", "update", "jobid="+ids["updated"], "timelimit=2", "partition=medium")
	c.run("scontrol", "release", ids["held"])
	is("suspended", "RUNNING")
	c.run("scontrol", "suspend", ids["suspended"])
	is("prolonged", "RUNNING")
	c.run("scontrol", "update", "jobid="+ids["prolonged"], "timelimit=4")
	for _, kind := range []string{"requeued", "preempted", "preempted, requeued", "node fails", "node fails, requeued",
		"canceled running"} {
		is(kind, "RUNNING")
	}
	for _, b := range daemons { // no data exists of an attempt that no snapshot has seen
		b.daemon.eventually("a snapshot of what runs", func() bool {
			owned := map[string]bool{}
			for _, j := range b.daemon.Views()[0].Running {
				owned[j.ID] = j.User != ""
			}
			return owned[ids["requeued"]] && owned[ids["preempted, requeued"]] && owned[ids["node fails, requeued"]]
		})
	}
	c.sbatch("sleep 2", "-t", "1", "-N2", "--exclusive", "-w", "n[15-16]", "--qos=high") // this job preempts
	c.run("scontrol", "requeue", ids["requeued"])
	c.run("scontrol", "update", "nodename=n[07-08]", "state=down", "reason=test")
	eventually(c.t, "the dependency that cannot come true", func() bool {
		return strings.Contains(c.run("squeue", "-h", "-o", "%r", "-j", ids["never"]), "DependencyNeverSatisfied")
	})
	c.run("scontrol", "resume", ids["suspended"])
	c.run("scancel", ids["canceled running"], ids["canceled waiting"], ids["array canceled"], ids["over the limit"],
		ids["too wide"], ids["never"])
	_, _ = c.try("scontrol", "update", "nodename=n[07-08]", "state=resume") // they may be back already
	for _, kind := range []string{"requeued", "preempted, requeued", "node fails, requeued"} {
		is(kind, "PENDING")
	}
}
