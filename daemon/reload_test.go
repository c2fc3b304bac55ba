package daemon_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/certtest"
	"github.com/waitcast/waitcast/modelstore"
)

// edit changes the configuration file.
func (s *site) edit(t testing.TB, old, new string) {
	t.Helper()
	content, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("the configuration has no %q", old)
	}
	write(t, s.config, strings.Replace(string(content), old, new, 1))
}

// TestReload proves that a reload applies a new configuration while every request is answered, and that a watching
// client reconnects by itself. Journal and ledger are then the same as without reloads: no record is lost, and none
// counts twice.
func TestReload(t *testing.T) {
	lines := workload(t, 11, 400)
	part := func(i int) string {
		var text strings.Builder
		for _, l := range lines[i*len(lines)/4 : (i+1)*len(lines)/4] {
			text.WriteString(l.text)
		}
		return text.String()
	}
	undisturbed, s := newSite(t, "log", ""), newSite(t, "log", "")
	for i := range 4 {
		undisturbed.add(t, part(i))
	}
	u := undisturbed.start(t)
	u.caughtUp()
	u.stop()

	s.add(t, part(0))
	d := s.start(t)
	d.caughtUp()
	ctx, cancel := context.WithCancel(t.Context())
	asked, watched := make(chan error, 1), make(chan error, 1)
	go func() { asked <- askOn(ctx, d.Addr().String()) }()
	events := make(chan client.WatchEvent, 100)
	go func() { watched <- watch(ctx, d.Addr().String(), events) }()
	<-events
	for i, change := range [][2]string{
		{"sources:", "queues: [{name: fresh}]\n    sources:"}, {"level: info", "level: warn"},
		{"window_jobs: 400", "window_jobs: 400, window_age: 80d"},
	} {
		s.edit(t, change[0], change[1])
		s.add(t, part(i+1)) // some lines are read before the reload, some during it, some after it
		if err := d.Reload(t.Context(), s.load(t)); err != nil {
			t.Fatal(err)
		}
	}
	d.caughtUp()
	d.wantMetric("waitcast_watch_subscribers", "1")
	if status, body := d.get("/v1/queues"); status != http.StatusOK || !strings.Contains(body, `"fresh"`) {
		t.Errorf("the new queue is not there: %d %s", status, body)
	}
	d.wantMetric("waitcast_config_last_reload_successful", "1")
	cancel()
	if err := <-asked; err != nil {
		t.Errorf("a request during reloads: %v", err)
	}
	if err := <-watched; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d.stop()
	want, got := undisturbed.kept(t), s.kept(t)
	ignore := cmp.Options{
		cmpopts.IgnoreFields(modelstore.Row{}, "Replayed", "Served"), cmp.Comparer(sameFloat),
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Live" }, cmp.Ignore()),
		cmpopts.EquateEmpty(),
	}
	if diff := cmp.Diff(want.Entries, got.Entries, ignore); diff != "" {
		t.Errorf("the journal differs (-undisturbed +reloaded):\n%.2000s", diff)
	}
	// The maximum age of the window affects the models, so that later forecasts differ; the jobs are the same.
	if len(want.Rows) != len(got.Rows) {
		t.Errorf("%d rows in the ledger, %d undisturbed", len(got.Rows), len(want.Rows))
	}
}

func sameFloat(a, b float64) bool { return a == b || a != a && b != b }

// askOn repeats requests until ctx ends, and returns the first error.
func askOn(ctx context.Context, address string) error {
	c := http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet,
			"http://"+address+"/v1/wait?queue=short&procs=1&time_limit=1h", nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
	}
	return nil
}

func watch(ctx context.Context, address string, events chan<- client.WatchEvent) error {
	c, err := client.New(address, nil)
	if err != nil {
		return err
	}
	q := &wire.SizeRequest{Places: []wire.Place{{Queue: "short"}}, Sizes: []int{1, 2},
		Runtime: wire.Runtime{Amdahl: &wire.RuntimeAmdahl{Serial: .1, T1Seconds: 3600}}}
	return c.Watch(ctx, q, "", func(e client.WatchEvent) error {
		select {
		case events <- e:
		default:
		}
		return nil
	})
}

