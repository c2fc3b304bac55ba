package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

const secretToken = "the-token-of-the-tests"

// received is what the fake daemon was sent.
type received struct{ query, token, body string }

// daemon is a fake that takes logs and lists a quarantine, for those who know the token.
type daemon struct {
	url   string
	asked chan received
	lines []wire.ImportLine // the answer to an import
}

func newDaemon(t *testing.T, lines ...wire.ImportLine) *daemon {
	t.Helper()
	d := &daemon{asked: make(chan received, 10), lines: lines}
	server := httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

func (d *daemon) serve(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token != secretToken {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(wire.Problem{Title: "Unauthorized", Status: 401, Detail: "not you",
			Hint: "read the file"})
		return
	}
	body, _ := io.ReadAll(r.Body)
	d.asked <- received{r.URL.String(), token, string(body)}
	if r.URL.Path == "/v1/quarantine" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(quarantineAnswer())
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	for _, l := range d.lines {
		_ = json.NewEncoder(w).Encode(l)
	}
}

// quarantineAnswer is invented.
func quarantineAnswer() wire.Quarantine {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	return wire.Quarantine{
		BadLines: []wire.BadLine{
			{At: at, Source: "main/import", Path: "/var/spool/pbs/server_priv/accounting/20260301", Line: 77,
				Reason: "procs", Message: "bad line (procs): field size: 0 processors",
				Text: "03/01/2026 08:13:01;E;77.server;user=a queue=short Resource_List.ncpus=0"},
		},
		Matching: 1, Kept: 4,
	}
}

const quarantineOut = `/var/spool/pbs/server_priv/accounting/20260301:77  procs  (main/import, 2026-03-02 13:00:00)
    bad line (procs): field size: 0 processors
    | 03/01/2026 08:13:01;E;77.server;user=a queue=short Resource_List.ncpus=0
1 of 1 lines; 4 in quarantine
`

// importedReport is invented.
func importedReport() *wire.ImportReport {
	return &wire.ImportReport{
		Cluster: "main", Format: "pbs", Name: "/var/spool/pbs/server_priv/accounting/20260301", Lines: 3981, Jobs: 1204,
		NeverRanJobs: 31, KnownJobs: 18, BadLines: 1, Bad: []wire.BadReason{
			{Reason: "procs", Lines: 1, First: []string{"line 77: bad line (procs): field size: 0 processors"}},
		},
	}
}

const importedOut = `Imported        /var/spool/pbs/server_priv/accounting/20260301 into cluster main
Jobs            1204 taken in (31 of them never ran), 18 known already
Lines           3981, 1 of them bad
                1 for reason procs, such as
                  line 77: bad line (procs): field size: 0 processors
                See 'waitcast quarantine'.
`

// runAdmin runs the command with the daemon's address and a token's file in its environment, on a terminal or not.
func runAdmin(t *testing.T, d *daemon, stdin io.Reader, terminal bool, args ...string) result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secretToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return runEnv(map[string]string{"WAITCAST_URL": d.url, "WAITCAST_TOKEN_FILE": file}, stdin, terminal, args...)
}

func runEnv(env map[string]string, stdin io.Reader, terminal bool, args ...string) result {
	var stdout, stderr bytes.Buffer
	a := &app{Console: console.Console{Stdin: stdin, Stdout: &stdout, Stderr: &stderr, Terminal: terminal},
		zone: time.UTC, env: func(name string) string { return env[name] }}
	code := a.run(args)
	return result{code, stdout.String(), stderr.String()}
}

func progressOf(bytes, jobs int64) wire.ImportLine {
	return wire.ImportLine{Progress: &wire.ImportProgress{Bytes: bytes, Jobs: jobs, BadLines: 1}}
}

