// Package sqlite keeps waitcast's store in one SQLite database file, without cgo and without a server.
//
// # Durability
//
// The database uses WAL mode with synchronous=NORMAL. Committed data survive the death of the process (kill -9) at
// any instant. After a power cut the last commits may be missing. A commit is missing as a whole or not at all, and
// only the newest are missing. Because events, rows and checkpoints are committed together, the logs are then read
// again from the newest remaining checkpoint. Only data that cannot be read again are lost: the scheduler snapshots
// of the last moments.
//
// # Damage
//
// SQLite has no checksums on the pages of the database file. Therefore every row and every snapshot has a checksum.
// Open checks everything (PRAGMA integrity_check and the checksum of every row) in three cases:
//
//   - The file is so small that the check takes only a moment (Options.CheckBytes).
//   - The last process died before the present boot of the machine. Only a power cut or a crash of the kernel can
//     leave a partly written file; kill -9 cannot.
//   - Damage was found before.
//
// If a large file was closed in order, Open checks only the header, the size and the schema. Other damage is found
// when a row is read. Reading then fails with modelstore.ErrCorrupt, and the next Open checks everything. A damaged
// file is renamed, never deleted, and a new file is created; Store.Recovered reports this.
//
// # Files
//
// While the store is open, there are PATH-wal and PATH-shm besides PATH. PATH.lock is an advisory lock that names the
// holder; the file stays when the store is closed. Damaged files get the names PATH.corrupt-<UTC stamp>[-wal|-shm].
// The file system must be local: neither the lock nor WAL works between machines.
//
// PATH and PATH-wal are locked too, so that no other process can open the store even if PATH.lock was removed. Verify
// creates PATH.lock again. Before each transaction, before each new connection and at Close, the device and the inode
// of PATH and PATH-wal are compared with those of the files that now have these names. If a file was deleted, moved
// or replaced, the error is a *modelstore.IdentityError, and nothing more is written. Even then Close moves the
// content of the WAL into the file, so that a file that was moved is complete.
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

// DefaultCheckBytes is the maximum size of a file that every Open checks as a whole. A check takes about a second, at
// the 25 MB/s or more that BenchmarkCheck measures.
const DefaultCheckBytes = 32 << 20

// Options configure Open; the zero value is ready to use.
type Options struct {
	// Log receives warnings about damage; nil means no log.
	Log *zap.Logger
	// Now returns the wall-clock time for the name of a damaged file; nil means time.Now.
	Now func() time.Time
	// BadLines is the number of bad lines that are kept; 0 means modelstore.DefaultBadLines.
	BadLines int
	// CheckBytes is the maximum size in bytes of a file that every Open checks as a whole. 0 means DefaultCheckBytes.
	// With a negative value the size alone never causes a check.
	CheckBytes int64
	// InheritOwner is for commands that root runs in the place of the daemon's user. If the process runs as root, a new
	// database and a lock file that belongs to root get the owner and group of the present database, otherwise of the
	// folder (see OwnerError). SQLite gives its own files the owner of the database.
	InheritOwner bool
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
	owned     *owner // nil if new files belong to the user of the process
	notGiven  error  // see OwnerError
	// complained is true once the log has reported that the lock file cannot be created again.
	complained atomic.Bool

	// writing is locked by the one writer. write has one connection, read has several.
	writing     sync.Mutex
	write, read *sql.DB
	insert      inserts
	known       *sql.Stmt

	// closing guards closed. It is also held when a use begins, so that Close can wait for the uses under way.
	closing sync.Mutex
	closed  bool
	uses    sync.WaitGroup
}

var (
	_ modelstore.Store    = (*Store)(nil)
	_ modelstore.Verifier = (*Store)(nil)
)

// Open opens the store in the file path. It creates the file and its folder if they are missing. It renames a damaged
// file (see Recovered). Callers can distinguish *LockedError, *modelstore.NewerError, *ForeignError, and errors that
// wrap modelstore.ErrReadOnly or ErrFull.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("path of the store: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("folder of the store: %w", readOnlyHint(err))
	}
	s := &Store{path: path, opts: opts.withDefaults()}
	if opts.InheritOwner && os.Geteuid() == 0 {
		owned, err := ownerFor(path)
		if err != nil {
			return nil, err
		}
		s.owned = &owned
	}
	l, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	s.lock = l
	s.giveAway(l.own.file, l.own.path)
	if err := s.openOrRecover(ctx); err != nil {
		return nil, errors.Join(err, l.release(false))
	}
	return s, nil
}

// openOrRecover opens the file and names this process in the lock file. If the file is damaged, openOrRecover renames
// it and opens a new one.
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
		"_pragma": {"journal_mode(WAL)", "journal_size_limit(67108864)", "cache_size(-2000)"},
	}); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = s.openPool(url.Values{"_query_only": {"1"}, "_pragma": {"cache_size(-1000)"}}); err != nil {
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

// openPool returns a pool of connections. The pool opens a connection only while the database is in its place, and it
// never creates a file.
func (s *Store) openPool(query url.Values) (*sql.DB, error) {
	query.Set("mode", "rw")
	connector, err := newConnector(s.path, query)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(&checkedConnector{Connector: connector, check: s.lock.check}), nil
}

// checkedConnector opens connections by the name of the file. Each time it first checks that the name leads to the
// right file.
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
	if err := c.check(); err != nil { // the file was replaced between the check and the opening
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// openDB returns a pool of connections. mmap_size must never be set: the kernel would kill the process if a mapped
// file were truncated.
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
	path, err := filepath.Abs(path) // SQLite would read the beginning of a relative path as the name of a host
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

// prepareFile locks and checks the file before SQLite opens it. If the file does not exist, prepareFile creates it
// with the right mode. SQLite must not have the file open, because closing it would release the process's POSIX
// locks.
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

// makeFile creates and locks a new database. If only a WAL exists, it may belong to a running process whose database
// was deleted.
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
	s.giveAway(file, s.path) // before SQLite opens it, which gives the WAL the same owner
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

// begin registers a use of the store. Close waits for it. end ends the use.
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

// fail explains an error. If the error means damage, fail marks the store as suspect, so that the next Open checks
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

// Close implements modelstore.Store. It waits for running operations, moves the WAL into the database and releases
// the lock. A running Replay or Rows ends with ErrClosed. Close returns a *modelstore.IdentityError if a file of the
// database is not in its place.
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
	err := s.read.Close() // close the readers first, because the WAL cannot be truncated while they are open
	_, checkpointErr := s.write.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	err = errors.Join(err, checkpointErr, s.closeDB())
	err = explain(s.path, "close", err)
	if lost != nil { // the next Open must check the whole file that it finds
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
