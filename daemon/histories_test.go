package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/modelstore"
)

// historySite returns a site whose configuration names logs of the past in a folder old.
func historySite(t *testing.T, extra string) *site {
	t.Helper()
	s := newSite(t, "accounting", "")
	must(t, os.Mkdir(filepath.Join(s.dir, "old"), 0o700))
	s.edit(t, "    time_zone: UTC\n", fmt.Sprintf("    time_zone: UTC\n    history: {files: [%q]%s}\n",
		filepath.Join(s.dir, "old", "*"), extra))
	return s
}

// old writes a log of the past.
func (s *site) old(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(s.dir, "old", name), text)
}

// taken returns the number of imports of history files that the daemon has logged.
func (r *running) taken() int {
	return r.logs.FilterMessageSnippet("files of history were imported").Len()
}

// TestHistoryFiles proves that the configured files are learnt at the first start before any record of the followed
// log, that they are not read again as long as they are unchanged, and that they are imported again when one has grown,
// and after a reload that names other files.
func TestHistoryFiles(t *testing.T) {
	log := workload(t, 11, 300)
	past, live := log[:len(log)/2], log[len(log)/2:]
	s := historySite(t, ", mode: exact")
	s.old(t, "1", text(past[:len(past)/2]))
	s.add(t, text(live))
	d := s.start(t)
	d.caughtUp()
	d.eventually("the files are taken in", func() bool { return d.taken() == 1 })
	history, err := daemon.Pipeline(d.Daemon).HistoryOf(t.Context(), "main")
	if err != nil || history == nil || history.After != 0 {
		t.Fatalf("%+v, %v: want a history in force before the first record was journaled", history, err)
	}
	replayed := 0
	for _, r := range ledger(t, d) {
		if r.Replayed && !r.Start.IsZero() && r.Start.Before(past[len(past)/2].at) {
			replayed++
		}
	}
	if replayed == 0 {
		t.Error("no row of the past")
	}
	d.stop()

	d = s.start(t)
	d.caughtUp()
	again, err := daemon.Pipeline(d.Daemon).HistoryOf(t.Context(), "main")
	must(t, err)
	if again.Hash != history.Hash || d.taken() != 0 {
		t.Errorf("files that are as they were are taken in %d times", d.taken())
	}
	d.stop()

	s.old(t, "1", text(past))
	d = s.start(t)
	d.eventually("the file that grew is taken in", func() bool { return d.taken() == 1 })
	grown, err := daemon.Pipeline(d.Daemon).HistoryOf(t.Context(), "main")
	must(t, err)
	if grown.Submissions <= history.Submissions || grown.After == 0 {
		t.Errorf("%+v, want more than %d submissions", grown, history.Submissions)
	}
	s.old(t, "2", life{"9999.t", 4, 0, 1, 5}.e())
	s.edit(t, "mode: exact", "mode: fast")
	must(t, d.Reload(t.Context(), s.load(t)))
	d.eventually("the other file is taken in", func() bool { return d.taken() == 2 })
	more, err := daemon.Pipeline(d.Daemon).HistoryOf(t.Context(), "main")
	must(t, err)
	if more.Submissions != grown.Submissions+1 || more.Mode != "fast" {
		t.Errorf("%+v, want one submission more than %d", more, grown.Submissions)
	}
}

// closed returns a log without the jobs that have records on both sides of its middle.
func closed(log []record) (past, live []record) {
	id := func(r record) string {
		if fields := strings.SplitN(r.text, ";", 4); len(fields) == 4 {
			return fields[2]
		}
		return ""
	}
	before := map[string]bool{}
	for _, r := range log[:len(log)/2] {
		before[id(r)] = true
	}
	both := map[string]bool{}
	for _, r := range log[len(log)/2:] {
		both[id(r)] = before[id(r)]
	}
	without := func(part []record) []record {
		return slices.DeleteFunc(slices.Clone(part), func(r record) bool { return both[id(r)] })
	}
	return without(log[:len(log)/2]), without(log[len(log)/2:])
}

