// Package python_test proves that the Python client works with a real daemon as documented, and that its type
// annotations are right.
package python_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/mungetest"
)

// patience is the time after which a test fails if a condition is still not met.
const patience = 5 * time.Minute

// need returns the path of a program. It skips the test if the program is missing.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("Python client: %s is missing (make test-deps)", name)
	}
	return path
}

// TestTypes proves that the client and its tests are fully annotated with types, in the syntax of Python 3.9.
func TestTypes(t *testing.T) {
	mypy := need(t, "mypy")
	cache := t.TempDir()
	for _, file := range []string{"waitcast.py", "test_waitcast.py"} { // one by one: the test imports the module
		cmd := exec.Command(mypy, "--strict", "--python-version", "3.9", "--cache-dir", cache, file)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestAgainstDaemon proves that the client can use every path of a real daemon and parse its answers, problems and
// events. test_waitcast.py has the details.
func TestAgainstDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("Python client against a daemon: not with -short")
	}
	python := need(t, "python3")
	s := newSite(t)
	url := s.start(t)
	cmd := exec.Command(python, "-W", "error", "-m", "unittest", "-v", "test_waitcast")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "no_proxy=*",
		"WAITCAST_TEST_URL="+url, "WAITCAST_TEST_TOKEN="+s.adminToken(t),
		"WAITCAST_TEST_LOG="+s.log, "WAITCAST_TEST_RELEASE="+s.release())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	if strings.Contains(string(out), "skipped") {
		t.Error("tests of the Python client were skipped though there is a daemon")
	}
}

// site is a log and a configuration: a machine of 64 processors, of which one job without an end uses 60, while another
// one waits for 32.
type site struct {
	log, config string
	now         time.Time
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{log: filepath.Join(dir, "log"), config: filepath.Join(dir, "waitcastd.yaml"),
		now: time.Now().UTC().Truncate(time.Second)}
	var text []byte
	for i := range 200 { // jobs of 1 to 200 minutes, one after the other
		r := s.job(fmt.Sprintf("%d.test", i), 2, s.now.Add(time.Duration(i-1000)*time.Minute))
		r.Start, r.End = r.Queued, r.Queued.Add(time.Duration(i%200+1)*time.Minute)
		text = pbs.AppendEnded(pbs.AppendStarted(pbs.AppendQueued(text, r), r), r)
	}
	big := s.big()
	text = pbs.AppendStarted(pbs.AppendQueued(text, big), big)
	text = pbs.AppendQueued(text, s.job("waits.test", 32, s.now.Add(-time.Minute)))
	s.write(t, s.log, string(text))
	s.write(t, s.config, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
clusters:
  - name: main
    procs: 64
    time_zone: UTC
    sources: [{name: accounting, format: pbs, path: %q, poll: 20ms}]
models: {window_jobs: 400, min_samples: 5}
`, dir, s.log))
	return s
}

func (s *site) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *site) job(id string, procs int, submit time.Time) pbs.Record {
	return pbs.Record{
		ID: id, User: "someone", Group: "users", Name: "job", Queue: "work", Created: submit, Queued: submit,
		Eligible: submit, Procs: procs, Nodes: procs, TimeLimit: 24 * time.Hour,
	}
}

func (s *site) big() pbs.Record {
	r := s.job("big.test", 60, s.now.Add(-time.Hour))
	r.Start = r.Queued
	return r
}

// adminToken returns the daemon's token, which the daemon made at its start.
func (s *site) adminToken(t *testing.T) string {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(filepath.Dir(s.config), "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

// release returns the lines of the log with which the large job ends and the waiting one is deleted.
func (s *site) release() string {
	big, waits := s.big(), s.job("waits.test", 32, s.now.Add(-time.Minute))
	big.End, waits.End = s.now, s.now
	return string(pbs.AppendDeleted(pbs.AppendEnded(nil, big), waits))
}

// start runs a daemon until the test ends, and returns the daemon's address once it has read the log.
func (s *site) start(t *testing.T) string {
	t.Helper()
	cfg, err := config.Load(s.config, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := daemon.New(cfg, daemon.Options{Version: "test"})
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	url := "http://" + d.Addr().String()
	awaitReady(t, url)
	return url
}

func awaitReady(t *testing.T, url string) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		if resp, err := client.Get(url + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-deadline.C:
			t.Fatalf("the daemon is not ready after %s", patience)
		case <-tick.C:
		}
	}
}

// TestMunge proves that the client sends a credential of a real munge to a daemon that requests one, and sends each
// credential only once.
func TestMunge(t *testing.T) {
	python := need(t, "python3")
	mungetest.Start(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	policy := access.Default()
	policy.Munge = true
	g, err := access.New(access.Options{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := g.Need(access.Of(r.Context()), access.User); p != nil {
			g.Refuse(w, p)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, "{%q: %q}", "user", access.Of(r.Context()).User)
	})))
	defer server.Close()
	cmd := exec.Command(python, "-W", "error", "-c", `
import waitcast
daemon = waitcast.Client()
print(daemon.me()["user"], daemon.me()["user"])
try:
    waitcast.Client(token="wrong").me()
except waitcast.ProblemError as refused:
    print(refused.status)
`)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "WAITCAST_URL="+server.URL, "WAITCAST_TOKEN=",
		"WAITCAST_TOKEN_FILE=")
	out, err := cmd.CombinedOutput()
	if want := me.Username + " " + me.Username + "\n401\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}
