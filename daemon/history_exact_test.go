package daemon_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/eventtest"
)

// ran is a job that ran, with the data that every format has.
type ran struct {
	id, user           int
	queue              string
	name               string // SWF has none
	procs              int
	limit              time.Duration
	submit, start, end time.Time
}

// ranJobs returns the jobs of a busy simulated machine, by their numbers.
func ranJobs(t testing.TB, n int, seed uint64) []ran {
	t.Helper()
	jobs := make([]ran, n+1)
	for _, ev := range eventtest.Workload(t, n, seed) {
		var id int
		if _, err := fmt.Sscan(ev.ID, &id); err != nil {
			t.Fatal(err)
		}
		j := &jobs[id]
		j.id, j.user, j.queue, j.procs, j.limit = id, 1+id%7, ev.Queue, ev.Procs, ev.TimeLimit
		switch ev.Kind {
		case job.Submit:
			j.submit = ev.Time
		case job.Start:
			j.start = ev.Time
		default:
			j.end = ev.Time
		}
	}
	return jobs[1:]
}

// pbsLines returns the records of jobs within [from, to), in the order in which they are written: at one instant first
// ends, then submissions, then starts.
func pbsLines(jobs []ran, from, to time.Time) []string {
	type line struct {
		at    time.Time
		phase int
		text  string
	}
	var lines []line
	for _, j := range jobs {
		r := pbs.Record{
			ID: fmt.Sprint(j.id), User: fmt.Sprintf("u%d", j.user), Queue: j.queue, Name: j.name, Created: j.submit,
			Queued: j.submit, Eligible: j.submit, Start: j.start, End: j.end, Procs: j.procs, TimeLimit: j.limit,
		}
		lines = append(lines, line{j.submit, 1, string(pbs.AppendQueued(nil, r))},
			line{j.start, 2, string(pbs.AppendStarted(nil, r))}, line{j.end, 0, string(pbs.AppendEnded(nil, r))})
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.phase - b.phase
	})
	var out []string
	for _, l := range lines {
		if !l.at.Before(from) && l.at.Before(to) {
			out = append(out, l.text)
		}
	}
	return out
}

// historyFormats returns, for each scheduler, a function that writes jobs in its accounting format, in the order of
// their ends.
func historyFormats() map[string]func(jobs []ran) string {
	each := func(header string, line func(j ran) string) func([]ran) string {
		return func(jobs []ran) string {
			var b strings.Builder
			b.WriteString(header)
			for _, j := range jobs {
				b.WriteString(line(j))
			}
			return b.String()
		}
	}
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
	return map[string]func([]ran) string{
		"pbs": func(jobs []ran) string {
			return strings.Join(pbsLines(jobs, time.Time{}, time.Now()), "")
		},
		"slurm-sacct": each("JobID|JobName|User|Partition|State|Submit|Eligible|Start|End|Timelimit|ReqCPUS|"+
			"AllocCPUS\n",
			func(j ran) string {
				s := int(j.limit.Seconds())
				return fmt.Sprintf("%d|%s|u%d|%s|COMPLETED|%s|%s|%s|%s|%d-%02d:%02d:%02d|%d|%d\n", j.id, j.name, j.user,
					j.queue, stamp(j.submit), stamp(j.submit), stamp(j.start), stamp(j.end), s/86400, s/3600%24,
					s/60%60, s%60, j.procs, j.procs)
			}),
		"sge-accounting": each("# Version: 8.1.9\n", func(j ran) string {
			return fmt.Sprintf("%s:n1:staff:u%d:%s:%d:sge:0:%d:%d:%d:0:0:300:0.1:0.1:4560.000000:0:0:0:0:552:1:0:"+
				"328.000000:16:0:0:0:15:20:NONE:defaultdepartment:mpi:%d:0:0.2:0.000000:0.000038:-l h_rt=%d -pe mpi "+
				"%d:0.000000:NONE:3723264.000000:0:0\n", j.queue, j.user, j.name, j.id, j.submit.Unix(), j.start.Unix(),
				j.end.Unix(), j.procs, int(j.limit.Seconds()), j.procs)
		}),
		"lsf-acct": each("", func(j ran) string {
			host := fmt.Sprintf(`1 "%d*n1"`, j.procs)
			return fmt.Sprintf(`"JOB_FINISH" "10.1" %d %d 506 33554435 %d %d 0 0 %d "u%d" "%s" "" "" "" "login" `+
				`"/home" "" "" "" "%d.1" 0 %s 64 116.1 "%s" "run" 0.06 0.27 1480 0 -1 0 0 1477 0 0 0 0 -1 0 0 0 13 8 `+
				`-1 "" "default" 0 %d "" "" 0 2048 0 "" "" "" "" 0 "" 0 "" -1 "/x" "" "" "" -1 "" "" 5136 "" 0 "" "" `+
				`0 0 %d 64 2048 "" "" -1 "" -1 0 "" 0 0 "" 300 "" 0 "" 0.000000 0.00 0.00 0.00 0.00 8 "n1" -1 0 0 0`+
				"\n", j.end.Unix(), j.id, j.procs, j.submit.Unix(), j.start.Unix(), j.user, j.queue, j.submit.Unix(),
				host, j.name, j.procs, int(j.limit.Seconds()))
		}),
		"swf": each("; UnixStartTime: 0\n; Queue: 1 a\n; Queue: 2 b\n", func(j ran) string {
			return fmt.Sprintf("%d %d %d %d %d -1 -1 %d %d -1 1 %d -1 -1 %d -1 -1 -1\n", j.id, j.submit.Unix(),
				j.start.Unix()-j.submit.Unix(), j.end.Unix()-j.start.Unix(), j.procs, j.procs, int(j.limit.Seconds()),
				j.user, map[string]int{"a": 1, "b": 2}[j.queue])
		}),
	}
}

