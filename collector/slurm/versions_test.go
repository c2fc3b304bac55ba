package slurm_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// from2605 reads a file that Slurm 26.05.5 wrote.
func from2605(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "26.05", name))
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// kinds2605 parses a log of Slurm 26.05 and returns the ids of the jobs in each kind of event. No line may be bad.
func kinds2605(t *testing.T, name string) map[job.Kind][]string {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 11, 29, 6, 0, 0, 0, time.UTC) }
	parser := slurm.Log(now).New(collector.Options{Cluster: "alpha", Location: time.UTC})
	kinds := map[job.Kind][]string{}
	for line := range bytes.Lines(from2605(t, name)) {
		keep := func(ev job.Event) { kinds[ev.Kind] = append(kinds[ev.Kind], ev.ID) }
		if err := parser.Parse(line, keep); err != nil {
			t.Errorf("%s: %q: %v", name, line, err)
		}
	}
	return kinds
}

// named returns the first group of each match in a file of Slurm 26.05.
func named(t *testing.T, name, expression string) (ids []string) {
	t.Helper()
	for _, match := range regexp.MustCompile(expression).FindAllSubmatch(from2605(t, name), -1) {
		ids = append(ids, string(match[1]))
	}
	if len(ids) == 0 {
		t.Fatalf("%s has nothing like %s", name, expression)
	}
	return ids
}

// TestLogsOf2605 proves that lines of Slurm 26.05 are read: with the thread's name in brackets, with a SLUID, and the
// starts by backfill that DebugFlags=HetJob logs.
func TestLogsOf2605(t *testing.T) {
	for _, name := range []string{"thread_id.log", "verbose-hetjob.log", "slurmctld.log"} {
		kinds := kinds2605(t, name)
		want := named(t, name, `_slurm_rpc_(?:submit_batch(?:_het)?_job: |allocate_resources )JobId=(\d+)`)
		if diff := cmp.Diff(want, kinds[job.Submit]); diff != "" {
			t.Errorf("%s: submissions: %s", name, diff)
		}
	}
	if got := kinds2605(t, "verbose-hetjob.log")[job.Start]; !slices.Equal(got, strings.Fields("73 75 76 77 78_0 78")) {
		t.Errorf("starts by backfill: %v", got)
	}
}

// TestSqueueColumns proves that the columns follow from squeue's version, which is requested again after a failure and
// every ten minutes, and that whole nodes are read from the right column.
func TestSqueueColumns(t *testing.T) {
	var version string
	var failure error
	var calls []string
	run := func(_ context.Context, args []string) ([]byte, error) {
		call := strings.Join(args, " ")
		switch {
		case call == "ssh head squeue --version":
			calls = append(calls, "version")
			return []byte(version + "\n"), nil
		case strings.Contains(call, "OverSubscribe:\x1f") && !strings.Contains(call, "Exclusive"):
			calls = append(calls, "OverSubscribe")
		case strings.Contains(call, "Exclusive:\x1f") && !strings.Contains(call, "OverSubscribe"):
			calls = append(calls, "Exclusive")
		}
		no, node := shown{id: "5", submit: 1, shared: "NO"}, shown{id: "6", submit: 2, shared: "NODE"}
		return []byte(no.line() + node.line()), failure
	}
	asker := slurm.NewSqueueCalls([]string{"ssh", "head", "squeue"}, run, alone())
	for _, c := range []struct {
		version     string
		at          int64
		failure     error
		want, whole string
	}{
		{"a wrapper that knows no options", 0, nil, "version OverSubscribe", "5"},
		{"slurm 24.11.5", 300, nil, "OverSubscribe", "5"},
		{"slurm 24.11.5", 600, nil, "version OverSubscribe", "5"},
		{"slurm 26.05.5", 610, errors.New("down"), "OverSubscribe", ""},
		{"slurm 26.05.5", 620, nil, "version Exclusive", "6"},
		{"slurm 26.05.5", 630, nil, "Exclusive", "6"},
		{"slurm 27.02.0-rc1", 1300, nil, "version Exclusive", "6"},
	} {
		version, failure, calls = c.version, c.failure, nil
		a := asker.Ask(t.Context(), at(c.at))
		var whole []string
		for _, ev := range a.Events {
			if ev.Whole {
				whole = append(whole, ev.ID)
			}
		}
		if got := strings.Join(calls, " "); got != c.want || strings.Join(whole, " ") != c.whole ||
			!errors.Is(a.Err, c.failure) {
			t.Errorf("%s at %d: calls %q, whole nodes %v, %v; want %q, %q, %v", c.version, c.at, got, whole, a.Err,
				c.want, c.whole, c.failure)
		}
	}
}

