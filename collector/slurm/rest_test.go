package slurm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// fakeRest is a fake slurmrestd on a socket.
type fakeRest struct {
	socket  string
	version string // the version of the fake's interface
	body    string
	status  int      // 0 means 200
	asked   []string // paths and queries
	hang    bool
}

// ServeHTTP implements http.Handler.
func (s *fakeRest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.RequestURI())
	switch {
	case s.hang:
		<-r.Context().Done()
	case r.URL.Path != "/slurm/"+s.version+"/jobs":
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		if s.status != 0 {
			w.WriteHeader(s.status)
		}
		_, _ = w.Write([]byte(s.body)) // a test that gives up does not read to the end
	}
}

// newFakeRest starts a fakeRest. A test may change its fields between calls.
func newFakeRest(tb testing.TB, version, body string) *fakeRest {
	tb.Helper()
	dir, err := os.MkdirTemp("", "rest") // a short path, because the name of a socket has at most 107 bytes
	if err != nil {
		tb.Fatal(err)
	}
	s := &fakeRest{socket: filepath.Join(dir, "s"), version: version, body: body}
	listener, err := net.Listen("unix", s.socket)
	if err != nil {
		tb.Fatal(err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // returns after Close
	}()
	tb.Cleanup(func() {
		_ = server.Close()
		<-done
		_ = os.RemoveAll(dir)
	})
	return s
}

// newRest returns a Rest that requests jobs at a socket.
func newRest(socket string, snapshot *slurm.Snapshot) *slurm.Rest {
	return slurm.NewRest(slurm.RestConfig{Socket: socket, Timeout: time.Minute}, snapshot)
}

// alone returns a snapshot without a log, which compares with an empty picture.
func alone() *slurm.Snapshot {
	return slurm.NewSnapshot(slurm.SnapshotConfig{
		Options: collector.Options{Cluster: "alpha", Location: time.UTC}, Alone: true,
		Picture: func() map[string]slurm.Live { return nil },
	})
}

// TestRestOfARealSlurm checks the jobs of the sample against its README and squeue's output. The expected values were
// read from the file with jq. Times are Unix seconds.
func TestRestOfARealSlurm(t *testing.T) {
	text, err := os.ReadFile(refdata.Shared(t, "slurm/samples/rest/slurm-v0.0.38-jobs.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := newFakeRest(t, "v0.0.38", string(text))
	a := newRest(s.socket, alone()).Ask(t.Context(), time.Unix(1795163500, 0))
	if a.Err != nil || a.Lines != 6 || len(a.Bad) > 0 {
		t.Fatalf("%+v", a)
	}
	var got []job.Event
	for _, ev := range a.Events {
		ev.Time = time.Time{}
		got = append(got, ev)
	}
	unix := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	running := job.Event{
		Kind: job.Start, Cluster: "alpha", ID: "86",
		Attributes: job.Attributes{Queue: "short", User: "alice", Account: "physics", QOS: "normal", Procs: 16,
			Nodes: 4, TimeLimit: 3 * time.Minute},
		Times: job.Times{Submit: unix(1795163239), Eligible: unix(1795163239), Start: unix(1795163445)},
	}
	if d := cmp.Diff(running, got[len(got)-1]); d != "" {
		t.Errorf("the last job: -want +got:\n%s", d)
	}
	var ids []string
	for _, ev := range got {
		ids = append(ids, ev.ID+"-"+ev.Kind.String())
	}
	if got, want := strings.Join(ids, " "), "2-end 4-end 32-submit 34-submit 64-start 86-start"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// doc returns an answer with jobs.
func doc(jobs ...string) string {
	return `{"meta": {"Slurm": {"release": "x"}}, "jobs": [` + strings.Join(jobs, ",") +
		`], "warnings": [], "errors": []}`
}

// TestRestIsReadAsSqueue proves that a job of version 0.0.38 and of later versions is read like the line of squeue for
// the same job.
func TestRestIsReadAsSqueue(t *testing.T) {
	const attributes = `"account":"","qos":"normal","user_name":"alice","partition":"short","tres_req_str":"cpu=2,` +
		`node=1,billing=2"`
	old := func(rest string) string {
		return fmt.Sprintf(
			`{%s,"cpus":2,"node_count":1,"tasks":1,"time_limit":2,"priority":1000,"submit_time":%d,`+
				`"eligible_time":%d,"shared":null,%s}`,
			attributes, unix+10, unix+10, rest)
	}
	number := func(n int64) string { return fmt.Sprintf(`{"set":true,"infinite":false,"number":%d}`, n) }
	none := `{"set":false,"infinite":false,"number":0}`
	later := func(rest string) string {
		return fmt.Sprintf(
			`{%s,"cpus":%s,"node_count":%s,"tasks":%s,"time_limit":%s,"priority":%s,"submit_time":%s,`+
				`"eligible_time":%s,"shared":[],%s}`,
			attributes, number(2), number(1), number(1), number(2), number(1000), number(unix+10),
			number(unix+10), rest)
	}
	times := func(start, end int64) string { return fmt.Sprintf(`"start_time":%d,"end_time":%d`, start, end) }
	newTimes := func(start, end int64) string {
		return fmt.Sprintf(`"start_time":%s,"end_time":%s`, number(start), number(end))
	}
	for _, c := range []struct {
		name       string
		shows      shown
		old, newer string
	}{
		{"waiting", shown{id: "5", submit: 10, start: 90},
			`"job_id":5,"array_job_id":0,"array_task_id":null,"job_state":"PENDING","state_reason":"Priority",` +
				times(unix+90, 0),
			`"job_id":5,"array_job_id":` + number(0) + `,"array_task_id":` + none +
				`,"job_state":["PENDING"],"state_reason":"Priority",` + newTimes(unix+90, 0)},
		{"running", shown{id: "5", state: "RUNNING", submit: 10, start: 20, reason: "None"},
			`"job_id":5,"job_state":"RUNNING","state_reason":"None",` + times(unix+20, unix+140),
			`"job_id":5,"job_state":["RUNNING"],"state_reason":"None",` + newTimes(unix+20, unix+140)},
		{"configuring", shown{id: "5", state: "CONFIGURING", submit: 10, start: 20, reason: "None"},
			`"job_id":5,"job_state":"CONFIGURING","state_reason":"None",` + times(unix+20, unix+140),
			`"job_id":5,"job_state":["RUNNING","CONFIGURING"],"state_reason":"None",` + newTimes(unix+20, unix+140)},
		{"completing", shown{id: "5", state: "COMPLETING", submit: 10, start: 20, end: 30, reason: "None"},
			`"job_id":5,"job_state":"COMPLETING","state_reason":"None",` + times(unix+20, unix+30),
			`"job_id":5,"job_state":["COMPLETED","COMPLETING"],"state_reason":"None",` + newTimes(unix+20, unix+30)},
		{"waiting tasks", shown{id: "9_[3-6,8%2]", raw: "9", submit: 10},
			`"job_id":9,"array_job_id":9,"array_task_id":null,"array_task_string":"3-6,8%2","job_state":"PENDING",` +
				`"state_reason":"Priority",` + times(0, 0),
			`"job_id":9,"array_job_id":` + number(9) + `,"array_task_id":` + none +
				`,"array_task_string":"3-6,8%2","job_state":["PENDING"],"state_reason":"Priority",` + newTimes(0, 0)},
		{"a task", shown{id: "9_0", raw: "26", state: "RUNNING", submit: 10, start: 20, reason: "None"},
			`"job_id":26,"array_job_id":9,"array_task_id":0,"array_task_string":"","job_state":"RUNNING",` +
				`"state_reason":"None",` + times(unix+20, 0),
			`"job_id":26,"array_job_id":` + number(9) + `,"array_task_id":` + number(0) +
				`,"job_state":["RUNNING"],"state_reason":"None",` + newTimes(unix+20, 0)},
		{"a component", shown{id: "21+1", raw: "22", submit: 10},
			`"job_id":22,"het_job_id":21,"het_job_offset":1,"job_state":"PENDING","state_reason":"Priority",` +
				times(0, 0),
			`"job_id":22,"het_job_id":` + number(21) + `,"het_job_offset":` + number(1) +
				`,"job_state":["PENDING"],"state_reason":"Priority",` + newTimes(0, 0)},
		{"whole nodes, held", shown{id: "5", submit: 10, shared: "NO", reason: "JobHeldUser"},
			`"job_id":5,"shared":"none","job_state":"PENDING","state_reason":"JobHeldUser",` + times(0, 0),
			`"job_id":5,"shared":["none"],"exclusive":["true"],"job_state":["PENDING"],"state_reason":"JobHeldUser",` +
				newTimes(0, 0)},
		{"without limit, with GPUs", shown{id: "5", submit: 10, limit: "UNLIMITED", tres: "cpu=2,mem=4G,gres/gpu=2"},
			`"job_id":5,"time_limit":null,"tres_req_str":"cpu=2,mem=4G,gres/gpu=2","job_state":"PENDING",` +
				`"state_reason":"Priority",` + times(0, 0),
			`"job_id":5,"time_limit":{"set":true,"infinite":true,"number":0},"tres_req_str":"cpu=2,mem=4G,` +
				`gres/gpu=2","job_state":["PENDING"],"state_reason":"Priority",` + newTimes(0, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := alone().Read([]byte(c.shows.line()), at(60)).Events
			for version, text := range map[string]string{"v0.0.38": old(c.old), "v0.0.41": later(c.newer)} {
				s := newFakeRest(t, version, doc(text))
				a := newRest(s.socket, alone()).Ask(t.Context(), at(60))
				if a.Err != nil || len(a.Bad) > 0 {
					t.Fatalf("%s: %+v", version, a)
				}
				if d := cmp.Diff(want, a.Events, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%s: -squeue +slurmrestd:\n%s", version, d)
				}
			}
		})
	}
}

// TestRestVersionsAndNews proves that the first call finds the version of the interface, and that the version is
// searched again when the server no longer has it. After status 304 the unchanged jobs still count.
func TestRestVersionsAndNews(t *testing.T) {
	waits := fmt.Sprintf(
		`{"job_id":5,"job_state":"PENDING","cpus":2,"node_count":1,"time_limit":2,"priority":1,"submit_time":%d,`+
			`"user_name":"alice","partition":"short"}`, unix+10)
	s := newFakeRest(t, "v0.0.40",
		strings.Replace(doc(waits), `"errors"`,
			fmt.Sprintf(`"last_update": {"set": true, "infinite": false, "number": %d}, "errors"`, unix+12), 1))
	stage := newStage(t, true, "")
	r := newRest(s.socket, stage.Snapshot)
	if got := stage.fold(r.Ask(t.Context(), at(15)).Events...); got != "15:5-submit" {
		t.Errorf("first: %q", got)
	}
	if n := len(s.asked); s.asked[n-1] != "/slurm/v0.0.40/jobs" || n < 2 {
		t.Errorf("asked %q", s.asked)
	}
	s.asked, s.status, s.body = nil, http.StatusNotModified, ""
	for _, second := range []int64{30, 45, 60} { // a job that counted as missing would be canceled
		a := r.Ask(t.Context(), at(second))
		if got := stage.fold(a.Events...); got != "" || a.Err != nil || a.Lines != 1 {
			t.Errorf("no news at %d: %q %+v", second, got, a)
		}
	}
	if want := fmt.Sprintf("/slurm/v0.0.40/jobs?update_time=%d", unix+12); len(s.asked) != 3 || s.asked[2] != want {
		t.Errorf("asked %q, want %q each time", s.asked, want)
	}
	s.version, s.status, s.body, s.asked = "v0.0.38", 0, doc(), nil
	for _, second := range []int64{75, 90} {
		if a := r.Ask(t.Context(), at(second)); a.Err != nil {
			t.Fatal(a.Err)
		} else if got := stage.fold(a.Events...); (got == "75:5-cancel") != (second == 90) {
			t.Errorf("another slurmrestd without jobs, at %d: %q", second, got)
		}
	}
	if got, want := s.asked[len(s.asked)-1],
		fmt.Sprintf("/slurm/v0.0.38/jobs?update_time=%d", unix+75-30); got != want {
		t.Errorf("asked %q, want %q: this version does not tell slurmctld's time", got, want)
	}
}

// TestRestFailures proves that a failure has a reason and a helpful message, and makes no events.
func TestRestFailures(t *testing.T) {
	good := fmt.Sprintf(`{"job_id":5,"job_state":"PENDING","cpus":2,"node_count":1,"priority":1,"submit_time":%d}`,
		unix+10)
	for _, c := range []struct {
		name, reason, says string
		change             func(*fakeRest)
	}{
		{"no answer in time", source.FailedTimeout, "did not answer in 200ms", func(s *fakeRest) { s.hang = true }},
		{"none of the versions", source.FailedExit, "none of the versions",
			func(s *fakeRest) { s.version = "v0.0.30" }},
		{"refused", source.FailedExit, "401 Unauthorized: who are you",
			func(s *fakeRest) { s.status, s.body = http.StatusUnauthorized, "who are you" }},
		{"not JSON", source.FailedOutput, "cannot be read", func(s *fakeRest) { s.body = "<html>" }},
		{"cut off", source.FailedOutput, "cannot be read", func(s *fakeRest) { s.body = doc(good)[:60] }},
		{"without jobs", source.FailedOutput, "it has no jobs", func(s *fakeRest) { s.body = `{"errors": []}` }},
		{"an error inside", source.FailedOutput, "Unable to contact", func(s *fakeRest) {
			s.body = `{"jobs": [], "errors": [{"error": "x", "description": "Unable to contact slurm controller"}]}`
		}},
		{"unknown states", "", "2 of the 2 lines", func(s *fakeRest) {
			s.body = doc(`{"job_id":5,"job_state":"PONDERING"}`, `{"job_id":"five"}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFakeRest(t, "v0.0.38", doc(good))
			c.change(s)
			timeout := time.Minute
			if s.hang {
				timeout = 200 * time.Millisecond
			}
			a := slurm.NewRest(slurm.RestConfig{Socket: s.socket, Timeout: timeout}, alone()).Ask(t.Context(), at(30))
			if a.Err == nil || !strings.Contains(a.Err.Error(), c.says) || len(a.Events) > 0 {
				t.Fatalf("%+v, want an error with %q", a, c.says)
			}
			var call *source.CallError
			if errors.As(a.Err, &call) != (c.reason != "") || call != nil && call.Reason != c.reason {
				t.Errorf("%v is of another reason than %q", a.Err, c.reason)
			}
		})
	}
	var call *source.CallError
	a := newRest(filepath.Join(t.TempDir(), "s"), alone()).Ask(t.Context(), at(30))
	if !errors.As(a.Err, &call) || call.Reason != source.FailedStart ||
		!strings.Contains(a.Err.Error(), "set the source's socket") {
		t.Errorf("no socket: %v", a.Err)
	}
}

// TestRestBadJob proves that an unreadable job is reported once, not at each call with an unchanged answer. As long as
// it exists, no job counts as gone.
func TestRestBadJob(t *testing.T) {
	good := fmt.Sprintf(`{"job_id":5,"job_state":"PENDING","cpus":2,"node_count":1,"priority":1,"submit_time":%d}`,
		unix+10)
	s := newFakeRest(t, "v0.0.38", doc(good, `{"job_id":6,"job_state":"PENDING","submit_time":-4}`))
	stage := newStage(t, false, "")
	stage.fold(told1(job.Submit, "6", 10))
	r := newRest(s.socket, stage.Snapshot)
	a := r.Ask(t.Context(), at(30))
	if a.Err != nil || len(a.Bad) != 1 || a.Bad[0].Number != 2 ||
		!strings.Contains(string(a.Bad[0].Text), `"job_id":6`) {
		t.Fatalf("%+v", a)
	}
	stage.fold(a.Events...)
	s.status = http.StatusNotModified
	for _, second := range []int64{45, 60} {
		a := r.Ask(t.Context(), at(second))
		stage.fold(a.Events...)
		if len(a.Bad) > 0 {
			t.Errorf("told again: %+v", a.Bad)
		}
	}
	if len(stage.state.Queued()) != 2 {
		t.Errorf("%d jobs wait, want 2", len(stage.state.Queued()))
	}
}

// FuzzRest proves that for any answer of slurmrestd nothing panics, and that the result is an error or events.
func FuzzRest(f *testing.F) {
	f.Add(
		`{"job_id":5,"job_state":["RUNNING","CONFIGURING"],"cpus":{"set":true,"number":2},"submit_time":1795161610,` +
			`"start_time":1795161620}`)
	f.Add(
		`{"job_id":9,"array_job_id":9,"array_task_id":null,"array_task_string":"3-6%2","job_state":"PENDING",` +
			`"priority":1,"submit_time":1795161610}],"errors":[{}`)
	s := newFakeRest(f, "v0.0.45", "")
	f.Fuzz(func(t *testing.T, text string) {
		s.body = doc(text)
		s.asked = nil
		a := newRest(s.socket, alone()).Ask(t.Context(), at(30))
		if a.Err != nil && len(a.Events) > 0 {
			t.Fatalf("%+v", a)
		}
		if a.Err == nil && !json.Valid([]byte(s.body)) && len(a.Events) > 0 {
			t.Fatalf("events from %q", s.body)
		}
	})
}
