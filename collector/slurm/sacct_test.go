package slurm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

const sacctHeader = "Submit|JobIDRaw|JobID|User|Account|Partition|QOS|State|Eligible|Start|End|TimelimitRaw|ReqCPUS|" +
	"AllocCPUS|ReqNodes|NNodes|NodeList|JobName"

func sacctSuite(tb testing.TB) formattest.Suite {
	tb.Helper()
	return formattest.Suite{
		Format:  slurm.Sacct(),
		Options: collector.Options{Cluster: "alpha", Location: berlin(tb), MaxProcs: 4096},
		Header:  []string{sacctHeader},
		Good:    sacctGood(), Bad: sacctBad(), Worst: sacctWorst(),
		AtWallClock: func(wall string) string {
			return strings.Replace(wall, " ", "T", 1) +
				"|7|7|ann|physics|short|normal|PENDING|Unknown|Unknown|Unknown|90|6|0|2|2|None assigned|run.sh"
		},
	}
}

const (
	who   = "ann|physics|short|normal|"
	sized = "90|6|8|1|2|n[03-04]|run.sh"
	lived = "2026-11-20T09:00:10|2026-11-20T09:01:00|2026-11-20T09:06:00|"
)

func sacctGood() []formattest.Case {
	a := job.Attributes{
		Queue: "short", User: "ann", Account: "physics", QOS: "normal", Name: "run.sh", Procs: 8, Nodes: 2,
		TimeLimit: 90 * time.Minute,
	}
	asked := a
	asked.Procs, asked.Nodes = 6, 1
	before := job.Times{Submit: at(0), Eligible: at(10)}
	begun, over := before, before
	begun.Start, over.Start, over.End = at(60), at(60), at(360)
	// life returns the events of a job that ran, up to the event of the kind last. The job requested 6 processors on
	// one node.
	life := func(id string, a job.Attributes, last job.Kind) []job.Event {
		wanted := a
		wanted.Procs, wanted.Nodes = asked.Procs, asked.Nodes
		out := []job.Event{event(job.Submit, id, at(0), wanted, before), event(job.Start, id, at(60), a, begun)}
		switch last {
		case job.End:
			out = append(out, event(job.End, id, at(360), a, over))
		case job.Requeue:
			out = append(out, event(job.Requeue, id, at(360), a, begun))
		}
		return out
	}
	const submit = "2026-11-20T09:00:00|"
	recent := a
	recent.QOS = ""
	barred := a
	barred.Name = "a|b|c"
	four := asked
	four.Tasks = 4
	never := job.Times{Submit: at(0)}
	return []formattest.Case{
		good("ended", submit+"7|7|"+who+"COMPLETED|"+lived+sized, life("7", a, job.End)...),
		good("ended, Unix seconds", "1795161600|7|7|"+who+"FAILED|1795161610|1795161660|1795161960|"+sized,
			life("7", a, job.End)...),
		good("canceled while it ran", submit+"7|7|"+who+"CANCELLED by 0|"+lived+sized, life("7", a, job.End)...),
		good("a state cut off", submit+"7|7|"+who+"CANCELLED+|"+lived+sized, life("7", a, job.End)...),
		good("runs", submit+"7|7|"+who+"RUNNING|2026-11-20T09:00:10|2026-11-20T09:01:00|Unknown|"+sized,
			life("7", a, job.Start)...),
		good("started just now",
			submit+"7|7|ann|physics|short|Unknown|RUNNING|2026-11-20T09:00:10|2026-11-20T09:01:00|Unknown|"+sized,
			life("7", recent, job.Start)...),
		good("waits", submit+"7|7|"+who+"PENDING|2026-11-20T09:00:10|Unknown|Unknown|90|6|0|1|1|None assigned|run.sh",
			event(job.Submit, "7", at(0), asked, before)),
		good("canceled while it waited", submit+"7|7|"+who+
			"CANCELLED by 1001|2026-11-20T09:00:10|None|2026-11-20T09:06:00|90|6|6|1|2|None assigned|run.sh",
			event(job.Submit, "7", at(0), asked, before), event(job.Cancel, "7", at(360), asked, before)),
		good("the same of an older version", submit+"7|7|"+who+
			"CANCELLED|Unknown|2026-11-20T09:06:00|2026-11-20T09:06:00|90|6|6|1|2|None assigned|run.sh",
			event(job.Submit, "7", at(0), asked, never), event(job.Cancel, "7", at(360), asked, never)),
		good("requeued", submit+"7|7|"+who+"REQUEUED|"+lived+sized, life("7", a, job.Requeue)...),
		good("node failure", submit+"7|7|"+who+"NODE_FAIL|"+lived+sized, life("7", a, job.End)...),
		good("array task", submit+"26|9_1|"+who+"COMPLETED|"+lived+sized, life("9_1", a, job.End)...),
		good("last task of an array", submit+"9|9_12|"+who+"COMPLETED|"+lived+sized, life("9", a, job.End)...),
		good("waiting tasks of an array",
			submit+"11|11_[3-6%2]|"+who+"PENDING|2026-11-20T09:00:10|Unknown|Unknown|90|6|0|1|1|None assigned|run.sh",
			event(job.Submit, "11", at(0), four, before)),
		good("waiting tasks of an array, their numbers not told",
			submit+"11|11_*|"+who+"PENDING|2026-11-20T09:00:10|Unknown|Unknown|90|6|0|1|1|None assigned|run.sh",
			event(job.Submit, "11", at(0), asked, before)),
		good("waiting tasks of an array, every other",
			submit+"11|11_[1-5:2,9]|"+who+"PENDING|2026-11-20T09:00:10|Unknown|Unknown|90|6|0|1|1|None assigned|run.sh",
			event(job.Submit, "11", at(0), four, before)),
		good("tasks of an array that ran, in one row", submit+"11|11_[3,5-6]|"+who+"COMPLETED|"+lived+sized,
			slices.Concat(life("11_3", a, job.End), life("11_5", a, job.End), life("11_6", a, job.End))...),
		good("a job of a federation, and its sibling", submit+"67109066|67109066|"+who+"COMPLETED|"+lived+sized,
			life("67109066", a, job.End)...),
		good("revoked, because a sibling of the federation started", submit+"67109066|67109066|"+who+
			"REVOKED|2026-11-20T09:00:10|None|2026-11-20T09:06:00|90|6|0|1|0|None assigned|run.sh",
			event(job.Submit, "67109066", at(0), asked, before), event(job.Cancel, "67109066", at(360), asked, before)),
		good("component of a heterogeneous job", submit+"22|21+1|"+who+"COMPLETED|"+lived+sized,
			life("21+1", a, job.End)...),
		good("first component", submit+"21|21+0|"+who+"COMPLETED|"+lived+sized, life("21", a, job.End)...),
		good("a name with bars", submit+"7|7|"+who+"COMPLETED|"+lived+"90|6|8|1|2|n[03-04]|a|b|c",
			life("7", barred, job.End)...),
		good("batch step",
			submit+"7.batch|7.batch|||||COMPLETED||2026-11-20T09:01:00|2026-11-20T09:06:00||8|8|2|2|n[03-04]|batch"),
		good("other step",
			submit+"7.0|7.0|||||COMPLETED||2026-11-20T09:01:00|2026-11-20T09:06:00||8|8|2|2|n[03-04]|sleep"),
	}
}

