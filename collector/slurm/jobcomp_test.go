package slurm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

// record is a completion record whose fields a test can change. The instants are in the zone of Berlin.
type record struct {
	id, name, state, partition, limit, submit, eligible, start, end, nodes, count, dir, tres, account, part string
}

func ran() record {
	return record{
		id: "7", name: "run.sh", state: "COMPLETED", partition: "short", limit: "90",
		submit: "2026-11-20T09:00:00", eligible: "2026-11-20T09:00:10", start: "2026-11-20T09:01:00",
		end:   "2026-11-20T09:06:00",
		nodes: "n[03-04]", count: "NodeCnt=2 ProcCnt=8", dir: "/tmp", tres: "cpu=6,mem=2000M,node=2,billing=6",
		account: "physics",
	}
}

func waited() record {
	r := ran()
	r.state, r.start, r.end, r.nodes, r.count = "CANCELLED", "2026-11-20T09:06:00", "2026-11-20T09:06:00", "(null)",
		"NodeCnt=0 ProcCnt=0"
	return r
}

func (r record) with(change func(*record)) string {
	change(&r)
	return r.line()
}

func (r record) line() string {
	return fmt.Sprintf("JobId=%s UserId=ann(1001) GroupId=users(100) Name=%s JobState=%s Partition=%s TimeLimit=%s "+
		"StartTime=%s EndTime=%s"+
		" NodeList=%s %s WorkDir=%s ReservationName= Tres=%s Account=%s QOS=normal WcKey= Cluster=test SubmitTime=%s "+
		"EligibleTime=%s%s"+
		" DerivedExitCode=0:0 ExitCode=0:0 ",
		r.id, r.name, r.state, r.partition, r.limit, r.start, r.end, r.nodes, r.count, r.dir, r.tres, r.account,
		r.submit, r.eligible, r.part)
}

func jobcompSuite(tb testing.TB) formattest.Suite {
	tb.Helper()
	return formattest.Suite{
		Format:  slurm.Jobcomp(),
		Options: collector.Options{Cluster: "alpha", Location: berlin(tb), MaxProcs: 4096},
		Good:    jobcompGood(), Bad: jobcompBad(), Worst: jobcompWorst(),
		AtWallClock: func(wall string) string {
			iso := strings.Replace(wall, " ", "T", 1)
			return ran().with(func(r *record) { r.submit, r.eligible, r.start, r.end = iso, iso, iso, iso })
		},
	}
}

func jobcompGood() []formattest.Case {
	a := job.Attributes{
		Queue: "short", User: "ann", Account: "physics", QOS: "normal", Name: "run.sh", Procs: 8, Nodes: 2,
		TimeLimit: 90 * time.Minute,
	}
	asked := a
	asked.Procs = 6
	times := job.Times{Submit: at(0), Eligible: at(10), Start: at(60), End: at(360)}
	begun, before := times, times
	begun.End = time.Time{}
	before.Start, before.End = time.Time{}, time.Time{}
	ended := func(id string) job.Event { return event(job.End, id, at(360), a, times) }
	named := func(name string) job.Event {
		ev := ended("7")
		ev.Name = name
		return ev
	}
	change := func(ev job.Event, f func(*job.Event)) job.Event { f(&ev); return ev }
	canceled := func(b job.Attributes, t job.Times) []job.Event {
		return []job.Event{event(job.Cancel, "7", at(360), b, t)}
	}
	const fake = "x JobState=FAILED Partition=evil TimeLimit=1 StartTime=2020-01-01T00:00:00 " +
		"EndTime=2020-01-01T00:00:01 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/"
	unlimited := asked
	unlimited.TimeLimit = 0
	never := before
	never.Eligible = time.Time{}
	return []formattest.Case{
		good("ended: the size is what was given", ran().line(), ended("7")),
		good("no account", ran().with(func(r *record) { r.account = "" }),
			change(ended("7"), func(e *job.Event) { e.Account = "" })),
		good("two partitions asked for", ran().with(func(r *record) { r.partition = "short,medium" }), ended("7")),
		good("killed by its limit", ran().with(func(r *record) { r.state = "TIMEOUT" }), ended("7")),
		good("node failure: this try is over", ran().with(func(r *record) { r.state = "NODE_FAIL" }), ended("7")),
		good("array task", ran().with(func(r *record) { r.part = " ArrayJobId=5 ArrayTaskId=3" }), ended("5_3")),
		good("last task of an array",
			ran().with(func(r *record) { r.part = " ArrayJobId=7 ArrayTaskId=3" }), ended("7")),
		good("component of a heterogeneous job", ran().with(func(r *record) { r.part = " HetJobId=6 HetJobOffset=1" }),
			ended("6+1")),
		good("first component", ran().with(func(r *record) { r.part = " HetJobId=7 HetJobOffset=0" }), ended("7")),
		good("a name with a blank, a bar and a key", ran().with(func(r *record) { r.name = "a b JobState=FAILED x|y" }),
			named("a b JobState=FAILED x|y")),
		good("a name with a tab", ran().with(func(r *record) { r.name = "a\tb é" }), named("a\tb é")),
		good("no name", ran().with(func(r *record) { r.name = "" }), named("")),
		good("a name that is a whole record", ran().with(func(r *record) { r.name = fake }), named(fake)),
		good("a directory with blanks and keys",
			ran().with(func(r *record) { r.dir = "/tmp/a b ReservationName= Tres=cpu=1 ExitCode=0:0" }), ended("7")),
		good("requeued by hand: the record of this try is all there is of its start",
			ran().with(func(r *record) { r.state = "PENDING" }), event(job.Start, "7", at(60), a, begun),
			event(job.Requeue, "7", at(360), a, begun)),
		good("requeued, as others write it", ran().with(func(r *record) { r.state = "REQUEUED" }),
			event(job.Start, "7", at(60), a, begun), event(job.Requeue, "7", at(360), a, begun)),
		good("resized: it runs on", ran().with(func(r *record) { r.state = "RESIZING" }),
			event(job.Start, "7", at(60), a, begun)),
		good("canceled while it waited: the size is what was asked for", waited().line(), canceled(asked, before)...),
		good("never eligible, no limit",
			waited().with(func(r *record) { r.eligible, r.limit = "unknown", "UNLIMITED" }),
			canceled(unlimited, never)...),
		good("eligible later than it was canceled",
			waited().with(func(r *record) { r.eligible = "2026-11-20T10:00:00" }),
			canceled(asked, job.Times{Submit: at(0), Eligible: at(3600)})...),
		good("canceled while its start was foreseen", waited().with(func(r *record) { r.start = "Unknown" }),
			canceled(asked, before)...),
		good("past its deadline", waited().with(func(r *record) { r.state = "DEADLINE" }), canceled(asked, before)...),
		good("requeued while it waited: nothing", waited().with(func(r *record) { r.state = "PENDING" })),
	}
}

