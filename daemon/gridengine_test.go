package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/polling"
	"github.com/waitcast/waitcast/job"
)

// TestRealGridEngine proves two things on a real Grid Engine. At random instants the daemon's picture equals the output
// of qstat. In the end the daemon's data of every job equals Grid Engine's own data, also for jobs of each awkward
// kind. With WAITCAST_LONG=1 there are 300 ordinary jobs instead of 60.
func TestRealGridEngine(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	jobs, instants := 60, 20
	if os.Getenv("WAITCAST_LONG") != "" {
		jobs, instants = 300, 100
	}
	c := newGridEngine(t, 8)
	sites := []*site{c.site("reporting"), c.site("reporting", "accounting"), c.site("accounting")}
	var daemons []*running
	for _, s := range sites {
		daemons = append(daemons, s.start(t))
	}
	daemons[0].caughtUp() // the accounting file does not exist before the first job's end
	var load sync.WaitGroup
	load.Go(c.awkward)
	load.Go(func() { c.load(jobs) })
	var seen agreement
	for i := range instants {
		c.compareNow(daemons[:2], i, &seen)
	}
	load.Wait()
	c.drain(daemons)
	want := c.truths()
	for i, source := range []string{"reporting", "reporting and accounting", "accounting"} {
		daemons[i].stop()
		k := sites[i].kept(t)
		for _, bad := range k.Bad {
			t.Errorf("%s: bad line: %+v", source, bad)
		}
		c.compareLives(source, want, geLives(k), i < 2)
		seen.forgive(i, k)
	}
	t.Logf("%d instants compared with qstat: %d states agree after %v at most; %d were shorter than the lag; %d "+
		"waiting array tasks that no log tells of",
		instants, seen.agree, seen.took.Round(time.Millisecond), seen.brief, seen.untold)
	for _, w := range seen.wrong {
		t.Errorf("instant %d, daemon %d: %s", w.instant, w.daemon, w.what)
	}
}

// load submits many short jobs of all sizes, as fast as the cluster runs them.
func (c *geCluster) load(jobs int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range jobs {
		procs := 1 << random.IntN(3)
		args := []string{"-q", []string{"short.q", "medium.q", "long.q"}[random.IntN(3)], "-pe", "smp",
			fmt.Sprint(procs)}
		if procs == 1 {
			args = args[:2]
		}
		c.qsub("load", time.Duration(20+random.IntN(100))*time.Second, fmt.Sprintf("sleep %.1f", 1+3*random.Float64()),
			args...)
		c.until("a shorter queue", func() bool { return len(c.qstat().waiting) < 20 })
	}
}

// once returns a shell command that runs the given command at its first call only.
func (c *geCluster) once(name, command string) string {
	file := filepath.Join(c.dir, name)
	return fmt.Sprintf("test -e %s || { touch %s; %s; }; sleep 2", file, file, command)
}

// geKind is one awkward kind of job.
type geKind struct {
	kind    string
	limit   time.Duration
	command string
	args    string
	act     func(id string) // an action on the job, if any
}

// awkward submits one job of every awkward kind, and performs the action that makes the job awkward.
func (c *geCluster) awkward() {
	c.brokenQueue()
	var acts sync.WaitGroup
	for _, k := range slices.Concat(c.plainKinds(), c.actedKinds(), c.arrayKinds()) {
		if !strings.Contains(k.args, "-q ") {
			k.args += " -q short.q,medium.q,long.q" // not the broken one
		}
		id := c.qsub(k.kind, k.limit, k.command, strings.Fields(k.args)...)
		if k.act != nil {
			acts.Go(func() { k.act(id) })
		}
	}
	c.interactive()
	acts.Wait()
}

