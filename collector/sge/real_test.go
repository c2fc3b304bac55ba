package sge_test

import (
	"bytes"
	"encoding/xml"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// The logs in slurm/samples/gridengine are from a real Grid Engine 8.1.9. They have 33 jobs, among them an array of 4
// tasks, a job that was deleted while it waited (29), one over its limit (32), one deleted while it ran (35) and one
// rescheduled and then deleted (36).
const samples = "slurm/samples/gridengine/"

// life has the fields of a job that the tests compare. The value 0 means an unknown instant.
type life struct {
	Submit, Start, End int64
	Queue              string
	Procs              int
	Limit              time.Duration
}

// follow folds the events of a file up to an instant. It returns, by id, the lives of the jobs that left, the picture
// at the end, and the events that the fold could not use because it knew too little.
func follow(t *testing.T, format collector.Format, name string, until int64) (map[string]life, *cluster.State,
	[]job.Event) {
	t.Helper()
	text, err := os.ReadFile(refdata.Shared(t, samples+name))
	if err != nil {
		t.Fatal(err)
	}
	state, lives, orphans := cluster.New("c", 16), make(map[string]life), []job.Event(nil)
	hooks := &cluster.Hooks{Changed: func(c cluster.Change) {
		if c.After != nil {
			return
		}
		l := life{Submit: c.Before.Order.Unix(), Queue: c.Before.Queue, Procs: c.Before.Procs,
			Limit: c.Before.TimeLimit}
		if c.Event.Kind == job.End {
			l.Start, l.End = c.Event.Times.Start.Unix(), c.Event.Times.End.Unix()
		} else {
			l.Procs = 0 // the records do not have the job's request, only the processors of an earlier try
		}
		lives[c.Before.ID] = l
	}}
	p := format.New(collector.Options{Cluster: "c", MaxProcs: 16})
	for line := range bytes.Lines(text) {
		err := p.Parse(line, func(ev job.Event) {
			if ev.Time.Unix() <= until && state.Apply(ev, hooks) == cluster.Orphan {
				orphans = append(orphans, ev)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	return lives, state, orphans
}

const forever = 1 << 40

// accounts reads the lives of all jobs that ran from the sample's accounting file, independently of the parser.
func accounts(t *testing.T) map[string]life {
	t.Helper()
	text, err := os.ReadFile(refdata.Shared(t, samples+"accounting"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	want := make(map[string]life)
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, ":")
		if len(f) != 45 || f[9] == "0" {
			continue
		}
		id := f[5]
		if f[35] != "0" {
			id += "." + f[35]
		}
		_, after, _ := strings.Cut(f[39], "h_rt=")
		seconds, _, _ := strings.Cut(after, " ")
		want[id] = life{
			Submit: number(f[8]), Start: number(f[9]), End: number(f[10]), Queue: f[0], Procs: int(number(f[34])),
			Limit: time.Duration(number(seconds)) * time.Second,
		}
	}
	return want
}

// TestRealAccounting proves that the accounting format gives all 34 tasks that ran in a real file, in every compared
// field.
func TestRealAccounting(t *testing.T) {
	want := accounts(t)
	if len(want) != 34 { // 33 jobs; job 28 has 4 tasks; jobs 29 and 36 never ran to an end
		t.Fatalf("the sample has %d tasks that ran", len(want))
	}
	got, state, orphans := follow(t, sge.Accounting(), "accounting", forever)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-accounting +folded):\n%s", diff)
	}
	if state.Used() != 0 || len(state.Queued()) != 0 || len(orphans) != 0 {
		t.Errorf("left over: %d slots in use, %d waiting, orphans %v", state.Used(), len(state.Queued()), orphans)
	}
}

// TestRealReporting compares the events of the reporting file with the accounting file of the same hours: submission,
// start and end of all jobs, and the ends of two jobs that the accounting file lacks.
func TestRealReporting(t *testing.T) {
	want := accounts(t)
	const first = 1795163000
	want["29"] = life{Submit: first + 361, Queue: cluster.DefaultQueue} // deleted while held
	want["36"] = life{Submit: first + 482, Queue: cluster.DefaultQueue} // ran 5 s, was rescheduled, then deleted
	want["28"] = life{Submit: first + 360, Queue: cluster.DefaultQueue} // the array, which has 4 tasks
	got, state, _ := follow(t, sge.Reporting(), "reporting", forever)
	rescheduled := got["36"]
	rescheduled.Queue = cluster.DefaultQueue // its acct record had queue and limit
	rescheduled.Limit = 0
	got["36"] = rescheduled
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-accounting +folded):\n%s", diff)
	}
	if state.Used() != 0 || len(state.Queued()) != 0 {
		t.Errorf("left over: %d slots in use, %d waiting", state.Used(), len(state.Queued()))
	}
	if c := state.Counts(); c.Requeued != 1 || c.Started != 35 || c.LostEnds != 0 {
		t.Errorf("got %d requeued, %d started, %d lost ends; want 1, 35, 0", c.Requeued, c.Started, c.LostEnds)
	}
}

// TestRealStartsAreLive proves that the start that the reporting file reports at once is within a second of the start
// in the accounting file. The first is by the master's clock, the second by the execution host's. The start is never
// taken from the record of the end.
func TestRealStartsAreLive(t *testing.T) {
	want := accounts(t)
	text, err := os.ReadFile(refdata.Shared(t, samples+"reporting"))
	if err != nil {
		t.Fatal(err)
	}
	starts := make(map[string]int64)
	p := sge.Reporting().New(collector.Options{})
	for line := range bytes.Lines(text) {
		if err := p.Parse(line, func(ev job.Event) {
			if ev.Kind == job.Start {
				starts[ev.ID] = ev.Time.Unix()
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	for id, l := range want {
		if off := l.Start - starts[id]; off < 0 || off > 1 {
			t.Errorf("job %s: started at %d by its job_log, at %d by accounting", id, starts[id], l.Start)
		}
	}
	if len(starts) != len(want)+1 { // the additional one is of job 36
		t.Errorf("%d starts, want %d", len(starts), len(want)+1)
	}
}

// TestRealQacct compares the events with captured answers of qacct: the instants of job 35 and of the tasks of job 28.
func TestRealQacct(t *testing.T) {
	text, err := os.ReadFile(refdata.Shared(t, samples+"qacct.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := follow(t, sge.Reporting(), "reporting", forever)
	records := strings.Split(string(text), "==============================================================\n")[1:]
	if len(records) != 5 {
		t.Fatalf("%d records", len(records))
	}
	for _, record := range records {
		said := make(map[string]string)
		for line := range strings.Lines(record) {
			key, value, _ := strings.Cut(line, " ")
			said[key] = strings.TrimSpace(value)
		}
		id := said["jobnumber"]
		if said["taskid"] != "undefined" {
			id += "." + said["taskid"]
		}
		l := got[id]
		for field, unix := range map[string]int64{"qsub_time": l.Submit, "start_time": l.Start, "end_time": l.End} {
			if shown := time.Unix(unix, 0).UTC().Format(time.ANSIC); shown != said[field] {
				t.Errorf("job %s: %s is %s, qacct says %s", id, field, shown, said[field])
			}
		}
		if l.Queue != said["qname"] || strconv.Itoa(l.Procs) != said["slots"] {
			t.Errorf("job %s: got %s, %d slots; qacct says %s, %s", id, l.Queue, l.Procs, said["qname"], said["slots"])
		}
	}
}

// TestRealQstat proves that the picture at the minute in which qstat was run has the same running and waiting jobs as
// qstat.
func TestRealQstat(t *testing.T) {
	text, err := os.ReadFile(refdata.Shared(t, samples+"qstat.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Running []struct {
			Number string `xml:"JB_job_number"`
			Start  string `xml:"JAT_start_time"`
		} `xml:"queue_info>job_list"`
		Pending []struct {
			Number string `xml:"JB_job_number"`
			Submit string `xml:"JB_submission_time"`
		} `xml:"job_info>job_list"`
	}
	if err := xml.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	const asked = 1795163475 // after the end of job 32 at 442, before the deletion of job 35 at 476
	_, state, _ := follow(t, sge.Reporting(), "reporting", asked)
	var want, got []string
	for _, j := range said.Running {
		want = append(want, j.Number+" runs since "+j.Start)
	}
	for _, j := range said.Pending {
		want = append(want, j.Number+" waits since "+j.Submit)
	}
	const layout = "2006-01-02T15:04:05"
	for _, j := range state.Running() {
		got = append(got, j.ID+" runs since "+j.Start.Format(layout))
	}
	for _, j := range state.Queued() {
		got = append(got, j.ID+" waits since "+j.Submit.Format(layout))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 2 {
		t.Errorf("(-qstat +folded):\n%s", diff)
	}
}

// TestRealReadTwice proves that reading the reporting file a second time changes nothing.
func TestRealReadTwice(t *testing.T) {
	text, err := os.ReadFile(refdata.Shared(t, samples+"reporting"))
	if err != nil {
		t.Fatal(err)
	}
	state, changes := cluster.New("c", 16), 0
	hooks := &cluster.Hooks{Changed: func(cluster.Change) { changes++ }}
	for round := range 2 {
		p := sge.Reporting().New(collector.Options{Cluster: "c"})
		for line := range bytes.Lines(text) {
			if err := p.Parse(line, func(ev job.Event) { state.Apply(ev, hooks) }); err != nil {
				t.Fatal(err)
			}
		}
		if round == 0 {
			changes = 0
		}
	}
	if changes != 0 {
		t.Errorf("%d changes when it was read again", changes)
	}
}
