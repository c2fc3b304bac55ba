package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/waitcast/waitcast/internal/memdir"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// helperVar is the variable that makes the test binary a helper process: see helper_test.go.
const helperVar = "WAITCAST_STORE_HELPER"

func TestMain(m *testing.M) {
	memdir.Use()
	if task := os.Getenv(helperVar); task != "" {
		os.Exit(runHelper(task, os.Args[1]))
	}
	goleak.VerifyTestMain(m)
}

type place struct{ path string }

func newPlace(t testing.TB) storetest.Place {
	return place{filepath.Join(t.TempDir(), "state", "odd name%20?#&.db")}
}

func (p place) Open(t testing.TB) modelstore.Store {
	t.Helper()
	return mustOpen(t, p.path, Options{BadLines: storetest.BadLineLimit})
}

func (p place) DamageSnapshot(t testing.TB, seq int64) {
	t.Helper()
	rawExec(t, p.path, "UPDATE snapshot_part SET data = CAST(x'00' || substr(data, 2) || x'01' AS BLOB) WHERE name = "+
		"'state' AND seq = ?", seq)
}

func (p place) DamageHistory(t testing.TB, c modelstore.HistoryChunk) {
	t.Helper()
	rawExec(t, p.path, "UPDATE history SET data = CAST(x'ff' || substr(data, 2) AS BLOB) "+
		"WHERE cluster = ? AND id = ? AND part = ? AND n = ?", c.Cluster, c.ID, c.Part, c.N)
}

// rawExec changes a database without using the store.
func rawExec(t testing.TB, path, query string, args ...any) {
	t.Helper()
	db, err := openDB(path, map[string][]string{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, db.Close()) }()
	result, err := db.Exec(query, args...)
	must(t, err)
	if n, _ := result.RowsAffected(); n == 0 && strings.HasPrefix(query, "UPDATE") {
		t.Fatalf("nothing changed by %s", query)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t testing.TB, path string, opts Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, opts)
	must(t, err)
	return s
}

func closing(t testing.TB, s *Store) *Store {
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func tempPath(t testing.TB) string { return filepath.Join(t.TempDir(), "waitcast.db") }

// TestConformance runs the suite that every store must pass.
func TestConformance(t *testing.T) { storetest.Run(t, newPlace) }

// TestFiles proves the modes of the files that Open creates, and that after Close only the database and its lock file
// remain.
func TestFiles(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "w.db")
	s := mustOpen(t, path, Options{})
	must(t, s.SetMeta(t.Context(), "a", "b"))
	for name, want := range map[string]fs.FileMode{
		dir: 0o750 | fs.ModeDir, path: 0o640, path + "-wal": 0o640, path + ".lock": 0o640,
	} {
		info, err := os.Stat(name)
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
	if s.Recovered() != nil {
		t.Errorf("a new store was recovered: %v", s.Recovered())
	}
	must(t, s.Close())
	names, err := filepath.Glob(path + "*")
	must(t, err)
	if want := []string{path, path + ".lock"}; fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("files after Close: %v, want %v", names, want)
	}
}

// TestPragmas proves that the settings on which durability depends are in force for reading and writing connections.
func TestPragmas(t *testing.T) {
	s := closing(t, mustOpen(t, tempPath(t), Options{}))
	for name, db := range map[string]*sql.DB{"write": s.write, "read": s.read} {
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "1", "foreign_keys": "1", "busy_timeout": "10000", "temp_store": "2",
			"mmap_size": "0", "query_only": map[string]string{"write": "0", "read": "1"}[name],
		} {
			var got string
			err := db.QueryRow("PRAGMA " + pragma).Scan(&got)
			if errors.Is(err, sql.ErrNoRows) {
				got = "0"
			} else {
				must(t, err)
			}
			if got != want {
				t.Errorf("%s: %s is %s, want %s", name, pragma, got, want)
			}
		}
	}
}