// plainKinds returns kinds that are awkward without an action.
func (c *geCluster) plainKinds() []geKind {
	const minute = time.Minute
	return []geKind{
		{"parallel", minute, "sleep 2", "-pe smp 3", nil},
		{"range of sizes", minute, "sleep 2", "-pe smp 2-6", nil},
		{"parallel tasks", minute, "qrsh -inherit $HOSTNAME sleep 1; sleep 1", "-pe smp 2", nil},
		{"dependent", minute, "sleep 2", "-hold_jid array", nil},
		{"begin", minute, "sleep 2", "-a " + time.Now().Add(7*time.Second).Format("200601021504.05"), nil},
		{"over the limit", 2 * time.Second, "sleep 100", "", nil},
		{"exit 99", minute, c.once("99", "sleep 2; exit 99"), "-r y", nil},
		{"failed", minute, "sleep 1; exit 3", "", nil},
		{"signaled", minute, "sleep 1; kill -SEGV $$", "", nil},
		{"soft limit", 0, "sleep 3", "-soft -l h_rt=2", nil},
		{"limit by the clock", 0, "sleep 2", "-l h_rt=0:1:0", func(id string) { c.setLimit(id, minute) }},
		{"warned", 0, "sleep 2", "-l s_rt=0:1:0", func(id string) { c.setLimit(id, minute) }},
		{"name", minute, "sleep 2", `-N a=b,c|d"e'f;g&h<i>j`, nil},
		{"name", minute, "sleep 2", "-N #%d$HOME!(x)", nil},
	}
}

// actedKinds returns kinds that are awkward because of an action.
func (c *geCluster) actedKinds() []geKind {
	const minute = time.Minute
	deleteFailed := func(id string) { c.fails(id); c.qdel(id) }
	return []geKind{
		{"held", minute, "sleep 2", "-h", func(id string) { c.run("qrls", id) }},
		{"deleted waiting", minute, "sleep 2", "-h", func(id string) { c.qdel(id) }},
		{"deleted running", 0, "sleep 100", "-r y", func(id string) { c.runs(id); c.run("qdel", id) }},
		{"deleted by force", minute, "sleep 100", "", func(id string) { c.runs(id); c.run("qdel", "-f", id) }},
		{"rescheduled", minute, c.once("rescheduled", "sleep 20"), "-r y",
			func(id string) { c.runs(id); c.run("qmod", "-rj", id) }},
		{"no shell", minute, "sleep 2", "-S /no/such/shell", deleteFailed},
		{"no folder", minute, "sleep 2", "-wd /no/such/folder", deleteFailed},
		{"exit 100", minute, c.once("100", "exit 100"), "", func(id string) {
			c.fails(id)
			_, _ = c.try("qmod", "-cj", id) // qmod returns the status 1
		}},
		{"altered", minute, "sleep 2", "-h -q short.q -pe smp 2", func(id string) {
			c.run("qalter", "-l", "h_rt=90", "-q", "medium.q", "-pe", "smp", "3", id)
			c.setLimit(id, 90*time.Second)
			c.run("qrls", id)
		}},
		{"altered running", minute, "sleep 10", "", func(id string) {
			c.runs(id)
			c.run("qalter", "-l", "h_rt=120", "-N", "other", id)
			c.setLimit(id, 2*minute) // Grid Engine reports this limit, although it still kills the job after a minute
		}},
		{"suspended", minute, "sleep 10", "", func(id string) {
			c.runs(id)
			c.run("qmod", "-sj", id)
			c.until(id+" to be suspended", func() bool { return strings.Contains(c.qstat().state[id], "s") })
			c.run("qmod", "-usj", id)
		}},
		{"broken queue", minute, "sleep 2", "-q odd.q", func(string) {
			c.until("the queue to be in error", func() bool {
				return strings.Contains(c.run("qstat", "-f", "-q", "odd.q", "-qs",
					"E"), "odd.q")
			})
			c.run("qconf", "-rattr", "queue", "prolog", "NONE", "odd.q")
			c.run("qmod", "-cq", "odd.q")
		}},
	}
}

// arrayKinds returns kinds of arrays.
func (c *geCluster) arrayKinds() []geKind {
	const minute = time.Minute
	return []geKind{
		{"array", minute, "sleep 2", "-t 1-5", nil},
		{"throttled array", minute, "sleep 2", "-t 1-6:2 -tc 1", nil},
		{"array partly deleted", minute, "test $SGE_TASK_ID != 1 || sleep 50; sleep 8", "-t 1-6 -tc 2",
			func(id string) { // on a busy machine, tasks of 3 s were over before the last ones were deleted
				c.runs(id + ".1")
				c.qdel(id, "5", "6")
				c.run("qdel", id, "-t", "1")
			}},
		{"array deleted waiting", 0, "sleep 2", "-t 1-4 -h", func(id string) { c.qdel(id) }},
		{"array released", 0, "sleep 2", "-t 1-4 -h", func(id string) { c.qdel(id, "2"); c.run("qrls", id) }},
		{"array deleted", 0, "sleep 100", "-t 1-4 -tc 2", func(id string) {
			c.runs(id + ".1")
			c.runs(id + ".2") // otherwise the task may be deleted before its start, which qacct does not show
			c.qdel(id, "3", "4")
			c.run("qdel", id)
		}},
		{"array rescheduled", minute, "test $SGE_TASK_ID != 1 || { " + c.once("array", "sleep 20") + "; }; sleep 3",
			"-t 1-4 -tc 2 -r y", func(id string) {
				c.runs(id + ".1")
				c.run("qmod", "-rj", id+".1")
			}},
	}
}

