package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
)

// second returns an instant of the lives in these tests.
func second(n int) time.Time { return time.Unix(1_720_000_000+int64(n), 0).UTC() }

// attempt is one attempt of a job, in seconds; never means that an instant is not reached.
type attempt struct{ submit, start, end int }

const never = -1

// life is the life of a job. Each attempt but the last is requeued at its end. The last one is cancelled if it ends
// without a start. If tasks is set, the life is that of the tasks of an array, each with one attempt, and the waiting
// tasks are cancelled at killed.
type life struct {
	id       int
	attempts []attempt
	paused   bool // suspended at its last start, and resumed at once
	tasks    int
	killed   int
}

// lifeFormat is a format in which lives are written. job returns the lines of a life with the seconds at which they are
// written. followed is set for a format whose log is in the order of time, and events for one with a line per event.
type lifeFormat struct {
	job                                func(l *life) []logLine
	arrays, requeues, followed, events bool
	header                             string
}

type logLine struct {
	at   int
	text string
}

func slurmLines(l *life) (out []logLine) {
	stamp := func(n int) string { return second(n).Format("[2006-01-02T15:04:05] ") }
	add := func(n int, format string, args ...any) {
		out = append(out, logLine{n, stamp(n) + fmt.Sprintf(format, args...)})
	}
	add(l.attempts[0].submit, "_slurm_rpc_submit_batch_job: JobId=%d InitPrio=1 usec=1", l.id)
	for k, a := range l.attempts {
		name := fmt.Sprint(l.id)
		if l.tasks > 0 {
			name = fmt.Sprintf("%d_%d(%d)", l.id, k+1, 1000+k)
		}
		if a.start != never {
			add(a.start, "sched: Allocate JobId=%s NodeList=n1 #CPUs=4 Partition=debug", name)
		}
		if l.paused && k == len(l.attempts)-1 && a.start != never {
			add(a.start, "_slurm_rpc_suspend(suspend) for JobId=%s usec=1", name)
			add(a.start, "_slurm_rpc_suspend(resume) for JobId=%s usec=1", name)
		}
		switch {
		case a.end == never:
		case a.start == never:
			add(a.end, "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=%s uid 0", name)
		case l.tasks == 0 && k < len(l.attempts)-1:
			add(a.end, "_job_complete: requeue JobId=%[1]s per user/system request\n"+stamp(a.end)+
				"_job_complete: JobId=%[1]s done", name) // one call, which holds the lock of all jobs
		default:
			add(a.end, "_job_complete: JobId=%s WEXITSTATUS 1", name)
			add(a.end, "_job_complete: JobId=%s done", name)
		}
	}
	if l.tasks > 0 && l.killed != never {
		add(l.killed, "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=%d uid 0", l.id)
	}
	return out
}

const pbsStamp = "01/02/2006 15:04:05;"

func pbsLines(l *life) (out []logLine) {
	submit := l.attempts[0].submit
	add := func(n int, letter, id, more string) {
		out = append(out, logLine{n, fmt.Sprintf("%s%s;%s;user=ann queue=batch ctime=%d qtime=%[4]d etime=%[4]d "+
			"Resource_List.ncpus=4%s", second(n).Format(pbsStamp), letter, id, second(submit).Unix(), more)})
	}
	of := func(name string, n int) string { return fmt.Sprintf(" %s=%d", name, second(n).Unix()) }
	whole := fmt.Sprintf("%d.srv", l.id)
	if l.tasks > 0 {
		whole = fmt.Sprintf("%d[].srv", l.id)
		add(submit, "Q", whole, fmt.Sprintf(" array_indices=1-%d", l.tasks))
	} else {
		add(submit, "Q", whole, "")
	}
	for k, a := range l.attempts {
		id := whole
		if l.tasks > 0 {
			id = fmt.Sprintf("%d[%d].srv", l.id, k+1)
		}
		if a.start != never {
			add(a.start, "S", id, of("start", a.start))
		}
		if l.paused && k == len(l.attempts)-1 && a.start != never {
			out = append(out, logLine{a.start, second(a.start).Format(pbsStamp) + "z;" + id + ";"},
				logLine{a.start, second(a.start).Format(pbsStamp) + "r;" + id + ";"})
		}
		switch {
		case a.end == never:
		case a.start == never:
			out = append(out, logLine{a.end, second(a.end).Format(pbsStamp) + "D;" + id + ";requestor=a@b"})
		case l.tasks == 0 && k < len(l.attempts)-1:
			out = append(out, logLine{a.end, second(a.end).Format(pbsStamp) + "R;" + id + ";"})
		default:
			add(a.end, "E", id, of("start", a.start)+of("end", a.end))
		}
	}
	if l.tasks > 0 && l.killed != never {
		out = append(out, logLine{l.killed, second(l.killed).Format(pbsStamp) + "D;" + whole + ";"})
	}
	return out
}