func sacctBad() []formattest.BadCase {
	const submit = "2026-11-20T09:00:00|"
	return []formattest.BadCase{
		bad("not a row", "hello, world", collector.ReasonFormat, "row"),
		bad("no id", submit+"||"+who+"COMPLETED|"+lived+sized, collector.ReasonField, "JobID"),
		bad("a number that is none", submit+"x|7|"+who+"COMPLETED|"+lived+sized, collector.ReasonField, "JobID"),
		bad("an id that is none", submit+"7|7-1|"+who+"COMPLETED|"+lived+sized, collector.ReasonField, "JobID"),
		bad("no submit", "Unknown|7|7|"+who+"COMPLETED|"+lived+sized, collector.ReasonField, "Submit"),
		bad("no such day", "2026-11-31T09:00:00|7|7|"+who+"COMPLETED|"+lived+sized, collector.ReasonTime, "Submit"),
		bad("a time that is none", "soon|7|7|"+who+"COMPLETED|"+lived+sized, collector.ReasonField, "Submit"),
		bad("beyond the year 9999", "253402300800|7|7|"+who+"COMPLETED|"+lived+sized, collector.ReasonTime, "Submit"),
		bad("a start before the submit", "2026-11-20T09:02:00|7|7|"+who+"COMPLETED|"+lived+sized,
			collector.ReasonTime, "start"),
		bad("an end before the start", submit+"7|7|"+who+"COMPLETED||2026-11-20T09:01:00|2026-11-20T09:00:59|"+sized,
			collector.ReasonTime, "end"),
		bad("a size that is none", submit+"7|7|"+who+"COMPLETED|"+lived+"90|6|eight|1|2|n[03-04]|run.sh",
			collector.ReasonField, "CPUS"),
		bad("no size", submit+"7|7|"+who+"COMPLETED|"+lived+"90|0|0|1|2|n[03-04]|run.sh",
			collector.ReasonProcs, "CPUS"),
		bad("more than the machine has", submit+"7|7|"+who+"COMPLETED|"+lived+"90|6|4097|1|2|n[03-04]|run.sh",
			collector.ReasonProcs, "CPUS"),
		bad("a limit that is none", submit+"7|7|"+who+"COMPLETED|"+lived+"soon|6|8|1|2|n[03-04]|run.sh",
			collector.ReasonField, "TimelimitRaw"),
		bad("a list of tasks that is none", submit+"11|11_[3-1]|"+who+
			"PENDING|Unknown|Unknown|Unknown|90|6|0|1|1|None assigned|run.sh", collector.ReasonField, "JobId"),
		bad("a list of tasks without an end", submit+"11|11_[3-6|"+who+
			"PENDING|Unknown|Unknown|Unknown|90|6|0|1|1|None assigned|run.sh", collector.ReasonField, "JobID"),
		bad("a state that nobody has documented", submit+"7|7|"+who+"VANISHED|"+lived+sized,
			collector.ReasonUnknown, "JobState"),
	}
}