// runs waits until a job runs. fails waits until a job is in error state.
func (c *geCluster) runs(id string) {
	c.until(id+" to run", func() bool { return c.qstat().running[id] })
}

func (c *geCluster) fails(id string) {
	c.until(id+" to be in error", func() bool { return strings.Contains(c.qstat().state[id], "E") })
}

// setLimit records another limit than the one given to qsub.
func (c *geCluster) setLimit(number string, limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[number].limit = limit
}

// brokenQueue creates a queue in which every job fails before its start, so that the queue gets into error state.
func (c *geCluster) brokenQueue() {
	file := filepath.Join(c.dir, "odd.q")
	text := strings.Replace(c.run("qconf", "-sq", "long.q"), "long.q", "odd.q", 1)
	text = strings.Replace(text, "prolog                NONE", "prolog                /bin/false", 1)
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		c.t.Error(err)
	}
	c.run("qconf", "-Aq", file)
}

// interactive runs a job in the foreground, and submits one that must start at once and cannot.
func (c *geCluster) interactive() {
	for _, k := range []struct {
		kind string
		args []string
	}{
		{"interactive", []string{"qrsh", "-verbose", "-now", "n", "-q", "short.q", "sleep", "1"}},
		{"refused", []string{"qsub", "-now", "y", "-b", "y", "-pe", "smp", "900", "sleep", "1"}},
	} {
		begin := time.Now()
		out, _ := c.try(k.args[0], k.args[1:]...) // qsub's status is 1
		_, after, _ := strings.Cut(out, "our job ")
		number, _, ok := strings.Cut(after, " ")
		if !ok {
			c.t.Errorf("%s: %s", k.kind, out)
			continue
		}
		asked := &geAsked{kind: k.kind, submit: since(begin), deleted: map[string]span{}}
		if k.kind == "refused" {
			asked.deleted["0"] = asked.submit
		}
		c.mu.Lock()
		c.asked[number] = asked
		c.mu.Unlock()
	}
}

// until waits for a condition. Any goroutine may call it.
func (c *geCluster) until(what string, cond func() bool) {
	if !polling.Until(2*patience, cond) {
		c.t.Errorf("waited %s in vain for: %s", 2*patience, what)
	}
}

// drain waits until Grid Engine has no jobs, the pictures are empty, and the last end has been read from the accounting
// file.
func (c *geCluster) drain(daemons []*running) {
	c.t.Helper()
	c.until("an empty queue", func() bool { now := c.qstat(); return len(now.running)+len(now.waiting) == 0 })
	for _, d := range daemons {
		eventually(c.t, "an empty picture", func() bool {
			v := d.Views()[0]
			return len(v.Running)+len(v.Queued) == 0
		})
	}
	ends := 0
	for _, records := range c.qacct() {
		if !records[len(records)-1].start.IsZero() {
			ends++
		}
	}
	for i, d := range daemons {
		eventually(c.t, fmt.Sprintf("%d ends in daemon %d", ends, i),
			func() bool { return d.Views()[0].Counts.Ended >= int64(ends) })
	}
}

// agreement has the results of the comparisons with qstat.
type agreement struct {
	agree, brief, untold int
	took                 time.Duration // the longest time until all agreed
	wrong                []geWrong
}

func (a *agreement) add(b *agreement) {
	a.agree, a.untold, a.wrong = a.agree+b.agree, a.untold+b.untold, append(a.wrong, b.wrong...)
	if len(b.wrong) == 0 {
		a.took = max(a.took, b.took)
	}
}

// geWrong is a difference between qstat and the picture: a state of a job that only one of the two shows.
type geWrong struct {
	instant, daemon int
	asked           time.Time
	id, state, what string
	nowhere         bool // qstat does not show the job at all
}

// lag is the maximum delay of the picture behind qstat: the second for which Grid Engine collects records (flush_time),
// and one second to read them.
const lag = 2 * time.Second

