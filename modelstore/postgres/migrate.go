package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waitcast/waitcast/modelstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the key of the advisory lock that is held during migrations ("wcst" in ASCII).
const migrationLock = 0x77637374

// migrate updates the schema. The folder has files with names <version>_<what>.sql, numbered from 1 without a gap. All
// migrations run in one transaction, and in only one daemon at a time. A reader does not migrate: it returns an error
// if the schema has another version.
func migrate(ctx context.Context, pool *pgxpool.Pool, place string, readOnly bool) error {
	texts, err := migrationTexts()
	if err != nil {
		return err
	}
	have, err := schemaVersion(ctx, pool.QueryRow)
	switch {
	case err != nil:
		return err
	case have > len(texts):
		return &modelstore.NewerError{Path: place, Have: have, Known: len(texts)}
	case have == len(texts):
		return nil
	case readOnly && have == 0:
		return &NoSpaceError{Place: place}
	case readOnly:
		return fmt.Errorf("the schema has version %d, and this program needs %d: start the daemon that collects with "+
			"this version first", have, len(texts))
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// A migration of a large store may take longer than any other statement. So may the wait for the migration of
		// another daemon.
		for _, statement := range []string{
			"SET LOCAL statement_timeout = 0", "SET LOCAL lock_timeout = 0",
			fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", migrationLock),
		} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		if err := checkEncoding(ctx, tx); err != nil {
			return err
		}
		have, err := schemaVersion(ctx, tx.QueryRow) // another daemon may have migrated first
		if err != nil {
			return err
		}
		if have > len(texts) {
			return &modelstore.NewerError{Path: place, Have: have, Known: len(texts)}
		}
		for version := have + 1; version <= len(texts); version++ {
			if err := runMigration(ctx, tx, texts[version-1], version); err != nil {
				return fmt.Errorf("migration %d: %w", version, err)
			}
		}
		return nil
	})
}

func runMigration(ctx context.Context, tx pgx.Tx, text string, version int) error {
	if version == 1 {
		text = `CREATE SCHEMA IF NOT EXISTS waitcast;
			CREATE TABLE waitcast.schema_version (version integer PRIMARY KEY,
				at timestamptz NOT NULL DEFAULT clock_timestamp());` + text
	}
	if _, err := tx.Conn().PgConn().Exec(ctx, text).ReadAll(); err != nil { // the text has several statements
		return err
	}
	if version == splitLedger {
		if err := splitRows(ctx, tx); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "INSERT INTO waitcast.schema_version (version) VALUES ($1)", version)
	return err
}

// checkEncoding returns an error if the encoding of the database cannot store every text.
func checkEncoding(ctx context.Context, tx pgx.Tx) error {
	var encoding string
	if err := tx.QueryRow(ctx, "SHOW server_encoding").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s: make one with UTF8 (createdb --encoding=UTF8 "+
			"--template=template0 ...)", encoding)
	}
	return nil
}

// schemaVersion returns the number of the newest migration that was run, or 0 if there is none. It reads the catalog
// as a table, because to_regclass may return an old value that the session cached before it waited for the advisory
// lock.
func schemaVersion(ctx context.Context, query func(context.Context, string, ...any) pgx.Row) (int, error) {
	var there bool
	err := query(ctx,
		`SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'waitcast' AND c.relname = 'schema_version')`).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	var version int
	err = query(ctx, "SELECT coalesce(max(version), 0) FROM waitcast.schema_version").Scan(&version)
	return version, err
}

func migrationTexts() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted by name
	if err != nil {
		return nil, err
	}
	var texts []string
	for i, name := range names {
		if number, _, _ := strings.Cut(path.Base(name), "_"); strings.TrimLeft(number, "0") != strconv.Itoa(i+1) {
			return nil, fmt.Errorf("migration %s should have the number %d", name, i+1)
		}
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	if len(texts) == 0 {
		return nil, errors.New("this program was built without migrations")
	}
	return texts, nil
}
