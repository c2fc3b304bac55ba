package daemon_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/modelstore/sqlite"
)

// life is the record of one job in these tests. Instants are minutes after the epoch. A negative instant is left out
// of the log.
type life struct {
	id                 string
	procs              int
	submit, start, end int
}

func (l life) rec() pbs.Record {
	submit := minute(max(l.submit, 0))
	return pbs.Record{
		ID: l.id, User: "secretuser", Queue: "work", Created: submit, Queued: submit, Eligible: submit,
		Procs: l.procs, TimeLimit: time.Hour, Start: minute(l.start), End: minute(l.end),
	}
}

func minute(n int) time.Time { return epoch().Add(time.Duration(n) * time.Minute) }

func (l life) q() string { return string(pbs.AppendQueued(nil, l.rec())) }
func (l life) s() string { return string(pbs.AppendStarted(nil, l.rec())) }
func (l life) e() string { return string(pbs.AppendEnded(nil, l.rec())) }

func events(verdict string) string {
	return fmt.Sprintf(`waitcast_events_total{cluster="main",source="main/accounting",verdict=%q}`, verdict)
}

func badLines(reason string) string {
	return fmt.Sprintf(`waitcast_bad_lines_total{cluster="main",reason=%q,source="main/accounting"}`, reason)
}

// TestBadLines proves that invalid lines are logged with their place, counted by reason and quarantined, and that each
// line before and after them counts once.
func TestBadLines(t *testing.T) {
	s := newSite(t, "accounting", "")
	a, b := life{"1.t", 4, 0, 1, 5}, life{"2.t", 8, 0, 2, 6}
	none, large := life{"3.t", 0, 3, 3, 4}, life{"4.t", machine + 1, 3, 3, 4}
	future := life{"5.t", 1, 70 * 365 * 24 * 60, 3, 4}.q()
	zero := strings.Replace(life{"3.t", 1, 3, 3, 4}.s(), "Resource_List.ncpus=1", "Resource_List.ncpus=0", 1)
	s.add(t, a.q()+"garbage\n"+b.q()+a.s()+none.s()+large.q()+b.s()+future+zero+a.e()+b.e())
	d := s.start(t)
	d.caughtUp()
	for reason, n := range map[string]string{"format": "1", "procs": "3", "future": "1"} {
		d.wantMetric(badLines(reason), n)
	}
	d.wantMetric(events("applied"), "6")
	d.wantMetric(events("duplicate"), "0")
	d.wantLog("bad line", s.log+":2", "format")
	d.wantLog("bad line", s.log+":5", "has the size")
	d.wantLog("bad line", s.log+":6", fmt.Sprintf("%d processors, but the cluster has %d", machine+1, machine))
	d.wantLog("dated ahead of the clock", s.log+":8", "set aside")
	d.wantLog("bad line", s.log+":9", "0 processors")
	d.stop()
	k := s.kept(t)
	if len(k.Bad) != 5 || len(k.Entries) != 6 || len(k.Rows) != 2 {
		t.Fatalf("%d bad lines, %d events, %d rows, want 5, 6 and 2", len(k.Bad), len(k.Entries), len(k.Rows))
	}
	for i, line := range []int64{9, 6, 5, 2, 8} { // newest first; lines that are set aside come before the others
		if b := k.Bad[i]; b.Line != line || b.Path != s.log || b.Message == "" || b.Source != "main/accounting" {
			t.Errorf("quarantine %d: %s:%d %q, want line %d of %s", i, b.Path, b.Line, b.Message, line, s.log)
		}
	}
	if string(k.Bad[3].Text) != "garbage" {
		t.Errorf("quarantined %q", k.Bad[3].Text)
	}
}

// TestBadLinesAreRateLimited proves that a log full of garbage does not fill the daemon's own log, that every bad line
// is counted, and that the message has the number of lines that were not logged.
func TestBadLinesAreRateLimited(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, strings.Repeat("garbage\n", 5000))
	d := s.start(t)
	d.wantMetric(badLines("format"), "5000")
	if n := d.logs.FilterMessage("bad line").Len(); n == 0 || n > 50 {
		t.Errorf("%d messages for 5000 bad lines, want a few", n)
	}
}