// compareNow runs qstat once. It records the states of jobs in qstat's output that no picture shows, and those in the
// pictures that qstat does not show. The pictures are those from a second before the call to lag after it.
func (c *geCluster) compareNow(daemons []*running, i int, seen *agreement) {
	c.t.Helper()
	views := make([][]map[string]string, len(daemons))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	look := func() {
		<-tick.C
		for k, d := range daemons {
			views[k] = append(views[k], geStates(d))
		}
	}
	for begin := time.Now(); len(views[0]) == 0 ||
		time.Since(begin) < time.Duration(100+(i*379)%900)*time.Millisecond; {
		look()
	}
	shown, asked := c.qstat(), time.Now()
	for {
		look()
		now := agreement{took: time.Since(asked)}
		for k := range daemons {
			c.judge(geWrong{instant: i, daemon: k, asked: asked}, shown, views[k], &now)
		}
		if len(now.wrong) == 0 || now.took > lag+busy() {
			seen.add(&now)
			return
		}
	}
}

// geStates returns the states of a picture's jobs.
func geStates(d *running) map[string]string {
	v, out := d.Views()[0], map[string]string{}
	for _, j := range v.Queued {
		out[j.ID] = "waits"
	}
	for _, j := range v.Running {
		out[j.ID] = "runs"
	}
	return out
}

// kindOf returns the kind of a job, "" if it is unknown.
func (c *geCluster) kindOf(number string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked := c.asked[number]; asked != nil {
		return asked.kind
	}
	return ""
}

// judge compares the output of qstat with the pictures of that time.
func (c *geCluster) judge(wrong geWrong, shown geShown, views []map[string]string, seen *agreement) {
	said := func(id, state string) bool {
		return slices.ContainsFunc(views, func(v map[string]string) bool { return v[id] == state })
	}
	nowhere := false
	note := func(ok bool, id, state, where string) {
		if ok {
			seen.agree++
			return
		}
		w := wrong
		number, _, _ := strings.Cut(id, ".")
		w.nowhere = nowhere
		w.id, w.state, w.what = id, state, fmt.Sprintf("%s (%s) %s in %s alone (%q in the picture)", id,
			c.kindOf(number),
			state, where, views[len(views)/2][id])
		seen.wrong = append(seen.wrong, w)
	}
	for id := range shown.running {
		note(said(id, "runs"), id, "runs", "qstat")
	}
	for number, tasks := range shown.waiting {
		// All tasks of the array may wait again after a rescheduling.
		begun := slices.ContainsFunc(tasks, func(task string) bool { return said(taskName(number, task), "waits") })
		if tasks == nil || said(number, "waits") || !begun && len(tasks) == len(c.tasks(number)) {
			note(said(number, "waits"), number, "waits", "qstat")
			continue
		}
		// Once a task has left the queue, the logs show only rescheduled tasks as waiting again.
		for _, task := range tasks {
			if said(taskName(number, task), "waits") {
				seen.agree++
			} else {
				seen.untold++
			}
		}
	}
	for id, state := range views[0] {
		if slices.ContainsFunc(views, func(v map[string]string) bool { return v[id] != state }) {
			continue
		}
		number, task, isTask := strings.Cut(id, ".")
		tasks, waits := shown.waiting[number]
		if isTask {
			waits = slices.Contains(tasks, task)
		}
		nowhere = !shown.running[id] && !waits
		note(state == "runs" && shown.running[id] || state == "waits" && waits, id, state, "the picture")
	}
}

// forgive removes two kinds of differences between a daemon's picture and qstat.
//
// In the first kind the journal shows that the state lasted no longer than the lag, so that all records of the state
// may have been written and read at once.
//
// In the second kind the job was put back into the queue, as its next start proves, but qstat showed it neither waiting
// nor running: Grid Engine has such a job in neither list until the host has reported the end of the previous attempt.
// That job may also have started within the lag before qstat was run.
func (a *agreement) forgive(daemon int, k kept) {
	a.wrong = slices.DeleteFunc(a.wrong, func(w geWrong) bool {
		if w.daemon != daemon {
			return false
		}
		state, since, back := "", time.Time{}, false
		for _, e := range k.Entries {
			ev := e.Event
			if ev.ID != w.id || ev.Kind == job.Update || ev.Kind == job.Hold {
				continue
			}
			if state == w.state && ev.Time.Sub(since) <= time.Second && w.asked.Sub(since) > -time.Second &&
				w.asked.Sub(ev.Time) < 2*time.Second {
				a.brief++
				return true
			}
			if w.nowhere && w.state == "waits" && back && ev.Kind == job.Start &&
				w.asked.Sub(ev.Time) < 2*time.Second &&
				w.asked.Sub(since) > -time.Second {
				a.brief++
				return true
			}
			if ev.Kind == job.Requeue && w.state == "waits" && w.asked.Sub(ev.Time) > -time.Second &&
				w.asked.Sub(ev.Time) < 2*time.Second {
				a.brief++ // qstat shows the earlier attempt until the host has reported its end
				return true
			}
			since, state, back = ev.Time, "", ev.Kind == job.Requeue
			switch ev.Kind {
			case job.Start:
				state = "runs"
			case job.Submit, job.Requeue:
				state = "waits"
			}
		}
		return false
	})
}

