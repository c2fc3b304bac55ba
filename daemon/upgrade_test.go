package daemon_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
)

// TestUpgradeFromBeforeTheRelease proves that this daemon continues with the database of a daemon from before 0.1.0 and
// the log that both read: journal and ledger stay unchanged, the picture is that of the log, a job that ends later is
// scored, and the next start has all of this.
//
// testdata/before-0.1.0.pbs is an accounting log of 60 jobs on 16 processors. testdata/before-0.1.0.db.gz is the
// database of waitcastd of commit 7df8b34 (schema 5 of SQLite) after it had read that log and was stopped.
func TestUpgradeFromBeforeTheRelease(t *testing.T) {
	const waiting, running, rows = 28, 4, 32
	s := newSite(t, "20260302", "")
	log, err := os.ReadFile(filepath.Join("testdata", "before-0.1.0.pbs"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.log, string(log))
	unpack(t, filepath.Join("testdata", "before-0.1.0.db.gz"), s.db)
	info, err := sqlite.Describe(t.Context(), s.db)
	if err != nil || info.Schema != 5 || info.Spaces[0].Rows != rows {
		t.Fatalf("the old database is %+v, %v", info, err)
	}

	d := s.start(t)
	d.caughtUp()
	view := d.Views()[0]
	if len(view.Running) != running || len(view.Queued) != waiting {
		t.Errorf("%d jobs run and %d wait, want %d and %d", len(view.Running), len(view.Queued), running, waiting)
	}
	if status, body := d.get("/v1/wait?queue=work&procs=4&time_limit=1h"); status != http.StatusOK {
		t.Errorf("GET /v1/wait: status %d: %s", status, body)
	}
	d.stop()
	old := s.kept(t)
	if len(old.Entries) != 120 || len(old.Rows) != rows {
		t.Fatalf("%d entries and %d rows, want 120 and %d", len(old.Entries), len(old.Rows), rows)
	}

	id := view.Queued[0].ID
	s.add(t, "03/03/2026 00:00:00;D;"+id+";requestor=ann@server\n")
	d = s.start(t)
	d.eventually("a job has left", func() bool { return len(d.Views()[0].Queued) == waiting-1 })
	d.stop()
	now := s.kept(t)
	if diff := cmp.Diff(old.Entries, now.Entries[:len(old.Entries)]); diff != "" {
		t.Errorf("the journal of before has changed (-before +now):\n%s", diff)
	}
	// The line is 10 h later, so that running jobs are overdue; each of them makes a derived entry.
	added := slices.DeleteFunc(now.Entries[len(old.Entries):], func(e modelstore.Entry) bool { return e.Event.Derived })
	if len(added) != 1 || len(now.Rows) != rows+1 {
		t.Fatalf("%d more entries of records and %d rows after one more line", len(added), len(now.Rows))
	}
	if diff := cmp.Diff(old.Rows, now.Rows[:rows], cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("the ledger of before has changed (-before +now):\n%s", diff)
	}
	if row := now.Rows[rows]; row.JobID != id || !slices.IsSorted(row.Quantiles) || len(row.Quantiles) == 0 {
		t.Errorf("the row of the job that left is %+v", row)
	}
}

// unpack writes an uncompressed copy of a file.
func unpack(t *testing.T, from, to string) {
	t.Helper()
	file, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o640); err != nil {
		t.Fatal(err)
	}
}
