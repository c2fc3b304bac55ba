package bundle_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/daemon/bundle"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// mark is part of every planted name, and number is part of every id of a job.
const (
	mark   = "qzx"
	number = "77712"
)

// unpack returns the files of a bundle.
func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(h.Name, "waitcast-bundle/")
		if !ok || h.Mode != 0o600 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("header %+v", h)
		}
		files[name] = string(content)
	}
}

// clean fails if a planted text is in the name or the bytes of a file.
func clean(t *testing.T, files map[string]string) {
	t.Helper()
	host, _ := os.Hostname()
	for name, content := range files {
		for _, secret := range []string{mark, number, strings.ToUpper(mark)} {
			if i := strings.Index(content, secret); i >= 0 {
				t.Errorf("%s has %q: ...%s...", name, secret, content[max(0, i-60):min(len(content), i+60)])
			}
			if strings.Contains(name, secret) {
				t.Errorf("a file is called %s", name)
			}
		}
		if len(host) > 5 && strings.Contains(content, host) {
			t.Errorf("%s has the host's name", name)
		}
	}
}

// plant writes a configuration and logs in which every possible name contains mark, and returns the folder and the
// configuration's path.
func plant(t *testing.T) (dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), mark+"folder")
	if err := os.MkdirAll(filepath.Join(dir, "accounting"), 0o755); err != nil {
		t.Fatal(err)
	}
	var log []byte
	begin := time.Now().Add(-100 * time.Minute).Truncate(time.Second)
	for i := range 90 {
		at := begin.Add(time.Duration(i) * time.Minute)
		rec := pbs.Record{
			ID: fmt.Sprintf("%s%d.%shost", number, i, mark), User: fmt.Sprintf("%suser%d", mark, i%4),
			Group: mark + "group", Account: mark + "account", Name: mark + "job",
			Queue: fmt.Sprintf("%squeue%d", mark, i%2), Created: at, Queued: at, Eligible: at,
			Start: at.Add(time.Minute), End: at.Add(4 * time.Minute), ExecHost: mark + "node/0*4", Procs: 4, Nodes: 1,
			TimeLimit: time.Hour,
		}
		log = append(log, pbs.AppendEnded(pbs.AppendStarted(pbs.AppendQueued(nil, rec), rec), rec)...)
	}
	log = append(log,
		(mark + " nonsense\n03/02/2026 00:00:00;E;" + number + "." + mark + ";user=" + mark + " end=" + mark + "\n")...)
	write(t, filepath.Join(dir, "accounting", begin.Format("20060102")), string(log))
	write(t, filepath.Join(dir, mark+"squeue"), "#!/bin/sh\necho "+mark+"controller refuses "+mark+"user >&2\nexit 1\n")
	if err := os.Chmod(filepath.Join(dir, mark+"squeue"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, mark+"token"), mark+"-token-of-many-letters\n")
	file = filepath.Join(dir, mark+".yaml")
	write(t, file, strings.NewReplacer("DIR", dir, "MARK", mark).Replace(`
listen: 127.0.0.1:0
data_dir: DIR/MARKstate
admin_token_file: DIR/MARKtoken
clusters:
  - name: MARKcluster
    time_zone: Local
    queues: [{name: MARKidle}]
    pools: [{name: MARKpool, queues: [MARKqueue0], procs: 64}]
    sources:
      - {format: pbs, name: MARKsource, path: DIR/accounting, poll: 20ms}
      - {format: slurm-squeue, command: [DIR/MARKsqueue, "MARKhead.example.org", "--user=MARKuser"]}
      - {format: slurm-facts, url: "http://MARKhead.invalid:6820", user: MARKuser, token_file: DIR/MARKjwt, timeout: 1s}
`))
	return dir, file
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, file string) *config.Config {
	t.Helper()
	cfg, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// eventually polls a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not in 5 min: %s", what)
		}
	}
}

// TestNothingPrivate plants names in the configuration, the logs, the quarantine, the errors of commands and the token.
// It proves that none of them is in a bundle made beside a running daemon. Useful information remains, with pseudonyms
// that are the same in all parts of the bundle.
func TestNothingPrivate(t *testing.T) {
	_, file := plant(t)
	cfg := load(t, file)
	d := daemon.New(cfg, daemon.Options{})
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "the log is read", func() bool {
		v := d.Views()[0]
		return len(v.Sources) > 0 && !v.At.IsZero() && v.At.After(time.Now().Add(-12*time.Minute)) &&
			// An untried source keeps the daemon degraded.
			!slices.ContainsFunc(v.Sources, func(s readmodel.SourceStatus) bool { return !s.Tried() })
	})
	var archive bytes.Buffer
	_, err := bundle.Write(t.Context(), &archive, cfg, nil,
		bundle.Options{Version: "1.2.3", URL: "http://" + d.Addr().String(), Goroutines: true})
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, archive.Bytes())
	clean(t, files)
	for name, words := range map[string][]string{
		"manifest.json": {`"version": "1.2.3"`, `"go": "go1.`},
		"configuration.json": {`"cluster-1"`, `"window_jobs": 20000`, `"format": "pbs"`,
			`"time_zone": "Local"`, `127.0.0.1:`, `"url": "http://host-`, "/accounting"},
		"check.json": {`"about": "source cluster-1/source-1"`, `"id": "scheduler.answers"`,
			`"status": "failed"`, `"reason": "format"`, `"bad_lines": 2`, `"queue-`},
		"host.json":  {`"kernel"`, `"cpus"`, `"zone"`},
		"store.json": {`"ending": ""`, `"ending": ".lock"`, `"schema_version"`},
		"ready.txt":  {"degraded"},
		"metrics.txt": {`cluster="cluster-1"`, `source="cluster-1/source-1"`,
			`waitcast_bad_lines_total`, `go_goroutines`},
		"queues.json":                   {`"cluster": "cluster-1"`, `"name": "queue-1"`, `"policy"`},
		"models/cluster-1-queue-1.json": {`"queue": "queue-1"`, `"lifetimes"`, `"law": "uniform_log"`},
		"accuracy.json":                 {`"cluster": "cluster-1"`, `"coverage"`},
		"quarantine.json":               {`"source": "cluster-1/source-1"`, `"reason": "format"`},
		"goroutines.txt":                {"goroutine profile", "daemon.go:"},
	} {
		content, ok := files[name]
		if !ok {
			t.Errorf("no %s; there are %d files: %s", name, len(files), files["manifest.json"])
		}
		for _, w := range words {
			if !strings.Contains(content, w) {
				t.Errorf("%s lacks %s:\n%.2000s", name, w, content)
			}
		}
	}
}

