package pbs_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/job"
)

// TestFactsOfAServer checks the facts from the settings in a fixture against pbs_queue_attributes(7B) and
// pbs_server_attributes(7B) of OpenPBS, because no PBS was available. Settings of one owner come before those of any
// owner.
func TestFactsOfAServer(t *testing.T) {
	text, err := os.ReadFile("testdata/facts/print-server.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := pbs.ReadFacts(text)
	if r.Err != nil || len(r.Bad) > 0 {
		t.Fatalf("%+v", r)
	}
	workq := func(s job.Scope) *job.Scope {
		s.Where, s.Queues = "queue workq", []string{"workq"}
		return &s
	}
	old := func(s job.Scope) *job.Scope {
		s.Where, s.Queues = "queue old", []string{"old"}
		return &s
	}
	const mem = "queue workq max_run_res.mem p"
	const cpus, run = "queue workq max_run_res.ncpus ", "queue workq max_run u"
	want := &job.Facts{
		Enforced: job.Enforced{Limits: true},
		Queues: []job.QueueFacts{{Name: "old", Down: true},
			{Name: "workq", MaxTime: 24 * time.Hour, DefaultTime: time.Hour}},
		Limits: []job.Limit{
			{Jobs: 40, Scope: old(job.Scope{})},
			{GPUs: job.NoneAllowed, Scope: old(job.Scope{Set: "queue old max_group_res.ngpus g", EachGroup: true})},
			{Jobs: 3, Scope: old(job.Scope{Set: "queue old max_user_run u", EachUser: true})},
			{Jobs: 100, Scope: workq(job.Scope{})},
			{Submitted: 1024, Scope: workq(job.Scope{Set: "queue workq max_queued u", EachUser: true})},
			{Jobs: 10, Scope: workq(job.Scope{Set: run, Users: []string{"ann"}})},
			{Jobs: 5, Scope: workq(job.Scope{Set: run, EachUser: true})},
			{Memory: 32 << 30, Scope: workq(job.Scope{Set: mem, EachAccount: true})},
			{Procs: 13, Scope: workq(job.Scope{Set: cpus + "g", Groups: []string{"research staff"}})},
			{Procs: 50, Scope: workq(job.Scope{Set: cpus + "g", EachGroup: true})},
			{Procs: 64, Scope: workq(job.Scope{Set: cpus + "u", Users: []string{"ann"}})},
			{Procs: 8, Scope: workq(job.Scope{Set: cpus + "u", EachUser: true})},
			{Procs: 1024, Scope: &job.Scope{Where: "server"}},
		},
	}
	if diff := cmp.Diff(want, r.Facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	var notes []string
	for _, n := range r.Notes {
		notes = append(notes, n.Error())
	}
	if diff := cmp.Diff([]string{"queue workq: a limit on licenses is not simulated",
		"server: max_run_soft is not simulated"}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestFactsThatAreNone proves that an unreadable line is refused without an effect on other lines, and that output of
// another program is an error.
func TestFactsThatAreNone(t *testing.T) {
	for _, line := range []string{
		"set queue workq max_run = [u:PBS_GENERIC=many]", "set queue workq max_run = [x:ann=5]",
		"set queue workq max_run = [u:ann]", "set queue workq max_run = u:ann=5", "set server max_run = [u:ann=-1]",
		"set queue workq resources_max.walltime = soon", "set server max_run_res.mem = [u:ann=much]",
		"set server max_run = [u:ann=99999999999]",
	} {
		r := pbs.ReadFacts([]byte("create queue workq\n" + line + "\nset queue workq max_running = 7\n"))
		if len(r.Bad) != 1 || r.Err != nil || len(r.Facts.Limits) != 1 || r.Facts.Limits[0].Jobs != 7 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	for _, text := range []string{"", "#\n# nothing\n"} {
		if r := pbs.ReadFacts([]byte(text)); r.Err == nil || r.Facts != nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
	r := pbs.ReadFacts([]byte("qmgr obj= svr=default: Unauthorized Request\n"))
	if r.Facts == nil || len(r.Facts.Limits) > 0 {
		t.Errorf("a complaint: %+v", r)
	}
}

// FuzzFacts proves that no output makes the reader panic, and that every limit has a scope.
func FuzzFacts(f *testing.F) {
	text, err := os.ReadFile("testdata/facts/print-server.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := pbs.ReadFacts(text)
		if (r.Facts == nil) == (r.Err == nil) {
			t.Fatalf("%+v", r)
		}
		if r.Facts == nil {
			return
		}
		for i := range r.Facts.Limits {
			if s := r.Facts.Limits[i].Scope; s == nil || s.Where == "" {
				t.Fatalf("limit %+v", r.Facts.Limits[i])
			}
		}
	})
}
