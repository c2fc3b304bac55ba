package lsf_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/collector/lsf"
	"github.com/waitcast/waitcast/job"
)

// usage has the fields of lsfRusage. The lines of these tests were written by hand from the documentation that the
// package comment names, and from public records (testdata/README.md), because no LSF was available.

const usage = "0.06 0.27 1480 0 -1 0 0 1477 0 0 0 0 -1 0 0 0 13 8 -1"

// newLine has the fields of a JOB_NEW record of job 7. The zero value is a job of 8 processors without a limit.
type newLine struct {
	kind, procs, submit, begin, limits, name, hosts, files, ports, strings, options2 string
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (l newLine) String() string {
	return fmt.Sprintf(`"%s" "10.1" 1720008000 7 506 2 %s %s %s 0 -65535 0 0 "ann" %s "" 116.10 18 "normal" `+
		`"select[a] ""b""" "login" `+
		`"/home/ann" "" "" "" "" "/home/ann" "1720008000.7" %s "" "" "%s" "run ""x""" %s "" "aero" %s "X86_64" %s %s `+
		`0 "" "" "" -1`,
		or(l.kind, "JOB_NEW"), or(l.procs, "8"), or(l.submit, "1720008000"), or(l.begin, "0"),
		or(l.limits, "-1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1"),
		or(l.hosts, "0"), or(l.name, "cfd"), or(l.files, "0"), or(l.ports, "8"), or(l.strings, `"" "" "" ""`),
		or(l.options2, "5136"))
}

// finishLine has the fields of a JOB_FINISH record of job 7, which ran from 1720008060 to 1720008360.
type finishLine struct {
	procs, submit, start, hosts, name, strings, idx, tail string
}

const finishTail = `2048 0 "" "" "" "" 0 "" 0 "" -1 "/ann" "" "" "" -1 "" "" 5136 "" 0 "" "" 1 1032 "0" 1 n1 1 2 3 ` +
	`4 5 3600 64 2048 "select[x]"`

func (l finishLine) String() string {
	return fmt.Sprintf(`"JOB_FINISH" "10.1" 1720008360 7 506 2 %s %s 0 0 %s "ann" "normal" "" "" "" "login" `+
		`"/home/ann" "" "" "" "1720008000.7" `+
		`1 "n9" %s 64 116.1 "%s" "run ""x""" %s "" "aero" 0 8 %s %s %s`,
		or(l.procs, "8"), or(l.submit, "1720008000"), or(l.start, "1720008060"),
		or(l.hosts, `8 "n1" "n1" "n1" "n1" "n2" "n2" "n2" "n2"`), or(l.name, "cfd"), usage, or(l.strings, `"" ""`),
		or(l.idx, "0"), or(l.tail, finishTail))
}

func at(seconds int) time.Time { return time.Unix(1720008000+int64(seconds), 0).UTC() }

func with(ev job.Event, changes ...func(*job.Event)) job.Event {
	for _, change := range changes {
		change(&ev)
	}
	return ev
}

func submitted() job.Event {
	return job.Event{
		Kind: job.Submit, Cluster: "c", ID: "7", Time: at(0), Times: job.Times{Submit: at(0)},
		Attributes: job.Attributes{Queue: "normal", User: "ann", Account: "aero", Name: "cfd", Procs: 8},
	}
}

func finished() job.Event {
	return job.Event{
		Kind: job.End, Cluster: "c", ID: "7", Time: at(360),
		Times: job.Times{Submit: at(0), Start: at(60), End: at(360)},
		Attributes: job.Attributes{Queue: "normal", User: "ann", Account: "aero", Name: "cfd", Procs: 8, Nodes: 2,
			TimeLimit: time.Hour},
	}
}

func happened(kind job.Kind, id string, seconds int) job.Event {
	ev := job.Event{Kind: kind, Cluster: "c", ID: id, Time: at(seconds)}
	if kind == job.End {
		ev.Times.End = ev.Time
	}
	return ev
}

func id(s string) func(*job.Event)           { return func(e *job.Event) { e.ID = s } }
func limit(d time.Duration) func(*job.Event) { return func(e *job.Event) { e.TimeLimit = d } }
func one(ev job.Event) []job.Event           { return []job.Event{ev} }

func started(procs, nodes int, name string) job.Event {
	ev := happened(job.Start, name, 60)
	ev.Procs, ev.Nodes, ev.Times.Start = procs, nodes, ev.Time
	return ev
}

func update(a job.Attributes, ids ...string) []job.Event {
	var all []job.Event
	for _, name := range ids {
		ev := happened(job.Update, name, 0)
		ev.Attributes = a
		all = append(all, ev)
	}
	return all
}

const modify = `"JOB_MODIFY2" "10.1" 1720008000 "%s" %d 0 0 %s 506 "ann" 1720008000 18 %s 0 0 -65535 0 %s -1 -1 -1 ` +
	`-1 -1 -1 -1 -1 -1 %s -1 "/home/ann"`

func goodEvents() []formattest.Case {
	held := happened(job.Hold, "7", 0)
	held.Times.Submit = at(0)
	none := "-1 -1 -1 -1 -1 -1 -1 -1 -1 "
	return []formattest.Case{
		{Name: "position header", Line: "#1234"},
		{Name: "submitted", Line: newLine{}.String(), Want: one(submitted())},
		{Name: "limit", Line: newLine{limits: none + "5400 -1"}.String(),
			Want: one(with(submitted(), limit(90*time.Minute)))},
		{Name: "12 limits", Line: newLine{limits: none + "5400 -1 -1"}.String(),
			Want: one(with(submitted(), limit(90*time.Minute)))},
		{Name: "endless limit", Line: newLine{limits: none + "2147483647 -1"}.String(), Want: one(submitted())},
		{Name: "asked hosts and files", Line: newLine{hosts: `2 "n1" "n2"`, files: `1 "a b" "c" 3`}.String(),
			Want: one(submitted())},
		{Name: "interactive", Line: newLine{ports: "4711 8"}.String(), Want: one(submitted())},
		{Name: "few strings of old versions", Line: newLine{strings: `""`}.String(), Want: one(submitted())},
		{Name: "begin time", Line: newLine{begin: "1720009000"}.String(),
			Want: one(with(submitted(), func(e *job.Event) { e.Times.Eligible = at(1000) }))},
		{Name: "on hold", Line: newLine{options2: "1"}.String(), Want: []job.Event{submitted(), held}},
		{Name: "array", Line: newLine{name: "cfd[1-4:3,9]%2"}.String(),
			Want: one(with(submitted(), func(e *job.Event) { e.Tasks = 3 }))},
		{Name: "huge array, held", Line: newLine{name: "cfd[1-100000]", options2: "1"}.String(), Want: []job.Event{
			with(submitted(), func(e *job.Event) { e.Tasks = 100_000 }), held,
		}},
		{Name: "no array", Line: newLine{name: "cfd[1-x]"}.String(),
			Want: one(with(submitted(), func(e *job.Event) { e.Name = "cfd[1-x]" }))},
		{Name: "modified, old", Line: newLine{kind: "JOB_MODIFY", limits: none + "60 -1"}.String(),
			Want: one(with(submitted(), limit(time.Minute),
				func(e *job.Event) { e.Kind, e.Times = job.Update, job.Times{} }))},
		{Name: "modified", Line: fmt.Sprintf(modify, "7", 0x40007, "0", "16", `"x" "long" 1 "n1" "select[a]"`, "60"),
			Want: update(job.Attributes{Queue: "long", Name: "x", Procs: 16, TimeLimit: time.Minute}, "7")},
		{Name: "modified elements, without delOptions2", Line: fmt.Sprintf(modify, "7[2-3]", 2, "", "2147483647",
			`"long"`, "-1"), Want: update(job.Attributes{Queue: "long"}, "7[2]", "7[3]")},
		{Name: "modified in nothing that matters", Line: fmt.Sprintf(modify, "7", 0, "0", "0", "", "-1")},
		{Name: "started", Line: `"JOB_START" "10.1" 1720008060 7 4 0 0 116.1 3 "n1" "n1" "n2" "" "" 0 "" 0 "" 0 0`,
			Want: one(started(3, 2, "7"))},
		{Name: "started, short list",
			Line: `"JOB_START" "6.2" 1720008060 7 4 0 0 116.1 2 "4*n1" "n2" "" "" 0 "group" 5`,
			Want: one(started(5, 2, "7[5]"))},
		{Name: "started, no user group", Line: `"JOB_START" "1" 1720008060 7 4 0 0 116.1 1 "n1" "pre ""x""" "" 0 0`,
			Want: one(started(1, 1, "7"))},
		{Name: "pre-execution", Line: `"PRE_EXEC_START" "10.1" 1720008060 7 4 0 0 116.1 1 "n1" "" "" 0 "" 0`,
			Want: one(started(1, 1, "7"))},
		{Name: "done", Line: `"JOB_STATUS" "10.1" 1720008361 7 64 0 0 0.3 1720008360 1 ` + usage + ` 0 0 0 0`,
			Want: one(happened(job.End, "7", 360))},
		{Name: "exit, no end time", Line: `"JOB_STATUS" "10.1" 1720008361 7 32 0 0 0.3 0 0 256 4 14`,
			Want: one(happened(job.End, "7[4]", 361))},
		{Name: "post-execution done", Line: `"JOB_STATUS" "10.1" 1720008361 7 192 0 0 0.3 1720008360 0 0 0 0`,
			Want: one(happened(job.End, "7", 360))},
		{Name: "pending again", Line: `"JOB_STATUS" "10.1" 1720008361 7 1 23 0 0.3 0 0 0 0 0`,
			Want: []job.Event{happened(job.Requeue, "7", 361), happened(job.Release, "7", 361)}},
		{Name: "stopped while pending", Line: `"JOB_STATUS" "10.1" 1720008361 7 2 607 0 0.0 0 0 0 0 0`,
			Want: []job.Event{happened(job.Requeue, "7", 361), happened(job.Hold, "7", 361)}},
		{Name: "running", Line: `"JOB_STATUS" "10.1" 1720008361 7 4 0 0 0.0 0 0 0 0 0`},
		{Name: "suspended", Line: `"JOB_STATUS" "10.1" 1720008361 7 16 0 0 0.0 0 0 0 0 0`},
		{Name: "requeued", Line: `"JOB_REQUEUE" "10.1" 1720008361 7 2`, Want: one(happened(job.Requeue, "7[2]", 361))},
		{Name: "switched", Line: `"JOB_SWITCH" "10.1" 1720008000 0 7 "long" 2 "ann"`,
			Want: update(job.Attributes{Queue: "long"}, "7[2]")},
		{Name: "switched ranges", Line: `"JOB_SWITCH2" "10.1" 1720008000 0 7 "long" "ann" 2 1 3 2 5 5 1`,
			Want: update(job.Attributes{Queue: "long"}, "7[1]", "7[3]", "7[5]")},
		{Name: "more elements switched than are told one by one",
			Line: `"JOB_SWITCH2" "10.1" 1720008000 0 7 "long" "ann" 1 1 1001 1`,
			Want: update(job.Attributes{Queue: "long"}, "7")},
		{Name: "switched as a whole", Line: `"JOB_SWITCH2" "10.1" 1720008000 0 7 "long" "ann" 0`,
			Want: update(job.Attributes{Queue: "long"}, "7")},
		{Name: "forwarded", Line: `"JOB_FORWARD" "10.1" 1720008361 7 2 "remote" "r1" "r2" 0 0 "" 0`,
			Want: one(happened(job.Hold, "7", 361))},
		{Name: "waiting elements of an array killed", Line: `"JOB_STATUS" "10.1" 1720008361 7 32 0 0 0.3 0 0 0 -1 14`,
			Want: one(happened(job.End, "7", 361))},
		{Name: "signal", Line: `"JOB_SIGNAL" "10.1" 1720008361 7 0 1 "KILL" 0 "ann"`},
		{Name: "limit of starts", Line: `"JOB_STARTLIMIT" "10.1" 1720008361 1 "normal" 0 0`},
		{Name: "reasons", Line: `"JOB_PENDING_REASONS" "10.1" 1720008361 1 "7" "2"`},
		{Name: "end in the stream", Line: `"JOB_FINISH2" "10.1" 1720008362 7 7 "userName" "ann" "numProcessors" "8" ` +
			`"submitTime" "1720008000" "startTime" 1720008060 "endTime" "1720008360" "queue" "normal" "jobName" "cfd"`,
			Want: one(with(finished(), limit(0), func(e *job.Event) { e.Account, e.Nodes = "", 0 }))},
		{Name: "state in the stream",
			Line: `"JOB_STATUS2" "10.1" 1720008362 7 -1 "jStatus" "8" "startTime" "1720008060" "numProcessors" "8"`,
			Want: one(started(8, 0, "7"))},
		{Name: "waiting in the stream", Line: `"JOB_STATUS2" "10.1" 1720008362 7 1 "jStatus" "1"`},
		{Name: "queue closed", Line: `"QUEUE_CTRL" "10.1" 1720008361 2 "normal" 0 "root"`},
	}
}

func eventsSuite() formattest.Suite {
	return formattest.Suite{
		Format:  lsf.Events(),
		Options: collector.Options{Cluster: "c", MaxProcs: 64},
		Good:    goodEvents(), Worst: eventsWorst(),
		Bad: []formattest.BadCase{
			{Name: "other log", Line: "07/03/2024 14:00:00;Q;101.torque.example;queue=batch",
				Reason: collector.ReasonFormat},
			{Name: "no version", Line: `"JOB_NEW" "" 1720008000 7`, Reason: collector.ReasonFormat, Field: "version"},
			{Name: "unknown type", Line: `"JOB_TELEPORT" "10.1" 1720008000 7`, Reason: collector.ReasonUnknown,
				Field: "type"},
			{Name: "no event time", Line: `"JOB_START" "10.1" x 7`, Reason: collector.ReasonField, Field: "event time"},
			{Name: "event time 0", Line: `"JOB_REQUEUE" "10.1" 0 7 0`, Reason: collector.ReasonTime,
				Field: "event time"},
			{Name: "0 processors", Line: newLine{procs: "0"}.String(), Reason: collector.ReasonProcs},
			{Name: "too many processors", Line: newLine{procs: "65"}.String(), Reason: collector.ReasonProcs},
			{Name: "submit time 0", Line: newLine{submit: "0"}.String(), Reason: collector.ReasonTime,
				Field: "submitTime"},
			{Name: "too few limits", Line: newLine{limits: "-1 -1"}.String(), Reason: collector.ReasonField,
				Field: "rLimits"},
			{Name: "record ends early", Line: `"JOB_START" "10.1" 1720008060 7 4 0 0 116.1 3 "n1" "n1"`,
				Reason: collector.ReasonField, Field: "execHosts"},
			{Name: "no hosts", Line: `"JOB_START" "10.1" 1720008060 7 4 0 0 116.1 0 "" "" 0 "" 0`,
				Reason: collector.ReasonProcs},
			{Name: "too many hosts", Line: `"JOB_START" "10.1" 1720008060 7 4 0 0 116.1 1 "99*n1" "" "" 0 "" 0`,
				Reason: collector.ReasonProcs},
			{Name: "job 0", Line: `"JOB_REQUEUE" "10.1" 1720008361 0 2`, Reason: collector.ReasonField, Field: "jobId"},
			{Name: "index below 0", Line: `"JOB_REQUEUE" "10.1" 1720008361 7 -2`, Reason: collector.ReasonField,
				Field: "idx"},
			{Name: "no range", Line: `"JOB_SWITCH2" "10.1" 1720008000 0 7 "long" "ann" 1 3 1 1`,
				Reason: collector.ReasonField},
			{Name: "stream: element of an array not named", Line: `"JOB_FINISH2" "10.1" 1720008362 7 3 "jobName" ` +
				`"a[1-5]" "startTime" "1720008060" "numProcessors" "1"`, Reason: collector.ReasonField, Field: "idx"},
			{Name: "stream: no number", Line: `"JOB_FINISH2" "10.1" 1720008362 7 1 "startTime" "soon"`,
				Reason: collector.ReasonField, Field: "startTime"},
			{Name: "stream: a name without its value", Line: `"JOB_FINISH2" "10.1" 1720008362 7 1 "startTime"`,
				Reason: collector.ReasonField},
			{Name: "stream: end before start", Line: `"JOB_FINISH2" "10.1" 1720008362 7 4 "submitTime" "1720008000" ` +
				`"startTime" "1720008060" "endTime" "1720008059" "numProcessors" "1"`, Reason: collector.ReasonTime},
			{Name: "stream: job 0", Line: `"JOB_FINISH2" "10.1" 1720008362 0 1 "numProcessors" "1"`,
				Reason: collector.ReasonField, Field: "jobId"},
			{Name: "end of all days", Line: `"JOB_STATUS" "10.1" 1720008361 7 64 0 0 0.3 999999999999 0 0 0 0`,
				Reason: collector.ReasonTime, Field: "endTime"},
		},
	}
}

func cutInCommand(l finishLine) string {
	before, _, _ := strings.Cut(l.String(), `""x""`)
	return before
}

func acctSuite() formattest.Suite {
	never := with(finished(), func(e *job.Event) {
		e.Kind, e.Times, e.Nodes = job.Cancel, job.Times{Submit: at(0)}, 0
	})
	return formattest.Suite{
		Format:  lsf.Acct(),
		Options: collector.Options{Cluster: "c", MaxProcs: 64}, Worst: acctWorst(),
		Good: []formattest.Case{
			{Name: "finished", Line: finishLine{}.String(), Want: one(finished())},
			{Name: "short list", Line: finishLine{hosts: `2 "6*n1" "2*n2"`}.String(), Want: one(finished())},
			{Name: "a list of fewer than it asked for", Line: finishLine{hosts: `2 "n1" "n2"`}.String(),
				Want: one(finished())},
			{Name: "element", Line: finishLine{idx: "12", name: "cfd[12]"}.String(),
				Want: one(with(finished(), id("7[12]")))},
			{Name: "old version", Line: finishLine{strings: `""`, tail: `10 20 "" ""`}.String(),
				Want: one(with(finished(), limit(0)))},
			{Name: "other fields at the end", Line: finishLine{tail: `10 20 "" "" 5 "" "x"`}.String(),
				Want: one(with(finished(), limit(0)))},
			{Name: "a line break in the command", Line: cutInCommand(finishLine{}),
				Want: one(with(finished(), limit(0), func(e *job.Event) { e.Account = "" }))},
			{Name: "never ran", Line: finishLine{start: "0", hosts: "0"}.String(), Want: one(never)},
			{Name: "reservation", Line: `"EVENT_ADRSV_FINISH" "10.1" 1720008600 1720000000 1`},
		},
		Bad: []formattest.BadCase{
			{Name: "record of lsb.events", Line: newLine{}.String(), Reason: collector.ReasonFormat, Field: "type"},
			{Name: "unknown type", Line: `"JOB_TELEPORT" "10.1" 1720008000 7`, Reason: collector.ReasonUnknown},
			{Name: "0 processors", Line: finishLine{hosts: "0", procs: "0"}.String(), Reason: collector.ReasonProcs},
			{Name: "too many processors", Line: finishLine{hosts: `1 "65*n1"`}.String(), Reason: collector.ReasonProcs},
			{Name: "start before submit", Line: finishLine{submit: "1720008100"}.String(), Reason: collector.ReasonTime,
				Field: "startTime"},
			{Name: "end before start", Line: finishLine{start: "1720008361"}.String(), Reason: collector.ReasonTime,
				Field: "event time"},
			{Name: "no submit", Line: finishLine{submit: "0"}.String(), Reason: collector.ReasonTime,
				Field: "submitTime"},
			{Name: "cut in two", Line: cutInCommand(finishLine{})[:150], Reason: collector.ReasonField},
			{Name: "array cut in two", Line: cutInCommand(finishLine{name: "cfd[1-9]"}), Reason: collector.ReasonField},
			{Name: "whole array with a start", Line: finishLine{idx: "-1"}.String(), Reason: collector.ReasonField,
				Field: "idx"},
			{Name: "index below 0", Line: finishLine{idx: "-2"}.String(), Reason: collector.ReasonField, Field: "idx"},
		},
	}
}

// TestConformance runs the conformance suite of all formats on both formats of LSF.
func TestConformance(t *testing.T) {
	t.Run("events", func(t *testing.T) { formattest.Run(t, eventsSuite()) })
	t.Run("acct", func(t *testing.T) { formattest.Run(t, acctSuite()) })
}

// TestGolden checks the events of whole hand-written files, line by line.
func TestGolden(t *testing.T) {
	for name, s := range map[string]formattest.Suite{"events": eventsSuite(), "acct": acctSuite()} {
		t.Run(name, func(t *testing.T) {
			formattest.Golden(t, s, "testdata/"+name+".log", "testdata/"+name+".json")
		})
	}
}

// TestFold checks the result of the hand-written lsb.events: when each job ran, or that it never did. Reading the file
// twice changes nothing, because a new file of LSF begins with the old records of the jobs that still exist.
func TestFold(t *testing.T) {
	text, err := os.ReadFile("testdata/events.log")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	state := cluster.New("c", 64)
	hooks := &cluster.Hooks{Changed: func(c cluster.Change) {
		verb := c.Event.Kind.String()
		if c.Event.Kind == job.Update || c.Event.Kind == job.Submit {
			return
		}
		got = append(got, fmt.Sprintf("%s %s %d", c.Event.ID, verb, c.Event.Time.Unix()-at(0).Unix()))
	}}
	p := lsf.Events().New(collector.Options{Cluster: "c", MaxProcs: 64})
	read := func() {
		for line := range bytes.Lines(text) {
			var bad *collector.LineError
			if err := p.Parse(line, func(ev job.Event) { state.Apply(ev, hooks) }); err != nil &&
				!errors.As(err, &bad) {
				t.Fatal(err)
			}
		}
	}
	read()
	want := []string{
		"101 start 60", "101 end 359",
		// the record of the last element removes the array's record
		"102[3] start 600", "102[3] requeue 610", "102 cancel 613", "102[7] cancel 613",
		"103 hold 700", "103 release 705", "103 start 710", "103 requeue 720", "103 hold 721", "103 cancel 730",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(state.Queued()); n != 3 || state.Used() != 0 { // 102[1], 102[3], 104
		t.Errorf("%d waiting, %d processors in use; want 3, 0", n, state.Used())
	}
	read()
	if len(got) != len(want) {
		t.Errorf("reading it again made changes: %q", got[len(want):])
	}
}

// TestHugeArray proves that an array is one event, however many elements it has.
func TestHugeArray(t *testing.T) {
	var got []job.Event
	p := lsf.Events().New(collector.Options{})
	if err := p.Parse([]byte(newLine{name: "x[1-2000000000]"}.String()),
		func(ev job.Event) { got = append(got, ev) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].ID != "7" || got[0].Tasks != 1<<24 {
		t.Errorf("got %+v, want one submission with a bounded count", got)
	}
}

func FuzzEvents(f *testing.F) { formattest.Fuzz(f, eventsSuite()) }

func FuzzAcct(f *testing.F) { formattest.Fuzz(f, acctSuite()) }

func benchmark(b *testing.B, format collector.Format, lines []string) {
	b.Helper()
	p := format.New(collector.Options{Cluster: "c", MaxProcs: 1 << 20})
	all := make([][]byte, len(lines))
	for i, l := range lines {
		all[i] = []byte(l)
	}
	size, events, i := 0, 0, 0
	b.ReportAllocs()
	for b.Loop() {
		text := all[i%len(all)]
		i++
		if err := p.Parse(text, func(job.Event) { events++ }); err != nil {
			b.Fatal(err)
		}
		size += len(text)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(size)/1e6/b.Elapsed().Seconds(), "MB/s")
}

// BenchmarkEvents parses the records of a job's life: new, start, accept, execute, status, clean.
func BenchmarkEvents(b *testing.B) {
	var lines []string
	for i := range 1000 {
		for _, l := range []string{
			newLine{}.String(),
			`"JOB_START" "10.1" 1720008060 7 4 0 0 116.1 8 "n1" "n1" "n1" "n1" "n2" "n2" "n2" "n2" "" "" 0 "" 0 "" 0 0`,
			`"JOB_START_ACCEPT" "10.1" 1720008060 7 7691 7691 0`,
			`"JOB_EXECUTE" "10.1" 1720008061 7 506 7691 "/home/ann" "/home/ann" "ann" 7691 0 "" -1 0 "" -1`,
			`"JOB_STATUS" "10.1" 1720008361 7 64 0 0 0.3 1720008360 1 ` + usage + ` 0 0 0 0`,
			`"JOB_CLEAN" "10.1" 1720011960 7 0`,
		} {
			lines = append(lines, strings.Replace(l, " 7 ", fmt.Sprintf(" %d ", i+1), 1))
		}
	}
	benchmark(b, lsf.Events(), lines)
}

func BenchmarkAcct(b *testing.B) {
	var lines []string
	for i := range 1000 {
		lines = append(lines, strings.Replace(finishLine{}.String(), " 7 ", fmt.Sprintf(" %d ", i+1), 1))
	}
	benchmark(b, lsf.Acct(), lines)
}

func eventsWorst() []string {
	const most = 1 << 20
	hosts := formattest.Repeat(most/2, func(i int) string { return fmt.Sprintf("\"h%d\" ", i) })
	sparse := formattest.Repeat(most/2, func(i int) string { return fmt.Sprintf("%d,", 2*i) })
	ranges := formattest.Repeat(most/2, func(i int) string { return fmt.Sprintf("%d %d 1 ", i, i) })
	return []string{
		newLine{name: "sweep[1-100000]"}.String(), newLine{name: "sweep[1-999999999999]%5", options2: "1"}.String(),
		newLine{name: "sweep[" + sparse + "]"}.String(),
		newLine{name: strings.Repeat("x", most/2) + "[1-100000]"}.String(),
		newLine{hosts: fmt.Sprint(strings.Count(hosts, " ")+1, " ", hosts)}.String(),
		newLine{kind: "JOB_MODIFY", name: "sweep[1-100000]"}.String(),
		fmt.Sprintf(modify, "7[1-1000]", 2, "", "2147483647", `"long"`, "-1"),
		fmt.Sprintf(modify, "7[1-999999999]", 2, "", "2147483647", `"long"`, "-1"),
		fmt.Sprintf(modify, "7["+sparse+"]", 2, "", "2147483647", `"long"`, "-1"),
		`"JOB_SWITCH2" "10.1" 1720008000 0 7 "long" "ann" 1 1 1000000000 1`,
		`"JOB_SWITCH2" "10.1" 1720008000 0 7 "long" "ann" 1 1 2000 2`,
		fmt.Sprintf(`"JOB_SWITCH2" "10.1" 1720008000 0 7 "long" "ann" %d %s`, strings.Count(ranges, " ")/3+1, ranges),
		fmt.Sprintf(`"JOB_START" "10.1" 1720008060 7 4 0 0 116.1 %d %s "" "" 0 "" 0 "" 0 0`,
			strings.Count(hosts, " ")+1, hosts),
		`"JOB_START" "10.1" 1720008060 7 4 0 0 116.1 1 "999999999*n1" "" "" 0 "" 0 "" 0 0`,
		`"JOB_START" "10.1" 1720008060 7 4 0 0 116.1 999999999999 "n1"`,
	}
}

func acctWorst() []string {
	hosts := formattest.Repeat(1<<19, func(i int) string { return fmt.Sprintf("\"h%d\" ", i) })
	return []string{
		finishLine{hosts: fmt.Sprint(strings.Count(hosts, " ")+1, " ", hosts)}.String(),
		finishLine{name: "sweep[1-100000]", idx: "5"}.String(), finishLine{name: strings.Repeat("x", 1<<19)}.String(),
	}
}