func jobcompBad() []formattest.BadCase {
	line := ran().line()
	cut := func(from, to string) string { return strings.Replace(line, from, to, 1) }
	return []formattest.BadCase{
		bad("not a record", "hello, world", collector.ReasonFormat, ""),
		bad("an end without a beginning", "line "+line[strings.Index(line, "JobState="):],
			collector.ReasonFormat, "JobId"),
		bad("no number", cut("JobId=7", "JobId=0"), collector.ReasonField, "Name"),
		bad("a key is missing at the end", cut(" Tres=cpu", " Xres=cpu"), collector.ReasonField, "ExitCode"),
		bad("a key is missing in the middle", cut(" NodeCnt=", " NodesCnt="), collector.ReasonField, "JobState"),
		bad("a count that is none", cut("ProcCnt=8", "ProcCnt=eight"), collector.ReasonField, "JobState"),
		bad("no processors", cut("ProcCnt=8", "ProcCnt=0"), collector.ReasonProcs, "ProcCnt"),
		bad("more than the machine has", cut("ProcCnt=8", "ProcCnt=4097"), collector.ReasonProcs, "ProcCnt"),
		bad("a limit that is none", cut("TimeLimit=90", "TimeLimit=soon"), collector.ReasonField, "TimeLimit"),
		bad("no such day", cut("EndTime=2026-11-20", "EndTime=2026-11-31"), collector.ReasonTime, "EndTime"),
		bad("no end", cut("EndTime=2026-11-20T09:06:00", "EndTime=Unknown"), collector.ReasonField, "EndTime"),
		bad("nodes, but no start", cut("StartTime=2026-11-20T09:01:00", "StartTime=Unknown"), collector.ReasonField,
			"StartTime"),
		bad("a start before the submit", cut("SubmitTime=2026-11-20T09:00:00", "SubmitTime=2026-11-20T09:02:00"),
			collector.ReasonTime, "start"),
		bad("an end before the start", cut("EndTime=2026-11-20T09:06:00", "EndTime=2026-11-20T09:00:59"),
			collector.ReasonTime, "end"),
		bad("has not ended", cut("COMPLETED", "RUNNING"), collector.ReasonUnknown, "JobState"),
		bad("a state that nobody has documented", cut("COMPLETED", "VANISHED"), collector.ReasonUnknown, "JobState"),
	}
}

func TestJobcompConformance(t *testing.T) { formattest.Run(t, jobcompSuite(t)) }

func FuzzJobcomp(f *testing.F) {
	f.Add([]byte(ran().with(func(r *record) { r.name = "a ReservationName= JobState=" })))
	formattest.Fuzz(f, jobcompSuite(f))
}

