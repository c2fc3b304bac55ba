package daemon_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/testports"
)

// geCluster is a real Grid Engine on this machine, started by scripts/gridengine-cluster.
type geCluster struct {
	t   *testing.T
	dir string

	mu    sync.Mutex
	asked map[string]*geAsked // by number
}

// geAsked is the test's own record of a job, with facts that no command of Grid Engine shows after the job has ended.
type geAsked struct {
	kind    string
	submit  span // when qsub ran
	limit   time.Duration
	tasks   []string        // the tasks of an array, nil if it is none
	deleted map[string]span // when a waiting task was deleted, by task ("0" without an array)
}

// span is an interval of time.
type span struct{ from, to time.Time }

func since(from time.Time) span { return span{from, time.Now()} }

// covers reports whether an event at the given time may have happened in the span, with a tolerance of a second.
func (s span) covers(at time.Time) bool {
	return !at.Before(s.from.Truncate(time.Second).Add(-time.Second)) && !at.After(s.to.Add(time.Second))
}

func (s span) String() string {
	return s.from.UTC().Format("15:04:05.000 to ") + s.to.UTC().Format("15:04:05.000")
}

// newGridEngine starts a Grid Engine, or skips the test if it is not installed or cannot run.
func newGridEngine(t *testing.T, slots int) *geCluster {
	t.Helper()
	if testing.Short() {
		t.Skip("real Grid Engine: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("real Grid Engine: sge_execd must be run by root")
	}
	for _, name := range []string{"sge_qmaster", "sge_execd", "qsub"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("real Grid Engine: %s is missing (make test-deps)", name)
		}
	}
	parent, err := os.MkdirTemp("", "gridengine")
	if err != nil {
		t.Fatal(err)
	}
	c := &geCluster{t: t, dir: filepath.Join(parent, "c"), asked: map[string]*geAsked{}}
	up := exec.Command("../scripts/gridengine-cluster", "up", c.dir, "--slots", strconv.Itoa(slots), "--port",
		strconv.Itoa(testports.Take(t, 2)))
	out, err := up.CombinedOutput()
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(c.file("reporting"))
			t.Logf("reporting:\n%s", log[max(0, len(log)-40_000):])
		}
		if _, err := os.Stat(c.dir); err == nil {
			if out, err := exec.Command("../scripts/gridengine-cluster", "down", c.dir).CombinedOutput(); err != nil {
				t.Errorf("taking Grid Engine down: %v\n%s", err, out)
			}
		}
		_ = os.Remove(parent)
	})
	if err != nil {
		if strings.Contains(string(out), "does not resolve") {
			t.Skipf("real Grid Engine: %s", bytes.TrimSpace(out))
		}
		t.Fatalf("starting Grid Engine: %v\n%s", err, out)
	}
	return c
}

// file returns the path of one of the two logs.
func (c *geCluster) file(name string) string { return filepath.Join(c.dir, "default", "common", name) }

// site writes the configuration of a daemon that reads the named logs of this cluster.
func (c *geCluster) site(logs ...string) *site {
	c.t.Helper()
	dir := c.t.TempDir()
	s := &site{dir: dir, db: filepath.Join(dir, "waitcast.db"), config: filepath.Join(dir, "waitcastd.yaml")}
	text := fmt.Sprintf("listen: 127.0.0.1:0\ndata_dir: %q\nclusters:\n  - name: main\n    sources:\n", dir)
	for _, log := range logs {
		text += fmt.Sprintf("      - {format: sge-%s, path: %q}\n", log, c.file(log))
	}
	write(c.t, s.config, text)
	return s
}

// run runs one of Grid Engine's commands and returns its output.
func (c *geCluster) run(name string, args ...string) string {
	c.t.Helper()
	out, err := c.try(name, args...)
	if err != nil {
		c.t.Errorf("%s %q: %v\n%s", name, args, err, out) // not Fatalf: any goroutine may call
	}
	return out
}