func TestSacctConformance(t *testing.T) { formattest.Run(t, sacctSuite(t)) }

func FuzzSacct(f *testing.F) {
	f.Add([]byte("JobID|State|Submit|Start|End|NCPUS|Timelimit"))
	formattest.Fuzz(f, sacctSuite(f))
}

// TestSacctGolden parses rows of a real sacct 22.05, whose columns are in another order than the recommended one.
func TestSacctGolden(t *testing.T) {
	formattest.Golden(t, goldenSuite(slurm.Sacct()), "testdata/sacct.psv", "testdata/sacct.json")
}

// TestSacctColumns proves that the header defines the columns: they may have any order, other columns may be among
// them, steps may be among the jobs, and time limits may look like clock times. The recommended columns need no header,
// and a dump without a required column is reported.
func TestSacctColumns(t *testing.T) {
	got := strings.ReplaceAll(slurm.SacctColumns, ",", "|")
	if strings.Replace(got, "Priority|", "", 1) != sacctHeader {
		t.Errorf("the recommended columns are %s, the tests' header with Priority %s", got, sacctHeader)
	}
	const row = "2026-11-20T09:00:00|7|7|" + who + "COMPLETED|" + lived + sized
	if diff := cmp.Diff(outcome(slurm.Sacct(), sacctHeader, row), outcome(slurm.Sacct(), row)); diff != "" {
		t.Errorf("without a header (-with +without):\n%s", diff)
	}
	other := outcome(slurm.Sacct(), "JobID|JobName|Comment|State|Start|End|NCPUS|Submit|Timelimit|",
		"7|a|b||COMPLETED|2026-11-20T09:01:00|2026-11-20T09:06:00|4|2026-11-20T09:00:00|1-00:00:00|")
	if diff := cmp.Diff([]string{"submit 7 a|b", "start 7 a|b", "end 7 a|b"}, other); diff != "" {
		t.Errorf("another header (-want +got):\n%s", diff)
	}
	if got := outcome(slurm.Sacct(), "JobID|JobName|State|Start|End|NCPUS"); !cmp.Equal(got, []string{"bad format"}) {
		t.Errorf("a header without Submit: got %q, want bad format", got)
	}
}