// TestWithoutDaemon proves that a bundle is also made if no daemon answers, and notes that. From an unreadable
// configuration it has only lines and keys.
func TestWithoutDaemon(t *testing.T) {
	dir, file := plant(t)
	cfg := load(t, file)
	l := httptest.NewServer(http.NotFoundHandler())
	cfg.Listen = strings.TrimPrefix(l.URL, "http://")
	l.Close()
	var archive bytes.Buffer
	notes, err := bundle.Write(t.Context(), &archive, cfg, nil, bundle.Options{})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "no daemon answers") {
		t.Errorf("%q, %v", notes, err)
	}
	files := unpack(t, archive.Bytes())
	clean(t, files)
	if files["check.json"] == "" || files["configuration.json"] == "" || files["metrics.txt"] != "" {
		t.Errorf("%d files", len(files))
	}
	bad := filepath.Join(dir, "bad.yaml")
	write(t, bad, "listen: "+mark+"\n"+mark+"key: 1\nclusters: [{name: "+mark+"/, "+mark+": 2, sources: [{format: "+
		mark+", path: /"+mark+"}]}]\n")
	_, cfgErr := config.Load(bad, nil)
	if cfgErr == nil {
		t.Fatal("it is taken")
	}
	archive.Reset()
	if _, err := bundle.Write(t.Context(), &archive, nil, cfgErr, bundle.Options{}); err != nil {
		t.Fatal(err)
	}
	files = unpack(t, archive.Bytes())
	clean(t, files)
	var places []struct {
		Line int
		Key  string
	}
	if err := json.Unmarshal([]byte(files["configuration-errors.json"]), &places); err != nil || len(places) < 4 {
		t.Fatalf("%s %v", files["configuration-errors.json"], err)
	}
	if places[0].Line != 1 || places[0].Key != "listen" || places[1].Line != 2 || places[1].Key != "***" {
		t.Errorf("%+v", places)
	}
}

// TestForeignAnswers proves that a bundle leaves out everything unexpected in a daemon's answers: unknown members,
// texts, labels and metrics, and errors.
func TestForeignAnswers(t *testing.T) {
	_, file := plant(t)
	cfg := load(t, file)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
			_, _ = io.WriteString(w, "not ready\nsource_unreadable: source "+mark+": "+mark+"\n")
		case "/metrics":
			_, _ = io.WriteString(w, "# HELP waitcast_x "+mark+"\n# TYPE waitcast_x gauge\nwaitcast_x{cluster=\""+mark+
				"\",new=\""+mark+"\",code=\"200\"} 3\n"+mark+"_total 1\n")
		case "/v1/queues":
			_, _ = io.WriteString(w, `{"queues":[{"cluster":"`+mark+`","name":"`+mark+`","user":"`+mark+`","`+mark+
				`":1,"policy":"fcfs","pool":"`+mark+`","outages":[{"name":"`+mark+
				`","from":"2026-03-02T00:00:00Z"}]}]}`)
		case "/v1/accuracy":
			_, _ = io.WriteString(w, `["`+mark+`",{"class":"`+strings.ToUpper(mark)+` \u0000"},{"log_pinball":{"`+
				mark+`":1}}]`)
		case "/v1/quarantine":
			_, _ = io.WriteString(w, `{"bad_lines":[{"source":"`+mark+`/`+mark+`","reason":"`+strings.ToUpper(mark)+
				`","text":"`+mark+`","message":"`+mark+`"}]}`)
		default:
			http.Error(w, mark, http.StatusTeapot)
		}
	}))
	defer other.Close()
	var archive bytes.Buffer
	notes, err := bundle.Write(t.Context(), &archive, cfg, nil, bundle.Options{URL: other.URL, Goroutines: true})
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, archive.Bytes())
	clean(t, files)
	if strings.TrimSpace(files["ready.txt"]) != "not ready" || !strings.Contains(files["metrics.txt"], `code="200"`) ||
		!strings.Contains(files["queues.json"], `"policy": "fcfs"`) {
		t.Errorf("%q\n%s\n%s", files["ready.txt"], files["metrics.txt"], files["queues.json"])
	}
	if len(notes) < 2 { // models, log-level, goroutines
		t.Errorf("notes %q", notes)
	}
}
