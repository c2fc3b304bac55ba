package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/waitcast/waitcast/modelstore"
)

// openBeside opens a database for reading without locking it, because a daemon may have it open.
func openBeside(path string) (*sql.DB, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", readOnlyHint(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("store %s is not a file but %v: give the path of a file", path, info.Mode().Type())
	}
	return openDB(path, url.Values{"mode": {"ro"}})
}

// Backup writes a copy of the database at path to a new file with the path `to`. The copy has the state of one moment,
// while a daemon may continue to write the database. The copy is compact, fully checked, and created atomically.
func Backup(ctx context.Context, path, to string) error {
	switch _, err := os.Lstat(to); {
	case err == nil:
		return fmt.Errorf("backup: %s exists already: give a new file", to)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("backup: %w", err)
	}
	db, err := openBeside(path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing was written
	if version, err := identify(ctx, db, path); err != nil {
		return explain(path, "backup", err)
	} else if version == 0 {
		return fmt.Errorf("backup: %s is empty", path)
	}
	file, err := partFile(to)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("backup: %w", readOnlyHint(err))
	}
	part := file.Name()
	defer func() { _ = os.Remove(part) }() // has no effect after success, because the file was renamed
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", part); err != nil {
		return explain(path, "backup", err)
	}
	if err := checkCopy(ctx, part); err != nil {
		return fmt.Errorf("backup of %s: %w", path, err)
	}
	return publish(part, to)
}

// partFile creates an empty file with a temporary name, in the folder of the path `to`.
func partFile(to string) (*os.File, error) {
	file, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".part-")
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(0o640); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return file, nil
}

// publish makes a file durable and renames it to its final name `to`. No file may have that name yet.
func publish(part, to string) error {
	file, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	err = os.Link(part, to) // os.Link never replaces a file
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(part, to) // renames on a file system without hard links
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// checkCopy checks all pages of a database that no process has open. If its schema is of the present version, it also
// checks all rows.
func checkCopy(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // reading a pipe would wait
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err := checkHeader(path, info.Size()); err != nil {
		return err
	}
	db, err := openBeside(path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing was written
	version, err := identify(ctx, db, path)
	if err != nil {
		return explain(path, "check", err)
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	switch {
	case err != nil:
		return err
	case version == 0:
		return fmt.Errorf("%s is not a store of waitcast: it is empty", path)
	case version > len(names):
		return &modelstore.NewerError{Path: path, Have: version, Known: len(names)}
	case version == len(names):
		return explain(path, "check", checkAll(ctx, db))
	}
	var verdict string // rows of an older schema are checked after the migration
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return explain(path, "check", err)
	}
	if verdict != "ok" {
		return damaged("%s: %s", path, verdict)
	}
	return nil
}

// Restored is the result of Restore.
type Restored struct {
	// Aside is the new name of the previous store; empty if there was no previous store.
	Aside string
	// Owner is the error of changing the owner of the store; nil if the store has the right owner.
	Owner error
}

// Restore copies the backup in the file `from` to the path `path`, where it is then the store. If a process has the
// store open, Restore returns a *LockedError. If a store exists at path, Restore returns an error unless replace is
// true; then it renames the store and never deletes it. Restore first checks the whole backup, and keeps it. The new
// store gets the owner and group of the previous store, or else of the folder.
func Restore(ctx context.Context, from, path string, replace bool, now time.Time) (out Restored, err error) {
	if err := checkCopy(ctx, from); err != nil {
		return out, fmt.Errorf("restore: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return out, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return out, fmt.Errorf("folder of the store: %w", readOnlyHint(err))
	}
	owned, err := ownerFor(path)
	if err != nil {
		return out, fmt.Errorf("restore: %w", err)
	}
	l, err := takeLock(path)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.release(err == nil)) }()
	if err := l.holdFiles(); err != nil {
		return out, err
	}
	part, err := copyFile(from, path)
	if err != nil {
		return out, fmt.Errorf("restore: %w", readOnlyHint(err))
	}
	defer func() { err = errors.Join(err, part.Close()) }()
	defer func() { _ = os.Remove(part.Name()) }() // has no effect after success, because the file was renamed
	if out.Owner = owned.give(part, path, part.Name()); out.Owner == nil {
		out.Owner = owned.give(l.own.file, l.own.path, l.own.path)
	}
	if out.Aside, err = makeWay(path, replace, now); err != nil {
		return Restored{}, err
	}
	return out, publish(part.Name(), path)
}

// makeWay renames the store at path if one exists, and returns its new name, "" if there was none. Unless replace is
// set, it returns an error instead.
func makeWay(path string, replace bool, now time.Time) (string, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = os.Lstat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
	}
	if err != nil {
		return "", err
	}
	if !replace {
		return "", fmt.Errorf("restore: %s exists already: give another path, or --replace to have it renamed", path)
	}
	aside, err := freeName(path + ".before-" + now.UTC().Format("20060102T150405Z"))
	if err != nil {
		return "", err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// copyFile copies a file to a new file with a temporary name, in the folder of the path `to`. It returns the new file,
// which is open.
func copyFile(from, to string) (*os.File, error) {
	in, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // nothing was written
	part, err := partFile(to)
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(part, in); err != nil {
		return nil, errors.Join(err, part.Close(), os.Remove(part.Name()))
	}
	return part, nil
}

// Describe describes the database at path. A daemon may have the database open.
func Describe(ctx context.Context, path string) (*modelstore.Info, error) {
	db, err := openBeside(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // nothing was written
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	info := &modelstore.Info{Kind: "sqlite", Place: path, Known: len(names)}
	if info.Schema, err = identify(ctx, db, path); err != nil {
		return nil, explain(path, "info", err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if file, err := os.Stat(path + suffix); err == nil {
			info.Bytes += file.Size()
		}
	}
	var s modelstore.SpaceInfo
	if info.Schema > 0 {
		err = db.QueryRowContext(ctx,
			`SELECT (SELECT last_seq FROM head), (SELECT count(*) FROM journal), (SELECT count(*) FROM ledger),
			(SELECT count(*) FROM bad_line), (SELECT count(*) FROM checkpoint), (SELECT count(*) FROM snapshot)`).
			Scan(&s.LastSeq, &s.Entries, &s.Rows, &s.BadLines, &s.Checkpoints, &s.Snapshots)
		if err != nil {
			return nil, explain(path, "info", err)
		}
	}
	if info.Schema >= historySchema {
		err := db.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(length(data)), 0) FROM history").
			Scan(&s.HistoryChunks, &s.HistoryBytes)
		if err != nil {
			return nil, explain(path, "info", err)
		}
	}
	s.Holder = heldBy(path)
	info.Spaces = []modelstore.SpaceInfo{s}
	return info, nil
}

// heldBy returns a text that names the process that has the database open. It returns "" if no process has.
func heldBy(path string) string {
	file, err := os.Open(path + ".lock")
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // nothing was written
	if h := readHolder(file); h.PID != 0 && alive(h.PID) {
		return strings.TrimSpace(fmt.Sprintf("process %d %s", h.PID, h.Command))
	}
	return ""
}
