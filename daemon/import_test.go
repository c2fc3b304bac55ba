package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/modelstore"
)

// importSite is a site whose models and journal reach back to any time.
func importSite(t testing.TB, procs int) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{dir: dir, log: filepath.Join(dir, "accounting"), db: filepath.Join(dir, "waitcast.db"),
		config: filepath.Join(dir, "waitcastd.yaml")}
	write(t, s.config, fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
clusters:
  - name: main
    procs: %d
    time_zone: UTC
    sources: [{name: accounting, format: pbs, path: %q, poll: 20ms}]
models: {window_jobs: 1000000, window_age: 30000d, min_samples: 5}
store: {journal_retention: 30000d}
`, dir, procs, s.log))
	return s
}

// token returns the admin token that the daemon has made.
func (s *site) token(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

// imports sends a log to a daemon as the client does.
func (r *running) imports(s *site, format string, log io.Reader) (*wire.ImportReport, error) {
	r.t.Helper()
	c, err := client.New(r.Addr().String(), &r.http)
	if err != nil {
		r.t.Fatal(err)
	}
	report, _, err := c.Import(r.t.Context(), s.token(r.t), client.Import{Format: format, Name: "old.log", Log: log,
		Silence: patience})
	return report, err
}

func (r *running) mustImport(s *site, format string, log io.Reader) *wire.ImportReport {
	r.t.Helper()
	report, err := r.imports(s, format, log)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// kth returns the first lines of KTH-SP2, all of them where tests may be long.
func kth(t testing.TB) []byte {
	t.Helper()
	file, err := os.Open(refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("WAITCAST_LONG") != "" {
		return content
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	return bytes.Join(lines[:4000], nil)
}

// jobs counts the jobs of a workload file.
func jobs(swf []byte) (n int64) {
	for line := range bytes.Lines(swf) {
		if line[0] != ';' {
			n++
		}
	}
	return n
}

// shown is what a view shows of the jobs that live, without their numbers.
func shown(r *running) (live []cluster.Job) {
	v := r.Views()[0]
	for _, j := range slices.Concat(v.Running, v.Queued) {
		one := *j
		one.Seq = 0
		live = append(live, one)
	}
	return live
}

// laws returns the published windows of lifetimes, without the instants of their fits.
func (r *running) laws(queues []daemon.QueueReport) map[string][]wire.Model {
	r.t.Helper()
	all := map[string][]wire.Model{}
	for _, q := range queues {
		status, body := r.get("/v1/models/" + url.PathEscape(q.Name))
		var m struct{ Lifetimes []wire.Model }
		if err := json.Unmarshal([]byte(body), &m); err != nil || status != http.StatusOK {
			r.t.Fatalf("models of %s: %d, %v", q.Name, status, err)
		}
		all[q.Name] = m.Lifetimes
	}
	return all
}

// TestImportBesideALiveLog proves, on a real trace imported into a daemon that follows a log, that the picture and the
// ledger stay as they are, that the windows of lifetimes are those of a one-shot run over both logs, that a second
// import of the same trace, compressed, after a restart too, takes in nothing, and that the log is followed on.
func TestImportBesideALiveLog(t *testing.T) {
	trace := kth(t)
	s, records := importSite(t, 128), workload(t, 5, 400)
	half := len(records) / 2
	s.add(t, text(records[:half]))
	d := s.start(t)
	d.caughtUp()
	before, rows := shown(d), ledger(t, d)
	if len(before) == 0 || len(rows) == 0 {
		t.Fatalf("%d live jobs and %d rows: nothing to disturb", len(before), len(rows))
	}

	report := d.mustImport(s, "swf", bytes.NewReader(trace))
	// One job of the trace has no processors.
	if n := jobs(trace); report.Jobs+report.BadLines != n || report.KnownJobs != 0 || report.BadLines > 1 ||
		report.Bytes != int64(len(trace)) {
		t.Errorf("%+v, want %d jobs of %d bytes", report, n, len(trace))
	}
	if diff := cmp.Diff(before, shown(d)); diff != "" {
		t.Errorf("the import (+) changes the picture:\n%s", diff)
	}
	if diff := cmp.Diff(rows, ledger(t, d)); diff != "" {
		t.Errorf("the import (+) changes the ledger:\n%s", diff)
	}
	sameLaws(t, s, d, trace)

	again := d.mustImport(s, "swf", bytes.NewReader(zip(t, trace)))
	if again.Jobs != 0 || again.KnownJobs != report.Jobs || again.Lines != report.Lines {
		t.Errorf("imported again: %+v, want all known", again)
	}
	d.stop()
	s.add(t, text(records[half:]))
	d = s.start(t)
	d.caughtUp()
	if again := d.mustImport(s, "swf", bytes.NewReader(packed(t, trace))); again.Jobs != 0 ||
		again.KnownJobs != report.Jobs {
		t.Errorf("imported again after a restart: %+v, want all known", again)
	}
	sameLaws(t, s, d, trace)
	if n := len(ledger(t, d)); n <= len(rows) {
		t.Errorf("%d rows in the ledger, %d before: the log is not followed on", n, len(rows))
	}
}

// sameLaws compares the windows of a daemon with those of a one-shot run over its log and a trace.
func sameLaws(t *testing.T, s *site, d *running, trace []byte) {
	t.Helper()
	cfg := s.load(t)
	second := cfg.Clusters[0].Sources[0]
	second.Name, second.Format, second.Path = "trace", "swf", filepath.Join(t.TempDir(), "trace.swf")
	write(t, second.Path, string(trace))
	cfg.Clusters[0].Sources = append(cfg.Clusters[0].Sources, second)
	reports, err := daemon.OneShot(t.Context(), cfg, nil)
	must(t, err)
	got := d.laws(reports[0].Queues)
	lifetimes := 0
	for _, q := range reports[0].Queues {
		for i, want := range q.Classes {
			have := got[q.Name][i]
			lifetimes += want.N
			if have.N != want.N || want.B0 != nil && (have.B0 != *want.B0 || have.B1 != *want.B1 ||
				have.R2 != *want.R2) {
				t.Errorf("queue %s, %s: %+v, want %+v", q.Name, want.Class, have, want)
			}
		}
	}
	if int64(lifetimes) < jobs(trace)/2 {
		t.Errorf("%d lifetimes in all windows", lifetimes)
	}
}

// ledger reads the rows of a daemon that runs.
func ledger(t *testing.T, d *running) (rows []modelstore.Row) {
	t.Helper()
	err := daemon.Store(d.Daemon).Rows(t.Context(), modelstore.RowQuery{}, func(r modelstore.Row) error {
		r.Levels, r.Quantiles = nil, nil // NaN is not equal to itself
		rows = append(rows, r)
		return nil
	})
	must(t, err)
	return rows
}

// TestImportKilled proves that an import whose client is gone in the middle leaves a part of the jobs, and that
// importing again takes in just the rest.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills processes: not with -short")
	}
	trace := kth(t)
	s := importSite(t, 128)
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.caughtUp()
	ctx, cancel := context.WithCancel(t.Context())
	body, feed := io.Pipe()
	c, err := client.New(d.Addr().String(), &d.http)
	must(t, err)
	done := make(chan error, 1)
	go func() {
		_, _, err := c.Import(ctx, s.token(t), client.Import{Format: "swf", Log: body})
		done <- err
	}()
	// More jobs than are put into order at a time, so that some are sent on.
	long := repeated(trace, 24_000)
	for chunk := range slices.Chunk(long, 64<<10) {
		if _, err := feed.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	applied := `waitcast_events_total{cluster="main",source="main/import",verdict="applied"}`
	d.eventually("a part is taken in", func() bool { return d.metric(applied) != "0" })
	if _, err := d.imports(s, "swf", bytes.NewReader(trace)); err == nil ||
		!strings.Contains(err.Error(), "under way") {
		t.Errorf("a second import meanwhile: %v", err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a canceled import returns no error")
	}
	must(t, feed.Close())

	d.eventually("the first import has ended", func() bool {
		_, err = d.imports(s, "swf", strings.NewReader(""))
		return err == nil
	})
	report := d.mustImport(s, "swf", bytes.NewReader(long))
	if report.Jobs == 0 || report.KnownJobs == 0 || report.Jobs+report.KnownJobs+report.BadLines != jobs(long) {
		t.Errorf("%+v, want a part of the %d jobs known and the rest taken in", report, jobs(long))
	}
	if again := d.mustImport(s, "swf", bytes.NewReader(long)); again.Jobs != 0 {
		t.Errorf("imported a third time: %+v", again)
	}
}

// repeated returns copies of a workload file with job numbers and times of their own, of at least so many jobs.
func repeated(swf []byte, least int) []byte {
	var out bytes.Buffer
	n := 0
	for copies := 0; n < least; copies++ {
		for line := range bytes.Lines(swf) {
			if line[0] == ';' {
				if copies == 0 {
					out.Write(line)
				}
				continue
			}
			var id, submit int
			rest := bytes.TrimSpace(line)
			_, _ = fmt.Sscan(string(rest), &id, &submit)
			fields := bytes.Fields(rest)
			fmt.Fprintf(&out, "%d %d %s\n", id+copies*1_000_000, submit+copies*10_000_000,
				bytes.Join(fields[2:], []byte(" ")))
			n++
		}
	}
	return out.Bytes()
}

// TestImportStops proves that a daemon that is stopped does not wait for an import whose client sends no more, and
// tells it so.
func TestImportStops(t *testing.T) {
	s := importSite(t, 128)
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.caughtUp()
	body, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	c, err := client.New(d.Addr().String(), &d.http)
	must(t, err)
	alive, done := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		_, _, err := c.Import(t.Context(), s.token(t), client.Import{Format: "swf", Log: body,
			Progress: func(wire.ImportProgress) { alive <- struct{}{} }})
		done <- err
	}()
	<-alive
	d.stop() // fails if the stop waits for the client: its grace period runs out
	if err := <-done; err == nil || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("the client is told %v", err)
	}
}

// TestImportBadLines proves that lines that cannot be used are reported by reason and kept in the quarantine under the
// file's name, that a log of another format is refused before anything of it counts, and that the quarantine lists the
// lines to those only who know the token.
func TestImportBadLines(t *testing.T) {
	s := importSite(t, machine)
	s.add(t, "garbage\n"+life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.caughtUp()
	large := life{"3.t", machine + 1, 1, 2, 3}
	log := life{"2.t", 4, -20, 1, 5}.e() + "caf\xe9\\ \x1b[1m\n" + large.e() + strings.Repeat("x", 2<<20) + "\n" +
		life{"4.t", 4, 1, 2, 4}.e()
	report := d.mustImport(s, "pbs", strings.NewReader(log))
	if report.Jobs != 2 || report.Lines != 5 || report.BadLines != 3 || len(report.Bad) != 3 {
		t.Fatalf("%+v, want 2 jobs and 3 bad lines of 5", report)
	}
	for i, want := range []wire.BadReason{{Reason: "format", Lines: 1}, {Reason: "procs", Lines: 1},
		{Reason: "long_line", Lines: 1}} {
		b := report.Bad[i]
		if b.Reason != want.Reason || b.Lines != want.Lines || len(b.First) != 1 ||
			!strings.HasPrefix(b.First[0], fmt.Sprintf("line %d: ", i+2)) {
			t.Errorf("%+v, want %+v of line %d", b, want, i+2)
		}
	}
	other, err := d.imports(s, "swf", strings.NewReader(strings.Repeat(life{"5.t", 4, 0, 1, 5}.e(), 200_000)))
	if err == nil || !strings.Contains(err.Error(),
		"none of the first 1000 lines of old.log is a record of format swf") {
		t.Errorf("a PBS log as swf: %+v, %v", other, err)
	}

	c, err := client.New(d.Addr().String(), &d.http)
	must(t, err)
	q, _, err := c.Quarantine(t.Context(), s.token(t), "main", "", 0)
	must(t, err)
	if q.Kept != 4 || q.Matching != 4 || q.Dropped != 0 || len(q.BadLines) != 4 {
		t.Fatalf("%+v, want 4 lines", q)
	}
	first, second := q.BadLines[0], q.BadLines[1]
	if first.Source != "main/accounting" || first.Path != s.log || first.Line != 1 || first.Text != "garbage" {
		t.Errorf("%+v, want the log's first line", first)
	}
	if second.Source != "main/import" || second.Path != "old.log" || second.Line != 2 ||
		second.Text != `caf\xe9\\ \x1b[1m` {
		t.Errorf("%+v, want the import's second line, escaped", second)
	}
	if q, _, err = c.Quarantine(t.Context(), s.token(t), "", "procs", 1); err != nil || len(q.BadLines) != 1 ||
		q.BadLines[0].Reason != "procs" {
		t.Errorf("of one reason: %+v, %v", q, err)
	}
	if _, _, err := c.Quarantine(t.Context(), "wrong"+s.token(t), "", "", 0); err == nil ||
		!strings.Contains(err.Error(), "401") {
		t.Errorf("with a wrong token: %v", err)
	}
}

// TestImportLeavesOut proves what an import leaves out: jobs that live, that have just ended, that are older than the
// journal keeps, and such that are not over.
func TestImportLeavesOut(t *testing.T) {
	s := newSite(t, "accounting", "store: {journal_retention: 120d}\n")
	now := epoch().Add(24 * time.Hour)
	live := life{"1.t", 4, 10, 11, -1}
	s.add(t, live.q()+live.s())
	d := s.startAt(t, func() time.Time { return now })
	d.caughtUp()
	minutes := 24 * 60
	old := life{"4.t", 4, 0, 0, 0}.rec()
	old.Created = minute(-121 * minutes)
	old.Queued, old.Eligible, old.Start, old.End = old.Created, old.Created, old.Created, old.Created
	log := life{"1.t", 4, 10, 11, 15}.e() + life{"2.t", 4, 1, 2, minutes}.e() + life{"3.t", 4, 1, 2, minutes - 2}.e() +
		life{"5.t", 4, 1, 2, 9}.s() +
		string(pbs.AppendEnded(nil, old))
	report := d.mustImport(s, "pbs", strings.NewReader(log))
	if report.Jobs != 1 || report.FollowedJobs != 2 || report.TooOldJobs != 1 || report.BadLines != 0 {
		t.Errorf("%+v, want one job taken in, two left, one too old", report)
	}
}

// TestImportRefused proves what is refused, with its status and what would help.
func TestImportRefused(t *testing.T) {
	s := importSite(t, 128)
	d := s.start(t) // its log is not there yet, which keeps nobody from importing
	d.wantLog("missing", s.log)
	token := "Bearer " + s.token(t)
	for _, c := range []struct {
		name, query, authorization, encoding, body string
		status                                     int
		words                                      []string
	}{
		{"no token", "format=swf", "", "", "", 401, []string{"needs the daemon's admin token", "admin_token_file"}},
		{"wrong token", "format=swf", token + "x", "", "", 401, []string{"is not one of this daemon"}},
		{"another scheme", "format=swf", strings.Replace(token, "Bearer", "Basic", 1), "", "", 401, nil},
		{"no format", "", token, "", "", 422, []string{"format"}},
		{"unknown format", "format=x", token, "", "", 422,
			[]string{"lsf-acct, lsf-events, pbs, sge-accounting, slurm-jobcomp, slurm-sacct, swf"}},
		{"a live format", "format=slurm-log", token, "", "", 422, []string{"slurm-log"}},
		{"unknown cluster", "format=swf&cluster=moon", token, "", "", 404, []string{"moon", "main"}},
		{"unknown parameter", "format=swf&clutser=main", token, "", "", 422, []string{"clutser"}},
		{"unknown encoding", "format=swf", token, "br", "", 415, []string{"br", "zstd"}},
		{"cut gzip", "format=swf", token, "", string(zip(t, []byte("; a\n; b\n"))[:20]), 422,
			[]string{"import cannot be read past line"}},
		{"no log", "format=swf", token, "", "\x00\x01\xff", 422, []string{"none of the first 1 lines"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				"http://"+d.Addr().String()+"/v1/import?"+c.query, strings.NewReader(c.body))
			must(t, err)
			req.Header.Set("Authorization", c.authorization)
			req.Header.Set("Content-Encoding", c.encoding)
			resp, err := d.http.Do(req)
			must(t, err)
			defer func() { _ = resp.Body.Close() }()
			var p wire.Problem
			if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != c.status ||
				p.Status != c.status {
				t.Fatalf("status %d, %+v, %v, want %d", resp.StatusCode, p, err, c.status)
			}
			if (c.status == 401) != (resp.Header.Get("WWW-Authenticate") != "") ||
				resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers %v", resp.Header)
			}
			for _, w := range c.words {
				if !strings.Contains(p.Detail+p.Hint, w) {
					t.Errorf("%q, %q: want %q there", p.Detail, p.Hint, w)
				}
			}
		})
	}
	if report := d.mustImport(s, "swf", strings.NewReader("")); report.Lines != 0 || report.Jobs != 0 {
		t.Errorf("an empty log: %+v", report)
	}
}

// TestAdminToken proves that the token is made once, readable by nobody else, kept over a restart, and that a file
// without one keeps the daemon from starting.
func TestAdminToken(t *testing.T) {
	s := importSite(t, 128)
	d := s.start(t)
	d.stop()
	file := filepath.Join(s.dir, "admin-token")
	info, err := os.Stat(file)
	must(t, err)
	token := s.token(t)
	if info.Mode().Perm() != 0o600 || len(token) < 26 {
		t.Errorf("mode %v, %d characters", info.Mode(), len(token))
	}
	other := importSite(t, 128)
	other.start(t).stop()
	if other.token(t) == token {
		t.Error("two daemons have made the same token")
	}
	must(t, os.Chmod(file, 0o644)) //nolint:gosec // that is what is warned of
	d = s.start(t)
	d.wantLog("chmod", file)
	if s.token(t) != token {
		t.Error("a restart changes the token")
	}
	d.stop()
	write(t, file, "short\n")
	err = daemon.Run(t.Context(), s.load(t), daemon.Options{})
	if err == nil || !strings.Contains(err.Error(), "admin_token_file") || !strings.Contains(err.Error(), file) {
		t.Errorf("a file without a token: %v", err)
	}
}

// zip compresses with gzip, packed with zstd.
func zip(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func packed(t testing.TB, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	return w.EncodeAll(content, nil)
}