func reportingLines(l *life) (out []logLine) {
	submit := l.attempts[0].submit
	log := func(n int, event, state string) {
		out = append(out, logLine{n, fmt.Sprintf("%d:job_log:%[1]d:%s:%d:0:NONE:%s:master:localhost:0:1024:%d:cfd:ann:"+
			"staff:aero:defaultdepartment:sge:x", second(n).Unix(), event, l.id, state, second(submit).Unix())})
	}
	out = append(out, logLine{submit, fmt.Sprintf(
		"%d:new_job:%[1]d:%d:-1:NONE:cfd:ann:staff:aero:defaultdepartment:sge:1024", second(submit).Unix(), l.id)})
	for k, a := range l.attempts {
		if a.start != never {
			log(a.start, "sent", "t")
		}
		switch {
		case a.end == never:
		case a.start == never:
			log(a.end, "deleted", "")
		case k < len(l.attempts)-1:
			log(a.end, "restart", "r")
		default:
			out = append(out, logLine{a.end, fmt.Sprintf("%d:acct:%s", second(a.end).Unix(), accounting(l, a))})
			log(a.end, "finished", "r")
		}
	}
	return out
}

// accounting returns a record of Grid Engine's accounting file.
func accounting(l *life, a attempt) string {
	return fmt.Sprintf("all.q:n1:staff:ann:cfd:%d:sge:0:%d:%d:%d:0:0:1:0.1:0.1:4560.000000:0:0:0:0:552:1:0:328.000000:"+
		"16:0:0:0:15:20:aero:defaultdepartment:mpi:4:0:0.2:0.000000:0.000038:-l h_rt=3600 -pe mpi 4:0.000000:NONE:"+
		"3723264.000000:0:0", l.id, second(l.attempts[0].submit).Unix(), second(a.start).Unix(), second(a.end).Unix())
}

func accountingLines(l *life) (out []logLine) {
	for _, a := range l.attempts {
		if a.start != never && a.end != never {
			out = append(out, logLine{a.end, accounting(l, a)})
		}
	}
	return out
}

func lsfLines(l *life) (out []logLine) {
	for k, a := range l.attempts {
		unix := func(n int) int64 { return second(n).Unix() }
		if k == 0 {
			out = append(
				out,
				logLine{a.submit, fmt.Sprintf(`"JOB_NEW" "10.1" %d %d 506 33554435 4 %[1]d 0 0 -65535 0 0 `+
					`"ann" -1 -1 -1 -1 -1 -1 -1 -1 -1 3600 -1 "" 116.10 18 "normal" "" "login" "/home/ann" "" "" "" `+
					`"" "/home/ann" "x.%[2]d" 0 "" "" "cfd" "run" 0 "" "aero" 4 "X86_64" "" "" "" "" 5136 0 "" "" `+
					`"" -1 -1 -1 64 "" "" -1 "" 0`, unix(a.submit), l.id)},
			)
		}
		status := func(n, state, end int) {
			out = append(
				out,
				logLine{n, fmt.Sprintf(`"JOB_STATUS" "10.1" %d %d %d 0 0 0.33 %d 0 0 0 0 0`, unix(n), l.id,
					state, end)},
			)
		}
		if a.start != never {
			out = append(
				out,
				logLine{a.start, fmt.Sprintf(`"JOB_START" "10.1" %d %d 4 0 0 116.1 4 "n1" "n1" "n1" "n1" `+
					`"" "" 0 "" 0 "" 0 0`, unix(a.start), l.id)},
			)
		}
		switch {
		case a.end == never:
		case a.start != never && k < len(l.attempts)-1:
			out = append(out, logLine{a.end, fmt.Sprintf(`"JOB_REQUEUE" "10.1" %d %d 0`, unix(a.end), l.id)})
			status(a.end, 1, 0)
		case a.start == never:
			status(a.end, 32, int(unix(a.end)))
		default:
			status(a.end, 64, int(unix(a.end)))
		}
	}
	return out
}

