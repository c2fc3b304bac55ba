// Package postgres keeps waitcast's stores in a PostgreSQL database that several daemons share.
//
// One database has many spaces. A space is the store of one daemon that collects: it has its own journal, ledger,
// checkpoints, snapshots, histories and values. Any number of daemons may read a space (Options.ReadOnly). Only the
// holder of its lease writes it (Store.Acquire).
//
// # Leases
//
// A lease has a holder, a number (the epoch) and an end by the database's clock. Every transaction that writes locks
// the row of the space and checks that it still has the epoch and the random nonce of the writer's lease. So a writer
// that was paused while another daemon acquired the lease cannot store anything any more (modelstore.ErrLeaseLost). The
// holder of an expired lease keeps the lease until another daemon acquires the next one, because until then nobody else
// has written.
//
// # Durability
//
// A Commit is one transaction. It is as durable as the server's synchronous_commit makes it. If the server dies
// during COMMIT, the outcome is unknown and Commit returns an error. If the same batch is then committed again, it is
// recognized if it was stored.
//
// # Damage
//
// Snapshots and the chunks of histories have checksums. For all other data the package relies on the server's own
// checksums (initdb --data-checksums).
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
)

const (
	// DefaultSpace is the space of a database if none is given.
	DefaultSpace = "main"
	// DefaultTimeout is the default of Options.Timeout.
	DefaultTimeout = time.Minute
	// DefaultPoll is the polling interval of Changed. Polling is needed in case a notification is lost.
	DefaultPoll = 2 * time.Second
	// DefaultConnections is the maximum number of connections of one Store: for the writer, for one call of Changed
	// that waits, and for readers.
	DefaultConnections = 8
)

// idleTimeout is the maximum time for which the server lets an open transaction wait for its client. A writer that is
// stopped in the middle of a commit locks the space's row for that long. Meanwhile no other daemon can take over.
const idleTimeout = 10 * time.Second

// Options configure Open; the zero value is ready to use.
type Options struct {
	// Space is the name of the space: [a-z0-9._-]{1,64}. Empty means DefaultSpace.
	Space string
	// ReadOnly opens an existing space for reading. Nothing is written, created or migrated.
	ReadOnly bool
	// Log receives warnings about damage; nil means no log.
	Log *zap.Logger
	// BadLines is the number of bad lines that are kept; 0 means modelstore.DefaultBadLines.
	BadLines int
	// Timeout is the maximum time for each transaction that writes and for each page that is read; 0 means
	// DefaultTimeout.
	Timeout time.Duration
	// Poll is the polling interval of Changed; 0 means DefaultPoll.
	Poll time.Duration
	// Connections is the maximum number of connections; less than 2 means DefaultConnections.
	Connections int
}

func (o Options) withDefaults() Options {
	if o.Space == "" {
		o.Space = DefaultSpace
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.BadLines <= 0 {
		o.BadLines = modelstore.DefaultBadLines
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	if o.Connections < 2 {
		o.Connections = DefaultConnections
	}
	return o
}

// Store is a modelstore.Store in one space of a PostgreSQL database.
type Store struct {
	opts  Options
	place string // host, database and space, for messages
	pool  *pgxpool.Pool
	space int32

	// writing is locked by the one writer. It guards lease and unsure.
	writing sync.Mutex
	lease   *Lease
	unsure  unsure

	// closing guards closed. It is also held when an operation begins, so that Close can wait for running operations.
	// done ends operations that wait for something.
	closing sync.Mutex
	closed  bool
	done    chan struct{}
	uses    sync.WaitGroup
}

var _ modelstore.Store = (*Store)(nil)

// CheckSpace returns an error if the name of a space is not allowed.
func CheckSpace(name string) error {
	if !regexp.MustCompile(`^[a-z0-9._-]{1,64}$`).MatchString(name) {
		return fmt.Errorf("space %q: give 1 to 64 of a-z, 0-9, '.', '_' and '-'", name)
	}
	return nil
}

// Open opens a space of the database at url. Unless Options.ReadOnly is set, it creates the tables and the space if
// they are missing. url is a URL (postgres://user@host:port/database?...) or key=value pairs, as in libpq. The password
// may be in the file that PGPASSFILE names. Call Acquire before writing. Callers can distinguish
// *modelstore.NewerError, *NoSpaceError, and errors that wrap modelstore.ErrReadOnly or ErrFull.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	if err := CheckSpace(opts.Space); err != nil {
		return nil, err
	}
	pool, err := connect(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, pool: pool, place: placeOf(pool.Config().ConnConfig) + " space " + opts.Space,
		done: make(chan struct{})}
	if err := s.prepare(ctx); err != nil {
		pool.Close()
		return nil, explain(s.place, "open", err)
	}
	return s, nil
}