func (c *geCluster) try(name string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(c.dir, "run"), append([]string{name}, args...)...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	return strings.TrimSpace(out.String() + complaint.String()), err
}

// qsub submits a job that runs a shell command, records the request, and returns the job's number.
func (c *geCluster) qsub(kind string, limit time.Duration, command string, args ...string) string {
	c.t.Helper()
	all := []string{"-terse", "-b", "y", "-o", "/dev/null", "-j", "y", "-wd", "/tmp"}
	if !slices.Contains(args, "-N") {
		all = append(all, "-N", strings.ReplaceAll(kind, " ", "-"))
	}
	if limit > 0 {
		all = append(all, "-l", fmt.Sprintf("h_rt=%d", int(limit.Seconds())))
	}
	begin := time.Now()
	id := c.run("qsub", append(append(all, args...), command)...)
	number, shape, array := strings.Cut(id, ".")
	asked := &geAsked{kind: kind, submit: since(begin), limit: limit, deleted: map[string]span{}}
	if array {
		asked.tasks = taskRange(shape)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[number] = asked
	return number
}

// qdel deletes a waiting job, or some of its tasks, and records the time.
func (c *geCluster) qdel(number string, tasks ...string) {
	c.t.Helper()
	submit := c.submission(number)
	begin, args := time.Now(), []string{number}
	if len(tasks) > 0 {
		args = append(args, "-t", strings.Join(tasks, ","))
	}
	c.run("qdel", args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked[number]
	asked.submit = span{submit, submit}
	if len(tasks) == 0 {
		tasks = asked.tasks
	}
	if asked.tasks == nil {
		tasks = []string{"0"}
	}
	for _, task := range tasks {
		asked.deleted[task] = since(begin)
	}
}

// submission returns the time at which a job was submitted.
func (c *geCluster) submission(number string) time.Time {
	c.t.Helper()
	_, after, _ := strings.Cut(c.run("qstat", "-xml", "-j", number), "<JB_submission_time>")
	unix, _, _ := strings.Cut(after, "<")
	at, err := strconv.ParseInt(unix, 10, 64)
	if err != nil {
		c.t.Errorf("qstat -j %s: no submission time: %v", number, err)
	}
	return time.Unix(at, 0).UTC()
}

// taskRange expands "1-6:2", and "3" or "1,5-6" in qstat's notation.
func taskRange(shape string) (tasks []string) {
	for part := range strings.SplitSeq(shape, ",") {
		bounds, step, _ := strings.Cut(part, ":")
		first, last, ok := strings.Cut(bounds, "-")
		if !ok {
			last = first
		}
		from, _ := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		by, _ := strconv.Atoi(step)
		for ; from <= to; from += max(1, by) {
			tasks = append(tasks, strconv.Itoa(from))
		}
	}
	return tasks
}

// geShown is the output of qstat at one moment.
type geShown struct {
	running map[string]bool     // by id
	waiting map[string][]string // by number: the tasks; nil if it is no array
	state   map[string]string   // by number: all state letters that are shown
}

// qstat runs qstat once.
func (c *geCluster) qstat() geShown {
	c.t.Helper()
	type row struct {
		Number string `xml:"JB_job_number"`
		State  string `xml:"state"`
		Tasks  string `xml:"tasks"`
	}
	var said struct {
		Running []row `xml:"queue_info>job_list"`
		Pending []row `xml:"job_info>job_list"`
	}
	text := c.run("qstat", "-xml", "-u", "*")
	if err := xml.Unmarshal([]byte(text), &said); err != nil {
		c.t.Errorf("qstat: %v\n%s", err, text)
	}
	shown := geShown{running: map[string]bool{}, waiting: map[string][]string{}, state: map[string]string{}}
	for _, r := range said.Running {
		shown.state[r.Number] += r.State
		shown.running[taskName(r.Number, r.Tasks)] = true
	}
	for _, r := range said.Pending {
		shown.state[r.Number] += r.State
		if r.Tasks == "" {
			shown.waiting[r.Number] = nil
			continue
		}
		shown.waiting[r.Number] = append(shown.waiting[r.Number], taskRange(r.Tasks)...)
	}
	return shown
}

// taskName returns a job's id as the collectors form it.
func taskName(number, task string) string {
	if task == "" || task == "0" || task == "undefined" {
		return number
	}
	return number + "." + task
}

// geAccount is a record that qacct shows.
type geAccount struct {
	submit, start, end time.Time
	failed, procs      int
	queue              string
}

// qacct returns all records of all jobs, by id in the order in which they were written.
func (c *geCluster) qacct() map[string][]geAccount {
	c.t.Helper()
	all := map[string][]geAccount{}
	for record := range strings.SplitSeq(c.run("qacct", "-j"), strings.Repeat("=", 62)) {
		f := map[string]string{}
		for line := range strings.Lines(record) {
			key, value, _ := strings.Cut(line, " ")
			f[key] = strings.TrimSpace(value)
		}
		if f["jobnumber"] == "" {
			continue
		}
		when := func(key string) time.Time {
			at, err := time.ParseInLocation(time.ANSIC, f[key], time.Local)
			if err != nil || at.Unix() == 0 {
				return time.Time{} // "-/-"
			}
			return at.UTC()
		}
		a := geAccount{submit: when("qsub_time"), start: when("start_time"), end: when("end_time"), queue: f["qname"]}
		a.procs, _ = strconv.Atoi(f["slots"])
		code, _, _ := strings.Cut(f["failed"], " ")
		a.failed, _ = strconv.Atoi(code)
		id := taskName(f["jobnumber"], f["taskid"])
		all[id] = append(all[id], a)
	}
	return all
}

// geTruth is the final outcome of a job as Grid Engine reports it or, if Grid Engine does not, as the test recorded it.
type geTruth struct {
	truth            // of the job's last attempt
	first  span      // the job's first submission
	gone   span      // when the job left, if it never ran
	before geAccount // the attempt before the last one, zero if there was none
}

// truths returns the outcomes of all jobs.
func (c *geCluster) truths() map[string]geTruth {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	all, records := map[string]geTruth{}, c.qacct()
	for number, asked := range c.asked {
		tasks := asked.tasks
		if tasks == nil {
			tasks = []string{"0"}
		}
		for _, task := range tasks {
			id := taskName(number, task)
			w := geTruth{truth: truth{submit: asked.submit.to, state: asked.kind, limit: asked.limit},
				first: asked.submit}
			if at, ok := asked.deleted[task]; ok {
				w.gone, w.restarts = at, len(records[id]) // the job may have failed to start
			} else {
				w.account(c.t, id, records[id])
			}
			all[id] = w
		}
	}
	for id := range records {
		if _, ok := all[id]; !ok {
			c.t.Errorf("qacct knows of job %s, which nobody submitted", id)
		}
	}
	return all
}

// account copies the data of qacct to the outcome.
func (w *geTruth) account(t *testing.T, id string, records []geAccount) {
	t.Helper()
	if len(records) == 0 || records[len(records)-1].start.IsZero() {
		t.Errorf("%s (%s): qacct says %+v", id, w.state, records)
		return
	}
	if w.state == "parallel tasks" { // each task has its own record, and qacct does not show that
		records = records[len(records)-1:]
	}
	last := records[len(records)-1]
	if at := records[0].submit; !at.IsZero() { // a job rescheduled by hand has no times in its first record
		w.first = span{at, at}
	}
	if len(records) > 1 {
		w.before, w.restarts = records[len(records)-2], len(records)-1
	}
	w.submit, w.start, w.end, w.ran, w.procs, w.queue = last.submit, last.start, last.end, true, last.procs, last.queue
}

// tasks returns all tasks of an array.
func (c *geCluster) tasks(number string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked := c.asked[number]; asked != nil {
		return asked.tasks
	}
	return nil
}
