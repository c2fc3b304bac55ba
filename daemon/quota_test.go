package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

// mustWait requests a forecast.
func (r *running) mustWait(query string) *wire.Wait {
	r.t.Helper()
	status, body := r.get("/v1/wait?" + query)
	var w wire.Wait
	if err := json.Unmarshal([]byte(body), &w); status != http.StatusOK || err != nil {
		r.t.Fatalf("%s: status %d, %v: %s", query, status, err, body)
	}
	return &w
}

// TestRealGridEngineQuotas proves that the picture follows the resource quotas of a real Grid Engine as they are added,
// changed and removed. If there are none, qconf fails.
func TestRealGridEngineQuotas(t *testing.T) {
	t.Parallel() // the test waits for polls most of the time
	c := newGridEngine(t, 8)
	s := c.site("reporting")
	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.config, string(config)+fmt.Sprintf("      - {format: gridengine-facts, command: [%q], interval: 1s}\n",
		filepath.Join(c.dir, "run")))
	d := s.start(t)
	limits := func(want ...job.Limit) {
		t.Helper()
		d.eventually(fmt.Sprintf("limits %+v", want), func() bool {
			f := d.Views()[0].Facts
			return f != nil && f.Enforced.Limits && reflect.DeepEqual(append([]job.Limit{}, f.Limits...),
				append([]job.Limit{}, want...))
		})
	}
	quota := func(change, rules string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "quota")
		write(t, file, "{\n   name         q\n   description  NONE\n   enabled      TRUE\n"+rules+"}\n")
		c.run("qconf", change, file)
	}
	const q = "resource quota q"
	limits()
	quota("-Arqs", "   limit users {*} to slots=2\n")
	limits(job.Limit{Procs: 2, Scope: &job.Scope{Where: q, Set: q, EachUser: true}})
	quota("-Mrqs", "   limit users root queues short.q to slots=1\n   limit users {*} to slots=3\n")
	limits(job.Limit{Procs: 1, Scope: &job.Scope{Where: q, Set: q, Users: []string{"root"},
		Queues: []string{"short.q"}}},
		job.Limit{Procs: 3, Scope: &job.Scope{Where: q, Set: q, EachUser: true}})
	c.run("qconf", "-drqs", "q")
	limits()
}

// TestPBSFacts proves that limits in qmgr's output (an example from its documentation) block a user's next job, and
// that a failure of qmgr is a problem of the source.
func TestPBSFacts(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "head")
	now := time.Now().Truncate(time.Second)
	var log strings.Builder
	record := func(at time.Time, kind, id, message string) {
		fmt.Fprintf(&log, "%s;%s;%s.server;%s\n", at.UTC().Format("01/02/2006 15:04:05"), kind, id, message)
	}
	for i, who := range []string{"bob group=ops", "bob group=ops", "bob group=ops", "eve group=staff"} {
		at := now.Add(time.Duration(i-100) * time.Second).Unix()
		record(now.Add(-90*time.Second), "S", fmt.Sprint(i+1), fmt.Sprintf("user=%s queue=workq "+
			"ctime=%d qtime=%d etime=%d start=%d Resource_List.ncpus=2 Resource_List.walltime=01:00:00", who, at,
			at, at, now.Add(-90*time.Second).Unix()))
	}
	s := &site{dir: dir, log: filepath.Join(dir, "20240703"), db: filepath.Join(dir, "waitcast.db"),
		config: filepath.Join(dir, "waitcastd.yaml")}
	write(t, s.log, log.String())
	write(t, s.config, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
clusters:
  - name: main
    time_zone: UTC
    procs: 100
    sources:
      - {format: pbs, path: %q, poll: 20ms}
      - {format: pbs-facts, command: [%q], interval: 1s, timeout: 3s}`, dir, s.log, script))
	head(t, script, "echo 'qmgr: cannot connect to server' >&2; exit 1")
	d := s.start(t)
	d.wantLog("the scheduler cannot be queried", "cannot connect to server")
	head(t, script, `[ "$*" = "qmgr -c print server" ] || exit 1
cat <<'END'
create queue workq
set queue workq max_run_res.ncpus = [u:PBS_GENERIC=6]
set queue workq max_run = [g:staff=1]
set queue workq enabled = True
set queue workq started = True
END`)
	d.eventually("the limits", func() bool { f := d.Views()[0].Facts; return f != nil && len(f.Limits) == 2 })
	s.add(t, fmt.Sprintf("%s;Q;9.server;user=ann group=staff queue=workq Resource_List.ncpus=1\n",
		time.Now().UTC().Format("01/02/2006 15:04:05")))
	d.eventually("all run", func() bool { v := d.Views()[0]; return len(v.Running) == 4 && len(v.Queued) == 1 })
	for user, want := range map[string]string{
		"bob": "your 6 processors in queue workq are in use", "ann": "the 1 job of staff in queue workq runs", "cy": "",
	} {
		w := d.mustWait("queue=workq&procs=1&time_limit=10m&user=" + user)
		kept := w.Cause != nil && w.Cause.Class == job.LimitReached.String()
		if want == "" && kept || want != "" && (w.Cause == nil || !strings.HasPrefix(w.Cause.Detail, want)) {
			t.Errorf("%s: cause %+v, want %q", user, w.Cause, want)
		}
	}
}
