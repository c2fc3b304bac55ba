package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waitcast/waitcast/modelstore"
)

// Version returns the number of changes that have been made to the space so far. Every transaction that writes data
// (also a pruning) increases it. Acquiring, renewing or releasing the lease does not.
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	err = s.read(ctx, "version", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT version FROM waitcast.space WHERE id = $1", s.space).Scan(&version)
	})
	return version, err
}

// Changed waits until the Version of the space is greater than `after`, and returns that version. The server notifies
// the store; the store also polls after every Options.Poll. Waiting uses one of the store's connections. Changed
// returns the error of ctx, modelstore.ErrClosed, or an error if the server cannot be reached. In the last case the
// caller should retry later.
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

// await waits as Changed does. It starts to listen before its first check, so that it misses no change.
func (s *Store) await(ctx context.Context, after int64) (int64, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer s.unlisten(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN "+s.channel()); err != nil {
		if _, refused := errors.AsType[*pgconn.PgError](err); !refused {
			return 0, err
		} // a standby server cannot notify; polling suffices
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