func jobcompLines(l *life) (out []logLine) {
	text := func(n int) string {
		if n == never {
			return "Unknown"
		}
		return second(n).Format("2006-01-02T15:04:05")
	}
	for k, a := range l.attempts {
		state := "COMPLETED"
		switch {
		case a.end == never || a.start == never:
			continue
		case k < len(l.attempts)-1:
			state = "REQUEUED"
		}
		out = append(out, logLine{a.end, fmt.Sprintf("JobId=%d UserId=ann(1001) GroupId=users(100) Name=x JobState=%s "+
			"Partition=debug TimeLimit=60 StartTime=%s EndTime=%s NodeList=n1 NodeCnt=1 ProcCnt=4 WorkDir=/tmp "+
			"ReservationName= Tres=cpu=4,node=1 Account=p QOS=normal WcKey= Cluster=c SubmitTime=%s "+
			"EligibleTime=%[5]s DerivedExitCode=0:0 ExitCode=0:0 ", l.id, state, text(a.start), text(a.end),
			text(a.submit))})
	}
	return out
}

func sacctLines(l *life) (out []logLine) {
	text := func(n int) string {
		if n == never {
			return "Unknown"
		}
		return fmt.Sprint(second(n).Unix())
	}
	for k, a := range l.attempts {
		state := "COMPLETED"
		switch {
		case k < len(l.attempts)-1:
			state = "REQUEUED"
		case a.start == never && a.end == never:
			state = "PENDING"
		case a.start == never:
			state = "CANCELLED by 0"
		case a.end == never:
			state = "RUNNING"
		}
		out = append(out, logLine{0, fmt.Sprintf("%d|x|%s|%s|%s|4|%s", l.id, state, text(a.start), text(a.end),
			text(a.submit))})
	}
	return out
}

func swfLines(l *life) (out []logLine) {
	a := l.attempts[0]
	wait, run, status := a.start-a.submit, a.end-a.start, 1
	switch {
	case a.end == never:
		return nil
	case a.start == never:
		wait, run, status = a.end-a.submit, -1, 5
	}
	return []logLine{
		{a.submit, fmt.Sprintf("%d %d %d %d 4 -1 -1 4 3600 -1 %d 1 1 1 1 1 -1 -1", l.id, a.submit, wait, run,
			status)},
	}
}

func lifeFormats() map[string]lifeFormat {
	return map[string]lifeFormat{
		"slurm-log":      {job: slurmLines, arrays: true, requeues: true, followed: true, events: true},
		"pbs":            {job: pbsLines, arrays: true, requeues: true, followed: true, events: true},
		"sge-reporting":  {job: reportingLines, requeues: true, followed: true, events: true},
		"lsf-events":     {job: lsfLines, requeues: true, followed: true, events: true},
		"slurm-jobcomp":  {job: jobcompLines, requeues: true, followed: true},
		"sge-accounting": {job: accountingLines, followed: true},
		"slurm-sacct":    {job: sacctLines, requeues: true, header: "JobID|JobName|State|Start|End|NCPUS|Submit\n"},
		"swf":            {job: swfLines, header: "; UnixStartTime: 1720000000\n; Queue: 1 batch\n"},
	}
}

// drawLife draws a life. If clear is set, it has no events that the records of its second could also explain in
// another way: a start, or a cancellation, right after a requeue.
func drawLife(t *rapid.T, id int, f *lifeFormat, clear bool) *life {
	later := func(from int) int { return from + max(0, rapid.IntRange(-4, 2).Draw(t, "later")) }
	maybe := func(name string) bool { return rapid.IntRange(0, 3).Draw(t, name) == 0 }
	l := &life{id: id, killed: never, paused: f.arrays && maybe("paused")}
	submit := rapid.IntRange(0, 2).Draw(t, "submit")
	if f.arrays && maybe("array") {
		l.tasks = rapid.IntRange(1, 3).Draw(t, "tasks")
		l.killed = submit
		for range rapid.IntRange(0, l.tasks-1).Draw(t, "started") {
			a := attempt{submit: submit, start: later(submit)}
			a.end = later(a.start)
			l.killed = max(l.killed, a.end)
			l.attempts = append(l.attempts, a)
		}
		if len(l.attempts) == 0 {
			l.attempts = []attempt{{submit: submit, start: never, end: never}}
		}
		if l.killed = later(l.killed); maybe("open") {
			l.killed = never
		}
		return l
	}
	gap := 0
	for {
		a := attempt{submit: submit, start: later(submit) + gap, end: never}
		switch last := !f.requeues || !maybe("requeue"); {
		case maybe("cancelled"):
			if a.start, a.end = never, later(submit)+2*gap; maybe("waits") {
				a.end = never
			}
			l.attempts = append(l.attempts, a)
			return l
		case last:
			if a.end = later(a.start); maybe("runs") {
				a.end = never
			}
			l.attempts = append(l.attempts, a)
			return l
		}
		a.end = later(a.start)
		l.attempts = append(l.attempts, a)
		submit = a.end
		if clear {
			gap = 1
		}
	}
}

