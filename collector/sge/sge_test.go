package sge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/job"
)

// usage has the fields ru_utime to ru_nivcsw.
const usage = "0.1:0.1:4560.000000:0:0:0:0:552:1:0:328.000000:16:0:0:0:15:20"

// line has the fields of an accounting record of job 7, which ran from 1720008060 to 1720008360 on 8 slots.
type line struct {
	times, failed, status, slots, task, category, tail string
}

func (l line) String() string {
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	return fmt.Sprintf(
		"all.q:n1:staff:ann:cfd:7:sge:0:%s:%s:%s:300:%s:NONE:defaultdepartment:mpi:%s:%s:0.2:0.0:0.0:%s:%s",
		or(l.times, "1720008000:1720008060:1720008360"), or(l.failed, "0"), or(l.status, "0"), usage, or(l.slots, "8"),
		or(l.task, "0"), or(l.category, "NONE"), or(l.tail, "0.000000:NONE:3723264.000000:0:0"))
}

func at(seconds int) time.Time { return time.Unix(1720008000+int64(seconds), 0).UTC() }

func ran(id string, procs int, limit time.Duration) job.Event {
	return job.Event{
		Kind: job.End, Cluster: "c", ID: id, Time: at(360),
		Attributes: job.Attributes{Queue: "all.q", User: "ann", Name: "cfd", Procs: procs, TimeLimit: limit},
		Times:      job.Times{Submit: at(0), Start: at(60), End: at(360)},
	}
}

func one(ev job.Event) []job.Event { return []job.Event{ev} }

// whole returns an end and, before it, the update with the job's attributes and submission.
func whole(end job.Event) []job.Event {
	return []job.Event{
		with(end, func(e *job.Event) { e.Kind, e.Times = job.Update, job.Times{Submit: e.Times.Submit} }), end,
	}
}

func with(ev job.Event, change func(*job.Event)) job.Event {
	change(&ev)
	return ev
}

