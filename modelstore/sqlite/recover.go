package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
)

// Recovered reports that Open found a damaged file, renamed it and created a new one. All data must be read again
// from the logs.
type Recovered struct {
	// Path is the present path of the damaged file. If its -wal and -shm files exist, they have the same path with
	// these suffixes.
	Path string
	// At is the wall-clock time at which the file was renamed.
	At time.Time
	// Reason describes the damage. It wraps modelstore.ErrCorrupt.
	Reason error
}

// Recovered describes the damaged file that Open renamed. It returns nil if the file was undamaged or new.
func (s *Store) Recovered() *Recovered { return s.recovered }

// setAside renames the database and its other files, the database first. If the process dies after that, a WAL without
// a database remains, which can be recognized. A database without its WAL could not be recognized.
func (s *Store) setAside(reason error) error {
	now := s.opts.Now().UTC()
	aside, err := freeName(s.path + ".corrupt-" + now.Format("20060102T150405Z"))
	if err != nil {
		return errors.Join(reason, err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(s.path+suffix, aside+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(reason, fmt.Errorf("set the damaged store aside: %w", readOnlyHint(err)))
		}
	}
	// Release the locks last, so that no other process opens these files as a database.
	if err := s.lock.dropFiles(); err != nil {
		return errors.Join(reason, err)
	}
	s.recovered = &Recovered{Path: aside, At: now, Reason: reason}
	s.lock.last = holder{} // the files that are opened next will be new
	s.opts.Log.Error("the store is damaged: set aside, a new one is begun and must be rebuilt from the logs",
		zap.String("path", s.path), zap.String("aside", aside), zap.Error(reason))
	return nil
}

// freeName returns name if no file has this name, alone or with -wal or -shm after it. Otherwise it returns the first
// unused name of name-2, name-3 and so on.
func freeName(name string) (string, error) {
	for try, n := name, 2; ; n++ {
		found := false
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_, err := os.Lstat(try + suffix)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			found = found || err == nil
		}
		if !found {
			return try, nil
		}
		try = fmt.Sprintf("%s-%d", name, n)
	}
}

// checkHeader checks the fields of the file's header that are the same in every database of waitcast. If some of them
// are damaged, SQLite treats the file as read-only or as a file of a newer SQLite version. An empty file counts as
// new. The layout is defined in https://www.sqlite.org/fileformat2.html#the_database_header
func checkHeader(path string, size int64) error {
	if size == 0 {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("store: %w", readOnlyHint(err))
	}
	defer func() { _ = file.Close() }() // nothing was written
	var h [100]byte
	if _, err := io.ReadFull(file, h[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return damaged("%s has only %d bytes", path, size)
		}
		return fmt.Errorf("store %s: %w", path, err)
	}
	if string(h[:16]) != "SQLite format 3\x00" {
		return damaged("%s is not an SQLite database", path)
	}
	page := binary.BigEndian.Uint16(h[16:])
	if page != 1 && (page < 512 || page&(page-1) != 0) { // the value 1 means 65536
		return damaged("%s has a damaged header", path)
	}
	if binary.BigEndian.Uint32(h[68:]) != applicationID {
		return nil // a file of another program, or a damaged file; identify decides
	}
	const pageSize, utf8 = 4096, 1
	switch {
	case page != pageSize,
		h[18] < 1, h[18] > 2, h[19] < 1, h[19] > 2, // file format: rollback journal or WAL
		h[20] != 0, h[21] != 64, h[22] != 32, h[23] != 32, // reserved bytes, fixed fractions
		binary.BigEndian.Uint32(h[44:]) != 4, // schema format
		binary.BigEndian.Uint32(h[56:]) != utf8:
		return damaged("%s has a damaged header", path)
	}
	return nil
}

// checkAndMigrate writes the WAL that a dead process left into the file, and updates the schema. If mustCheck says so,
// it checks the whole file.
func (s *Store) checkAndMigrate(ctx context.Context) error {
	var busy, frames, moved int64
	if err := s.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &moved); err != nil {
		return err
	}
	size, err := s.checkSize(ctx, busy == 0 && frames == moved)
	if err != nil {
		return err
	}
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if err := migrate(ctx, s.write, s.path, folder); err != nil {
		return err
	}
	if s.mustCheck(size) {
		return checkAll(ctx, s.write)
	}
	_, err = lastSeq(ctx, s.write.QueryRowContext)
	return err
}

// checkSize returns the size in bytes that the database should have. If whole is true, it also compares that size
// with the size of the file. whole is false while another process reads the database (the sqlite3 shell, a backup):
// then a part of the WAL is not yet in the file.
func (s *Store) checkSize(ctx context.Context, whole bool) (int64, error) {
	var want int64
	err := s.write.QueryRowContext(ctx,
		"SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&want)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, err
	}
	if whole && info.Size() < want {
		return 0, damaged("%s has %d bytes instead of %d", s.path, info.Size(), want)
	}
	return want, nil
}

// mustCheck reports whether the whole file must be checked. The package comment gives the reasons.
func (s *Store) mustCheck(size int64) bool {
	last := s.lock.last
	torn := last.PID != 0 && (last.Boot == "" || last.Boot != s.lock.mine.Boot)
	small := s.opts.CheckBytes >= 0 && size <= s.opts.CheckBytes
	if (torn || last.Suspect) && !small {
		s.opts.Log.Info("the store was not closed in order: looking at all of it", zap.String("path", s.path),
			zap.Int64("bytes", size))
	}
	return torn || last.Suspect || small
}

// checkAll checks every page, and the checksum of every row. It does not check bad lines. It does not check the
// checksums of snapshots either, because Latest verifies them.
func checkAll(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if ctx.Err() != nil { // the result of an interrupted check means nothing
		return ctx.Err()
	}
	if verdict != "ok" {
		return damaged("%s", verdict)
	}
	if _, err := lastSeq(ctx, db.QueryRowContext); err != nil {
		return err
	}
	if err := scanEntries(ctx, db, 0, -1, -1, func(modelstore.Entry) error { return nil }); err != nil {
		return err
	}
	if err := scanRows(ctx, db, modelstore.RowQuery{}, func(modelstore.Row) error { return nil }); err != nil {
		return err
	}
	if _, err := readCheckpoints(ctx, db); err != nil {
		return err
	}
	if _, err := readModels(ctx, db); err != nil {
		return err
	}
	if err := scanHistory(ctx, db, "", nil, func(modelstore.HistoryChunk) error { return nil }); err != nil {
		return err
	}
	_, err := readMeta(ctx, db)
	return err
}