// drawLog draws lives and returns them with their log, in which the lines of different jobs are shuffled within each
// second.
func drawLog(t *rapid.T, f *lifeFormat, clear bool) ([]*life, string) {
	var all []*life
	var lines [][]logLine
	for id := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		l := drawLife(t, id+1, f, clear)
		own := f.job(l)
		slices.SortStableFunc(own, func(a, b logLine) int { return a.at - b.at })
		all, lines = append(all, l), append(lines, own)
	}
	var text strings.Builder
	text.WriteString(f.header)
	for {
		first := int(^uint(0) >> 1)
		for _, own := range lines {
			if len(own) > 0 {
				first = min(first, own[0].at)
			}
		}
		var due []int
		for i, own := range lines {
			if len(own) > 0 && own[0].at == first {
				due = append(due, i)
			}
		}
		if len(due) == 0 {
			return all, text.String()
		}
		i := rapid.SampledFrom(due).Draw(t, "next")
		text.WriteString(lines[i][0].text + "\n")
		lines[i] = lines[i][1:]
	}
}

// outcome is what a route makes of an attempt.
type outcome struct {
	ID                 string
	Attempt            int
	Submit, Start, End time.Time
	Fate               lives.Fate
	Tasks              int
}

func outcomes(t *rapid.T, each func(do func(job.Event) error) error) []outcome {
	l, err := lives.Fold(each)
	if err != nil {
		t.Fatal(err)
	}
	var out []outcome
	for _, j := range l.Jobs {
		out = append(out, outcome{j.ID, j.Attempt, j.Submit.UTC(), j.Start.UTC(), j.End.UTC(), j.Fate, j.Given.Tasks})
	}
	slices.SortFunc(out, func(a, b outcome) int {
		return 10*strings.Compare(a.ID, b.ID) + a.Attempt - b.Attempt
	})
	return out
}