// TestJobcompGolden parses lines of a real Slurm 22.05.
func TestJobcompGolden(t *testing.T) {
	formattest.Golden(t, goldenSuite(slurm.Jobcomp()), "testdata/jobcomp.log", "testdata/jobcomp.json")
}

// goldenSuite returns the suite of a format with the options for the machine of the captured logs.
func goldenSuite(f collector.Format) formattest.Suite {
	return formattest.Suite{Format: f, Options: collector.Options{Cluster: "test", Location: time.UTC, MaxProcs: 64}}
}

// outcome returns the results of a sequence of lines, in order: kind, id and name of each event, and the reason of each
// bad line.
func outcome(f collector.Format, lines ...string) []string {
	var out []string
	p := f.New(collector.Options{Cluster: "alpha", Location: time.UTC})
	for _, line := range lines {
		err := p.Parse([]byte(line), func(ev job.Event) { out = append(out, ev.Kind.String()+" "+ev.ID+" "+ev.Name) })
		if bad, ok := err.(*collector.LineError); ok { //nolint:errorlint // a Parser returns it unwrapped
			out = append(out, "bad "+bad.Reason)
		}
	}
	return out
}

// TestJobcompRecordOfSeveralLines proves that the lines of a record are joined if its name or directory has line ends,
// and that a record without an end does not damage other records.
func TestJobcompRecordOfSeveralLines(t *testing.T) {
	named := func(id, name string) []string {
		return strings.Split(ran().with(func(r *record) { r.id, r.name = id, name }), "\n")
	}
	two := named("8", "new\nline")
	for _, c := range []struct {
		what  string
		lines []string
		want  []string
	}{
		{"two lines", two, []string{"end 8 new\nline"}},
		{"four lines", append(named("8", "a\nb\nJobId=5 not\nc"), ran().line()),
			[]string{"end 8 a\nb\nJobId=5 not\nc", "end 7 run.sh"}},
		{"a directory", strings.Split(ran().with(func(r *record) { r.dir = "/a\nb" }), "\n"), []string{"end 7 run.sh"}},
		{"no second half", []string{two[0], ran().line(), two[1]},
			[]string{"end 7 run.sh", "bad format", "bad format"}},
		{"two first halves", append([]string{two[0]}, two...), []string{"bad format", "end 8 new\nline"}},
		{"a second half that never ends", append(append([]string{two[0]}, strings.Repeat("x", 1<<16)), ran().line()),
			[]string{"bad format", "end 7 run.sh"}},
	} {
		if diff := cmp.Diff(c.want, outcome(slurm.Jobcomp(), c.lines...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

// TestJobcompUnknownStateIsAnEnd proves that an unknown state, such as one of a future Slurm, still ends the job: the
// line is reported, and its event counts.
func TestJobcompUnknownStateIsAnEnd(t *testing.T) {
	unheard := func(r *record) { r.state = "VANISHED" }
	got := outcome(slurm.Jobcomp(), ran().with(unheard), waited().with(unheard))
	want := []string{"end 7 run.sh", "bad unknown", "cancel 7 run.sh", "bad unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func benchmarkLines(b *testing.B, f collector.Format, lines [][]byte) {
	b.Helper()
	p := f.New(collector.Options{Cluster: "c", Location: berlin(b), MaxProcs: 1 << 20})
	bytesRead, events := 0, 0
	emit := func(job.Event) { events++ }
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		line := lines[i%len(lines)]
		i++
		if err := p.Parse(line, emit); err != nil {
			b.Fatal(err)
		}
		bytesRead += len(line)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(bytesRead)/1e6/b.Elapsed().Seconds(), "MB/s")
}

// BenchmarkJobcomp parses records of jobs that ran.
func BenchmarkJobcomp(b *testing.B) {
	lines := make([][]byte, 1000)
	for i := range lines {
		lines[i] = []byte(ran().with(func(r *record) {
			r.id, r.name, r.account = fmt.Sprint(1000+i), fmt.Sprint("job", i), fmt.Sprint("lab", i%50)
		}))
	}
	benchmarkLines(b, slurm.Jobcomp(), lines)
}

func jobcompWorst() []string {
	list := func(format string) string {
		return formattest.Repeat(1<<19, func(i int) string { return fmt.Sprintf(format, i) })
	}
	return []string{
		ran().with(func(r *record) { r.nodes = "n[1-1000000]" }),
		ran().with(func(r *record) { r.nodes = list("n%d,") }),
		ran().with(func(r *record) { r.tres = list("gres/gpu:a%d=1,") }),
		ran().with(func(r *record) { r.name = strings.Repeat("x", 1<<19) }),
		ran().with(func(r *record) { r.id = "9_[1-1000000]" }),
		ran().with(func(r *record) { r.part = " ArrayJobId=9 ArrayTaskId=" + list("%d,") }),
	}
}