func accountingSuite() formattest.Suite {
	return formattest.Suite{
		Format:  sge.Accounting(),
		Worst:   accountingWorst(),
		Options: collector.Options{Cluster: "c", MaxProcs: 64},
		Good: []formattest.Case{
			{Name: "comment", Line: "# Version: 8.1.9"},
			{Name: "ended", Line: line{}.String(), Want: whole(ran("7", 8, 0))},
			{Name: "over its limit", Line: line{failed: "37", status: "137", category: "-l h_rt=60"}.String(),
				Want: whole(ran("7", 8, time.Minute))},
			{Name: "killed", Line: line{failed: "100", status: "137"}.String(), Want: whole(ran("7", 8, 0))},
			{Name: "limit with colons", Line: line{category: "-q all.q -l h_rt=1:30:00,h_vmem=2G -pe mpi 8"}.String(),
				Want: whole(ran("7", 8, 90*time.Minute))},
			{Name: "limit and a later colon", Line: line{category: "-l h_rt=00:10:00 -pe mpi 8 -q a:b.5"}.String(),
				Want: whole(ran("7", 8, 10*time.Minute))},
			{Name: "kill before warning", Line: line{category: "-l s_rt=50,h_rt=60"}.String(),
				Want: whole(ran("7", 8, time.Minute))},
			{Name: "requested softly", Line: line{category: "-q all.q -soft -l h_rt=60 -pe mpi 8"}.String(),
				Want: whole(ran("7", 8, 0))},
			{Name: "requested hard and softly", Line: line{category: "-l s_rt=50 -soft -l h_rt=60"}.String(),
				Want: whole(ran("7", 8, 50*time.Second))},
			{Name: "requested softly alone", Line: line{category: "-soft -l h_rt=60"}.String(),
				Want: whole(ran("7", 8, 0))},
			{Name: "queue of that name", Line: line{category: "-q x-soft -l h_rt=60"}.String(),
				Want: whole(ran("7", 8, time.Minute))},
			{Name: "warning alone", Line: line{category: "-l s_rt=50"}.String(),
				Want: whole(ran("7", 8, 50*time.Second))},
			{Name: "no limit", Line: line{category: "-l h_rt=INFINITY,xh_rt=5"}.String(), Want: whole(ran("7", 8, 0))},
			{Name: "43 fields", Line: line{tail: "0.000000:none:0.000000"}.String(), Want: whole(ran("7", 8, 0))},
			{Name: "40 fields", Line: strings.TrimSuffix(line{tail: "x"}.String(), ":x"), Want: whole(ran("7", 8, 0))},
			{Name: "more than 45 fields",
				Line: line{tail: "0.000000:NONE:0.000000:3:1720000000:NONE:login:qsub -l h_rt=9 x"}.String(),
				Want: whole(ran("7", 8, 0))},
			{Name: "array task", Line: line{task: "12"}.String(), Want: whole(ran("7.12", 8, 0))},
			{Name: "parallel task", Line: line{slots: "0", tail: "0.000000:1.n2:3723264.000000:0:0"}.String()},
			{Name: "milliseconds", Line: line{times: "1720008000000:1720008060000:1720008360000"}.String(),
				Want: whole(ran("7", 8, 0))},
			{Name: "microseconds", Line: line{times: "1720008000000000:1720008060000000:1720008360000000"}.String(),
				Want: whole(ran("7", 8, 0))},
			{
				Name: "clocks differ by a second", Line: line{times: "1720008061:1720008060:1720008360"}.String(),
				Want: whole(with(ran("7", 8, 0), func(e *job.Event) { e.Times.Submit = at(60) })),
			},
			{
				Name: "rescheduled", Line: line{failed: "25"}.String(),
				Want: one(with(ran("7", 8, 0), func(e *job.Event) { e.Kind, e.Times.End = job.Requeue, time.Time{} })),
			},
			{Name: "rescheduled without times", Line: line{failed: "25", times: "0:0:0", slots: "1"}.String()},
			{
				Name: "could not be started", Line: line{failed: "26"}.String(),
				Want: one(with(ran("7", 8, 0), func(e *job.Event) { e.Kind, e.Times.End = job.Requeue, time.Time{} })),
			},
			{
				Name: "never ran", Line: line{failed: "100", times: "1720008000:0:1720008360"}.String(),
				Want: one(with(ran("7", 8, 0), func(e *job.Event) {
					e.Kind, e.Times = job.Cancel, job.Times{Submit: at(0)}
				})),
			},
			{Name: "never ran, no time", Line: line{failed: "100", times: "1720008000:0:0", slots: "1"}.String()},
		},
		Bad: []formattest.BadCase{
			{Name: "other log", Line: "07/03/2024 14:00:00;Q;101.torque.example;queue=batch",
				Reason: collector.ReasonFormat},
			{Name: "JSON", Line: `{"job_number":1,"task_number":0}`, Reason: collector.ReasonFormat},
			{Name: "reporting record",
				Line:   "1795163357:new_job:1795163357:4:-1:NONE:w1:alice:users::defaultdepartment:sge:1024",
				Reason: collector.ReasonFormat},
			{Name: "accounting record in the reporting file", Line: "1795163357:acct:" + line{}.String(),
				Reason: collector.ReasonFormat},
			{Name: "no slots", Line: line{slots: "0"}.String(), Reason: collector.ReasonProcs, Field: "slots"},
			{Name: "too many slots", Line: line{slots: "65"}.String(), Reason: collector.ReasonProcs, Field: "slots"},
			{Name: "slots below 0", Line: line{slots: "-1"}.String(), Reason: collector.ReasonProcs, Field: "slots"},
			{Name: "slots no number", Line: line{slots: "x"}.String(), Reason: collector.ReasonField, Field: "slots"},
			{Name: "end before start", Line: line{times: "1720008000:1720008060:1720008000"}.String(),
				Reason: collector.ReasonTime, Field: "end_time"},
			{Name: "start without an end", Line: line{times: "1720008000:1720008060:0"}.String(),
				Reason: collector.ReasonTime, Field: "end_time"},
			{Name: "start long before submit", Line: line{times: "1720008000:1720007000:1720008060"}.String(),
				Reason: collector.ReasonTime, Field: "start_time"},
			{Name: "time below 0", Line: line{times: "-5:1720007000:1720008060"}.String(), Reason: collector.ReasonTime,
				Field: "submission_time"},
			{Name: "time no number", Line: line{times: "1720008000:x:1720008060"}.String(),
				Reason: collector.ReasonField, Field: "start_time"},
			{Name: "failed no number", Line: line{failed: "x"}.String(), Reason: collector.ReasonField,
				Field: "failed"},
			{Name: "task no number", Line: line{task: "x"}.String(), Reason: collector.ReasonField,
				Field: "task_number"},
			{Name: "job no number", Line: strings.Replace(line{}.String(), ":7:", ":seven:", 1),
				Reason: collector.ReasonField, Field: "job_number"},
		},
	}
}