// connect returns a pool of connections. It opens no connection yet.
func connect(ctx context.Context, url string, opts Options) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil { // the error contains no password
		return nil, fmt.Errorf("address of the store: %w", err)
	}
	config.MaxConns = int32(opts.Connections)
	config.PingTimeout = 5 * time.Second
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	for key, value := range map[string]string{
		"application_name":                    "waitcast",
		"statement_timeout":                   milliseconds(opts.Timeout),
		"lock_timeout":                        milliseconds(opts.Timeout / 2),
		"idle_in_transaction_session_timeout": milliseconds(min(idleTimeout, opts.Timeout)),
		// By default the server would keep the locks of a client whose machine has failed for two hours.
		"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
	} {
		if _, set := config.ConnConfig.RuntimeParams[key]; !set {
			config.ConnConfig.RuntimeParams[key] = value
		}
	}
	if opts.ReadOnly {
		config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	}
	return pgxpool.NewWithConfig(ctx, config)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// placeOf returns the location of a database without its password.
func placeOf(c *pgx.ConnConfig) string {
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) + "/" + c.Database
}

// prepare updates the schema and finds the row of the space.
func (s *Store) prepare(ctx context.Context) error {
	if err := migrate(ctx, s.pool, s.place, s.opts.ReadOnly); err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	const find = "SELECT id FROM waitcast.space WHERE name = $1"
	err := s.pool.QueryRow(ctx, find, s.opts.Space).Scan(&s.space)
	switch {
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	case s.opts.ReadOnly:
		return &NoSpaceError{Place: placeOf(s.pool.Config().ConnConfig), Space: s.opts.Space}
	}
	if _, err := s.pool.Exec(ctx, "INSERT INTO waitcast.space (name) VALUES ($1) ON CONFLICT DO NOTHING",
		s.opts.Space); err != nil {
		return err
	}
	return s.pool.QueryRow(ctx, find, s.opts.Space).Scan(&s.space)
}

// Spaces returns the names of the spaces of the database at url, sorted. It returns none if the database does not
// have waitcast's tables.
func Spaces(ctx context.Context, url string) ([]string, error) {
	opts := Options{ReadOnly: true}.withDefaults()
	pool, err := connect(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	place := placeOf(pool.Config().ConnConfig)
	var none *NoSpaceError
	if err := migrate(ctx, pool, place, true); errors.As(err, &none) {
		return nil, nil
	} else if err != nil {
		return nil, explain(place, "spaces", err)
	}
	rows, err := pool.Query(ctx, "SELECT name FROM waitcast.space ORDER BY name")
	if err != nil {
		return nil, explain(place, "spaces", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, explain(place, "spaces", err)
}

// Space returns the name of the store's space.
func (s *Store) Space() string { return s.opts.Space }

// begin registers a use of the store. Close waits for it. end ends the use.
func (s *Store) begin() error {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed {
		return fmt.Errorf("store %s: %w", s.place, modelstore.ErrClosed)
	}
	s.uses.Add(1)
	return nil
}

func (s *Store) end() { s.uses.Done() }

// interrupted returns an error if a reading must stop. It is called before each call of the caller's function.
func (s *Store) interrupted(ctx context.Context) error {
	select {
	case <-s.done:
		return modelstore.ErrClosed
	default:
		return ctx.Err()
	}
}

func (s *Store) fail(doing string, err error) error { return explain(s.place, doing, err) }

// bounded returns a context that limits the duration of one transaction or page.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.opts.Timeout, fmt.Errorf("no answer within %v", s.opts.Timeout))
}

// Close implements modelstore.Store. It waits for running operations, and releases the lease. A running Replay, Rows,
// HistoryChunks or Changed ends with ErrClosed.
func (s *Store) Close() error {
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	s.closing.Unlock()
	s.uses.Wait()
	defer s.pool.Close()
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.lease == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	err := s.release(ctx, s.lease)
	if err != nil { // everything is stored; the lease expires by itself
		s.opts.Log.Warn("cannot give the lease on the store back; it ends by itself", zap.Error(err))
	}
	return nil
}