// geLife is the daemon's data of a job.
type geLife struct {
	truth
	first time.Time
}

// geLives returns the last life of every job in the journal, and the job's first submission.
func geLives(k kept) map[string]geLife {
	out := map[string]geLife{}
	for id, life := range livesIn(k) {
		out[id] = geLife{truth: life}
	}
	for _, e := range k.Entries {
		if life := out[e.Event.ID]; e.Event.Kind == job.Submit && life.first.IsZero() {
			life.first = e.Event.Times.Submit
			out[e.Event.ID] = life
		}
	}
	return out
}

// compareLives compares the lives of all jobs with the true outcomes. The accounting file alone lacks jobs that never
// ran, and earlier attempts that were rescheduled by hand.
func (c *geCluster) compareLives(source string, want map[string]geTruth, got map[string]geLife, reporting bool) {
	c.t.Helper()
	var diffs []string
	compared, kinds := 0, map[string]bool{}
	for id, w := range want {
		g, ok := got[id]
		if !ok && !w.ran && !reporting {
			continue
		}
		compared++
		kinds[w.state] = true
		for _, d := range w.differences(g, ok, reporting) {
			diffs = append(diffs, fmt.Sprintf("%s (%s): %s", id, w.state, d))
		}
	}
	for id, g := range got {
		if _, ok := want[id]; !ok && (g.ran || c.tasks(id) == nil) { // the array itself is a job that never ran
			diffs = append(diffs, fmt.Sprintf("%s: not in Grid Engine: %+v", id, g))
		}
	}
	c.t.Logf("%s: %d of %d jobs and tasks of %d kinds compared, %d differences", source, compared, len(want),
		len(kinds),
		len(diffs))
	if slices.Sort(diffs); len(diffs) > 0 {
		c.t.Errorf("%s:\n%s", source, strings.Join(diffs, "\n"))
	}
}

// differences returns the fields in which the daemon's data differs from the outcome.
func (w *geTruth) differences(g geLife, known, reporting bool) (diffs []string) {
	if !known {
		return []string{"unknown"}
	}
	check := func(ok bool, what string, got, want any) {
		if !ok {
			diffs = append(diffs, fmt.Sprintf("%s %v, want %v", what, got, want))
		}
	}
	near := func(a, b time.Time) bool {
		return a.Truncate(time.Second).Sub(b.Truncate(time.Second)).Abs() <= time.Second
	}
	if reporting {
		check(w.first.covers(g.first), "first submission", g.first, w.first)
	}
	// A further attempt waits from the moment at which the previous one freed its slots. After a rescheduling it waits
	// from the new submission time. A job that was in error keeps its submission time, and so does a job whose first
	// attempt continues. Then only the log shows when the job was put back.
	again := w.restarts > 0 && (w.before.end.IsZero() && w.first.covers(w.submit) || near(g.submit, w.before.end))
	check(g.ran == w.ran, "ran", g.ran, w.ran)
	if !w.ran {
		check(again || w.first.covers(g.submit), "submit", g.submit, w.first)
		check(w.gone.covers(g.end), "end", g.end, w.gone)
		return diffs
	}
	check(again || near(g.submit, w.submit), "submit", g.submit, w.submit)
	check(near(g.end, w.end), "end", g.end, w.end)
	check(near(g.start, w.start), "start", g.start, w.start)
	check(g.procs == w.procs, "size", g.procs, w.procs)
	check(g.queue == w.queue, "queue", g.queue, w.queue)
	check(g.limit == w.limit, "limit", g.limit, w.limit)
	return diffs
}