// TestNewer proves that the database of a newer program is refused, with that program's name, and left unchanged.
func TestNewer(t *testing.T) {
	path := tempPath(t)
	must(t, mustOpen(t, path, Options{}).Close())
	known, err := fs.Glob(migrations, "migrations/*.sql")
	must(t, err)
	rawExec(t, path, "PRAGMA user_version = 99")
	_, err = Open(t.Context(), path, Options{})
	newer, ok := errors.AsType[*modelstore.NewerError](err)
	if !ok || newer.Have != 99 || newer.Known != len(known) || newer.Path != path {
		t.Fatalf("opening a newer database gave %v", err)
	}
	rawExec(t, path, fmt.Sprintf("PRAGMA user_version = %d", len(known)))
	s := closing(t, mustOpen(t, path, Options{})) // this also shows that the lock was released
	if s.Recovered() != nil {
		t.Errorf("it was set aside: %v", s.Recovered())
	}
}

// TestForeign proves that another program's database is refused and left unchanged.
func TestForeign(t *testing.T) {
	path := tempPath(t)
	rawExec(t, path, "CREATE TABLE theirs (a)")
	before, err := os.ReadFile(path)
	must(t, err)
	_, err = Open(t.Context(), path, Options{})
	if _, ok := errors.AsType[*ForeignError](err); !ok {
		t.Fatalf("opening another program's database gave %v", err)
	}
	// SQLite writes WAL mode into bytes 18 and 19 and counts the change. All other bytes must be the same.
	after, err := os.ReadFile(path)
	must(t, err)
	if len(after) != len(before) || string(after[100:]) != string(before[100:]) {
		t.Error("another program's database was changed")
	}
}

// TestMigrations proves that migrations run once and in order, and that if one fails, the previous version stays.
func TestMigrations(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	db, err := openDB(tempPath(t), map[string][]string{})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	version := func() (v int) {
		must(t, db.QueryRow("PRAGMA user_version").Scan(&v))
		return v
	}
	folder := fstest.MapFS{"0001_a.sql": file("CREATE TABLE a (x);"),
		"0002_b.sql": file("INSERT INTO a VALUES (1); CREATE TABLE a (x)")}
	if err := migrate(t.Context(), db, "p", folder); err == nil || !strings.Contains(err.Error(), "0002_b.sql") {
		t.Fatalf("a failing migration gave %v", err)
	}
	if v := version(); v != 1 {
		t.Fatalf("version %d after a failed second migration", v)
	}
	folder["0002_b.sql"] = file("INSERT INTO a VALUES (2)")
	folder["0003_c.sql"] = file("INSERT INTO a VALUES (3);")
	for range 2 {
		must(t, migrate(t.Context(), db, "p", folder))
	}
	var all string
	must(t, db.QueryRow("SELECT group_concat(x) FROM a").Scan(&all))
	if v := version(); v != 3 || all != "2,3" {
		t.Fatalf("version %d with rows %s", v, all)
	}
	folder["0005_e.sql"] = file("")
	if err := migrate(t.Context(), db, "p", folder); err == nil || !strings.Contains(err.Error(), "0005_e.sql") {
		t.Fatalf("a gap in the numbers gave %v", err)
	}
}

// TestFull proves that a full disk causes an error of its own kind and leaves nothing of the batch, and that the store
// works again when there is room.
func TestFull(t *testing.T) {
	s := closing(t, mustOpen(t, tempPath(t), Options{}))
	must(t, s.Commit(t.Context(), modelstore.Batch{Entries: storetest.MakeEntries(1, 10)}))
	var pages int
	must(t, s.write.QueryRow("PRAGMA page_count").Scan(&pages))
	limit := func(n int) {
		_, err := s.write.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", n))
		must(t, err)
	}
	limit(pages + 5)
	more := modelstore.Batch{Entries: storetest.MakeEntries(11, 3000),
		Checkpoints: []modelstore.Checkpoint{{Source: "s", Data: []byte("x")}}}
	if err := s.Commit(t.Context(), more); !errors.Is(err, modelstore.ErrFull) {
		t.Fatalf("a commit without room gave %v", err)
	}
	if got := storetest.Entries(t, s); len(got) != 10 {
		t.Fatalf("%d entries after the failure, want 10", len(got))
	}
	limit(1 << 30)
	must(t, s.Commit(t.Context(), more))
	if got := storetest.Entries(t, s); len(got) != 3000 {
		t.Fatalf("%d entries after there was room, want 3000", len(got))
	}
}