// jobLog returns a job_log record of job 7, which was submitted at second 0.
func jobLog(seconds int, event, task, peTask string) string {
	return jobLogIn("", seconds, event, task, peTask)
}

// jobLogIn returns the record of jobLog for a job in the given state.
func jobLogIn(state string, seconds int, event, task, peTask string) string {
	t := at(seconds).Unix()
	return fmt.Sprintf("%d:job_log:%d:%s:7:%s:%s:%s:master:localhost:0:1024:1720008000:cfd:ann:staff::dep:sge:a "+
		"message: with colons", t, t, event, task, peTask, state)
}

func told(kind job.Kind, id string, seconds int) job.Event {
	ev := job.Event{
		Kind: kind, Cluster: "c", ID: id, Time: at(seconds),
		Attributes: job.Attributes{User: "ann", Name: "cfd"}, Times: job.Times{Submit: at(0)},
	}
	if kind == job.Start {
		ev.Times.Start = ev.Time
	}
	return ev
}

func reportingSuite() formattest.Suite {
	known := ran("7", 8, 0)
	update := with(known, func(e *job.Event) { e.Kind, e.Times = job.Update, job.Times{} })
	unplaced := func(id string, seconds int) job.Event {
		return with(told(job.Cancel, id, seconds), func(e *job.Event) { e.Times = job.Times{} })
	}
	return formattest.Suite{
		Format:  sge.Reporting(),
		Worst:   reportingWorst(),
		Options: collector.Options{Cluster: "c", MaxProcs: 64},
		Good: []formattest.Case{
			{Name: "comment", Line: "# Version: 8.1.9"},
			{Name: "submitted", Line: "1720008000:new_job:1720008000:7:-1:NONE:cfd:ann:staff::dep:sge:1024",
				Want: one(told(job.Submit, "7", 0))},
			{Name: "pending", Line: jobLog(0, "pending", "-1", "NONE")},
			{Name: "sent", Line: jobLog(60, "sent", "0", "NONE"), Want: one(told(job.Start, "7", 60))},
			{Name: "task sent", Line: jobLog(60, "sent", "3", "NONE"), Want: one(told(job.Start, "7.3", 60))},
			{Name: "delivered", Line: jobLog(61, "delivered", "0", "NONE")},
			{Name: "parallel task", Line: jobLog(61, "sent", "0", "1.n2")},
			{Name: "held", Line: jobLog(61, "held", "0", "NONE"), Want: one(told(job.Hold, "7", 61))},
			{Name: "released", Line: jobLog(61, "released", "0", "NONE"), Want: one(told(job.Release, "7", 61))},
			{Name: "restart", Line: jobLog(61, "restart", "0", "NONE"), Want: one(told(job.Requeue, "7", 61))},
			{Name: "error", Line: jobLog(61, "error", "0", "NONE"),
				Want: []job.Event{told(job.Requeue, "7", 61), told(job.Hold, "7", 61)}},
			{Name: "deleted", Line: jobLog(61, "deleted", "0", "NONE"), Want: one(told(job.Cancel, "7", 61))},
			{Name: "task deleted", Line: jobLog(61, "deleted", "3", "NONE"), Want: one(told(job.Cancel, "7.3", 61))},
			{Name: "finished", Line: jobLog(61, "finished", "0", "NONE"), Want: one(told(job.Cancel, "7", 61))},
			{Name: "deleted while it ran", Line: jobLogIn("r", 61, "deleted", "0", "NONE"),
				Want: one(unplaced("7", 61))},
			{Name: "deleted from the queue", Line: jobLogIn("Eqw", 61, "deleted", "0", "NONE"),
				Want: one(told(job.Cancel, "7", 61))},
			{Name: "task gone after its end", Line: jobLogIn("T", 61, "deleted", "3", "NONE"),
				Want: one(unplaced("7.3", 61))},
			{Name: "ended", Line: "1720008361:acct:" + line{}.String(), Want: whole(known)},
			{
				Name: "midnight", Line: "1720008361:acct:" + line{status: "-1"}.String(),
				Want: one(with(update, func(e *job.Event) { e.Time = at(361) })),
			},
			{
				Name: "midnight, unsigned", Line: "1720008361:acct:" + line{status: "4294967295"}.String(),
				Want: one(with(update, func(e *job.Event) { e.Time = at(361) })),
			},
			{
				Name: "rescheduled without times",
				Line: "1720008361:acct:" + line{failed: "25", times: "0:0:0"}.String(),
				Want: one(with(known, func(e *job.Event) {
					e.Kind, e.Times, e.Time = job.Requeue, job.Times{}, at(361)
				})),
			},
			{Name: "parallel task ended",
				Line: "1720008361:acct:" + line{slots: "0", tail: "0.000000:1.n2:0.0:0:0"}.String()},
			{Name: "queue", Line: "1720008361:queue:all.q:n1:1720008361:u"},
			{Name: "advance reservation", Line: "1720008361:new_ar:1720008361:1:ann"},
		},
		Bad: []formattest.BadCase{
			{Name: "accounting record", Line: line{}.String(), Reason: collector.ReasonFormat, Field: "time"},
			{Name: "nothing of the kind", Line: "hello world", Reason: collector.ReasonFormat},
			{Name: "JSON", Line: `{"time":1}`, Reason: collector.ReasonFormat},
			{Name: "unknown record", Line: "1720008361:weather:sunny", Reason: collector.ReasonUnknown, Field: "type"},
			{Name: "unknown event", Line: jobLog(61, "vanished", "0", "NONE"), Reason: collector.ReasonUnknown,
				Field: "event"},
			{Name: "short new_job", Line: "1720008000:new_job:1720008000:7:-1", Reason: collector.ReasonField,
				Field: "new_job"},
			{Name: "new_job at 0", Line: "1720008000:new_job:0:7:-1:NONE:cfd:ann:staff::dep:sge:1024",
				Reason: collector.ReasonTime, Field: "submission_time"},
			{Name: "short job_log", Line: "1720008000:job_log:1720008000:sent:7", Reason: collector.ReasonField,
				Field: "job_log"},
			{Name: "job_log before the submission", Line: jobLog(-300, "sent", "0", "NONE"),
				Reason: collector.ReasonTime},
			{Name: "no slots", Line: "1720008361:acct:" + line{slots: "0"}.String(), Reason: collector.ReasonProcs,
				Field: "slots"},
		},
	}
}

