package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waitcast/waitcast/modelstore"
)

// Version returns the number of changes ever made to the space: every writing transaction (entries, rows, checkpoints,
// a snapshot, a value, a pruning) increases it.
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	err = s.read(ctx, "version", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT version FROM waitcast.space WHERE id = $1", s.space).Scan(&version)
	})
	return version, err
}

// Changed waits until the space has a higher Version than after, and returns it. It is notified by the server, and
// polls every Options.Poll. It takes one of the store's connections while it waits. It ends with ctx's error, with
// modelstore.ErrClosed, or with a failure to reach the server; the caller should retry later.
func (s *Store) Changed(ctx context.Context, after int64) (int64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-finished:
		}
	}()
	version, err := s.await(ctx, after)
	if err != nil && errors.Is(s.interrupted(ctx), modelstore.ErrClosed) {
		err = modelstore.ErrClosed
	}
	return version, s.fail("wait for changes", err)
}

// await starts to listen before its first check, so that it misses no change.
func (s *Store) await(ctx context.Context, after int64) (int64, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer s.unlisten(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN "+s.channel()); err != nil {
		if _, refused := errors.AsType[*pgconn.PgError](err); !refused {
			return 0, err
		} // a standby server cannot listen; occasional checks suffice
	}
	for {
		version, err := s.readVersion(ctx, conn)
		if err != nil || version > after {
			return version, err
		}
		wait, cancel := context.WithTimeout(ctx, s.opts.Poll)
		_, err = conn.Conn().WaitForNotification(wait)
		expired := wait.Err() != nil
		cancel()
		if err != nil && (ctx.Err() != nil || !expired) {
			return 0, errors.Join(ctx.Err(), err)
		}
	}
}

func (s *Store) readVersion(ctx context.Context, conn *pgxpool.Conn) (version int64, err error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	err = conn.QueryRow(ctx, "SELECT version FROM waitcast.space WHERE id = $1", s.space).Scan(&version)
	return version, err
}

// unlisten stops listening and returns the connection to the pool.
func (s *Store) unlisten(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "UNLISTEN *"); err != nil {
		_ = conn.Conn().Close(ctx) // the pool discards a closed connection
	}
	conn.Release()
}