// TestSacctPriority proves that the submission has the priority of a row in the recommended columns, with and without a
// header. A held job, and a job without a priority, have none. A dump in the former columns is recognized, even if the
// name of a job contains the separator. A priority that is no number makes the line bad.
func TestSacctPriority(t *testing.T) {
	header := strings.ReplaceAll(slurm.SacctColumns, ",", "|")
	const front = "2026-11-20T09:00:00|7|7|" + who + "COMPLETED|" + lived + "90|6|8|1|2|"
	for _, c := range []struct {
		rest string
		want int64
		name string
	}{
		{"4294901757|n[03-04]|run.sh", 4294901757, "run.sh"},
		{"3078|n[03-04]|a|b", 3078, "a|b"},
		{"0|n[03-04]|run.sh", 0, "run.sh"},
		{"|n[03-04]|run.sh", 0, "run.sh"},
		{"4294967294|n[03-04]|run.sh", 0, "run.sh"}, // NO_VAL of slurm/slurm.h
	} {
		for _, lines := range [][]string{{header, front + c.rest}, {front + c.rest}} {
			events := parseSacct(t, collector.Options{Cluster: "alpha"}, lines...)
			if len(events) != 3 || events[0].Priority != c.want || events[1].Priority != 0 || events[0].Name != c.name {
				t.Errorf("%s in %d lines: want %d, got %+v", c.rest, len(lines), c.want, events)
			}
		}
	}
	for _, name := range []string{"run.sh", "a|b", "7|n1"} { // the rows lack the column of the priority
		events := parseSacct(t, collector.Options{Cluster: "alpha"}, front+"n[03-04]|"+name)
		if len(events) != 3 || events[0].Priority != 0 || events[0].Name != name {
			t.Errorf("%s: %+v", name, events)
		}
	}
	if got := outcome(slurm.Sacct(), header, front+"high|n[03-04]|run.sh"); !cmp.Equal(got, []string{"bad field"}) {
		t.Errorf("a priority that is no number: got %q, want bad field", got)
	}
}

// TestSacctRowOfSeveralLines proves that the lines of a row are joined if its name has line ends, wherever the column
// of the name is, and that a row without an end does not damage other rows.
func TestSacctRowOfSeveralLines(t *testing.T) {
	const nameFirst = "JobID|JobName|State|Start|End|NCPUS|Submit"
	const tail = "|COMPLETED|2026-11-20T09:01:00|2026-11-20T09:06:00|4|2026-11-20T09:00:00"
	life := func(id, name string) []string {
		return []string{"submit " + id + " " + name, "start " + id + " " + name, "end " + id + " " + name}
	}
	for _, c := range []struct {
		what  string
		lines []string
		want  []string
	}{
		{"two lines", []string{"8|new", "line" + tail, "7|x" + tail},
			append(life("8", "new\nline"), life("7", "x")...)},
		{"three lines", []string{"8|new", "", "9", "line" + tail}, life("8", "new\n9\nline")},
		{"no second half", []string{"8|new", "7|x" + tail}, append(life("7", "x"), "bad format")},
	} {
		if diff := cmp.Diff(c.want, outcome(slurm.Sacct(), append([]string{nameFirst}, c.lines...)...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

// BenchmarkSacct parses rows of jobs that ran, each of which makes three events.
func BenchmarkSacct(b *testing.B) {
	lines := make([][]byte, 1000)
	for i := range lines {
		lines[i] = fmt.Appendf(nil,
			"2026-11-20T09:00:00|%d|%d|u%d|physics|short|normal|COMPLETED|%s90|6|8|1|2|n[03-04]|job%d", 1000+i, 1000+i,
			i%50, lived, i)
	}
	benchmarkLines(b, slurm.Sacct(), lines)
}

func sacctWorst() []string {
	list := func(format string) string {
		return formattest.Repeat(1<<19, func(i int) string { return fmt.Sprintf(format, i) })
	}
	const begin = "2026-11-20T09:00:00|"
	return []string{
		begin + "7|9_[1-1000000]|" + who + "PENDING|Unknown|Unknown|Unknown|90|6|0|2|2|None assigned|run.sh",
		begin + "7|9_[" + list("%d,") + "]|" + who + "PENDING|Unknown|Unknown|Unknown|90|6|0|2|2|None assigned|run.sh",
		begin + "7|7|" + who + "COMPLETED|" + lived + "90|6|8|1|2|n[1-1000000]|run.sh",
		begin + "7|7|" + who + "COMPLETED|" + lived + "90|6|8|1|2|" + list("n%d,") + "|run.sh",
		begin + "7|7|" + who + "COMPLETED|" + lived + "90|6|8|1|2|n3|" + strings.Repeat("x", 1<<19),
	}
}