// TestLogAppears proves that a log that does not exist yet is reported as missing, that the daemon is not ready until
// the log exists, and that the log is then read.
func TestLogAppears(t *testing.T) {
	s := newSite(t, "accounting", "")
	d := s.start(t)
	d.wantLog("missing", s.log)
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/accounting"}`, "1")
	d.wantMetric(`waitcast_tail_problems_total{reason="missing",source="main/accounting"}`, "1")
	if status, body := d.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, s.log) {
		t.Errorf("readyz of a missing log: %d %s", status, body)
	}
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d.wantMetric(events("applied"), "1")
	d.caughtUp()
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/accounting"}`, "0")
}

// TestLogReplacedByDirectory proves that a log that is replaced by a directory is reported as unreadable, that
// reading continues when the log is back, and that earlier records are kept.
func TestLogReplacedByDirectory(t *testing.T) {
	s := newSite(t, "accounting", "")
	a := life{"1.t", 4, 0, 1, 5}
	s.add(t, a.q())
	d := s.start(t)
	d.wantMetric(events("applied"), "1")
	aside := s.log + ".aside"
	must(t, os.Rename(s.log, filepath.Join(filepath.Dir(s.log), "elsewhere")))
	must(t, os.Mkdir(s.log, 0o700))
	d.wantLog("is_a_directory", s.log)
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/accounting"}`, "1")
	must(t, os.Rename(s.log, aside))
	must(t, os.Rename(filepath.Join(filepath.Dir(s.log), "elsewhere"), s.log))
	s.add(t, a.s()+a.e())
	d.wantMetric(events("applied"), "3")
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/accounting"}`, "0")
	d.wantMetric(events("duplicate"), "0")
}

// TestUnreadableLog proves the same as TestLogReplacedByDirectory for a log without read permission. It is skipped for
// root, who can read everything.
func TestUnreadableLog(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the super-user may read every file")
	}
	s := newSite(t, "accounting", "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	must(t, os.Chmod(s.log, 0))
	d := s.start(t)
	d.wantLog("unreadable", s.log)
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/accounting"}`, "1")
	must(t, os.Chmod(s.log, 0o600))
	d.wantMetric(events("applied"), "1")
}

// TestTruncatedLog proves that a log that is truncated and written again is noticed and read again, and that repeated
// records count once.
func TestTruncatedLog(t *testing.T) {
	s := newSite(t, "accounting", "")
	a, b := life{"1.t", 4, 0, 1, 5}, life{"2.t", 4, 2, 3, 6}
	s.add(t, a.q()+a.s()+b.q())
	d := s.start(t)
	d.wantMetric(events("applied"), "3")
	must(t, os.Truncate(s.log, 0))
	s.add(t, a.q()+a.s())
	d.wantMetric(`waitcast_tail_truncations_total{source="main/accounting"}`, "1")
	d.wantLog("truncated", s.log)
	s.add(t, b.q()+b.s()+a.e()+b.e())
	d.wantMetric(events("applied"), "6")
	d.wantMetric(events("duplicate"), "3")
	d.stop()
	if k := s.kept(t); len(k.Entries) != 6 || len(k.Rows) != 2 {
		t.Errorf("%d events and %d rows, want 6 and 2", len(k.Entries), len(k.Rows))
	}
}

// TestTimeRunsBackwards proves that records with earlier times than their predecessors are used, counted and logged,
// and that the time of the picture does not go back.
func TestTimeRunsBackwards(t *testing.T) {
	s := newSite(t, "accounting", "")
	a, b := life{"1.t", 4, 60, 61, 65}, life{"2.t", 4, 2, 3, 70}
	s.add(t, a.q()+a.s()+b.q()+b.s()+a.e()+b.e())
	d := s.start(t)
	d.caughtUp()
	d.wantMetric(events("applied"), "6")
	d.wantMetric(`waitcast_out_of_order_events_total{cluster="main"}`, "2")
	d.wantLog("time runs backwards", "main/accounting", "2.t")
	if at := d.Views()[0].At; !at.Equal(minute(70)) {
		t.Errorf("the picture is of %s, want the newest record's %s", at, minute(70))
	}
}