// ledgerSince returns the rows of jobs that were submitted at or after an instant. It clears Seq, Replayed and Served,
// because they depend on when the records were read.
func ledgerSince(rows []modelstore.Row, from time.Time) map[string]modelstore.Row {
	out := map[string]modelstore.Row{}
	for _, r := range rows {
		if !r.Submit.Before(from) {
			r.Seq, r.Replayed, r.Served = 0, false, 0
			out[fmt.Sprint(r.JobID, "/", r.Attempt)] = r
		}
	}
	return out
}

// has waits until the daemon has stored the record of a line.
func (r *running) has(line string) {
	r.t.Helper()
	fields := strings.SplitN(line, ";", 4)
	kind := map[string]job.Kind{"Q": job.Submit, "S": job.Start, "E": job.End}[fields[1]]
	r.eventually("the line "+line, func() bool {
		keys, err := daemon.Store(r.Daemon).Known(r.t.Context(), "main", fields[2])
		must(r.t, err)
		return slices.ContainsFunc(keys, func(k modelstore.Key) bool { return k.Kind == kind })
	})
}

// TestHistoryInEveryFormat proves that a daemon that learns a history forecasts later jobs to the last bit like one
// that followed the records of the same jobs from the start. The history is accounting of PBS, Slurm, Grid Engine or
// LSF, or a workload file. It is learnt before the daemon follows its log, after it has followed the log for a while,
// or with stops in between. Without WAITCAST_LONG, formats other than PBS are tested only with stops: the time at which
// a history is learnt affects its events, which do not depend on the format.
func TestHistoryInEveryFormat(t *testing.T) {
	notUnderRace(t) // TestImportSeveral imports into a running daemon
	jobs, before := 300, 60
	if os.Getenv("WAITCAST_LONG") != "" {
		jobs, before = 3200, 1000
	}
	all := ranJobs(t, jobs, 51)
	cut := all[len(all)/2].submit
	var past []ran
	for i := range all {
		all[i].name = "x"
		if all[i].end.Before(cut) {
			past = append(past, all[i])
		}
	}
	slices.SortStableFunc(past, func(a, b ran) int { return a.end.Compare(b.end) })
	wants := map[bool]map[string]modelstore.Row{} // rows of a daemon that followed the logs, by whether jobs lack names
	for format, write := range historyFormats() {
		t.Run(format, func(t *testing.T) {
			past, all := slices.Clone(past), slices.Clone(all)
			nameless := format == "swf"
			if nameless {
				for i := range past {
					past[i].name = ""
				}
				for i := range all {
					all[i].name = ""
				}
			}
			since := all[len(all)/2+before].submit
			first, later := pbsLines(all, cut, since), pbsLines(all, since, time.Now())
			text := write(past)
			run := func(followed []string, imports map[int]bool, stop bool) map[string]modelstore.Row {
				s := newSite(t, "accounting", "")
				s.add(t, strings.Join(followed, ""))
				d := s.start(t)
				d.caughtUp()
				learn := func() {
					d.mustImport(s, format, strings.NewReader(text))
					if stop {
						d.stop()
						d = s.start(t)
					}
				}
				for i, part := range [][]string{first, later} {
					if imports[i] {
						learn()
					}
					s.add(t, strings.Join(part, ""))
					d.has(part[len(part)-1])
				}
				d.stop()
				return ledgerSince(s.kept(t).Rows, since)
			}
			if wants[nameless] == nil {
				wants[nameless] = run(pbsLines(past, time.Time{}, cut), nil, false)
			}
			want := wants[nameless]
			if len(want) < jobs/10 {
				t.Fatalf("only %d later rows: the test proves little", len(want))
			}
			got := map[string]map[string]modelstore.Row{
				"imported after live records and stopped": run(nil, map[int]bool{1: true}, true),
			}
			if format == "pbs" || os.Getenv("WAITCAST_LONG") != "" {
				got["imported before the first live record"] = run(nil, map[int]bool{0: true}, false)
				got["imported after live records"] = run(nil, map[int]bool{1: true}, false)
			}
			for name, got := range got {
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s: later rows of a daemon that followed all (-) and of this one (+): %.2000s", name, d)
				}
			}
		})
	}
}