// TestNotWritable proves that a place without write permission causes an error of its own kind and does not count as
// damage.
func TestNotWritable(t *testing.T) {
	s := closing(t, mustOpen(t, tempPath(t), Options{}))
	_, err := s.write.Exec("PRAGMA query_only = 1")
	must(t, err)
	if err := s.SetMeta(t.Context(), "a", "b"); !errors.Is(err, modelstore.ErrReadOnly) {
		t.Errorf("writing to a read-only database gave %v", err)
	}
	dir := t.TempDir()
	if _, err := Open(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("opening a folder gave %v", err)
	}
	if os.Geteuid() == 0 {
		t.Log("running as root: no folder is unwritable")
		return
	}
	must(t, os.Chmod(dir, 0o500))
	if _, err := Open(t.Context(), filepath.Join(dir, "w.db"), Options{}); !errors.Is(err, modelstore.ErrReadOnly) {
		t.Errorf("opening in a read-only folder gave %v", err)
	}
}

// TestOpenCanceled proves that an Open that is cancelled at any instant does not count as damage.
func TestOpenCanceled(t *testing.T) {
	path := tempPath(t)
	s := mustOpen(t, path, Options{})
	must(t, s.Commit(t.Context(), counted(1, 300)))
	must(t, s.Close())
	canceled := 0
	for after := time.Duration(0); after < 40*time.Millisecond; after += 500 * time.Microsecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		s, err := Open(ctx, path, Options{})
		cancel()
		switch {
		case err == nil:
			if s.Recovered() != nil {
				t.Fatalf("canceled after %v: set aside: %v", after, s.Recovered().Reason)
			}
			must(t, s.Close())
		case errors.Is(err, context.DeadlineExceeded):
			canceled++
		default:
			t.Fatalf("canceled after %v: %v", after, err)
		}
	}
	if canceled == 0 {
		t.Error("nothing was canceled")
	}
	s = closing(t, mustOpen(t, path, Options{}))
	if got := storetest.Entries(t, s); len(got) != 300 || s.Recovered() != nil {
		t.Errorf("%d entries, recovered %v", len(got), s.Recovered())
	}
}

