package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/config"
)

const minimal = "clusters:\n  - sources:\n      - {format: pbs, path: /log}\n"

// clean empties the environment variables that Load reads, and sets HOME to a new folder, which it returns.
func clean(t *testing.T) string {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "WAITCAST_") {
			t.Setenv(name, "")
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("STATE_DIRECTORY", "")
	t.Setenv("XDG_STATE_HOME", "")
	return home
}

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "waitcastd.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("waitcastd", pflag.ContinueOnError)
	config.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

func load(t *testing.T, content string, args ...string) *config.Config {
	t.Helper()
	c, err := config.Load(write(t, content), flags(t, args...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// found returns the errors that Load joined.
func found(t *testing.T, err error) []*config.Error {
	t.Helper()
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		t.Fatalf("want joined errors, not %v", err)
	}
	var all []*config.Error
	for _, e := range joined.Unwrap() {
		var one *config.Error
		if !errors.As(e, &one) {
			t.Fatalf("%v is not a *config.Error", e)
		}
		all = append(all, one)
	}
	return all
}

// TestDefaults checks the defaults that the design defines, at the top level and inside lists.
func TestDefaults(t *testing.T) {
	home := clean(t)
	got := load(t, minimal)
	dir := filepath.Join(home, ".local", "state", "waitcast")
	want := &config.Config{
		File: got.File, Listen: "127.0.0.1:9817", SocketMode: "0666", DataDir: dir,
		AdminTokenFile: filepath.Join(dir, "admin-token"),
		StaleAfter:     5 * time.Minute, HistoryRetention: 400 * 24 * time.Hour,
		Access: config.Access{Anonymous: "auto", Others: "auto", Users: "hidden", BasicRole: "user",
			CertificateRole: "public"},
		Limits: config.Limits{
			RequestsPerSecond: 200, Burst: 4000, Body: 1 << 20, ExpensiveWaiting: 128, Connections: 8192,
			ConnectionsPerClient: 4096, WriteTimeout: time.Minute,
		},
		Log: config.Log{Level: "info", Format: "console"},
		Clusters: []config.Cluster{{
			Name: "main", Policy: "auto", TimeZone: "Local", History: config.History{Format: "auto", Mode: "auto"},
			Sources: []config.Source{{
				Name: "pbs", Format: "pbs", Path: "/log", Pattern: "*", Start: "beginning", Poll: time.Second,
				Inotify: true, ClockOffset: "auto", Interval: 15 * time.Second, Timeout: 10 * time.Second,
			}},
		}},
		Models: config.Models{WindowJobs: 20000, WindowAge: 2160 * time.Hour, MinSamples: 30, MarkovForget: 0.0005,
			MaxQueues: 512, MaxUsers: 8192, ForgetAfter: 400 * 24 * time.Hour, HistoryJobs: 100_000},
		Accuracy: config.Accuracy{Retention: 400 * 24 * time.Hour},
		Store: config.Store{Path: filepath.Join(dir, "waitcast.db"), Lease: 15 * time.Second, SnapshotEvents: 20000,
			SnapshotInterval: time.Minute, JournalRetention: 400 * 24 * time.Hour},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestValuesAsPeopleWriteThem checks each way of writing a value that the strict decoder must accept.
func TestValuesAsPeopleWriteThem(t *testing.T) {
	clean(t)
	c := load(t, `
stale_after: 0700            # seconds, not octal
models: {window_age: 1-12:00, markov_forget: 0, window_jobs: 1_000}
store: {snapshot_interval: 2.5}
clusters:
  - name: a
    procs: 0x10
    queues: &queues [{name: Mixed.Case}, {name: "7"}]
    sources:
      - &pbs {format: pbs, path: /a, inotify: off, rotated: [a.*, b], poll: 500ms}
  - name: B.b
    queues: *queues
    sources:
      - {<<: *pbs, path: /b, inotify: on}
`)
	if c.StaleAfter != 700*time.Second || c.Models.WindowAge != 36*time.Hour ||
		c.Store.SnapshotInterval != 2500*time.Millisecond {
		t.Errorf("durations: %v, %v, %v", c.StaleAfter, c.Models.WindowAge, c.Store.SnapshotInterval)
	}
	if c.Models.MarkovForget != 0 || c.Models.WindowJobs != 1000 || c.Clusters[0].Procs != 16 {
		t.Errorf("numbers: %+v, %d", c.Models, c.Clusters[0].Procs)
	}
	a, b := c.Clusters[0].Sources[0], c.Clusters[1].Sources[0]
	if a.Inotify || !b.Inotify || b.Path != "/b" || b.Poll != 500*time.Millisecond ||
		!cmp.Equal(b.Rotated, []string{"a.*", "b"}) {
		t.Errorf("sources: %+v, %+v", a, b)
	}
	if q := c.Clusters[1].Queues; len(q) != 2 || q[0].Name != "Mixed.Case" || c.Clusters[1].Name != "B.b" {
		t.Errorf("names must keep case and dots: %q, %+v", c.Clusters[1].Name, q)
	}
}

// TestDataDirectory proves which folder is used for data: the first one that is set of those of the key, of systemd and
// of XDG, otherwise the one in the home folder.
func TestDataDirectory(t *testing.T) {
	home := clean(t)
	expect := func(want, content string) {
		t.Helper()
		if c := load(t, content+minimal); c.DataDir != want || c.Store.Path != filepath.Join(want, "waitcast.db") {
			t.Errorf("data_dir %q, store.path %q; want %q", c.DataDir, c.Store.Path, want)
		}
	}
	expect(filepath.Join(home, ".local/state/waitcast"), "")
	t.Setenv("XDG_STATE_HOME", "relative/is/ignored")
	expect(filepath.Join(home, ".local/state/waitcast"), "")
	t.Setenv("XDG_STATE_HOME", "/xdg")
	expect("/xdg/waitcast", "")
	t.Setenv("STATE_DIRECTORY", "/var/lib/waitcast:/var/lib/other")
	expect("/var/lib/waitcast", "")
	expect("/data", "data_dir: /data\n")
	for _, name := range []string{"STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	_, err := config.Load(write(t, minimal), nil)
	if all := found(t, err); len(all) != 1 || all[0].Key != "data_dir" {
		t.Errorf("nowhere to keep data: want one error for data_dir, not %v", err)
	}
}

// TestPrecedence proves that a flag overrides the environment, which overrides the file, which overrides the default.
func TestPrecedence(t *testing.T) {
	clean(t)
	content := "listen: 127.0.0.1:1\nstore: {path: /file.db}\nlog: {level: warn}\n" + minimal
	if c := load(t, content); c.Listen != "127.0.0.1:1" || c.Store.Path != "/file.db" || c.Log.Level != "warn" {
		t.Errorf("file: %+v", c)
	}
	t.Setenv("WAITCAST_LISTEN", "127.0.0.1:2")
	t.Setenv("WAITCAST_STORE_PATH", "/env.db")
	t.Setenv("WAITCAST_MODELS_WINDOW_JOBS", "123")
	t.Setenv("WAITCAST_MODELS_MARKOV_FORGET", "0.25")
	t.Setenv("WAITCAST_STALE_AFTER", "1d")
	t.Setenv("WAITCAST_LOG_LEVEL", "")
	c := load(t, content)
	if c.Listen != "127.0.0.1:2" || c.Store.Path != "/env.db" || c.Models.WindowJobs != 123 ||
		c.Models.MarkovForget != 0.25 || c.StaleAfter != 24*time.Hour || c.Log.Level != "warn" {
		t.Errorf("environment: %+v", c)
	}
	c = load(t, content, "--listen", ":3", "--log-format=json", "--data-dir", "/flag")
	if c.Listen != ":3" || c.Log.Format != "json" || c.DataDir != "/flag" || c.Store.Path != "/env.db" {
		t.Errorf("flags: %+v", c)
	}
}

func TestConfigFileFromFlagOrEnvironment(t *testing.T) {
	clean(t)
	a, b := write(t, "listen: :1\n"+minimal), write(t, "listen: :2\n"+minimal)
	t.Setenv("WAITCAST_CONFIG", a)
	if c, err := config.Load("", nil); err != nil || c.Listen != ":1" || c.File != a {
		t.Errorf("WAITCAST_CONFIG: %+v, %v", c, err)
	}
	if c, err := config.Load("", flags(t, "--config", b)); err != nil || c.Listen != ":2" || c.File != b {
		t.Errorf("--config: %+v, %v", c, err)
	}
}

// TestOneSourceWithoutFile proves that one log can be configured without a file, by flags or environment variables.
func TestOneSourceWithoutFile(t *testing.T) {
	clean(t)
	want := []config.Cluster{{
		Name: "kth", Procs: 100, Policy: "auto", TimeZone: "Local",
		History: config.History{Format: "auto", Mode: "auto"},
		Sources: []config.Source{{
			Name: "swf", Format: "swf", Path: "/kth.swf", Pattern: "*", Start: "beginning", Poll: time.Second,
			Inotify: true, ClockOffset: "auto",
			Interval: 15 * time.Second, Timeout: 10 * time.Second,
		}},
	}}
	c, err := config.Load("", flags(t, "--format", "swf", "--path", "/kth.swf", "--cluster", "kth", "--procs", "100"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, c.Clusters); d != "" {
		t.Errorf("flags (-want +got):\n%s", d)
	}
	for name, value := range map[string]string{"FORMAT": "swf", "PATH": "/kth.swf", "CLUSTER": "kth", "PROCS": "7"} {
		t.Setenv("WAITCAST_"+name, value)
	}
	if c, err = config.Load("", flags(t, "--procs", "100")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, c.Clusters); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
}

func TestOneSourceErrorsNameFlagAndVariable(t *testing.T) {
	clean(t)
	_, err := config.Load("", flags(t, "--path", "/log", "--format", "pbss"))
	if all := found(t, err); len(all) != 1 || all[0].File != "flag --format" ||
		!strings.Contains(err.Error(), `did you mean "pbs"`) {
		t.Errorf("--format: %v", err)
	}
	_, err = config.Load("", flags(t, "--format", "pbs"))
	if all := found(t, err); len(all) != 1 || all[0].Key != "clusters[0].sources[0].path" {
		t.Errorf("no path: %v", err)
	}
	_, err = config.Load(write(t, minimal), flags(t, "--format", "pbs"))
	if all := found(t, err); len(all) != 1 || all[0].File != "flag --format" ||
		!strings.Contains(err.Error(), "clusters already") {
		t.Errorf("flag and file: %v", err)
	}
	t.Setenv("WAITCAST_PROCS", "many")
	_, err = config.Load("", flags(t, "--path", "/log", "--format", "pbs"))
	if all := found(t, err); len(all) != 1 || all[0].File != "environment variable WAITCAST_PROCS" {
		t.Errorf("WAITCAST_PROCS: %v", err)
	}
	t.Setenv("WAITCAST_PROCS", "")
	_, err = config.Load("", flags(t))
	if all := found(t, err); len(all) != 1 || all[0].Key != "clusters" || !strings.Contains(err.Error(), "--path") {
		t.Errorf("nothing at all: %v", err)
	}
}

// TestErrorNamesTheWinningPlace proves that an error in a value names the place from which the value came, not a place
// that it overrides.
func TestErrorNamesTheWinningPlace(t *testing.T) {
	clean(t)
	t.Setenv("WAITCAST_LISTEN", "nowhere")
	t.Setenv("WAITCAST_STALE_AFTER", "soon")
	_, err := config.Load(write(t, "listen: :1\n"+minimal), nil)
	all := found(t, err)
	if len(all) != 2 || all[0].File != "environment variable WAITCAST_LISTEN" || all[0].Line != 0 ||
		all[1].File != "environment variable WAITCAST_STALE_AFTER" || !strings.Contains(all[1].Allowed, "more than 0") {
		t.Errorf("%v", err)
	}
	_, err = config.Load(write(t, "listen: :1\n"+minimal), flags(t, "--listen", "here"))
	if all := found(t, err); all[len(all)-1].File != "flag --listen" {
		t.Errorf("%v", err)
	}
}

func TestUnreadableFile(t *testing.T) {
	clean(t)
	_, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), nil)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("%v", err)
	}
}

// TestBounds proves that an endless file is refused, and that at most a hundred errors are named.
func TestBounds(t *testing.T) {
	clean(t)
	if _, err := config.Load("/dev/zero", nil); err == nil || !strings.Contains(err.Error(), "is it a configuration") {
		t.Errorf("an endless file: %v", err)
	}
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "wrong%d: 1\n", i)
	}
	_, err := config.Load(write(t, text.String()), nil)
	if err == nil || strings.Count(err.Error(), "\n") != 100 ||
		!strings.HasSuffix(err.Error(), "more errors in the configuration") {
		t.Errorf("%d lines of errors", strings.Count(fmt.Sprint(err), "\n"))
	}
}

// TestIntervalByFormat proves that by default a source that polls facts polls less often than one that polls jobs.
func TestIntervalByFormat(t *testing.T) {
	clean(t)
	c := load(t, "clusters: [{sources: [{format: slurm-squeue}, {format: slurm-facts}], name: a}, {name: b, sources: "+
		"[{format: slurm-facts, interval: 5s}]}, {name: c, sources: [{format: pbs-facts}]}, {name: d, sources: "+
		"[{format: gridengine-facts}]}]")
	for i, want := range []time.Duration{time.Minute, time.Minute} {
		if got := c.Clusters[2+i].Sources[0].Interval; got != want {
			t.Errorf("cluster %d: %s, want %s", 2+i, got, want)
		}
	}
	for i, want := range []time.Duration{15 * time.Second, time.Minute} {
		if got := c.Clusters[0].Sources[i].Interval; got != want {
			t.Errorf("source %d: %s, want %s", i, got, want)
		}
	}
	if got := c.Clusters[1].Sources[0].Interval; got != 5*time.Second {
		t.Errorf("set to 5s it is %s", got)
	}
}