// TestColons reads job names with colons, which Grid Engine does not escape.
func TestColons(t *testing.T) {
	for name, account := range map[string]string{
		"menu:0042:run": "sge", "a:1": "sge", ":": "sge", "12:30:00": "sge", "x": "proj:a:7", "1:2": "b:c",
		"7:sge:0:1720000000": "sge", "c:batch:d": "NONE",
	} {
		charged := account
		if account == "sge" || account == "NONE" {
			charged = ""
		}
		text := strings.Replace(line{}.String(), ":cfd:7:sge:", ":"+name+":7:"+account+":", 1)
		check := func(format collector.Format, text, id string) {
			var got []job.Event
			err := format.New(collector.Options{}).Parse([]byte(text), func(ev job.Event) { got = append(got, ev) })
			if err != nil || len(got) == 0 {
				t.Fatalf("%s: %v, %v", text, got, err)
			}
			if ev := got[len(got)-1]; ev.ID != id || ev.Name != name || ev.Account != charged || ev.User != "ann" {
				t.Errorf("%s: %+v", text, ev)
			}
		}
		check(sge.Accounting(), text, "7")
		check(sge.Reporting(), "1720008361:acct:"+text, "7")
		if account != "sge" {
			continue
		}
		check(sge.Reporting(), "1720008000:new_job:1720008000:7:-1:NONE:"+name+":ann:staff::dep:sge:1024", "7")
		check(sge.Reporting(), "1720008060:job_log:1720008060:sent:7:-1:NONE:t:master:h1:0:1024:1720008000:"+name+
			":ann:staff:NONE:defaultdepartment:sge:sent to execd", "7")
	}
}

// TestColonsOfASite reads a record with the job name menu:0042:run.
func TestColonsOfASite(t *testing.T) {
	var got []job.Event
	p := sge.Accounting().New(collector.Options{})
	for _, line := range linesOf(t, "testdata/colons/accounting") {
		if err := p.Parse([]byte(line), func(ev job.Event) { got = append(got, ev) }); err != nil {
			t.Error(err)
		}
	}
	if len(got) == 0 {
		t.Fatal("no event")
	}
	ev := got[len(got)-1]
	if ev.ID != "7001" || ev.Name != "menu:0042:run" || ev.Times.Submit.Unix() != 1720000000 ||
		ev.Times.Start.Unix() != 1720000000 || ev.Times.End.Unix() != 1720000200 || ev.Procs != 4 ||
		ev.TimeLimit != 2*time.Hour || ev.Queue != "batch" {
		t.Errorf("%+v", ev)
	}
}

