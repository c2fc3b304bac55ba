package daemon_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/modelstore/transfer"
)

// member is one of the daemons that share a database, in its own process.
type member struct {
	t    *testing.T
	file string
	cmd  *exec.Cmd
	url  string
	out  *lockedBuffer
}

// sharing writes the configuration of a daemon that collects the jobs of a cluster from a log into a shared database.
func sharing(t *testing.T, database, cluster, log string) *member {
	t.Helper()
	dir := t.TempDir()
	m := &member{t: t, file: filepath.Join(dir, "waitcastd.yaml")}
	write(t, m.file, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
log: {level: info, format: json}
clusters:
  - name: %s
    procs: %d
    time_zone: UTC
    sources: [{name: accounting, format: pbs, path: %q, poll: 20ms}]
models: {window_jobs: 400, min_samples: 5}
store: {url: %q, lease: 1500ms, snapshot_events: 150, snapshot_interval: 1s}
`, filepath.Join(dir, "made", "at start"), cluster, machine, log, database))
	return m
}

// start starts the process and waits until it serves.
func (m *member) start() {
	m.t.Helper()
	m.cmd, m.out = play("daemon", m.file), &lockedBuffer{}
	pipe, err := m.cmd.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	url := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(io.TeeReader(pipe, m.out))
		for lines.Scan() {
			var said struct{ Msg, URL string }
			if json.Unmarshal(lines.Bytes(), &said) == nil && said.Msg == "serving" {
				url <- said.URL
			}
		}
		close(url)
	}()
	var serves bool
	if m.url, serves = <-url; !serves {
		m.t.Fatalf("the daemon ended: %s", m.out.String())
	}
}

// end sends a signal to the process and waits for its end; after a kill its exit code is not checked.
func (m *member) end(signal syscall.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(signal); err != nil {
		m.t.Fatal(err)
	}
	if err := m.cmd.Wait(); err != nil && signal != syscall.SIGKILL {
		m.t.Errorf("%v: %s", err, m.out.String())
	}
}

func (m *member) collects() bool {
	return strings.Contains(fetch(m.url+"/metrics"), "\nwaitcast_collecting 1\n")
}

// serveOnly runs a daemon that only serves, in this process.
func serveOnly(t *testing.T, database string) *running {
	t.Helper()
	dir := t.TempDir()
	s := &site{dir: dir, config: filepath.Join(dir, "waitcastd.yaml")}
	write(t, s.config, fmt.Sprintf("{listen: '127.0.0.1:0', data_dir: %q, serve_only: true, store: {url: %q, lease: "+
		"1500ms}}", filepath.Join(dir, "made at start"), database))
	d := daemon.New(s.load(t), daemon.Options{Log: zap.NewNop(), Version: "test"})
	r := &running{Daemon: d, t: t}
	r.http.Transport = &http.Transport{}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

// TestShared proves that daemons that share a PostgreSQL database replace each other. Two daemons collect the same log,
// and one at a time holds the lease. Again and again, while the log grows, the holder is killed, or paused for longer
// than its lease and then continued; the other one takes over. A third daemon collects another cluster into its own
// space. Two serving daemons answer all the time, about both clusters. At the end the journal, the ledger, the
// quarantine and the state equal those of an undisturbed daemon: no event is lost, none counts twice, and the paused
// daemon has written nothing. All daemons give the same answer.
func TestShared(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector; left out by -short")
	}
	t.Parallel() // the test waits for leases most of the time
	server := pgtest.New(t, pgtest.Options{})
	database := server.NewDatabase(t)
	rounds := 3
	if os.Getenv("WAITCAST_LONG") != "" {
		rounds = 30
	}
	lines := workload(t, 31, 240*rounds)
	calm, other := newSite(t, "log", "store: {snapshot_events: 150, snapshot_interval: 1s}\n"), newSite(t, "other", "")
	shared := newSite(t, "log", "")
	calm.add(t, text(lines))
	other.add(t, text(workload(t, 32, 100)))
	u := calm.start(t)
	u.caughtUp()
	u.stop()

	first, second := sharing(t, database, "main", shared.log), sharing(t, database, "main", shared.log)
	third := sharing(t, database, "other", other.log)
	shared.add(t, text(lines[:len(lines)/10]))
	servers := []*running{serveOnly(t, database)} // before there is anything to serve
	first.start()
	eventually(t, "the first collects", first.collects)
	second.start()
	third.start()
	servers = append(servers, serveOnly(t, database))
	answers := func(url, cluster string) string {
		return fetch(url + "/v1/wait?queue=short&procs=1&time_limit=1h&cluster=" + cluster)
	}
	for _, s := range servers {
		for _, c := range []string{"main", "other"} {
			s.eventually("serves "+c, func() bool {
				return strings.Contains(answers("http://"+s.Addr().String(), c),
					"wait_seconds")
			})
		}
	}
	holder, standby := first, second
	rest := lines[len(lines)/10:]
	for round := range rounds {
		part := rest[round*len(rest)/rounds : (round+1)*len(rest)/rounds]
		shared.add(t, text(part[:len(part)/2]))
		if round%2 == 0 {
			holder.end(syscall.SIGKILL)
		} else if err := holder.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		eventually(t, "the other takes over", standby.collects)
		t.Logf("round %d: the other took over after %v", round, time.Since(begun).Round(10*time.Millisecond))
		shared.add(t, text(part[len(part)/2:]))
		for _, s := range servers {
			if got := answers("http://"+s.Addr().String(), "main"); !strings.Contains(got, "wait_seconds") {
				t.Errorf("a daemon that only serves answers %s", got)
			}
		}
		if round%2 == 0 {
			holder.start()
		} else if err := holder.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the one before stands by", func() bool {
			return strings.Contains(fetch(holder.url+"/metrics"), "\nwaitcast_collecting 0\n")
		})
		holder, standby = standby, holder
	}
	last := lines[len(lines)-1].at.UTC().Format(time.RFC3339)
	for _, url := range []string{holder.url, standby.url, "http://" + servers[0].Addr().String(), "http://" +
		servers[1].Addr().String()} {
		eventually(t, url+" has everything", func() bool {
			return strings.Contains(answers(url, "main"),
				`"as_of":"`+last)
		})
	}
	want := quantilesOf(t, answers(holder.url, "main"))
	for _, url := range []string{standby.url, "http://" + servers[0].Addr().String(), "http://" +
		servers[1].Addr().String()} {
		eventually(t, "the same answer everywhere", func() bool { return quantilesOf(t, answers(url, "main")) == want })
	}
	standby.end(syscall.SIGTERM)
	holder.end(syscall.SIGTERM)
	third.end(syscall.SIGTERM)
	store, err := postgres.Open(t.Context(), database, postgres.Options{Space: "main", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	got, undisturbed := keptIn(t, store), calm.kept(t)
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	compare(t, &got, &undisturbed)
}

func quantilesOf(t *testing.T, body string) string {
	var w struct {
		Wait json.RawMessage `json:"wait_seconds"`
	}
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		t.Errorf("%v: %s", err, body)
	}
	return string(w.Wait)
}