// TestSqueueOf2605 proves that a listing of a real Slurm 26.05.5 is read. Job 2 was submitted with --exclusive, job 3
// with --exclusive=user, job 4 with --oversubscribe, and job 5 to a partition with Exclusive=NODE.
func TestSqueueOf2605(t *testing.T) {
	run := func(_ context.Context, args []string) ([]byte, error) {
		if args[len(args)-1] == "--version" {
			return []byte("slurm 26.05.5\n"), nil
		}
		return from2605(t, "squeue.txt"), nil
	}
	a := slurm.NewSqueueCalls([]string{"squeue"}, run, alone()).Ask(t.Context(), time.Unix(1795938300, 0))
	var whole []string
	for _, ev := range a.Events {
		if ev.Whole {
			whole = append(whole, ev.ID)
		}
	}
	slices.Sort(whole)
	if a.Err != nil || a.Lines != 5 || len(a.Bad) > 0 || !slices.Equal(whole, []string{"2", "5"}) {
		t.Errorf("whole nodes %v of %+v", whole, a)
	}
}

// TestPartitionsOf2605 proves that exclusiveness of partitions is read from Slurm 26.05's new field, from scontrol and
// from slurmrestd, and that both give the same queues. On the captured machine all partitions are shared. Two are made
// exclusive by the words that Slurm 26.05 has for it.
func TestPartitionsOf2605(t *testing.T) {
	scontrol := strings.Replace(string(from2605(t, "partition.txt")), "Exclusive=NO", "Exclusive=NODE", 1)
	scontrol = strings.Replace(scontrol, "Exclusive=NO ", "Exclusive=USER ", 1)
	rest := strings.Replace(string(from2605(t, "partitions-v0.0.45.json")), `"exclusive":"NO"`, `"exclusive":"NODE"`, 1)
	rest = strings.Replace(rest, `"exclusive":"NO"`, `"exclusive":"USER"`, 1)
	commands := (&pretend{texts: map[string]string{"partition": scontrol}}).facts(t).Ask(t.Context(), at(0))
	answers := newRestFacts(t, "v0.0.45", map[string]string{"partitions": rest}).facts(nil).Ask(t.Context(), at(0))
	want := []job.QueueFacts{
		{Name: "long", Tier: 1, Factor: 10, MaxTime: 24 * time.Hour, DefaultTime: time.Hour},
		{Name: "medium", Tier: 1, Factor: 50, MaxTime: time.Hour, DefaultTime: 10 * time.Minute, ExclusiveUser: true},
		{Name: "short", Tier: 1, Factor: 100, MaxTime: 10 * time.Minute, DefaultTime: 2 * time.Minute, Whole: true},
	}
	for name, a := range map[string]source.Answer{"scontrol": commands, "slurmrestd": answers} {
		queues := factsOf(t, a).Queues
		for i := range queues {
			queues[i].PreemptMode = "" // slurmrestd has none
		}
		if diff := cmp.Diff(want, queues); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestExpediting proves that a job in the state EXPEDITING waits, and does not compete, from slurmrestd's answer and
// from squeue's line.
func TestExpediting(t *testing.T) {
	s := newFakeRest(t, "v0.0.45", string(from2605(t, "expediting-v0.0.45.json")))
	line := shown{id: "123", submit: 1, state: "EXPEDITING", reason: "ReqNodeNotAvail, UnavailableNodes:n06"}.line()
	for name, a := range map[string]source.Answer{
		"slurmrestd": newRest(s.socket, alone()).Ask(t.Context(), time.Unix(1795930500, 0)),
		"squeue":     alone().Read([]byte(line), at(100)),
	} {
		var kinds []job.Kind
		for _, ev := range a.Events {
			if ev.ID == "123" {
				kinds = append(kinds, ev.Kind)
			}
		}
		if a.Err != nil || len(a.Bad) > 0 || !slices.Equal(kinds, []job.Kind{job.Submit, job.Hold}) {
			t.Errorf("%s: %v of %+v", name, kinds, a)
		}
	}
}