func file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Several files go to the daemon one after the other as they are, compressed ones too, and each has its report.
func TestImportSendsEachFile(t *testing.T) {
	d := newDaemon(t, progressOf(1, 1), wire.ImportLine{Report: importedReport()})
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte("two")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	one, two := file(t, "one", []byte("line\n")), file(t, "two.gz", zipped.Bytes())
	r := runAdmin(t, d, nil, false, "import", "--format", "pbs", "--cluster", "main", one, two)
	if r.code != 0 || r.stderr != "" {
		t.Errorf("code %d, stderr %q", r.code, r.stderr)
	}
	if diff := cmp.Diff(importedOut+importedOut, r.stdout); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, body := range map[string]string{one: "line\n", two: zipped.String()} {
		var got received
		for range 2 {
			if got = <-d.asked; strings.Contains(got.query, filepath.Base(path)) {
				break
			}
			d.asked <- got
		}
		if got.body != body || !strings.HasPrefix(got.query, "/v1/import?cluster=main&format=pbs&name=") {
			t.Errorf("%+v, want %q of %s", got, body, path)
		}
	}
}

// A dump can come through a pipe; the format is sacct's unless it is said.
func TestImportStandardInput(t *testing.T) {
	d := newDaemon(t, wire.ImportLine{Report: importedReport()})
	r := runAdmin(t, d, strings.NewReader("a|b\n"), false, "import", "-", "--json")
	if got := <-d.asked; got.body != "a|b\n" || got.query != "/v1/import?format=slurm-sacct&name=-" {
		t.Errorf("%+v", got)
	}
	var report wire.ImportReport
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != 0 ||
		strings.Count(r.stdout, "\n") != 1 || r.stderr != "" {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(*importedReport(), report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// On a terminal one line is written over, and taken away at the end; with --json there is none.
func TestImportProgress(t *testing.T) {
	d := newDaemon(t, progressOf(5, 120), progressOf(10, 400), wire.ImportLine{Report: importedReport()})
	log := file(t, "log\x1b[2J", []byte("0123456789"))
	r := runAdmin(t, d, nil, true, "import", log)
	rows := strings.Split(r.stderr, "\r")
	if len(rows) < 3 || !strings.Contains(r.stderr, "120 jobs, 1 bad lines  50 %") &&
		!strings.Contains(r.stderr, "120 jobs, 1 bad lines  50%") || strings.TrimSpace(rows[len(rows)-1]) != "" {
		t.Errorf("%q", rows)
	}
	for _, row := range rows {
		if len([]rune(row)) >= console.Columns || row != console.Printable(row) {
			t.Errorf("%q", row)
		}
	}
	if r = runAdmin(t, d, nil, true, "import", "--json", log); r.stderr != "" {
		t.Errorf("with --json: %q", r.stderr)
	}
	if r = runAdmin(t, d, strings.NewReader("x"), true, "import", "-"); !strings.Contains(r.stderr,
		"120 jobs, 1 bad lines") {
		t.Errorf("of unknown size: %q", r.stderr)
	}
}

// What goes wrong, with the exit codes of docs/command.md.
func TestImportErrors(t *testing.T) {
	refusal := &wire.Problem{Title: "Unprocessable Entity", Status: 422, Detail: "none of the lines",
		Hint: "say which format it has"}
	stopping := &wire.Problem{Title: "Service Unavailable", Status: 503, Detail: "the daemon is stopping",
		Hint: "import again"}
	good := newDaemon(t, wire.ImportLine{Report: importedReport()})
	log := file(t, "log", []byte("x"))
	for _, c := range []struct {
		name  string
		d     *daemon
		args  []string
		code  int
		words []string
	}{
		{"no file", good, []string{"import"}, 2, []string{"requires at least 1 arg"}},
		{"missing file", good, []string{"import", log + ".no"}, 1, []string{log + ".no: no such file"}},
		{"a folder", good, []string{"import", filepath.Dir(log)}, 1, []string{"is a folder"}},
		{"refused", newDaemon(t, progressOf(1, 0), wire.ImportLine{Problem: refusal}), []string{"import", log}, 2,
			[]string{"none of the lines", "What would help: say which format"}},
		{"stopping", newDaemon(t, wire.ImportLine{Problem: stopping}), []string{"import", log}, 1,
			[]string{"is stopping", "import again"}},
		{"no end", newDaemon(t, progressOf(1, 0)), []string{"import", log}, 1,
			[]string{"no answer from the daemon", "EOF"}},
		{"wrong token", good, []string{"import", log, "--token-file", log}, 1, []string{"not you", "read the file"}},
		{"no token", good, []string{"import", log, "--token-file", log + ".no"}, 1,
			[]string{"no admin token", "as --token-file says", "data_dir"}},
		{"empty token", good, []string{"import", log, "--token-file", file(t, "empty", nil)}, 1,
			[]string{"holds no token"}},
		{"timeout", good, []string{"import", log, "--timeout", "0"}, 2, []string{"--timeout"}},
		{"quarantine: limit", good, []string{"quarantine", "--limit", "0"}, 2, []string{"--limit must be 1 to 10000"}},
		{"quarantine: argument", good, []string{"quarantine", "x"}, 2, []string{"unknown command"}},
		{"quarantine: wrong token", good, []string{"quarantine", "--token-file", log}, 1, []string{"not you"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runAdmin(t, c.d, nil, false, c.args...)
			expect(t, r, c.code, c.words...)
			if r.stdout != "" {
				t.Errorf("stdout %q", r.stdout)
			}
		})
	}
	broken := io.MultiReader(strings.NewReader("x"), brokenReader{})
	expect(t, runAdmin(t, good, broken, false, "import", "-"), 1, "-: the disk is broken")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the disk is broken") }

// The token is looked for where the daemon keeps it unless it is told.
func TestTokenPlaces(t *testing.T) {
	d, dir := newDaemon(t), t.TempDir()
	for _, place := range []string{
		"state/admin-token", "xdg/waitcast/admin-token", "home/.local/state/waitcast/admin-token",
	} {
		path := filepath.Join(dir, place)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(secretToken), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, env := range map[string]map[string]string{
		"systemd": {"STATE_DIRECTORY": filepath.Join(dir, "state") + ":/nowhere"},
		"XDG":     {"STATE_DIRECTORY": "/nowhere", "XDG_STATE_HOME": filepath.Join(dir, "xdg"), "HOME": "/nowhere"},
		"home":    {"XDG_STATE_HOME": "not/absolute", "HOME": filepath.Join(dir, "home")},
	} {
		env["WAITCAST_URL"] = d.url
		if r := runEnv(env, nil, false, "quarantine"); r.code != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := runEnv(map[string]string{"WAITCAST_URL": d.url, "WAITCAST_TOKEN_FILE": "/nowhere",
		"STATE_DIRECTORY": filepath.Join(dir, "state")}, nil, false, "quarantine")
	expect(t, r, 1, "no admin token", "WAITCAST_TOKEN_FILE says")
}

// The quarantine is listed with place and reason, and as it came with --json.
func TestQuarantine(t *testing.T) {
	d := newDaemon(t)
	r := runAdmin(t, d, nil, false, "quarantine", "--reason", "procs", "--cluster", "main", "--limit", "7")
	if diff := cmp.Diff(quarantineOut, r.stdout); diff != "" || r.code != 0 || r.stderr != "" {
		t.Errorf("%+v (-want +got):\n%s", r, diff)
	}
	if got := <-d.asked; got.query != "/v1/quarantine?cluster=main&limit=7&reason=procs" {
		t.Errorf("asked %s", got.query)
	}
	var answer wire.Quarantine
	r = runAdmin(t, d, nil, false, "quarantine", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(quarantineAnswer(), answer); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nothing of a log steers the terminal, and what was dropped is said.
func TestQuarantineText(t *testing.T) {
	a := &app{zone: time.UTC}
	text := string(a.quarantineText(&wire.Quarantine{
		BadLines: []wire.BadLine{{Source: "main/log", Reason: "field", Message: "a\x1bb\nc", Text: "x\ry"}},
		Matching: 5, Kept: 10_000, Dropped: 3,
	}))
	want := "main/log  field  (main/log, 0001-01-01 00:00:00)\n    a?b c\n    | x?y\n1 of 5 lines; 10000 in " +
		"quarantine, 3 older ones were dropped\n"
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// The answers shown in the docs are what the commands print.
func TestDocsShowTheAdministratorsAnswers(t *testing.T) {
	in := sections(t)
	for name, out := range map[string]string{"waitcast import": importedOut, "waitcast quarantine": quarantineOut} {
		if want := "    " + strings.ReplaceAll(strings.TrimSuffix(out, "\n"), "\n", "\n    ") +
			"\n"; !strings.Contains(in[name], want) {
			t.Errorf("%s: the docs lack\n%s", name, want)
		}
	}
}
