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

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/past"
)

// importSite returns a site whose models, journal and ledger have unlimited retention.
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
accuracy: {retention: 30000d}
`, dir, procs, s.log))
	return s
}

// token returns the admin token that the daemon generated.
func (s *site) token(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

// upload returns an import of one log.
func upload(format string, log io.Reader) client.Import {
	return client.Import{Format: format, Silence: patience, Files: []client.ImportFile{logFile("old.log", log)}}
}

// logFile is a file of an import.
func logFile(name string, log io.Reader) client.ImportFile {
	return client.ImportFile{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(log), nil }}
}

// send sends an import to a daemon as the client does.
func (r *running) send(ctx context.Context, s *site, in client.Import) (*wire.ImportReport, error) {
	r.t.Helper()
	c, err := client.New(r.Addr().String(), &r.http)
	if err != nil {
		r.t.Fatal(err)
	}
	report, _, err := c.Import(ctx, s.token(r.t), in)
	return report, err
}

func (r *running) imports(s *site, format string, log io.Reader) (*wire.ImportReport, error) {
	r.t.Helper()
	return r.send(r.t.Context(), s, upload(format, log))
}

func (r *running) mustImport(s *site, format string, log io.Reader) *wire.ImportReport {
	r.t.Helper()
	report, err := r.imports(s, format, log)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// holds returns the content of a daemon's database, except for the state that the daemon saves periodically.
func (r *running) holds() string {
	r.t.Helper()
	store := daemon.Store(r.Daemon)
	k := keptIn(r.t, store)
	histories, err := store.Histories(r.t.Context())
	must(r.t, err)
	inForce, err := store.Meta(r.t.Context(), past.InForceKey("main"))
	must(r.t, err)
	return fmt.Sprintf("%d entries, %d rows, bad lines %+v, histories %+v, in force %s", len(k.Entries), len(k.Rows),
		k.Bad, histories, inForce)
}

// kth returns the first 1,200 lines of KTH-SP2, or all of them in long tests.
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
	return bytes.Join(lines[:1200], nil)
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

// shown returns the running and waiting jobs of a view, without their numbers.
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

// TestImportBesideALiveLog imports a real trace into a daemon that follows a log. It proves that the picture and the
// existing rows of the ledger stay unchanged, that rows of the past are added, and that the log is still followed. The
// windows of lifetimes equal those of a one-shot run over both logs. A second import of the same trace, compressed and
// after a restart, changes nothing.
func TestImportBesideALiveLog(t *testing.T) {
	if testing.Short() {
		t.Skip("replays a trace: not with -short")
	}
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

	report := d.mustImport(s, "", bytes.NewReader(trace))
	// one job of the trace has no processors
	if n := jobs(trace); report.Jobs+report.BadLines != n || report.NewJobs != report.Jobs || report.BadLines > 1 ||
		!report.Changed || report.Files[0].Format != "swf" || report.Mode != "exact" || report.Waits < report.Jobs/2 {
		t.Errorf("%+v, want %d jobs", report, n)
	}
	if diff := cmp.Diff(before, shown(d)); diff != "" {
		t.Errorf("the import (+) changes the picture:\n%s", diff)
	}
	after := ledger(t, d)
	if n := int64(len(after) - len(rows)); n < report.Jobs*9/10 {
		t.Errorf("%d rows of the past, of %d jobs", n, report.Jobs)
	}
	if diff := cmp.Diff(rows, rowsOf(after, rows)); diff != "" {
		t.Errorf("the import (+) changes rows of the ledger:\n%s", diff)
	}
	sameLaws(t, s, d, trace)

	held := d.holds()
	again := d.mustImport(s, "swf", bytes.NewReader(zip(t, trace)))
	if again.Changed || again.NewJobs != 0 || again.Hash != report.Hash || again.Lines != report.Lines ||
		d.holds() != held {
		t.Errorf("imported again: %+v, want all known", again)
	}
	d.stop()
	s.add(t, text(records[half:]))
	d = s.start(t)
	d.caughtUp()
	if again := d.mustImport(s, "swf", bytes.NewReader(packed(t, trace))); again.Changed || again.Hash != report.Hash {
		t.Errorf("imported again after a restart: %+v, want all known", again)
	}
	sameLaws(t, s, d, trace)
	if n := len(ledger(t, d)); n <= len(after) {
		t.Errorf("%d rows in the ledger, %d before: the log is not followed on", n, len(after))
	}
}

// rowsOf returns those rows whose jobs also have a row in others.
func rowsOf(rows, others []modelstore.Row) (same []modelstore.Row) {
	wanted := map[string]bool{}
	key := func(r *modelstore.Row) string { return fmt.Sprint(r.JobID, r.Submit) }
	for i := range others {
		wanted[key(&others[i])] = true
	}
	for i := range rows {
		if wanted[key(&rows[i])] {
			same = append(same, rows[i])
		}
	}
	return same
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

// ledger reads the rows of a running daemon.
func ledger(t *testing.T, d *running) (rows []modelstore.Row) {
	t.Helper()
	err := daemon.Store(d.Daemon).Rows(t.Context(), modelstore.RowQuery{}, func(r modelstore.Row) error {
		r.Levels, r.Quantiles = nil, nil // the lists may contain NaN, which is not equal to itself
		rows = append(rows, r)
		return nil
	})
	must(t, err)
	return rows
}

// TestImportBrokenOff proves that an import whose client disconnects in the middle leaves no data behind, that no
// second import can run at the same time, and that a repeated import succeeds.
func TestImportBrokenOff(t *testing.T) {
	s := importSite(t, 128)
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.caughtUp()
	held := d.holds()
	ctx, cancel := context.WithCancel(t.Context())
	body, feed := io.Pipe()
	done := make(chan error, 1)
	alive := make(chan struct{}, 1000)
	in := upload("swf", body)
	in.Progress = func(wire.ImportProgress) { alive <- struct{}{} }
	go func() {
		_, err := d.send(ctx, s, in)
		done <- err
	}()
	long := shortSWF(300)
	if _, err := feed.Write(long[:len(long)/2]); err != nil {
		t.Fatal(err)
	}
	<-alive
	if _, err := d.imports(s, "swf", bytes.NewReader(long)); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a second import meanwhile: %v", err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a canceled import returns no error")
	}
	must(t, feed.Close())

	var report *wire.ImportReport
	d.eventually("the first import has ended", func() bool {
		var err error
		report, err = d.imports(s, "swf", strings.NewReader(""))
		return err == nil
	})
	if report.Jobs != 0 || report.Changed || d.holds() != held {
		t.Errorf("%+v: the import that was broken off left something behind", report)
	}
	if report = d.mustImport(s, "swf", bytes.NewReader(long)); report.NewJobs != 300 {
		t.Errorf("%+v, want all 300 jobs", report)
	}
}

// shortSWF returns a workload file of jobs of 2001.
func shortSWF(jobs int) []byte {
	var out bytes.Buffer
	out.WriteString("; UnixStartTime: 1000000000\n")
	for i := range jobs {
		fmt.Fprintf(&out, "%d %d %d %d 4 -1 -1 4 600 -1 1 %d 1 1 1 1 -1 -1\n", i+1, 100*i, i%7, 60+i%90, i%5)
	}
	return out.Bytes()
}

// TestImportStops proves that a daemon that is stopped does not wait for an import whose client has stopped sending,
// and reports the stop to the client.
func TestImportStops(t *testing.T) {
	s := importSite(t, 128)
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.caughtUp()
	body, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	alive, done := make(chan struct{}, 100), make(chan error, 1)
	in := upload("swf", body)
	in.Progress = func(wire.ImportProgress) { alive <- struct{}{} }
	go func() {
		_, err := d.send(t.Context(), s, in)
		done <- err
	}()
	<-alive
	d.stop() // fails if the stop waits for the client: its grace period runs out
	if err := <-done; err == nil || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("the client is told %v", err)
	}
}

// TestImportCountsOnce proves that jobs of the followed log count once if a log with the same jobs is imported.
func TestImportCountsOnce(t *testing.T) {
	s := newSite(t, "accounting", "")
	log := text(workload(t, 3, 60))
	s.add(t, log)
	d := s.start(t)
	d.caughtUp()
	counts, rows := d.Views()[0].Counts, ledger(t, d)
	report := d.mustImport(s, "", strings.NewReader(log))
	after := d.Views()[0].Counts
	if !report.Changed || after.Ended != counts.Ended || after.Submitted != counts.Submitted ||
		after.Started != counts.Started || len(ledger(t, d)) != len(rows) {
		t.Errorf("%+v and %d rows, %+v and %d rows before the import of the same log", after, len(ledger(t, d)), counts,
			len(rows))
	}
}

// TestImportSeveral proves that several files in one request are one import, in any order and in any formats, that an
// empty file is reported by name, that a truncated file is used up to its end, and that a later import adds its jobs to
// the history.
func TestImportSeveral(t *testing.T) {
	s := newSite(t, "accounting", "")
	d := s.start(t)
	a, b := life{"1.t", 4, 0, 1, 5}, life{"2.t", 8, 2, 6, 9}
	sacct := fmt.Sprintf("JobIDRaw|Submit|Start|End|NCPUS|State|Partition|User\n"+
		"7|%d|%d|%d|8|COMPLETED|work|u\n", minute(3).Unix(), minute(9).Unix(), minute(12).Unix())
	var many strings.Builder
	for i := range 1000 {
		many.WriteString(life{fmt.Sprintf("%d.t", 100+i), 1 + i%9, 10 + i, 20 + i, 30 + i + i%17}.e())
	}
	cut := zip(t, []byte(many.String()))
	report, err := d.send(t.Context(), s, client.Import{Silence: patience, Files: []client.ImportFile{
		logFile("/old/2", strings.NewReader(a.e())), logFile("/old/1", strings.NewReader(a.q()+a.s())),
		logFile("/old/nothing", strings.NewReader("")), logFile("/old/dump", strings.NewReader(sacct)),
		logFile("/old/cut.gz", bytes.NewReader(cut[:len(cut)/2])),
	}})
	must(t, err)
	half := report.Files[4]
	if half.Lines < 170 || half.Lines > 830 || half.BadLines != 1 || report.Jobs != 2+half.Lines {
		t.Errorf("%+v, want two jobs and those of half of the file that is cut off", report)
	}
	if f := report.Files[2]; f.Name != "/old/nothing" || f.Note != "the file is empty" {
		t.Errorf("%+v: the empty file", f)
	}
	if len(report.Bad) != 1 || len(report.Bad[0].First) != 1 ||
		!strings.HasPrefix(report.Bad[0].First[0], fmt.Sprintf("/old/cut.gz:%d: ", half.Lines+1)) ||
		!strings.Contains(report.Bad[0].First[0], "it is cut off") {
		t.Errorf("%+v, want line %d of the file that is cut off, with advice", report.Bad, half.Lines+1)
	}
	for i, format := range []string{"pbs", "pbs", "", "slurm-sacct", "pbs"} {
		if got := report.Files[i].Format; got != format {
			t.Errorf("file %d is %q, want %q", i, got, format)
		}
	}
	more := d.mustImport(s, "", strings.NewReader(b.e()))
	if more.Jobs != report.Jobs+1 || more.NewJobs != 1 || !more.Changed {
		t.Errorf("%+v, want one job more than %d", more, report.Jobs)
	}
}

// zip compresses with gzip. packed compresses with zstd.
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