// followed returns the events of a log in the order of its lines.
func followed(t *rapid.T, format, text string) (out []job.Event) {
	f, err := history.Named(history.Formats(time.Now), format)
	if err != nil {
		t.Fatal(err)
	}
	p := f.New(collector.Options{Location: time.UTC})
	for line := range strings.Lines(text) {
		if err := p.Parse([]byte(line), func(ev job.Event) { out = append(out, ev) }); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return out
}

// journalled returns the changes that events make: the entries of a journal.
func journalled(events []job.Event) (out []job.Event) {
	s := cluster.New("", 0)
	gone := map[string]cluster.Left{}
	for _, ev := range events {
		s.Apply(ev, &cluster.Hooks{
			Known:   func(id string) (cluster.Left, bool) { l, ok := gone[id]; return l, ok },
			Changed: func(c cluster.Change) { out = append(out, c.Event) },
		})
	}
	return out
}

// recorded returns the events of logs as a history has them. If stored is not nil, the history begins with it.
func recorded(t *rapid.T, format, text string, stored []history.Event) []history.Event {
	h := history.New(history.Config{Formats: history.Formats(time.Now), Format: format, Now: time.Now(),
		Options: collector.Options{Location: time.UTC}, Open: files{"log": []byte(text)}.open, MemoryEvents: 40,
		OnBad: func(b source.BadLine) { t.Fatalf("%s: %v", b.Text, b.Err) }})
	defer h.Close() //nolint:errcheck // the test has read what it needs
	for i := range stored {
		if err := h.Add(stored[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Read(t.Context(), "log"); err != nil {
		t.Fatal(err)
	}
	var out []history.Event
	if err := h.Each(func(ev *history.Event) error { out = append(out, *ev); return nil }); err != nil {
		t.Fatal(err)
	}
	chunk, err := history.EncodeChunk(out)
	if err != nil {
		t.Fatal(err)
	}
	out = out[:0]
	err = history.DecodeChunk(chunk, func(ev *history.Event) error { out = append(out, *ev); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func eachOf(events []job.Event) func(func(job.Event) error) error {
	return func(do func(job.Event) error) error {
		for _, ev := range events {
			if err := do(ev); err != nil {
				return err
			}
		}
		return nil
	}
}

func eachRecorded(events []history.Event) func(func(job.Event) error) error {
	plain := make([]job.Event, len(events))
	for i := range events {
		plain[i] = events[i].Event
	}
	return eachOf(plain)
}

// TestOneSecond proves that logs with whole seconds give the same lives in every way in which they are read: followed
// live, replayed from the journal, converted, imported, and imported again. The jobs have many events in the same
// second: whole lives, requeues, suspensions, and arrays. The records of different jobs are shuffled.
func TestOneSecond(t *testing.T) {
	for name, f := range lifeFormats() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				_, text := drawLog(t, &f, !f.events)
				if text == f.header {
					return
				}
				first := recorded(t, name, text, nil)
				want := outcomes(t, eachRecorded(first))
				same := func(how string, got []outcome) {
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("%s (-converted +%[1]s):\n%s\n%s", how, diff, text)
					}
				}
				same("imported again", outcomes(t, eachRecorded(recorded(t, name, text, first))))
				if f.followed {
					live := followed(t, name, text)
					same("live", outcomes(t, eachOf(live)))
					same("replayed", outcomes(t, eachOf(journalled(live))))
				}
			})
		})
	}
}

// TestOneSecondIsRight proves that lives with many events in the same second are read from a log as they were.
func TestOneSecondIsRight(t *testing.T) {
	for name, f := range lifeFormats() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				all, text := drawLog(t, &f, true)
				if text == f.header {
					return
				}
				got := map[string]outcome{}
				for _, o := range outcomes(t, eachRecorded(recorded(t, name, text, nil))) {
					id, _, _ := strings.Cut(o.ID, ".")
					got[fmt.Sprintf("%s.%d", id, o.Attempt)] = o
				}
				for _, l := range all {
					if l.tasks > 0 {
						l.checkArray(t, got, text)
						continue
					}
					for k, a := range l.attempts {
						if len(f.job(&life{id: l.id, attempts: []attempt{a}, killed: never})) == 0 {
							continue // the format has no record of such an attempt
						}
						want := outcome{Attempt: k, Submit: second(a.submit), Fate: lives.Waiting}
						switch {
						case a.start == never && a.end != never:
							want.Fate, want.End = lives.Cancelled, second(a.end)
						case a.start == never:
						case a.end == never:
							want.Fate, want.Start = lives.Running, second(a.start)
						case k < len(l.attempts)-1:
							want.Fate, want.Start, want.End = lives.Lost, second(a.start), second(a.end)
						default:
							want.Fate, want.Start, want.End = lives.Ended, second(a.start), second(a.end)
						}
						o := got[fmt.Sprintf("%d.%d", l.id, k)]
						o.ID, o.Tasks = "", 0
						if o != want {
							t.Fatalf("attempt %d of job %d is\n%+v, want\n%+v\n%s", k, l.id, o, want, text)
						}
					}
				}
			})
		})
	}
}

// checkArray compares the tasks that ran, and whether any task remains after the whole array was killed.
func (l *life) checkArray(t *rapid.T, got map[string]outcome, text string) {
	for k, a := range l.attempts {
		if a.start == never {
			continue
		}
		found := false
		for _, o := range got {
			own := o.ID == fmt.Sprintf("%d_%d", l.id, k+1) || o.ID == fmt.Sprintf("%d[%d].srv", l.id, k+1)
			if own && o.Fate == lives.Ended && o.Start.Equal(second(a.start)) && o.End.Equal(second(a.end)) {
				found = true
			}
		}
		if !found {
			t.Fatalf("task %d of array %d is not right: %+v\n%s", k+1, l.id, got, text)
		}
	}
	for _, o := range got {
		own := o.ID == fmt.Sprint(l.id) || o.ID == fmt.Sprintf("%d[].srv", l.id)
		if waits := o.Fate == lives.Waiting; own && waits != (l.killed == never) {
			t.Fatalf("array %d waits: %v\n%s", l.id, waits, text)
		}
	}
}
