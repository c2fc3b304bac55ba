package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// storeFile returns the path of a closed database with 30 events, 2 rows, a snapshot and a value.
func storeFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	check(t, err)
	check(t,
		s.Commit(t.Context(),
			modelstore.Batch{Entries: storetest.MakeEntries(1, 30),
				Rows:        []modelstore.Row{storetest.MakeRow(1), storetest.MakeRow(2)},
				Snapshot:    storetest.MakeSnapshot(30),
				Checkpoints: []modelstore.Checkpoint{{Source: "log", Data: []byte("x")}}}))
	check(t, s.SetMeta(t.Context(), "fingerprint", "f"))
	for n := range 3 {
		check(t, s.PutHistory(t.Context(), storetest.MakeChunk("c", "h", "events", n, 500_000)))
	}
	check(t, s.Close())
	return path
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func store(args ...string) result { return runWith("", append([]string{"store"}, args...)...) }

func wantOutput(t *testing.T, r result, parts ...string) {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("stdout lacks %q:\n%s", part, r.stdout)
		}
	}
}

// TestStoreBackup proves that a backup works while another process has the database open. A restore needs a closed
// database, and by default does not replace an existing one. The command info names the process that has the database
// open.
func TestStoreBackup(t *testing.T) {
	path := storeFile(t)
	dir := t.TempDir()
	backup := filepath.Join(dir, "backup.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	check(t, err)
	wantOutput(t, store("info", "--from", path), "Schema  ", "process ", "  30  ", "1.5 MB in 3 chunks")
	wantOutput(t, store("backup", backup, "--from", path), backup, "30", "written by")
	expect(t, store("backup", backup, "--from", path), 1, "already")
	expect(t, store("restore", backup, "--to", path, "--replace"), 1, "in use by process")
	check(t, s.SetMeta(t.Context(), "later", "x"))
	check(t, s.Close())
	expect(t, store("restore", backup, "--to", path), 1, "--replace")
	r := store("restore", backup, "--to", path, "--replace", "--json")
	wantOutput(t, r)
	var info modelstore.Info
	check(t, json.Unmarshal([]byte(r.stdout), &info))
	if len(info.Spaces) != 1 || info.Spaces[0].LastSeq != 30 || info.Spaces[0].Rows != 2 ||
		info.Spaces[0].Holder != "" || info.Kind != "sqlite" {
		t.Errorf("the restored store is %+v", info)
	}
	if !strings.Contains(r.stderr, ".before-") {
		t.Errorf("stderr does not tell where the old database is: %s", r.stderr)
	}
	s, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	check(t, err)
	value, err := s.Meta(t.Context(), "later")
	check(t, err)
	check(t, s.Close())
	if value != "" {
		t.Error("the restored store has what came after the backup")
	}
}

// TestStoreCopy proves that a file is copied to PostgreSQL and back, that a space in use and one that is not empty are
// refused, and that the command info lists the spaces.
func TestStoreCopy(t *testing.T) {
	server := pgtest.New(t, pgtest.Options{})
	url, path := server.NewDatabase(t), storeFile(t)
	back := filepath.Join(t.TempDir(), "back.db")
	wantOutput(t, store("info", "--from", url), "Nothing is in it yet")
	expect(t, store("copy", "--from", url, "--to", back), 1, "has no tables of waitcast")
	wantOutput(t, store("copy", "--from", path, "--to", url, "--space", "kth"), "Copied 30 events",
		"2 rows", "1 histories (1.5 MB)", "the same")
	expect(t, store("copy", "--from", path, "--to", url, "--space", "kth"), 1, "not empty")
	expect(t, store("copy", "--from", url, "--to", back, "--space", "other"), 1, `no space "other"`)
	if _, err := os.Stat(back); err == nil {
		t.Error("a copy that failed left a file")
	}
	holder, err := postgres.Open(t.Context(), url, postgres.Options{Space: "kth"})
	check(t, err)
	_, err = holder.Acquire(t.Context(), "the daemon", time.Hour)
	check(t, err)
	expect(t, store("copy", "--from", url, "--to", back, "--space", "kth"), 1, "held by the daemon")
	wantOutput(t, store("info", "--from", url), "kth", "the daemon (lease 3 until ")
	check(t, holder.Close())
	r := store("copy", "--from", url, "--to", back, "--space", "kth", "--json")
	wantOutput(t, r, `"entries":30`, `"rows_sha256":"`)
	wantOutput(t, store("copy", "--from", url, "--to", url, "--space", "kth", "--to-space", "kth2"), "Copied 30 events")
	wantOutput(t, store("info", "--from", url), "kth2", "1.5 MB in 3 chunks")
	wantOutput(t, store("info", "--from", back), "30")
}

// TestStoreCopyAsRoot proves that if root makes a copy, the file and its lock file belong to the owner of the folder,
// so that the daemon of that user can open the copy.
func TestStoreCopyAsRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	from, to := storeFile(t), filepath.Join(t.TempDir(), "w.db")
	check(t, os.Chown(filepath.Dir(to), nobody, nobody))
	r := store("copy", "--from", from, "--to", to)
	wantOutput(t, r, "Copied 30 events", "the same")
	if strings.Contains(r.stderr, "Warning") {
		t.Errorf("stderr: %s", r.stderr)
	}
	for path, want := range map[string]int{to: nobody, to + ".lock": nobody, from: 0, from + ".lock": 0} {
		var info syscall.Stat_t
		check(t, syscall.Stat(path, &info))
		if int(info.Uid) != want || int(info.Gid) != want {
			t.Errorf("%s belongs to user %d and group %d, want %d", path, info.Uid, info.Gid, want)
		}
	}
}

func TestStoreExit2(t *testing.T) {
	for _, args := range [][]string{{}, {"copy"}, {"copy", "--from", "a"}, {"copy", "--from", "a", "--to", "a"},
		{"copy", "--from", "a", "--to", "b", "--to-space", "c"},
		{"backup"}, {"backup", "a", "--from", "postgres://h/d"}, {"restore", "a", "--to", "postgresql://h/d"},
		{"info", "x"}, {"move"}} {
		expect(t, store(args...), 2)
	}
	expect(t, store("info", "--from", filepath.Join(t.TempDir(), "none.db")), 1, "none.db")
	expect(t, store("copy", "--from", filepath.Join(t.TempDir(), "none.db"), "--to", "b"), 1, "--from: ", "none.db")
}
