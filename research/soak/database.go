package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/jackc/pgx/v5"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/modelstore/sqlite"
)

// Stores returns the kinds of databases that a soak can use: the values of Options.Store.
func Stores() []string { return []string{"sqlite", "postgres"} }

// ErrSkipped means that the soak, or a part of it, is impossible on this machine.
var ErrSkipped = errors.New("not on this machine")

// database is the database of a daemon. It can be made to fail.
type database interface {
	// yaml returns the lines about the database in the daemon's configuration.
	yaml() string
	open(ctx context.Context) (modelstore.Store, error)
	// fail makes the database fail until heal is called.
	fail() error
	heal() error
	// failure returns a name for the failure that fail causes, "" if fail has no effect.
	failure() string
	close() error
}

func newDatabase(ctx context.Context, kind, dir string) (database, string, error) {
	switch kind {
	case "sqlite":
		return newFile(dir)
	case "postgres":
		db, err := newServer(ctx, dir)
		return db, "", err
	}
	return nil, "", fmt.Errorf("store %q: want one of %q", kind, Stores())
}

// onFile is a database that is one file.
type onFile interface{ path() string }

// plainFile is an SQLite database in the folder dir. Its method fail has no effect.
type plainFile struct{ dir string }

func (f *plainFile) path() string    { return filepath.Join(f.dir, "waitcast.db") }
func (f *plainFile) yaml() string    { return fmt.Sprintf("  path: %q\n", f.path()) }
func (f *plainFile) fail() error     { return nil }
func (f *plainFile) heal() error     { return nil }
func (f *plainFile) failure() string { return "" }
func (f *plainFile) close() error    { return nil }

func (f *plainFile) open(ctx context.Context) (modelstore.Store, error) {
	store, err := sqlite.Open(ctx, f.path(), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if r := store.Recovered(); r != nil {
		return nil, errors.Join(fmt.Errorf("the database was damaged: %w", r.Reason), store.Close())
	}
	return store, nil
}

// newFile returns an SQLite database in the folder dir, on a file system of its own whose disk can become full. If such
// a file system is impossible, the database is a plainFile, and the returned text has the reason.
func newFile(dir string) (database, string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	plain := plainFile{dir}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return &plain, "skipped: a full disk, a read-only disk: they need root on Linux, to mount a small file system",
			nil
	}
	disk, err := mountSmall(dir)
	if err != nil {
		return &plain,
			fmt.Sprintf(
				"skipped: a full disk, a read-only disk: this machine does not let root mount a file system: %v", err),
			nil
	}
	return &smallFile{plainFile: plain, disk: disk}, "", nil
}

// smallFile is an SQLite database on a file system in memory, whose size can be changed.
type smallFile struct {
	plainFile
	disk *disk
}

func (f *smallFile) fail() error     { return f.disk.full() }
func (f *smallFile) heal() error     { return f.disk.room() }
func (f *smallFile) failure() string { return "disk full" }
func (f *smallFile) close() error    { return f.disk.unmount() }

// server is a database of a PostgreSQL server that the soak starts.
type server struct {
	pg  *pgtest.Server
	url string
}

func newServer(ctx context.Context, dir string) (database, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	pg, err := pgtest.Start(pgtest.Options{}) // in the temporary folder, because the path of a socket must be short
	if errors.Is(err, pgtest.ErrMissing) {
		return nil, fmt.Errorf("%w: %w", ErrSkipped, err)
	}
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, pg.URL("postgres"))
	if err == nil {
		_, err = conn.Exec(ctx, "CREATE DATABASE soak")
		err = errors.Join(err, conn.Close(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, pg.Stop())
	}
	return &server{pg: pg, url: pg.URL("soak")}, nil
}

// lease is the duration of the lease on a space in PostgreSQL. After a daemon was killed, the next one waits for that
// time.
const lease = "1s"

func (s *server) yaml() string    { return fmt.Sprintf("  url: %q\n  lease: %s\n", s.url, lease) }
func (s *server) fail() error     { return s.pg.Kill() }
func (s *server) heal() error     { return s.pg.Start() }
func (s *server) failure() string { return "PostgreSQL killed" }
func (s *server) close() error    { return s.pg.Stop() }

func (s *server) open(ctx context.Context) (modelstore.Store, error) {
	return postgres.Open(ctx, s.url, postgres.Options{Space: clusterName, ReadOnly: true})
}
