package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waitcast/waitcast/modelstore"
)

// HeldError reports that another daemon holds the lease on a space.
type HeldError struct {
	Space string
	// Holder is the name under which the other daemon acquired the lease.
	Holder string
	// Until is the end of the lease by the database's clock, unless it is renewed. Left was the remaining time when the
	// error was created.
	Until time.Time
	Left  time.Duration
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("space %q of the store is held by %s for another %v unless it is renewed (until %s by the "+
		"database's clock): stop that daemon, or give this one a space of its own",
		e.Space, e.Holder, max(0, e.Left).Round(100*time.Millisecond), e.Until.UTC().Format(time.RFC3339))
}

// NoSpaceError reports that a space to be read does not exist, perhaps not yet.
type NoSpaceError struct {
	// Place is the database, without a password.
	Place string
	// Space is the name of the space; "" if even the tables do not exist.
	Space string
}

// Error implements error.
func (e *NoSpaceError) Error() string {
	if e.Space == "" {
		return fmt.Sprintf("%s has no tables of waitcast: start a daemon that collects into it first", e.Place)
	}
	return fmt.Sprintf("%s has no space %q: start a daemon that collects into it first, or check the name",
		e.Place, e.Space)
}

// explain wraps an error of the driver. If diagnose knows the error, the result also has advice, and wraps the cause
// for errors.Is.
func explain(place, doing string, err error) error {
	if err == nil {
		return nil
	}
	hint, cause := diagnose(err)
	switch {
	case hint == "":
		return fmt.Errorf("store %s: %s: %w", place, doing, err)
	case cause == nil || errors.Is(err, cause):
		return fmt.Errorf("store %s: %s: %w (%s)", place, doing, err, hint)
	}
	return fmt.Errorf("store %s: %s: %w: %w (%s)", place, doing, cause, err, hint)
}

// diagnose classifies an error and returns advice. The result cause is nil if no caller needs to distinguish the
// error. The codes are listed at https://www.postgresql.org/docs/current/errcodes-appendix.html
func diagnose(err error) (hint string, cause error) {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return "", nil
	}
	switch e.Code {
	case "53100":
		return "free space on the database server's disk; nothing of this was stored, it can be tried again",
			modelstore.ErrFull
	case "25006":
		return "the server is a standby or its transactions are read-only: connect to the primary",
			modelstore.ErrReadOnly
	case "42501":
		return "grant the role what docs/store.md lists", modelstore.ErrReadOnly
	case "XX001", "XX002":
		return "the database server's files are damaged: restore them from a backup", modelstore.ErrCorrupt
	case "53300":
		return "raise the server's max_connections, or start fewer daemons", nil
	}
	return "", nil
}

// damaged returns an error that wraps ErrCorrupt and names the damaged value.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", modelstore.ErrCorrupt, fmt.Sprintf(format, args...))
}
