// Package sqlite keeps waitcast's store in one SQLite database file, without cgo and without a server.
//
// # Durability
//
// The database runs in WAL mode with synchronous=NORMAL. What was committed survives the death of the process (kill -9)
// at any instant. After a power cut the last commits may be gone, but always whole ones and the newest first: events,
// rows and checkpoints go together, so that the logs are read again from where the surviving checkpoint stands. Only
// what cannot be read again, the scheduler snapshots of those last moments, is lost.
//
// # Damage
//
// SQLite has no checksums on the pages of the database file, so every row carries one, and so does every snapshot. Open
// looks at everything (PRAGMA integrity_check and the checksum of every row) where the file is small enough for that to
// take a moment (Options.CheckBytes), where the last process died under another boot of the machine (only a power cut
// or a crash of the kernel can tear a file that SQLite wrote; kill -9 cannot), or where damage was met before. Of a
// large file closed in order it looks only at the header, the size and the schema; damage deeper down is met when a row
// is read: that fails with modelstore.ErrCorrupt, and the next Open looks at everything. A damaged file is renamed,
// never deleted, and a new one begun; Store.Recovered says so.
//
// # Files
//
// Beside PATH there are PATH-wal and PATH-shm while it is open, PATH.lock (an advisory lock that names the holder; it
// stays when the store is closed), and PATH.corrupt-<UTC stamp>[-wal|-shm] for what was set aside. The file system must
// be local: neither the lock nor WAL works between machines.
//
// PATH and PATH-wal are locked too, so that a removed PATH.lock lets nobody in; Verify makes it again. Before each
// transaction, before each new connection, and at Close, device and inode of both are compared with those of their
// names: a file that was deleted, moved or replaced is a *modelstore.IdentityError, and nothing more is written. What
// the WAL holds is moved into the file at Close even so: a file that was moved is complete then.
package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	driver "modernc.org/sqlite"

	"github.com/waitcast/waitcast/modelstore"
)

// DefaultCheckBytes is the size up to which Open looks at all of a file every time: about a second, at the 25 MB/s and
// more that BenchmarkCheck measures.
const DefaultCheckBytes = 32 << 20

// Options configure Open; the zero value is ready to use.
type Options struct {
	// Log gets warnings about damage; nil means none.
	Log *zap.Logger
	// Now is the wall clock, for the name of a file that is set aside; nil means time.Now.
	Now func() time.Time
	// BadLines is the number of bad lines that are kept; 0 means modelstore.DefaultBadLines.
	BadLines int
	// CheckBytes is the size in bytes up to which every Open checks the whole file; 0 means DefaultCheckBytes, below 0
	// never.
	CheckBytes int64
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.BadLines <= 0 {
		o.BadLines = modelstore.DefaultBadLines
	}
	if o.CheckBytes == 0 {
		o.CheckBytes = DefaultCheckBytes
	}
	return o
}

// Store is a modelstore.Store in one SQLite file.
type Store struct {
	path      string
	opts      Options
	lock      *lock
	recovered *Recovered
	// complained is set after the log reported that the lock file cannot be created again.
	complained atomic.Bool

	// writing is held by the writer; there is only one. write has one connection, read has several.
	writing     sync.Mutex
	write, read *sql.DB
	insert      inserts
	known       *sql.Stmt

	// closing guards closed and the beginning of each use, so that Close can wait for the uses under way.
	closing sync.Mutex
	closed  bool
	uses    sync.WaitGroup
}

var (
	_ modelstore.Store    = (*Store)(nil)
	_ modelstore.Verifier = (*Store)(nil)
)

// Open opens the store in the file path, and creates it and its folder if they are missing. A damaged file is set aside
// (see Recovered). The errors a caller decides on are *LockedError, *modelstore.NewerError, *ForeignError, and those
// that wrap modelstore.ErrReadOnly or ErrFull.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("path of the store: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("folder of the store: %w", readOnlyHint(err))
	}
	l, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, opts: opts.withDefaults(), lock: l}
	if err := s.openOrRecover(ctx); err != nil {
		return nil, errors.Join(err, l.release(false))
	}
	return s, nil
}

// openOrRecover opens the file. If the file is damaged, it sets it aside and opens a new one.
func (s *Store) openOrRecover(ctx context.Context) error {
	err := s.openFile(ctx)
	if errors.Is(err, modelstore.ErrCorrupt) && ctx.Err() == nil {
		if err = s.setAside(err); err == nil {
			err = s.openFile(ctx)
		}
	}
	if err != nil {
		return err
	}
	if err := s.lock.claim(); err != nil {
		return errors.Join(err, s.closeDB())
	}
	return nil
}

// openFile opens and checks the file. On error it closes everything.
func (s *Store) openFile(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeDB())
		}
	}()
	if err := s.prepareFile(); err != nil {
		return err
	}
	if s.write, err = s.openPool(url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"journal_mode(WAL)", "journal_size_limit(67108864)", "cache_size(-8000)"},
	}); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = s.openPool(url.Values{"_query_only": {"1"}, "_pragma": {"cache_size(-4000)"}}); err != nil {
		return err
	}
	s.read.SetMaxIdleConns(4)
	if err := s.checkAndMigrate(ctx); err != nil {
		return explain(s.path, "open", brokenSchema(err))
	}
	if err := s.prepare(ctx); err != nil {
		return explain(s.path, "prepare statements", brokenSchema(err))
	}
	return s.lock.watch()
}