// TestCheckPolicy proves in which cases Open checks the whole file, using damage that only a full check can find.
func TestCheckPolicy(t *testing.T) {
	now := func() time.Time { return time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC) }
	for name, c := range map[string]struct {
		opts Options
		left string // the text in the lock file
		want bool
	}{
		"small":            {Options{}, "", true},
		"large":            {Options{CheckBytes: 1}, "", false},
		"never":            {Options{CheckBytes: -1}, "", false},
		"killed":           {Options{CheckBytes: 1}, fmt.Sprintf(`{"pid":1,"boot":%q}`, bootID()), bootID() == ""},
		"power cut":        {Options{CheckBytes: 1}, `{"pid":1,"boot":"another"}`, true},
		"suspect":          {Options{CheckBytes: 1}, `{"suspect":true}`, true},
		"unreadable":       {Options{CheckBytes: 1}, `{"pid`, true},
		"never, power cut": {Options{CheckBytes: -1}, `{"pid":1,"boot":"another"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempPath(t)
			s := mustOpen(t, path, Options{})
			must(t, s.Commit(t.Context(), modelstore.Batch{Entries: storetest.MakeEntries(1, 10)}))
			must(t, s.Close())
			rawExec(t, path, "UPDATE journal SET source = 'changed' WHERE seq = 7")
			must(t, os.WriteFile(path+".lock", []byte(c.left), 0o640))
			c.opts.Now = now
			s = closing(t, mustOpen(t, path, c.opts))
			if got := s.Recovered(); (got != nil) != c.want {
				t.Fatalf("recovered %v, want it %v", got, c.want)
			}
			if !c.want {
				return
			}
			if want := path + ".corrupt-20250102T030405Z"; s.Recovered().Path != want ||
				!errors.Is(s.Recovered().Reason, modelstore.ErrCorrupt) {
				t.Errorf("recovered %+v", s.Recovered())
			}
		})
	}
}

// TestDamageMetLater proves that damage that Open did not find is found when the data are read, and that the next Open
// then sets the file aside.
func TestDamageMetLater(t *testing.T) {
	for table, query := range map[string]string{
		"journal":    "UPDATE journal SET event = replace(event, 'batch', 'BATCH') WHERE seq = 7",
		"ledger":     "UPDATE ledger SET wait_seconds = wait_seconds + 1 WHERE seq = 2",
		"levels":     "UPDATE levels SET levels = CAST(x'0000000000000000' || substr(levels, 9) AS BLOB)",
		"checkpoint": "UPDATE checkpoint SET data = x'00'",
		"model":      "UPDATE saved_model SET data = x'00'",
		"meta":       "UPDATE meta SET value = 'changed'",
	} {
		t.Run(table, func(t *testing.T) {
			path := tempPath(t)
			s := mustOpen(t, path, Options{})
			must(t, s.Commit(t.Context(), counted(1, 10)))
			must(t, s.SetMeta(t.Context(), "a", "b"))
			must(t, s.Close())
			rawExec(t, path, query)
			s = mustOpen(t, path, Options{CheckBytes: -1})
			if s.Recovered() != nil {
				t.Fatalf("recovered already: %v", s.Recovered())
			}
			if _, err := contents(s); !errors.Is(err, modelstore.ErrCorrupt) {
				t.Fatalf("reading damaged data gave %v", err)
			}
			must(t, s.Close())
			s = closing(t, mustOpen(t, path, Options{CheckBytes: -1}))
			if s.Recovered() == nil {
				t.Fatal("the next Open did not set it aside")
			}
		})
	}
	t.Run("head", func(t *testing.T) {
		path := tempPath(t)
		must(t, mustOpen(t, path, Options{}).Close())
		rawExec(t, path, "UPDATE head SET last_seq = 5")
		s := closing(t, mustOpen(t, path, Options{CheckBytes: -1}))
		if s.Recovered() == nil {
			t.Fatal("a changed last number was not noticed")
		}
	})
}

// TestPieces proves that parts of a snapshot are read back whole, whether they are shorter or longer than the pieces in
// which they are stored.
func TestPieces(t *testing.T) {
	path := tempPath(t)
	s := closing(t, mustOpen(t, path, Options{}))
	want := modelstore.Snapshot{At: time.Unix(1709596800, 0).UTC(), Parts: map[string][]byte{}}
	for _, n := range []int{0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes, 3*pieceBytes + 7} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i>>8) ^ byte(i)
		}
		want.Parts[strconv.Itoa(n)] = data
	}
	must(t, s.Commit(t.Context(), modelstore.Batch{Snapshot: &want}))
	got, err := s.Latest(t.Context())
	must(t, err)
	if !storetest.Same(&want, got) { // cmp.Diff would compare a million bytes one by one
		t.Errorf("read back: %v, %d parts; want %v, %d", got.At, len(got.Parts), want.At, len(want.Parts))
	}
	var least, most int
	must(t,
		s.write.QueryRow("SELECT min(length(data)), max(length(data)) FROM snapshot_part WHERE piece > 0").Scan(&least,
			&most))
	if least == 0 || most > pieceBytes {
		t.Errorf("pieces of %d to %d bytes", least, most)
	}
}