// TestReloadAllOrNothing proves that an invalid configuration changes nothing: the whole old configuration stays in
// force and works.
func TestReloadAllOrNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own port
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	s := newSite(t, "log", "")
	lines := workload(t, 12, 60)
	half := len(lines) / 2
	for _, l := range lines[:half] {
		s.add(t, l.text)
	}
	d := s.start(t)
	d.caughtUp()
	good, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	file := s.dir + "/a-file"
	write(t, file, "x")
	for _, bad := range []struct{ name, old, new string }{
		{"an address that is taken", "127.0.0.1:0", taken.Addr().String()},
		{"a database that cannot be made", "data_dir: \"" + s.dir + "\"", "data_dir: \"" + s.dir +
			"\"\nstore: {path: \"" +
			file + "/waitcast.db\"}"},
		{"a token that is none", "listen:", "admin_token_file: \"" + file + "\"\nlisten:"},
	} {
		address := d.Addr().String()
		s.edit(t, "sources:", "queues: [{name: never}]\n    sources:")
		s.edit(t, bad.old, bad.new)
		if err := d.Reload(t.Context(), s.load(t)); err == nil {
			t.Errorf("%s: the reload succeeded", bad.name)
		}
		if _, body := d.get("/v1/queues"); strings.Contains(body, "never") || address != d.Addr().String() {
			t.Errorf("%s: something of it is in force: %s", bad.name, body)
		}
		if got := d.metric("waitcast_config_last_reload_successful"); got != "0" {
			t.Errorf("%s: the metric says %s", bad.name, got)
		}
		if status, body := d.get("/readyz"); status != http.StatusOK || !strings.HasPrefix(body, "degraded\n") ||
			!strings.Contains(body, "config_refused: "+s.config+": not in force: ") {
			t.Errorf("%s: /readyz: %d %s", bad.name, status, body)
		}
		write(t, s.config, string(good))
	}
	for _, l := range lines[half:] {
		s.add(t, l.text)
	}
	d.eventually("the old configuration works", func() bool { return d.Views()[0].At.Equal(lines[len(lines)-1].at) })
	s.edit(t, "127.0.0.1:0", "127.0.0.2:0")
	before := d.Addr().String()
	if err := d.Reload(t.Context(), s.load(t)); err != nil {
		t.Fatal(err)
	}
	d.caughtUp()
	if d.Addr().String() == before {
		t.Error("the address is the old one")
	}
	if c, err := net.Dial("tcp", before); err == nil { //nolint:noctx // refused at once
		t.Error("the old address still answers")
		_ = c.Close()
	}
	d.wantMetric("waitcast_config_last_reload_successful", "1")
	if _, body := d.get("/readyz"); strings.Contains(body, "config_refused") {
		t.Errorf("/readyz after a reload that succeeded: %s", body)
	}
}

// TestReloadBySignalAndFile proves that the program reloads on SIGHUP and when the file changes, and that a file with
// errors changes nothing.
func TestReloadBySignalAndFile(t *testing.T) {
	s := newSite(t, "log", "")
	s.add(t, workload(t, 13, 20)[0].text)
	port := freePort(t)
	s.edit(t, "127.0.0.1:0", port)
	cmd := exec.Command(os.Args[0]) //nolint:noctx // ended by SIGTERM
	var log lockedBuffer
	cmd.Env, cmd.Stderr = append(os.Environ(), roleEnv+"=daemon", roleArg+"="+s.config), &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, log.String())
		}
	})
	has := func(queue string) func() bool {
		return func() bool { return strings.Contains(fetched("http://"+port+"/v1/queues"), `"`+queue+`"`) }
	}
	eventually(t, "answers", func() bool { return fetched("http://"+port+"/healthz") != "" })
	s.edit(t, "sources:", "queues: [{name: by-file}]\n    sources:")
	eventually(t, "the changed file", has("by-file"))
	s.edit(t, "by-file", "by-signal")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the signal", has("by-signal"))
	s.edit(t, "{name: by-signal}", "{name: by-signal, colour: red}")
	eventually(t, "the error is logged", func() bool { return strings.Contains(log.String(), "colour") })
	eventually(t, "/readyz shows the refusal", func() bool {
		return strings.Contains(fetched("http://"+port+"/readyz"), "config_refused: "+s.config+": not in force: "+
			"clusters[0].queues[0].colour in line ")
	})
	if !has("by-signal")() {
		t.Error("the file with errors changed something")
	}
	s.edit(t, ", colour: red", "")
	eventually(t, "/readyz shows no refusal", func() bool {
		return strings.HasPrefix(fetched("http://"+port+"/readyz"), "ready")
	})
	if strings.Contains(log.String(), "https://") {
		t.Errorf("it tells of https without TLS:\n%s", log.String())
	}
}

// fetched returns the body of a URL, "" if there is none.
func fetched(url string) string {
	resp, err := http.Get(url) //nolint:noctx,gosec // a test's own server
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	var body bytes.Buffer
	_, _ = body.ReadFrom(resp.Body)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return body.String()
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own port
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// lockedBuffer collects the output of a process while it runs.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestReloadTLS proves that a reload can switch TLS on and off again, at the same address, and that a certificate that
// cannot be read changes nothing.
func TestReloadTLS(t *testing.T) {
	s := newSite(t, "log", "")
	s.add(t, workload(t, 14, 10)[0].text)
	d := s.start(t)
	d.caughtUp()
	address := d.Addr().String()
	authority := certtest.New(t)
	cert, key := authority.Issue(s.dir, "server")
	web := filepath.Join(s.dir, "web.yaml")
	write(t, web, fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q}\n", cert, key))
	plain, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	answers := func(scheme string) bool {
		c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool,
			MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
		resp, err := c.Get(scheme + "://" + address + "/healthz") //nolint:noctx // a test's own server
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}
	s.edit(t, "listen:", fmt.Sprintf("web_config_file: %q\nlisten:", s.dir+"/missing"))
	if err := d.Reload(t.Context(), s.load(t)); err == nil || !answers("http") {
		t.Errorf("a missing web_config_file: %v", err)
	}
	s.edit(t, s.dir+"/missing", web)
	if err := d.Reload(t.Context(), s.load(t)); err != nil {
		t.Fatal(err)
	}
	if answers("http") || !answers("https") || d.Addr().String() != address ||
		!strings.HasPrefix(daemon.URL(d.Daemon), "https://") {
		t.Error("the reload did not switch to TLS")
	}
	write(t, s.config, string(plain))
	if err := d.Reload(t.Context(), s.load(t)); err != nil {
		t.Fatal(err)
	}
	if !answers("http") || answers("https") || !strings.HasPrefix(daemon.URL(d.Daemon), "http://") {
		t.Error("the reload did not switch TLS off")
	}
}
