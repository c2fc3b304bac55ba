package sge_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/job"
)

// fold folds lines, each with its own format. It returns, by id, the last life of every job that left, and the number
// of lives of each job.
func fold(t *testing.T, lines []string, format func(i int) collector.Format) (map[string]life, map[string]int) {
	t.Helper()
	state, lives, count := cluster.New("c", 64), make(map[string]life), make(map[string]int)
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
		count[c.Before.ID]++
	}}
	parsers := map[string]collector.Parser{}
	for i, line := range lines {
		f := format(i)
		if parsers[f.Name] == nil {
			parsers[f.Name] = f.New(collector.Options{Cluster: "c", MaxProcs: 64})
		}
		if err := parsers[f.Name].Parse([]byte(line), func(ev job.Event) { state.Apply(ev, hooks) }); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if n := len(state.Running()) + len(state.Queued()); n > 0 {
		t.Errorf("%d jobs are left over", n)
	}
	return lives, count
}

func linesOf(t *testing.T, file string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		lines = append(lines, string(line))
	}
	return lines
}

// qacct has the output of qacct about the last attempt of every job in testdata/real, in seconds after qacctEpoch, and
// the first submission of the job.
var qacct = map[string]struct {
	first, submit, start, end int64
	procs                     int
	limit                     time.Duration
}{
	"1":    {22, 22, 22, 25, 1, 0},               // -soft -l h_rt=2, which was left to run for 3 s
	"2":    {22, 22, 22, 25, 2, time.Minute},     // qrsh -inherit: the task has its own record
	"3":    {22, 24, 26, 27, 1, time.Minute},     // exit 99
	"5":    {23, 23, 35, 36, 1, time.Minute},     // exit 100, then qmod -cj
	"6":    {23, 23, 23, 28, 1, time.Minute},     // qdel -f
	"7":    {23, 23, 23, 34, 1, time.Minute},     // qmod -sj, qmod -usj
	"8":    {23, 23, 23, 27, 1, 2 * time.Minute}, // qalter -l h_rt=120 -N altered, while it ran
	"10.1": {24, 24, 28, 29, 1, 0},               // 10 was held, task 2 deleted, the other tasks released
	"10.3": {24, 24, 28, 29, 1, 0},               //
	"12":   {25, 25, 25, 26, 1, time.Minute},     // -N 'a=b,c|d"e;f'
	// qmod -rj 13.1 while task 3 ran: the whole array gets a new submission time
	"13.1": {25, 30, 35, 36, 1, 0},
	"13.2": {25, 25, 25, 28, 1, 0}, //
	"13.3": {25, 25, 29, 30, 1, 0}, //
	"14.1": {25, 32, 35, 36, 1, 0}, //
	"14.2": {25, 25, 25, 29, 1, 0}, //
	"14.3": {25, 25, 29, 30, 1, 0}, //
	"15.1": {25, 32, 35, 36, 1, 0}, //
	"15.2": {25, 25, 25, 29, 1, 0}, //
	"15.3": {25, 25, 30, 31, 1, 0}, // ended before the new submission time, which its last records have
}

const qacctEpoch = 1795185200

// TestAwkwardReporting proves on records of a real Grid Engine that every awkward job finally has one life, with the
// times, the size and the limit of qacct. In particular, if one task of an array is rescheduled, the other tasks do not
// wait again.
func TestAwkwardReporting(t *testing.T) {
	want := map[string]life{}
	for id, q := range qacct {
		want[id] = life{Submit: qacctEpoch + q.first, Start: qacctEpoch + q.start, End: qacctEpoch + q.end,
			Queue: "short.q", Procs: q.procs, Limit: q.limit}
	}
	// These are jobs that never ran, and arrays, which never run themselves. A record named the queue of job 4 (no such
	// shell).
	want["4"] = life{Submit: qacctEpoch + 22, Queue: "short.q"}
	for id, submit := range map[string]int64{
		"9": 23, "9.1": 23, "9.2": 23, "10": 24, "10.2": 24, "11": 24, "13": 25, "14": 25, "15": 25,
	} {
		want[id] = life{Submit: qacctEpoch + submit, Queue: cluster.DefaultQueue}
	}
	got, count := fold(t, linesOf(t, "testdata/real/reporting"), func(int) collector.Format { return sge.Reporting() })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-qacct +folded):\n%s", diff)
	}
	for id, n := range count {
		if n != 1 {
			t.Errorf("job %s has %d lives", id, n)
		}
	}
}

// TestAwkwardAccounting proves the same as TestAwkwardReporting for the accounting file, which has only the last
// attempts.
func TestAwkwardAccounting(t *testing.T) {
	want := map[string]life{}
	for id, q := range qacct {
		want[id] = life{Submit: qacctEpoch + q.submit, Start: qacctEpoch + q.start, End: qacctEpoch + q.end,
			Queue: "short.q", Procs: q.procs, Limit: q.limit}
	}
	got, _ := fold(t, linesOf(t, "testdata/real/accounting"), func(int) collector.Format { return sge.Accounting() })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-qacct +folded):\n%s", diff)
	}
}

// TestSecondTryElsewhere proves that a rescheduled job finally has the queue and the size of its last attempt,
// whichever of the two files reports the end first.
func TestSecondTryElsewhere(t *testing.T) {
	first := strings.Replace(line{failed: "25", slots: "2"}.String(), "all.q", "long.q", 1)
	second := line{times: "1720008361:1720008370:1720008400"}.String()
	reported := []string{
		"1720008000:new_job:1720008000:7:-1:NONE:cfd:ann:staff::dep:sge:1024", jobLog(60, "sent", "0", "NONE"),
		"1720008361:acct:" + first, jobLogIn("r", 361, "restart", "0", "NONE"), jobLog(370, "sent", "0", "NONE"),
	}
	end := "1720008401:acct:" + second
	want := map[string]life{"7": {Submit: at(0).Unix(), Start: at(370).Unix(), End: at(400).Unix(),
		Queue: "all.q", Procs: 8}}
	for name, last := range map[string][2]string{"reporting first": {end, second}, "accounting first": {second, end}} {
		lines := append(append([]string{}, reported...), last[:]...)
		got, _ := fold(t, lines, func(i int) collector.Format {
			if lines[i] == second {
				return sge.Accounting()
			}
			return sge.Reporting()
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +folded):\n%s", name, diff)
		}
	}
}