// TestSharedByOthers proves that a daemon refuses to stand by for a daemon with another configuration, because it would
// serve, and later collect, other jobs under the same name.
func TestSharedByOthers(t *testing.T) {
	server := pgtest.New(t, pgtest.Options{})
	database := server.NewDatabase(t)
	log := filepath.Join(t.TempDir(), "log")
	write(t, log, text(workload(t, 33, 30)))
	first, second := sharing(t, database, "main", log), sharing(t, database, "main", log)
	first.start()
	defer first.end(syscall.SIGTERM)
	s := &site{config: second.file}
	s.edit(t, "procs:", "queues: [{name: x}]\n    procs:")
	err := daemon.New(s.load(t), daemon.Options{}).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "store.space") {
		t.Errorf("a daemon of another configuration started: %v", err)
	}
}

// TestReloadOfAServer proves that a serving daemon applies new access rules and limits at once and continues to follow:
// its core and the streams of its clients stay.
func TestReloadOfAServer(t *testing.T) {
	server := pgtest.New(t, pgtest.Options{})
	database := server.NewDatabase(t)
	log := filepath.Join(t.TempDir(), "log")
	records := workload(t, 35, 60)
	half := len(records) / 2
	write(t, log, text(records[:half]))
	collects := sharing(t, database, "main", log)
	collects.start()
	defer func() { collects.end(syscall.SIGTERM) }()
	dir := t.TempDir()
	s := &site{dir: dir, log: log, config: filepath.Join(dir, "waitcastd.yaml")}
	write(t, s.config, fmt.Sprintf("{listen: '127.0.0.1:0', data_dir: %q, serve_only: true, limits: {burst: 4000}, "+
		"store: {url: %q, lease: 1500ms}}", dir, database))
	r := s.start(t)
	r.eventually("the first records", func() bool {
		status, _ := r.get("/v1/wait?queue=short&procs=1")
		return status == http.StatusOK
	})
	watched, metrics := r.watches(), r.Registry()
	s.edit(t, "burst: 4000", "body: 1024")
	must(t, r.Reload(t.Context(), s.load(t)))
	if r.Registry() != metrics || !watched.open() {
		t.Errorf("the core is the same: %v; the stream is open: %v", r.Registry() == metrics, watched.open())
	}
	if status := r.posts(2000); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of more than 1024 bytes: %d", status)
	}
	s.add(t, text(records[half:]))
	r.eventually("it follows", func() bool { return r.Views()[0].At.Equal(records[len(records)-1].at) })
	s.edit(t, "lease: 1500ms", "lease: 1600ms")
	must(t, r.Reload(t.Context(), s.load(t)))
	if r.Registry() == metrics {
		t.Error("another lease does not replace the core")
	}
	r.eventually("the stream ends", func() bool { return !watched.open() })
	_ = watched.body.Close()
}

// TestUnfinishedCopy proves that a daemon refuses a database with an unfinished copy.
func TestUnfinishedCopy(t *testing.T) {
	s := newSite(t, "log", "")
	store, err := sqlite.Open(t.Context(), s.db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.SetMeta(t.Context(), transfer.UnfinishedKey, "elsewhere"), store.Close()); err != nil {
		t.Fatal(err)
	}
	if err := daemon.New(s.load(t), daemon.Options{}).Start(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "run it again") {
		t.Errorf("it started: %v", err)
	}
}