// openPool returns a pool that opens connections only while the database is in its place, and that never creates a
// file.
func (s *Store) openPool(query url.Values) (*sql.DB, error) {
	query.Set("mode", "rw")
	connector, err := newConnector(s.path, query)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(&checkedConnector{Connector: connector, check: s.lock.check}), nil
}

// checkedConnector opens a connection by the file's name, after a check that the name leads to the right file.
type checkedConnector struct {
	sqldriver.Connector
	check func() error
}

// Connect implements driver.Connector.
func (c *checkedConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.check(); err != nil { // the file was replaced just now
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// openDB returns a pool of connections. mmap_size must never be set: if a mapped file is truncated, the process is
// killed.
func openDB(path string, query url.Values) (*sql.DB, error) {
	connector, err := newConnector(path, query)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// newConnector returns a connector with the settings of all connections.
func newConnector(path string, query url.Values) (sqldriver.Connector, error) {
	query["_pragma"] = append([]string{"busy_timeout(10000)", "synchronous(NORMAL)", "foreign_keys(1)",
		"temp_store(MEMORY)"}, query["_pragma"]...)
	query.Set("_dqs", "0")
	query.Set("_error_rc", "1")
	path, err := filepath.Abs(path) // SQLite would take a relative path for the name of a host
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	connector, err := driver.NewConnector(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	return connector, nil
}

// prepareFile locks and checks the file before SQLite opens it, or creates one with the right mode. SQLite must not
// have it open, because closing a file drops the process's POSIX locks on it.
func (s *Store) prepareFile() error {
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.makeFile()
	case err != nil:
		return fmt.Errorf("store: %w", readOnlyHint(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("store %s is not a file but %v: give the path of a file", s.path, info.Mode().Type())
	}
	if err := s.lock.holdFiles(); err != nil {
		return err
	}
	return checkHeader(s.path, info.Size())
}

// makeFile creates and locks a new database. If only a WAL exists, it may belong to a process whose database was
// deleted.
func (s *Store) makeFile() error {
	if err := s.lock.holdFiles(); err != nil {
		return err
	}
	if _, err := os.Stat(s.path + "-wal"); err == nil {
		return damaged("%s-wal is there without its database", s.path)
	}
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return fmt.Errorf("make the store: %w", readOnlyHint(err))
	}
	if err := file.Close(); err != nil {
		return err
	}
	return s.lock.holdFiles()
}

func (s *Store) prepare(ctx context.Context) (err error) {
	if s.known, err = s.read.PrepareContext(ctx, knownSQL); err != nil {
		return err
	}
	return s.insert.prepare(ctx, s.write)
}

// begin registers a use of the store, for which Close waits. end ends the use.
func (s *Store) begin() error {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed {
		return fmt.Errorf("store %s: %w", s.path, modelstore.ErrClosed)
	}
	s.uses.Add(1)
	return nil
}

func (s *Store) end() { s.uses.Done() }

// isClosed reports whether the store is being closed, so that long readings can stop.
func (s *Store) isClosed() bool {
	s.closing.Lock()
	defer s.closing.Unlock()
	return s.closed
}

// fail explains an error. If the error means damage, it marks the store as suspect, so that the next Open checks
// everything.
func (s *Store) fail(doing string, err error) error {
	err = explain(s.path, doing, err)
	if errors.Is(err, modelstore.ErrCorrupt) {
		s.noteDamage(err)
	}
	return err
}

func (s *Store) noteDamage(err error) {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.lock.isSuspect() {
		return
	}
	s.opts.Log.Error(
		"the store is damaged; it will be looked at in full when it is opened next, and set aside if need be",
		zap.String("path", s.path), zap.Error(err))
	if err := s.lock.suspect(); err != nil {
		s.opts.Log.Error("cannot note that the store is damaged", zap.String("path", s.path), zap.Error(err))
	}
}

// Verify implements modelstore.Verifier. It creates the lock file again if it was removed.
func (s *Store) Verify() error {
	if err := s.begin(); err != nil {
		return nil //nolint:nilerr // what is closed cannot be taken away; Close looked last
	}
	defer s.end()
	if err := s.lock.check(); err != nil {
		return err
	}
	renewed, err := s.lock.renew()
	if renewed || err != nil && !s.complained.Swap(true) {
		s.opts.Log.Warn("the lock file of the store was removed: it is made again; the database itself is locked too",
			zap.String("path", s.path+".lock"), zap.Error(err))
	}
	return nil
}

// Close implements modelstore.Store: it waits for running operations (a Replay or Rows ends with ErrClosed), moves the
// WAL into the database and releases the lock. It returns an *modelstore.IdentityError if a file of the database is not
// in its place.
func (s *Store) Close() error {
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		return nil
	}
	s.closed = true
	s.closing.Unlock()
	s.uses.Wait()

	lost := s.lock.check()
	err := s.read.Close() // readers first: the WAL can be truncated only without them
	_, checkpointErr := s.write.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	err = errors.Join(err, checkpointErr, s.closeDB())
	err = explain(s.path, "close", err)
	if lost != nil { // the next Open must check everything that it finds
		err = errors.Join(err, s.lock.suspect())
	}
	return errors.Join(lost, err, s.lock.release(err == nil))
}

// closeDB closes the connections and statements of the database.
func (s *Store) closeDB() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	s.read, s.write = nil, nil
	return errors.Join(errs...)
}
