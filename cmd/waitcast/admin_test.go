package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
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

// received has the parts of a request that a client sent to the fake daemon.
type received struct{ query, token, kind, body string }

// daemon is a fake daemon that imports logs and lists a quarantine for clients with the right token.
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
	d.asked <- received{r.URL.String(), token, r.Header.Get("Content-Type"), string(body)}
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

// quarantineAnswer returns an invented quarantine.
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

// importedReport returns an invented report.
func importedReport() *wire.ImportReport {
	return &wire.ImportReport{
		Cluster: "main", Changed: true, Mode: "exact",
		Files: []wire.ImportFile{
			{Name: "/archive/accounting/20260301", Format: "pbs", Lines: 3981, BadLines: 1},
			{Name: "/archive/accounting/20260302", Note: "the file is empty"},
		},
		Lines: 3981, BadLines: 1, Bad: []wire.BadReason{
			{Reason: "procs", Lines: 1, First: []string{
				"/archive/accounting/20260301:77: bad line (procs): field size: 0 processors",
			}},
		},
		Jobs: 41_204, NewJobs: 1204, TooOldJobs: 18, From: time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC),
		To: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Waits: 40_811, Lifetimes: 40_902,
		Replayed: 39_000, Covered90: 35_490, Forecasts: 40_000, WithinFactor2: 25_200,
	}
}

const importedOut = `Imported 2 files into cluster main.
Its history now has 41204 jobs, from 2025-02-01 to 2026-03-01; this import added 1204 of them.
18 jobs are older than history_retention and were left out.
/archive/accounting/20260302: the file is empty.
1 of 3981 lines could not be used; see 'waitcast quarantine'.
  1 for reason procs, such as
    /archive/accounting/20260301:77: bad line (procs): field size: 0 processors
Forecasts have learnt from 40811 waits and 40902 lifetimes (exact replay).
In the replay 91 % of 39000 waits ended within their 90 % forecast, and 63 % were within a factor of 2 of the median.
See 'waitcast accuracy --replayed'.
`

// runAdmin runs the command with the daemon's address and the token's file in its environment. terminal is true if
// standard error is a terminal.
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

func progressOf(bytes, lines int64) wire.ImportLine {
	left := 190.0
	return wire.ImportLine{Progress: &wire.ImportProgress{Stage: "reading", Done: bytes, Lines: lines, BadLines: 1,
		RemainingSeconds: &left}}
}

func file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// partsOf returns the files of a form, by their names.
func partsOf(t *testing.T, r received) map[string]string {
	t.Helper()
	_, params, err := mime.ParseMediaType(r.kind)
	if err != nil {
		t.Fatal(err)
	}
	form, out := multipart.NewReader(strings.NewReader(r.body), params["boundary"]), map[string]string{}
	for {
		part, err := form.NextPart()
		if err != nil {
			return out
		}
		_, names, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		text, _ := io.ReadAll(part)
		out[names["filename"]] = string(text)
	}
}

// TestImportSendsAllFiles proves that several files are sent to the daemon in one request, unchanged even if they are
// compressed, and get one report.
func TestImportSendsAllFiles(t *testing.T) {
	d := newDaemon(t, progressOf(1, 1), wire.ImportLine{Report: importedReport()})
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte("two")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	one, two := file(t, "one", []byte("line\n")), file(t, "two.gz", zipped.Bytes())
	r := runAdmin(t, d, nil, false, "import", "--format", "pbs", "--cluster", "main", "--mode", "fast", one, two)
	if r.code != 0 || r.stderr != "" {
		t.Errorf("code %d, stderr %q", r.code, r.stderr)
	}
	if diff := cmp.Diff(importedOut, r.stdout); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := <-d.asked
	if diff := cmp.Diff(map[string]string{one: "line\n", two: zipped.String()}, partsOf(t, got)); diff != "" ||
		got.query != "/v1/import?cluster=main&format=pbs&mode=fast" {
		t.Errorf("%s (-want +got):\n%s", got.query, diff)
	}
}

// TestImportStandardInput proves that a dump can come through a pipe. Its format is left for the daemon to recognize.
func TestImportStandardInput(t *testing.T) {
	d := newDaemon(t, wire.ImportLine{Report: importedReport()})
	r := runAdmin(t, d, strings.NewReader("a|b\n"), false, "import", "-", "--json", "--columns", "jobid,submit")
	if got := <-d.asked; partsOf(t, got)["-"] != "a|b\n" || got.query != "/v1/import?columns=jobid%2Csubmit" {
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

// TestImportOfNothingNew proves that the report states that an import had no new job, or no job at all.
func TestImportOfNothingNew(t *testing.T) {
	for want, report := range map[string]wire.ImportReport{
		"Cluster main knows all of a already: nothing was done.\n" +
			"Its history now has 7 jobs, from 2026-01-01 to 2026-02-01; this import added none.\n": {
			Cluster: "main", Files: []wire.ImportFile{{Name: "a"}}, Jobs: 7,
			From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		},
		"There is no job in 2 files.\n": {Cluster: "main", Files: []wire.ImportFile{{Name: "a"}, {Name: "b"}}},
	} {
		d := newDaemon(t, wire.ImportLine{Report: &report})
		if r := runAdmin(t, d, strings.NewReader("x"), false, "import", "-"); r.stdout != want || r.code != 0 {
			t.Errorf("%+v, want %q", r, want)
		}
	}
}

// TestImportProgress proves that on a terminal the command rewrites one line of progress and clears it at the end. With
// --json there is no such line.
func TestImportProgress(t *testing.T) {
	d := newDaemon(t, progressOf(5, 120), progressOf(10, 400), wire.ImportLine{Report: importedReport()})
	log := file(t, "log\x1b[2J", []byte("0123456789"))
	r := runAdmin(t, d, nil, true, "import", log)
	rows := strings.Split(r.stderr, "\r")
	const half = "reading, 1 bad lines, about 3 min 10 s left  50"
	if len(rows) < 3 || !strings.Contains(r.stderr, half) || strings.TrimSpace(rows[len(rows)-1]) != "" {
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
		"reading, 1 bad lines") {
		t.Errorf("of unknown size: %q", r.stderr)
	}
}

// TestImportErrors checks the messages of failed imports, and their exit codes against docs/command.md.
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
		{"no file", good, []string{"import"}, 2, []string{"an argument is missing; write waitcast import FILE"}},
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
		{"mode", good, []string{"import", log, "--mode", "quick"}, 2, []string{"--mode is auto, exact or fast"}},
		{"quarantine: limit", good, []string{"quarantine", "--limit", "0"}, 2, []string{"--limit must be 1 to 10000"}},
		{"quarantine: argument", good, []string{"quarantine", "x"}, 2, []string{"do not fit"}},
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

// TestTokenPlaces proves that the command looks for the token where the daemon stores it, unless another place is
// given.
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

// TestQuarantine proves that the command lists the quarantine with places and reasons, and with --json prints the
// daemon's bytes.
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

// TestQuarantineText proves that no text from a log can control the terminal, and that the command reports the
// number of lines that were dropped from the quarantine.
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
