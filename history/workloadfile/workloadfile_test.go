package workloadfile_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/history/workloadfile"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/swf"
)

// TestRoundTrip proves that a log that was converted and is read back has the same jobs: instants, sizes, limits and
// fates, and the same users and queues apart from their names.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := &lives.Lives{}
		submit := time.Unix(1_700_000_000, 0)
		for range rapid.IntRange(1, 30).Draw(rt, "jobs") {
			submit = submit.Add(time.Duration(rapid.IntRange(0, 100).Draw(rt, "gap")) * time.Second)
			all.Jobs = append(all.Jobs, life(rt, submit))
		}
		want, err := backtest.FromLives("x", all)
		if err != nil {
			rt.Fatal(err)
		}
		var text bytes.Buffer
		if err := workloadfile.Write(&text, all, workloadfile.Options{Program: "test"}); err != nil {
			rt.Fatal(err)
		}
		got, err := backtest.Read(swf.NewReader(&text, swf.OnBadLine(func(e *swf.LineError) { rt.Error(e) })), "x")
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
			rt.Fatalf("(-log +file):\n%s", diff)
		}
	})
}

// life draws a life of whole seconds.
func life(rt *rapid.T, submit time.Time) lives.Life {
	after := func(t time.Time, name string) time.Time {
		return t.Add(time.Duration(rapid.IntRange(0, 1000).Draw(rt, name)) * time.Second)
	}
	l := lives.Life{Submit: submit, Fate: lives.Fate(rapid.IntRange(0, 4).Draw(rt, "fate")), Asked: job.Attributes{
		Queue:     rapid.SampledFrom([]string{"a", "b", "c d"}).Draw(rt, "queue"),
		User:      rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(rt, "user"),
		Procs:     rapid.IntRange(1, 64).Draw(rt, "asked"),
		TimeLimit: time.Duration(rapid.IntRange(0, 9).Draw(rt, "limit")) * time.Hour,
	}}
	l.Given = l.Asked
	l.Given.Procs += rapid.IntRange(0, 3).Draw(rt, "more")
	switch l.Fate {
	case lives.Waiting:
	case lives.Cancelled:
		l.End = after(submit, "wait")
	default:
		l.Start = after(submit, "wait")
		if l.Fate == lives.Running { // without a submission the job would look like a waiting one
			break
		}
		if rapid.Bool().Draw(rt, "guessed") {
			l.Start, l.Guessed = submit, true
		}
		l.End = after(l.Start, "runtime")
	}
	return l
}

// plain removes from a trace what a workload file does not have: ids, and the difference between an end and a requeue.
// A job that ran when the log ended has an end in the trace that is read, a day after its limit.
func plain(t *backtest.Trace) []backtest.Job {
	users, queues := map[string]string{}, map[string]string{}
	number := func(names map[string]string, name string) string {
		if _, ok := names[name]; !ok && name != "" {
			names[name] = strings.Repeat("i", len(names)+1)
		}
		return names[name]
	}
	var out []backtest.Job
	for _, j := range t.Jobs {
		j.Name, j.App, j.Key = "", "", 0
		j.User, j.Queue = number(users, j.User), number(queues, j.Queue)
		origin := t.Jobs[0].Submit
		j.Submit -= origin
		if j.Starts {
			j.Start -= origin
		}
		if j.Ends || j.Cancelled {
			j.End -= origin
		}
		if j.Lost && j.Limit > 0 && j.End == j.Start+j.Limit+86400 || !j.Ends && j.Starts {
			j.Ends, j.End = false, 0
		}
		j.Lost = false
		if !j.Starts {
			j.NeverRan = false // only cancelled jobs have this
		}
		out = append(out, j)
	}
	return out
}

// TestHeader proves that the header can be read and says what the file is. It has no name of a user, an account or a
// job, and names of queues only on request.
func TestHeader(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	all := &lives.Lives{Procs: 12, Jobs: []lives.Life{{Submit: at, Start: at.Add(time.Minute), End: at.Add(time.Hour),
		Fate: lives.Ended, Asked: job.Attributes{Queue: "secretqueue", User: "secretuser", Account: "secretaccount",
			Name: "secretname", Procs: 4, Memory: 8 << 20}, Given: job.Attributes{Procs: 6}}}}
	zone := time.FixedZone("Europe/Berlin", 3600)
	for names, most := range map[bool]int{false: 0, true: 1} {
		var text bytes.Buffer
		o := workloadfile.Options{Program: "waitcast 1.0", Location: zone, QueueNames: names}
		if err := workloadfile.Write(&text, all, o); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text.String(), "secret"); n != most {
			t.Errorf("%d names in\n%s", n, text.String())
		}
		r := swf.NewReader(&text)
		var rec swf.Record
		if err := r.Next(&rec); err != nil {
			t.Fatal(err)
		}
		// 1,700,000,000 is 512,000 s after a Thursday's midnight, at which the weeks since 1970 begin.
		want := swf.Record{ID: 1, Submit: 512_000, Wait: 60, Runtime: 3540, Allocated: 6, CPUTime: -1, Memory: -1,
			RequestedProcs: 4,
			TimeLimit:      -1, RequestedMem: 2048, Status: -1, User: 1, Group: 1, Executable: 1, Queue: 1,
			Partition: -1,
			Preceding: -1, ThinkTime: -1}
		if diff := cmp.Diff(want, rec); diff != "" {
			t.Errorf("the record (-want +got):\n%s", diff)
		}
		h := r.Header()
		head := strings.Join(h.Lines, "\n")
		if h.UnixStartTime != at.Unix()-512_000 || h.MaxProcs != 12 || h.TimeZoneString != "Europe/Berlin" ||
			!strings.Contains(head, "; Version: 2.2\n") || !strings.Contains(head, "; MaxJobs: 1\n") {
			t.Errorf("header %+v", h)
		}
	}
}