// TestConformance runs the conformance suite of all formats on both formats of Grid Engine.
func TestConformance(t *testing.T) {
	t.Run("accounting", func(t *testing.T) { formattest.Run(t, accountingSuite()) })
	t.Run("reporting", func(t *testing.T) { formattest.Run(t, reportingSuite()) })
}

// TestGolden checks the events of whole hand-written files, line by line.
func TestGolden(t *testing.T) {
	for name, s := range map[string]formattest.Suite{"accounting": accountingSuite(), "reporting": reportingSuite()} {
		t.Run(name, func(t *testing.T) {
			formattest.Golden(t, s, "testdata/"+name+".log", "testdata/"+name+".json")
		})
	}
}

// TestMessagesNameTheRemedy proves that the messages about the most common mistakes of configuration contain advice.
func TestMessagesNameTheRemedy(t *testing.T) {
	for _, c := range []struct {
		format collector.Format
		line   string
		want   string
	}{
		{sge.Accounting(), `{"job_number":1}`, "old_accounting=true"},
		{sge.Reporting(), `{"job_number":1}`, "old_accounting=true"},
		{sge.Reporting(), line{}.String(), "sge-accounting"},
	} {
		err := c.format.New(collector.Options{}).Parse([]byte(c.line), func(job.Event) {})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, line %s: got %v, want a word of %q", c.format.Name, c.line, err, c.want)
		}
	}
}

func FuzzAccounting(f *testing.F) { formattest.Fuzz(f, accountingSuite()) }

func FuzzReporting(f *testing.F) { formattest.Fuzz(f, reportingSuite()) }

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

func BenchmarkAccounting(b *testing.B) {
	var lines []string
	for i := range 1000 {
		l := line{category: "-q all.q -l h_rt=3600,h_vmem=2G -pe mpi 8", task: fmt.Sprint(i % 3)}.String()
		lines = append(lines, strings.Replace(l, ":7:", fmt.Sprintf(":%d:", i+1), 1))
	}
	benchmark(b, sge.Accounting(), lines)
}

// BenchmarkReporting parses the records of a job's life: new_job, pending, sent, delivered, acct, finished, deleted.
func BenchmarkReporting(b *testing.B) {
	var lines []string
	for i := range 1000 {
		id := fmt.Sprintf(":%d:", i+1)
		for _, l := range []string{
			"1720008000:new_job:1720008000:7:-1:NONE:cfd:ann:staff::dep:sge:1024",
			jobLog(0, "pending", "-1", "NONE"), jobLog(60, "sent", "0", "NONE"), jobLog(61, "delivered", "0", "NONE"),
			"1720008361:acct:" + line{category: "-l h_rt=3600 -pe mpi 8"}.String(),
			jobLog(361, "finished", "0", "NONE"), jobLog(362, "deleted", "0", "NONE"),
		} {
			lines = append(lines, strings.Replace(l, ":7:", id, 1))
		}
	}
	benchmark(b, sge.Reporting(), lines)
}

func accountingWorst() []string {
	list := func(format string) string {
		return formattest.Repeat(1<<19, func(i int) string { return fmt.Sprintf(format, i) })
	}
	return []string{
		line{category: "-l " + list("r%d=1,")}.String(), line{category: list("-q q%d ")}.String(),
		line{task: "999999999999"}.String(), line{tail: list("x%d:")}.String(),
		line{category: "-l h_rt=" + list("%d:")}.String(),
	}
}

func reportingWorst() []string {
	return []string{
		"1720008000:new_job:1720008000:7:-1:NONE:" + strings.Repeat("x", 1<<19) + ":ann:staff::dep:sge:1024",
		jobLog(60, "sent", "999999999999", "NONE"),
		"1720008361:acct:" + accountingWorst()[0], "1720008000:host_consumable:n1:1720008000::" +
			formattest.Repeat(1<<19, func(i int) string { return fmt.Sprintf("slots%d=1,", i) }),
	}
}
