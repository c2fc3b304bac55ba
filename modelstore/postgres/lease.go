package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
)

// MinTTL is the shortest duration of a lease. A renewal that the server answers late must fit into it.
const MinTTL = 100 * time.Millisecond

// releaseTimeout is the maximum time for which Close tries to release a lease.
const releaseTimeout = 3 * time.Second

// Lease is the right to write a space. It expires some time after its last renewal or Commit. Then any daemon may
// acquire the next lease. A Lease is safe for concurrent use.
type Lease struct {
	store  *Store
	holder string
	epoch  int64
	nonce  string
	ttl    time.Duration
}

// Holder returns the name under which the lease was acquired.
func (l *Lease) Holder() string { return l.holder }

// Epoch returns the number of the lease. It is greater than the numbers of all earlier leases on the space.
func (l *Lease) Epoch() int64 { return l.epoch }

// TTL returns the time for which the lease lasts after a renewal.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Acquire acquires the lease on the store's space for the duration ttl, at least MinTTL. This is possible if the
// lease is free or has expired by the database's clock. Otherwise Acquire returns a *HeldError. holder is the name of
// the caller for messages ("host pid 17"). A store that already holds the lease gets a new one.
func (s *Store) Acquire(ctx context.Context, holder string, ttl time.Duration) (*Lease, error) {
	switch {
	case s.opts.ReadOnly:
		return nil, fmt.Errorf("store %s: acquire the lease: %w: it was opened for reading", s.place,
			modelstore.ErrReadOnly)
	case holder == "":
		return nil, errors.New("the lease's holder must have a name")
	case ttl < MinTTL:
		return nil, fmt.Errorf("the lease's time of %v is less than %v", ttl, MinTTL)
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	s.writing.Lock()
	defer s.writing.Unlock()
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	own := int64(-1)
	if s.lease != nil {
		own = s.lease.epoch
	}
	l := &Lease{store: s, holder: holder, nonce: rand.Text(), ttl: ttl}
	// If the holder is in the middle of a commit, this statement waits for the commit and then reads the row again.
	// clock_timestamp returns the time of that reading.
	err := s.pool.QueryRow(ctx,
		`UPDATE waitcast.space SET holder = $2, nonce = $5, epoch = epoch + 1, expires = clock_timestamp() + $3
		WHERE id = $1 AND (holder IS NULL OR expires <= clock_timestamp() OR epoch = $4) RETURNING epoch`,
		s.space, toText(holder), ttl, own, l.nonce).Scan(&l.epoch)
	if err == nil {
		s.lease, s.unsure = l, unsure{}
		return l, nil
	}
	// The code is lock_not_available.
	if locked, ok := errors.AsType[*pgconn.PgError](err); errors.Is(err, pgx.ErrNoRows) ||
		ok && locked.Code == "55P03" {
		err = s.held(ctx)
	}
	return nil, s.fail("acquire the lease", err)
}

// held returns a *HeldError that names the holder of the lease.
func (s *Store) held(ctx context.Context) error {
	e := &HeldError{Space: s.opts.Space}
	var holder *string
	var until *time.Time
	var left *time.Duration
	err := s.pool.QueryRow(ctx, "SELECT holder, expires, expires - clock_timestamp() FROM waitcast.space WHERE id = $1",
		s.space).Scan(&holder, &until, &left)
	if err != nil {
		return err
	}
	if holder != nil && until != nil && left != nil { // otherwise the lease was released meanwhile
		e.Holder, e.Until, e.Left = fromText(*holder), until.UTC(), *left
	}
	return e
}

// Renew extends the lease to its full duration from now. It returns an error that wraps modelstore.ErrLeaseLost if
// another daemon acquired the lease or if it was released. It also renews an expired lease that nobody has acquired.
func (l *Lease) Renew(ctx context.Context) error {
	s := l.store
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	tag, err := s.pool.Exec(ctx,
		`UPDATE waitcast.space SET expires = clock_timestamp() + $3 WHERE id = $1 AND epoch = $2 AND nonce = $4`,
		s.space, l.epoch, l.ttl, l.nonce)
	if err == nil && tag.RowsAffected() == 0 {
		err = s.lost(ctx, l)
	}
	return s.fail("renew the lease", err)
}

// Keep renews the lease three times within its duration, again and again. It returns nil when ctx ends. It returns an
// error that wraps modelstore.ErrLeaseLost if the lease is lost, or ErrClosed if the store is closed. It retries
// after other failures: while the server cannot be reached, no other daemon can acquire the lease either.
func (l *Lease) Keep(ctx context.Context) error {
	ticker := time.NewTicker(l.ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.store.done:
			return fmt.Errorf("store %s: %w", l.store.place, modelstore.ErrClosed)
		case <-ticker.C:
		}
		err := l.Renew(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, modelstore.ErrLeaseLost), errors.Is(err, modelstore.ErrClosed):
			return err
		case err != nil:
			l.store.opts.Log.Warn("cannot renew the lease on the store; trying again", zap.Error(err))
		}
	}
}

// Release ends the lease, so that the next holder need not wait until it expires. The database stays unchanged if the
// lease is already lost.
func (l *Lease) Release(ctx context.Context) error {
	s := l.store
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.fail("release the lease", s.release(ctx, l))
}

// release releases a lease. The caller holds s.writing.
func (s *Store) release(ctx context.Context, l *Lease) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if s.lease == l {
		s.lease = nil
	}
	_, err := s.pool.Exec(ctx, "UPDATE waitcast.space SET holder = NULL, nonce = NULL, expires = NULL WHERE id = $1 "+
		"AND epoch = $2 AND nonce = $3",
		s.space, l.epoch, l.nonce)
	return err
}

// lost returns an error that wraps modelstore.ErrLeaseLost. It names the process that has taken over the lease from l,
// if there is one.
func (s *Store) lost(ctx context.Context, l *Lease) error {
	var e *HeldError
	if err := s.held(ctx); !errors.As(err, &e) {
		return errors.Join(modelstore.ErrLeaseLost, err)
	}
	if e.Holder == "" {
		return fmt.Errorf("%w: that of %s (number %d) was given back or taken over", modelstore.ErrLeaseLost,
			l.holder, l.epoch)
	}
	return fmt.Errorf("%w: that of %s (number %d) ran out, and %s took over", modelstore.ErrLeaseLost, l.holder,
		l.epoch, e.Holder)
}
