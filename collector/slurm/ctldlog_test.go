package slurm_test

import (
	"errors"
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

// today returns the instant at which the tests read logs whose times have no year.
func today() time.Time { return at(3600) }

func logSuite(tb testing.TB) formattest.Suite {
	tb.Helper()
	return formattest.Suite{
		Format:  slurm.Log(today),
		Options: collector.Options{Cluster: "alpha", Location: berlin(tb), MaxProcs: 4096},
		Good:    append(logGood(), logSilent()...), Bad: logBad(), Worst: logWorst(),
		AtWallClock: func(wall string) string {
			return "[" + strings.Replace(wall, " ", "T", 1) + ".000] Requeuing JobId=1"
		},
	}
}

const stamp = "[2026-11-20T09:00:00.636] "

// told returns an event at the instant of the constant stamp.
func told(kind job.Kind, id string, a job.Attributes) job.Event {
	when := milli(636)
	ev := event(kind, id, when, a, job.Times{})
	switch kind {
	case job.Submit:
		ev.Times.Submit = when
	case job.Start:
		ev.Times.Start = when
	case job.End:
		ev.Times.End = when
	}
	return ev
}

// endOfRun returns the end, at the instant of the constant stamp, of a job that must have started.
func endOfRun(id string) job.Event {
	ev := told(job.End, id, job.Attributes{})
	ev.Ran = true
	return ev
}

func logGood() []formattest.Case {
	none := job.Attributes{}
	line := func(name, msg string, want ...job.Event) formattest.Case { return good(name, stamp+msg, want...) }
	atOnce := told(job.Start, "50", job.Attributes{Nodes: 2, NodeNames: "n01,n02"})
	atOnce.Times.Submit = atOnce.Time
	whole := told(job.End, "5", none)
	whole.All = true
	task := told(job.End, "9_3", none)
	task.All = true
	return []formattest.Case{
		line("submitted", "_slurm_rpc_submit_batch_job: JobId=2 InitPrio=3019 usec=350",
			told(job.Submit, "2", job.Attributes{Priority: 3019})),
		line("submitted held", "_slurm_rpc_submit_batch_job: JobId=7 InitPrio=0 usec=562", told(job.Submit, "7", none),
			told(job.Hold, "7", none)),
		line("submitted, heterogeneous", "_slurm_rpc_submit_batch_het_job: JobId=21 usec=588",
			told(job.Submit, "21", none)),
		line("allocated at once", "sched: _slurm_rpc_allocate_resources JobId=50 NodeList=n[01-02] usec=372",
			told(job.Submit, "50", none), atOnce),
		line("srun waits", "sched: _slurm_rpc_allocate_resources JobId=51 NodeList=(null) usec=5978",
			told(job.Submit, "51", none)),
		line("started", "sched: Allocate JobId=15 NodeList=n[03-04] #CPUs=4 Partition=short",
			told(job.Start, "15", job.Attributes{Queue: "short", Procs: 4, Nodes: 2, NodeNames: "n03,n04"})),
		line("array task started", "sched: Allocate JobId=9_1(26) NodeList=n05 #CPUs=1 Partition=short",
			told(job.Start, "9_1", job.Attributes{Queue: "short", Procs: 1, Nodes: 1, NodeNames: "n05"})),
		line("last array task started",
			"sched: Allocate JobId=9_12(9) NodeList=n04,r[0-1]n[00-09] #CPUs=84 Partition=short",
			told(job.Start, "9", job.Attributes{Queue: "short", Procs: 84, Nodes: 21,
				NodeNames: "n04,r0n00,r0n01,r0n02,r0n03,r0n04,r0n05,r0n06,r0n07,r0n08,r0n09," +
					"r1n00,r1n01,r1n02,r1n03,r1n04,r1n05,r1n06,r1n07,r1n08,r1n09"})),
		line("backfilled", "sched/backfill: _start_job: Started JobId=16 in short on n03",
			told(job.Start, "16", job.Attributes{Queue: "short", Nodes: 1, NodeNames: "n03"})),
		line("backfilled, older", "backfill: Started JobId=16 in short on n[1-3,7]",
			told(job.Start, "16", job.Attributes{Queue: "short", Nodes: 4, NodeNames: "n1,n2,n3,n7"})),
		line("component backfilled", "sched/backfill: _start_job: Started JobId=21+1(22) in short on n[02-03]",
			told(job.Start, "21+1", job.Attributes{Queue: "short", Nodes: 2, NodeNames: "n02,n03"})),
		line("first component backfilled", "sched/backfill: _start_job: Started JobId=21+0(21) in short on n04",
			told(job.Start, "21", job.Attributes{Queue: "short", Nodes: 1, NodeNames: "n04"})),
		line("done", "_job_complete: JobId=2 done", endOfRun("2")),
		line("array task done", "_job_complete: JobId=9_2(27) done", endOfRun("9_2")),
		line("killed", "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=5 uid 0", whole),
		line("task killed", "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9_3 uid 1001", task),
		line("tasks killed", "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9_[3-4,8-12:4%2] uid 1001",
			told(job.End, "9_3", none), told(job.End, "9_4", none), told(job.End, "9_8", none),
			told(job.End, "9_12", none)),
		line("over its limit", "Time limit exhausted for JobId=4", endOfRun("4")),
		line("idle too long", "job_time_limit: inactivity time limit reached for JobId=6129035",
			endOfRun("6129035")),
		line("its reservation ended", "Reservation ended for JobId=5", endOfRun("5")),
		line("over its QOS's limit",
			"JobId=5 timed out, the job is at or exceeds QOS normal's group max wall of 10 with 10",
			endOfRun("5")),
		line("requeued by hand", "Requeuing JobId=16", told(job.Requeue, "16", none)),
		line("requeued: node", "requeue job JobId=1 due to failure of node n01", told(job.Requeue, "1", none)),
		line("requeued: launch failed", "_job_complete: requeue JobId=61 per user/system request",
			told(job.Requeue, "61", none)),
		line("node failed", "Killing JobId=17 on failed node n16", endOfRun("17")),
		line("preempted, requeued", "preempted JobId=30 has been requeued to reclaim resources for JobId=31",
			told(job.Requeue, "30", none)),
		line("preempted, killed", "preempted JobId=32 has been killed to reclaim resources for JobId=31",
			endOfRun("32")),
		line("preempted, not to be requeued", "slurm_job_preempt: preempted JobId=33 had to be killed",
			endOfRun("33")),
		line("its dependency failed", "_kill_dependent: Job dependency can't be satisfied, cancelling JobId=14",
			told(job.Cancel, "14", none)),
		line("suspended", "_slurm_rpc_suspend(suspend) for 9_1 usec=384", told(job.Suspend, "9_1", none)),
		line("resumed", "_slurm_rpc_suspend(resume) for 5 usec=368", told(job.Resume, "5", none)),
		line("hold released", "sched: _release_job_rec: release hold on JobId=7 by uid 0",
			told(job.Release, "7", none)),
		line("held", "sched: _hold_job_rec: hold on JobId=7 by uid 0", told(job.Hold, "7", none)),
		line("held by its priority", "sched: _update_job: setting priority to 0 for JobId=7",
			told(job.Hold, "7", none)),
		line("limit changed", "sched: _update_job: setting time_limit to 2 for JobId=20",
			told(job.Update, "20", job.Attributes{TimeLimit: 2 * time.Minute})),
		line("partition changed", "_update_job: setting partition to medium for JobId=20",
			told(job.Update, "20", job.Attributes{Queue: "medium"})),
		// These lines follow the format strings of newer versions: %pI in src/common/log.c of 25.11,
		// src/slurmctld/job_scheduler.c since 23.11 and job_mgr.c of 25.11.
		line("submitted, with a SLUID",
			"_slurm_rpc_submit_batch_job: JobId=2 SLUID=s4ZK0YQ2G8X00 InitPrio=3019 usec=350",
			told(job.Submit, "2", job.Attributes{Priority: 3019})),
		line("submitted held, with a SLUID",
			"_slurm_rpc_submit_batch_job: JobId=7 SLUID=s4ZK0YQ2G8X00 InitPrio=0 usec=562",
			told(job.Submit, "7", none), told(job.Hold, "7", none)),
		line("submitted, heterogeneous, with a SLUID",
			"_slurm_rpc_submit_batch_het_job: JobId=21 SLUID=s4ZK0YQ2G8X00 usec=588", told(job.Submit, "21", none)),
		line("cannot run", "sched: schedule: JobId=5 non-runnable: Requested node configuration is not available",
			told(job.Hold, "5", none)),
		line("past its deadline",
			"deadline_ok: JobId=9_1(26) with time_limit 10 exceeded deadline 2026-11-20T09:05:00 and cancelled",
			told(job.Cancel, "9_1", none)),
		line("past its deadline, since 24.05",
			"_attempt_backfill: JobId=5 with time_min 10 exceeded deadline 2026-11-20T09:05:00 and cancelled",
			told(job.Cancel, "5", none)),
		line("node down at a restart", "Killing JobId=9_1(26) on DOWN node n16", endOfRun("9_1")),
		line("QOS changed", "_update_job: setting QOS to high for JobId=9_1(26)",
			told(job.Update, "9_1", job.Attributes{QOS: "high"})),
	}
}

func logSilent() []formattest.Case {
	var cases []formattest.Case
	for _, msg := range []string{
		"slurmctld version 22.05.8 started on cluster test", "error: Nodes n05 not responding, setting DOWN",
		"Running as primary controller",
		"_job_complete: JobId=2 WEXITSTATUS 3", "_job_complete: JobId=1 WTERMSIG 15",
		"_job_complete: JobId=1 OOM failure", "_job_complete: JobId=1 cancelled by interactive user",
		"_job_complete: JobId=1 cancelled by node failure",
		"_slurm_rpc_submit_batch_job: Invalid partition name specified",
		"_slurm_rpc_update_job: complete JobId=20 uid=0 usec=270",
		"_slurm_rpc_suspend(suspend) for 9_1 Job is pending execution", "_slurm_rpc_suspend(resume) for x usec=1",
		"_slurm_rpc_suspend(what) for 9_1 usec=1", "Recovered JobId=9_1(26) Assoc=8", "Recovered JobId=11_* Assoc=8",
		"cleanup_completing: JobId=61 completion process took 79 seconds", "_update_job: updating accounting",
		"sched: _update_job: setting nice to 10 for JobId=20",
		"sched: _update_job: setting time_limit to 4294967295 for JobId=20",
		"error: Security violation, REQUEST_KILL_JOB RPC for JobId=42804 from uid 548300563",
		"_slurm_rpc_kill_job: job_str_signal() uid=548300563 JobId=42804 sig=9 returned: Access/permission denied",
		"error: Registered JobId=60 StepId=60.batch in state NODE_FAIL on node n05",
		"job_time_limit: Configuration for JobId=5 complete",
		"slurm_job_preempt: preempted JobId=33 kill failure Job/step already completing or completed",
		"preempted JobId=30 suspended by gang scheduler to reclaim resources for JobId=31",
		"job_complete: invalid JobId=77", "Killing JobId=17 StepId=0 on failed node n16",
		"Killing JobId=9_1(26) StepId=batch due to failed node n16",
		"Killing interactive JobId=15: Unable to contact slurm controller",
		"Killing non-startable batch JobId=15 SLUID=s4ZK0YQ2G8X00: Invalid job credential",
		"Killing orphan batch JobId=15", "sched: JobId=9_1(26) current node constraints not satisfied",
		"sched: JobId=5 has invalid account",
		"sched/backfill: _start_job: Failed to start JobId=16 with n[01-04] avail: Requested nodes are busy",
		"sched: batch_requeue_fini: holding expedited requeue JobId=5 as no epilogs failed",
		"sched: _update_job: Cannot update node list of JobId=5. Not compatible with arbitrary distribution",
		"_slurm_rpc_update_job: complete JobId=20 SLUID=s4ZK0YQ2G8X00 uid=0 usec=270",
		"job_complete: invalid JobId=77 SLUID=s4ZK0YQ2G8X00",
		"sched: _slurm_rpc_job_step_create: JobId=5 StepId=5.0 n01 usec=300",
	} {
		cases = append(cases, good("silent "+msg, stamp+msg))
	}
	return append(cases,
		good("another program in the syslog",
			"Nov 20 09:00:00 head slurmd[7]: Launching batch job JobId=2 for UID 1001"),
		good("a program without a number", "2026-11-20T09:00:00+0100 head kernel: eth0 up JobId=2"),
	)
}

func logBad() []formattest.BadCase {
	return []formattest.BadCase{
		bad("not a log line", "hello, world", collector.ReasonFormat, "time"),
		bad("no end of the time", "[2026-11-20T09:00:00.636 _job_complete: JobId=2 done",
			collector.ReasonFormat, "time"),
		bad("another time", "[20.11.2026 09:00:00] _job_complete: JobId=2 done", collector.ReasonFormat, "time"),
		bad("clock", "[123456] _job_complete: JobId=2 done", collector.ReasonTime, "time"),
		bad("no such day", "[2026-11-31T09:00:00.636] _job_complete: JobId=2 done", collector.ReasonTime, "time"),
		bad("no such day, no year", "[Feb 30 09:00:00] _job_complete: JobId=2 done", collector.ReasonTime, "time"),
		bad("no such hour", "[2026-11-20T24:00:00.636] _job_complete: JobId=2 done", collector.ReasonTime, "time"),
		bad("an offset that is none", "[2026-11-20T09:00:00.636+1] _job_complete: JobId=2 done",
			collector.ReasonFormat, "time"),
		bad("0 processors", stamp+"sched: Allocate JobId=15 NodeList=n03 #CPUs=0 Partition=short",
			collector.ReasonProcs, "#CPUs"),
		bad("more than the machine has", stamp+"sched: Allocate JobId=15 NodeList=n03 #CPUs=4097 Partition=short",
			collector.ReasonProcs, "#CPUs"),
		bad("a size that is none", stamp+"sched: Allocate JobId=15 NodeList=n03 #CPUs=all Partition=short",
			collector.ReasonField, "#CPUs"),
		bad("a job without a number", stamp+"sched: Allocate JobId=Invalid NodeList=n03 #CPUs=1 Partition=short",
			collector.ReasonUnknown, "message"),
		bad("a start told otherwise", stamp+"sched: Allocate JobId=15 on n03", collector.ReasonUnknown, "message"),
		bad("a backfill told otherwise", stamp+"sched/backfill: _start_job: Started JobId=16 somewhere",
			collector.ReasonUnknown, "message"),
		bad("a completion told otherwise", stamp+"_job_complete: JobId=2 vanished", collector.ReasonUnknown, "message"),
		bad("a kill told otherwise", stamp+"_slurm_rpc_kill_job: REQUEST_KILL JobId=2",
			collector.ReasonUnknown, "message"),
		bad("the scheduler speaks of a job in an unknown way", stamp+"sched: Vanish JobId=2",
			collector.ReasonUnknown, "message"),
		bad("tasks that are none", stamp+"_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9_[3-] uid 0",
			collector.ReasonField, "JobId"),
	}
}

func TestLogConformance(t *testing.T) { formattest.Run(t, logSuite(t)) }

func FuzzLog(f *testing.F) {
	for _, line := range waysToWrite() {
		f.Add([]byte(line))
	}
	formattest.Fuzz(f, logSuite(f))
}

// TestLogGolden parses lines of a real slurmctld 22.05.
func TestLogGolden(t *testing.T) {
	formattest.Golden(t, goldenSuite(slurm.Log(nil)), "testdata/slurmctld.log", "testdata/slurmctld.json")
}

// TestEndOfAJobThatMayHaveWaited proves that the end of an allocation that its user gave up does not show that it ran.
// The lines are those of Slurm 22.05 for an salloc that was interrupted while it waited, and of a job that ended later.
func TestEndOfAJobThatMayHaveWaited(t *testing.T) {
	parser := slurm.Log(today).New(collector.Options{Cluster: "alpha", Location: berlin(t)})
	var got []string
	for _, msg := range []string{"_job_complete: JobId=5 WTERMSIG 126",
		"_job_complete: JobId=5 cancelled by interactive user", "_job_complete: JobId=5 done",
		"_job_complete: JobId=6 WEXITSTATUS 0", "_job_complete: JobId=6 done"} {
		if err := parser.Parse([]byte(stamp+msg), func(ev job.Event) {
			got = append(got, fmt.Sprint(ev.ID, " ", ev.Kind, " ", ev.Ran))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"5 end false", "6 end true"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// waysToWrite returns one message at 2026-11-20 09:00:00.636 in Berlin in all forms in which it may be written to a
// file. The suffix of a key is the precision of the time.
func waysToWrite() map[string]string {
	const msg = "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=5 uid 0"
	return map[string]string{
		"LogTimeFormat=iso8601 s":       "[2026-11-20T09:00:00] " + msg,
		"LogTimeFormat=iso8601_ms ms":   "[2026-11-20T09:00:00.636] " + msg,
		"LogTimeFormat=rfc5424 s":       "[2026-11-20T09:00:00+01:00] " + msg,
		"LogTimeFormat=rfc5424_ms ms":   "[2026-11-20T09:00:00.636+01:00] " + msg,
		"another zone's ms":             "[2026-11-20T03:00:00.636-05:00] " + msg,
		"UTC ms":                        "[2026-11-20T08:00:00.636Z] " + msg,
		"LogTimeFormat=short s":         "[Nov 20 09:00:00] " + msg,
		"LogTimeFormat=thread_id us":    "[Nov 20 09:00:00.636001  4711 sched        0x7f2b4c0fd700] " + msg,
		"thread_id, with brackets us":   "[Nov 20 09:00:00.636001  4711 worker[12]   0x7f2b4c0fd700] " + msg,
		"scheduler's own log ms":        "sched: [2026-11-20T09:00:00.636] " + msg,
		"syslog, RFC 3164 s":            "Nov 20 09:00:00 head slurmctld[4711]: " + msg,
		"syslog, with a priority s":     "<14>Nov 20 09:00:00 head slurmctld[4711]: " + msg,
		"syslog, RSYSLOG_FileFormat us": "2026-11-20T09:00:00.636001+01:00 head slurmctld[4711]: " + msg,
		"syslog, RFC 5424 us":           "<14>1 2026-11-20T09:00:00.636001+01:00 head slurmctld 4711 - - " + msg,
		"syslog, RFC 5424, structured us": `<14>1 2026-11-20T09:00:00.636001+01:00 head slurmctld 4711 - [meta ` +
			`seq="1"] ` + msg,
		"journalctl -o short s":              "Nov 20 09:00:00 head slurmctld[4711]: slurmctld: " + msg,
		"journalctl -o short-iso s":          "2026-11-20T09:00:00+0100 head slurmctld[4711]: slurmctld: " + msg,
		"journalctl -o short-iso, newer s":   "2026-11-20T09:00:00+01:00 head slurmctld[4711]: " + msg,
		"journalctl -o short-iso-precise us": "2026-11-20T09:00:00.636001+0100 head slurmctld[4711]: " + msg,
		"journald, with slurmctld's time ms": "Nov 20 09:00:01 head slurmctld[4711]: [2026-11-20T09:00:00.636] " + msg,
	}
}

// TestLogTimes proves that the time of a line is read in every form.
func TestLogTimes(t *testing.T) {
	o := collector.Options{Cluster: "alpha", Location: berlin(t)}
	for name, line := range waysToWrite() {
		want := at(0)
		switch name[strings.LastIndexByte(name, ' ')+1:] {
		case "ms":
			want = milli(636)
		case "us":
			want = milli(636).Add(time.Microsecond)
		}
		var got []job.Event
		err := slurm.Log(today).New(o).Parse([]byte(line), func(ev job.Event) { got = append(got, ev) })
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %q: got %v, %v", name, line, got, err)
		} else if !got[0].Time.Equal(want) || got[0].ID != "5" || got[0].Kind != job.End {
			t.Errorf("%s: got %v of %s at %v, want end of 5 at %v", name, got[0].Kind, got[0].ID, got[0].Time, want)
		}
	}
}

// TestLogYear proves that a time without a year is read as the latest such instant that is at most a day in the future,
// even at the turn of a year and on leap days.
func TestLogYear(t *testing.T) {
	for _, c := range []struct{ now, stamp, want string }{
		{"2026-11-20T10:00:00Z", "Nov 20 09:00:00", "2026-11-20T09:00:00Z"},
		{"2026-11-20T10:00:00Z", "Nov 21 09:00:00", "2026-11-21T09:00:00Z"},
		{"2026-11-20T10:00:00Z", "Nov 21 11:00:00", "2025-11-21T11:00:00Z"},
		{"2026-01-01T00:10:00Z", "Dec 31 23:59:59", "2025-12-31T23:59:59Z"},
		{"2026-12-31T23:59:59Z", "Jan  1 00:00:01", "2027-01-01T00:00:01Z"},
		{"2026-11-20T10:00:00Z", "Feb 29 09:00:00", "2024-02-29T09:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		p := slurm.Log(func() time.Time { return now }).New(collector.Options{Location: time.UTC})
		for range 2 {
			var got string
			err := p.Parse([]byte("["+c.stamp+"] Requeuing JobId=1"),
				func(ev job.Event) { got = ev.Time.Format(time.RFC3339) })
			if err != nil || got != c.want {
				t.Errorf("%s on %s: got %s, %v; want %s", c.stamp, c.now, got, err, c.want)
			}
		}
	}
}

// TestLogRequeueThenDone proves that the "done" of a requeued attempt does not end the job, and that the next "done"
// does.
func TestLogRequeueThenDone(t *testing.T) {
	lines := []string{
		"_job_complete: JobId=61 WEXITSTATUS 0", "_job_complete: requeue JobId=61 per user/system request",
		"_job_complete: JobId=61 done",
		"_job_complete: JobId=62 done", "sched: Allocate JobId=61 NodeList=n01 #CPUs=1 Partition=short",
		"_job_complete: JobId=61 done",
	}
	for i := range lines {
		lines[i] = stamp + lines[i]
	}
	want := []string{"requeue 61 ", "end 62 ", "start 61 ", "end 61 "}
	if diff := cmp.Diff(want, outcome(slurm.Log(nil), lines...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLogManyTasks proves that a kill of more tasks than an array can have makes a limited number of events and an
// error.
func TestLogManyTasks(t *testing.T) {
	got := outcome(slurm.Log(nil), stamp+"_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9_[0-999999999] uid 0")
	if n := len(got); n != 1002 || got[n-1] != "bad field" {
		t.Errorf("got %d outcomes, the last %q; want 1001 ends and an error", n, got[n-1])
	}
}

// BenchmarkLog parses the five lines of each job's life.
func BenchmarkLog(b *testing.B) {
	var lines [][]byte
	for i := range 1000 {
		for _, msg := range []string{
			"_slurm_rpc_submit_batch_job: JobId=%d InitPrio=3019 usec=350",
			"sched: Allocate JobId=%d NodeList=n[03-04] #CPUs=4 Partition=short",
			"sched/backfill: _start_job: Started JobId=%d in short on n03", "_job_complete: JobId=%d WEXITSTATUS 0",
			"_job_complete: JobId=%d done",
		} {
			lines = append(lines, fmt.Appendf(nil, stamp+msg, 1000+i))
		}
	}
	benchmarkLines(b, slurm.Log(nil), lines)
}

// TestLogNamesTheVersion proves that an unknown message is reported with the version of the slurmctld that wrote it.
// The version comes from the log of the start of that slurmctld, or from the beginning of the file.
func TestLogNamesTheVersion(t *testing.T) {
	version := func(parser collector.Parser) string {
		var unknown *slurm.UnknownError
		if err := parser.Parse([]byte(stamp+"sched: Vanish JobId=2"), func(job.Event) {}); !errors.As(err, &unknown) {
			t.Fatalf("%v is no unknown message", err)
		}
		return unknown.Version
	}
	parser := slurm.Log(today).New(collector.Options{})
	if got := version(parser); got != "" {
		t.Errorf("before anything: %q", got)
	}
	for _, v := range []string{"22.05.8", "24.11.0-rc1"} {
		if err := parser.Parse([]byte(stamp+"slurmctld version "+v+" started on cluster test"),
			func(job.Event) {}); err != nil {
			t.Fatal(err)
		}
		if got := version(parser); got != v {
			t.Errorf("%q, want %q", got, v)
		}
	}
	header, ok := slurm.Log(today).New(collector.Options{}).(collector.HeaderParser)
	if !ok {
		t.Fatal("no header is read")
	}
	for _, line := range []string{
		stamp + "Job accounting information stored, but details not gathered",
		stamp + "slurmctld version 23.02.1(cluster) started on cluster test", stamp + "more",
	} {
		if !header.Header([]byte(line)) {
			break
		}
	}
	if got := version(header); got != "23.02.1(cluster)" {
		t.Errorf("from the header: %q", got)
	}
}

func logWorst() []string {
	list := func(format string) string {
		return formattest.Repeat(1<<19, func(i int) string { return fmt.Sprintf(format, i) })
	}
	const kill, begun = stamp + "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9_[",
		stamp + "sched: Allocate JobId=15 NodeList="
	return []string{
		kill + "0-4000000] uid 0", kill + "0-999999999999999999] uid 0", kill + list("%d,") + "] uid 0",
		kill + "0-4000000:2%7,5] uid 0",
		begun + "n[1-1000000] #CPUs=4 Partition=short", begun + list("n%d,") + " #CPUs=4 Partition=short",
		begun + list("n[%d-99],") + " #CPUs=4 Partition=short",
		begun + "n" + strings.Repeat("[0-9]", 1<<16) + " #CPUs=4 Partition=short",
		begun + "n3 #CPUs=4 Partition=" + strings.Repeat("p", 1<<19),
		stamp + "_update_job: setting partition to " + list("p%d,") + " for JobId=20",
		stamp + "sched: _start_job: Started JobId=16 in short on n[1-1000000]",
	}
}