// TestMissingRecords proves that a job whose first records are missing is counted once, and that records of unknown
// jobs are counted.
func TestMissingRecords(t *testing.T) {
	s := newSite(t, "accounting", "")
	end, start, unknown := life{"1.t", 4, 0, 1, 5}, life{"2.t", 4, 2, 6, 9}, life{"3.t", 4, 2, 6, 9}
	s.add(t, end.e()+start.s()+start.e()+string(pbs.AppendDeleted(nil, unknown.rec())))
	d := s.start(t)
	d.caughtUp()
	d.wantMetric(events("applied"), "3")
	d.wantMetric(events("orphan"), "1")
	d.wantMetric(`waitcast_derived_events_total{cluster="main"}`, "3") // submit and start of job 1, submit of job 2
	d.stop()
	k := s.kept(t)
	if len(k.Entries) != 6 {
		t.Errorf("%d events in the journal, want all six of two jobs", len(k.Entries))
	}
	if len(k.Rows) != 0 {
		t.Errorf("%d rows in the ledger: what is learnt after the fact was never forecast", len(k.Rows))
	}
}

// TestSecondDaemon proves that a second daemon on the same database ends with an error that names the process that has
// the database open, and that the first daemon continues.
func TestSecondDaemon(t *testing.T) {
	s := newSite(t, "accounting", "")
	d := s.start(t)
	err := daemon.Run(t.Context(), s.load(t), daemon.Options{})
	var locked *sqlite.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Path != s.db {
		t.Errorf("a second daemon: %v, want a LockedError that names process %d and %s", err, os.Getpid(), s.db)
	}
	cmd := play("daemon", s.config)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("a second daemon: %v, want exit code 1", err)
	}
	for _, want := range []string{s.db, fmt.Sprintf("process %d", os.Getpid())} {
		if !strings.Contains(string(out), want) {
			t.Errorf("a second daemon says %q, want %q in it", out, want)
		}
	}
	if status, _ := d.get("/healthz"); status != http.StatusOK {
		t.Errorf("the first daemon: %d", status)
	}
}

// TestCorruptDatabase proves that a damaged database is set aside, not deleted, and that all data are rebuilt from the
// logs.
func TestCorruptDatabase(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, text(workload(t, 3, 200)))
	d := s.start(t)
	d.caughtUp()
	if v := d.metric("waitcast_store_recovered"); v != "0" {
		t.Errorf("a sound database: waitcast_store_recovered %s", v)
	}
	d.stop()
	want := s.kept(t)

	damage(t, s.db)
	d = s.start(t)
	d.wantLog("damaged", "set aside")
	d.wantMetric("waitcast_store_recovered", "1")
	d.caughtUp()
	d.stop()
	got := s.kept(t)
	compare(t, &got, &want)
	if aside, _ := filepath.Glob(s.db + ".corrupt-*"); len(aside) == 0 {
		t.Error("the damaged database is gone")
	}
}

// damage overwrites the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	info, err := f.Stat()
	must(t, err)
	for at := int64(4096); at < info.Size(); at += 4096 {
		_, err = f.WriteAt([]byte(strings.Repeat("x", 2000)), at)
		must(t, err)
	}
	must(t, f.Close())
}

// TestTwoDaemons proves that two daemons run in one process, each with its own log, database and metrics.
func TestTwoDaemons(t *testing.T) {
	one, two := newSite(t, "accounting", ""), newSite(t, "accounting", "")
	one.add(t, life{"1.t", 4, 0, 1, 5}.q())
	two.add(t, life{"1.t", 4, 0, 1, 5}.q()+life{"2.t", 4, 0, 1, 5}.q())
	a, b := one.start(t), two.start(t)
	a.wantMetric(events("applied"), "1")
	b.wantMetric(events("applied"), "2")
	a.stop()
	two.add(t, life{"3.t", 4, 0, 1, 5}.q())
	b.wantMetric(events("applied"), "3")
}

// TestStartUndone proves that after a failed start no lock, port or goroutine remains.
func TestStartUndone(t *testing.T) {
	s := newSite(t, "accounting", "")
	first := s.start(t)
	other := newSite(t, "accounting", "")
	cfg := other.load(t)
	cfg.Listen = first.Addr().String()
	err := daemon.Run(t.Context(), cfg, daemon.Options{})
	if err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Fatalf("an address in use: %v", err)
	}
	other.start(t)
}

// TestEmptyConfiguration proves that a daemon without any cluster starts and stops.
func TestEmptyConfiguration(t *testing.T) {
	cfg := &config.Config{Listen: "127.0.0.1:0", StaleAfter: time.Minute,
		Store: config.Store{Path: filepath.Join(t.TempDir(), "x.db")}}
	d := daemon.New(cfg, daemon.Options{})
	must(t, d.Start(t.Context()))
	must(t, d.Stop())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