// TestHistoryFilesLikeFollowed proves that a daemon that learns history files and then follows the rest of the log
// makes the same forecasts for the rest as one that followed everything. No job is open at the end of the files: such a
// job stays out of the live picture until the followed log reports it.
func TestHistoryFilesLikeFollowed(t *testing.T) {
	past, live := closed(workload(t, 12, 300))
	since := live[0].at
	whole := newSite(t, "accounting", "")
	whole.add(t, text(slices.Concat(past, live)))
	d := whole.start(t)
	d.caughtUp()
	want := rowsSince(t, d, since)
	d.stop()

	s := historySite(t, ", mode: exact, format: pbs")
	half := len(past) / 2
	s.old(t, "b", text(past[:half]))
	s.old(t, "a", text(past[half:]))
	s.add(t, text(live))
	d = s.start(t)
	d.eventually("the files are taken in", func() bool { return d.taken() == 1 })
	d.caughtUp()
	got := rowsSince(t, d, since)
	if len(want) < 50 {
		t.Fatalf("%d rows: nothing to compare", len(want))
	}
	for key, row := range want {
		if got[key] != row {
			t.Errorf("%s: %s, want %s", key, got[key], row)
		}
	}
}

// rowsSince returns the rows of jobs that were submitted since an instant, by job.
func rowsSince(t *testing.T, d *running, since time.Time) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, daemon.Store(d.Daemon).Rows(t.Context(), modelstore.RowQuery{}, func(r modelstore.Row) error {
		if !r.Submit.Before(since) {
			r.Seq = 0 // the journals have different numbers
			out[fmt.Sprint(r.JobID, r.Attempt)] = fmt.Sprintf("%+v", r)
		}
		return nil
	}))
	return out
}

// TestHistoryFilesRefused proves that history files that are missing or are no logs do not prevent a daemon from
// following its logs, that /readyz has the reason, and that the next start tries again.
func TestHistoryFilesRefused(t *testing.T) {
	s := historySite(t, "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.wantLog("files of history are not imported", "there is no file")
	d.eventually("the log is followed", func() bool { return d.metric(events("applied")) == "1" })
	if _, body := d.get("/readyz"); !strings.Contains(body, "history_failing: cluster main: ") ||
		!strings.Contains(body, "there is no file") {
		t.Errorf("/readyz: %s", body)
	}
	d.stop()
	s.old(t, "page", "<html>\n")
	d = s.start(t)
	d.wantLog("files of history are not imported", "no known format")
	d.stop()
	s.old(t, "page", life{"2.t", 4, 0, 1, 5}.e())
	d = s.start(t)
	d.eventually("the file is taken in", func() bool { return d.taken() == 1 })
	d.caughtUp()
	if _, body := d.get("/readyz"); strings.Contains(body, "history_failing") {
		t.Errorf("/readyz: %s", body)
	}
}

// TestHistoryPaths proves that the files of a pattern are sorted, and that the error for a pattern without files has
// the reason: no file matches, or a folder cannot be read.
func TestHistoryPaths(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b"), "")
	write(t, filepath.Join(dir, "a"), "")
	got, err := daemon.HistoryPaths(filepath.Join(dir, "*"))
	must(t, err)
	if want := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, missing := range []string{"c", "c*", "d/*", "d/[xy]/z"} {
		want := "there is no file " + filepath.Join(dir, missing)
		if _, err := daemon.HistoryPaths(filepath.Join(dir, missing)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", missing, err)
		}
	}
	// A file in place of a folder cannot be listed by anybody, not even root.
	if _, err := daemon.HistoryPaths(filepath.Join(dir, "a", "*")); err == nil ||
		strings.Contains(err.Error(), "there is no file") {
		t.Errorf("the folder is a file: %v", err)
	}
}
