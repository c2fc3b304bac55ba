package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/modelstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a file as a database of waitcast ("wcst" in ASCII). So waitcast never writes to another
// program's database. https://www.sqlite.org/pragma.html#pragma_application_id
const applicationID = 0x77637374

// migrate updates the schema. The folder has files with names <version>_<what>.sql, numbered from 1 without a gap.
// Each file runs in its own transaction, which also stores the file's number (PRAGMA user_version).
func migrate(ctx context.Context, db *sql.DB, dbPath string, folder fs.FS) error {
	names, err := fs.Glob(folder, "*.sql") // sorted by name
	if err != nil {
		return err
	}
	have, err := identify(ctx, db, dbPath)
	if err != nil {
		return err
	}
	if have > len(names) {
		return &modelstore.NewerError{Path: dbPath, Have: have, Known: len(names)}
	}
	texts := make([]string, len(names))
	for i, name := range names {
		if number, _, _ := strings.Cut(path.Base(name), "_"); strings.TrimLeft(number, "0") != strconv.Itoa(i+1) {
			return fmt.Errorf("migration %s should have the number %d", name, i+1)
		}
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		texts[i] = string(text)
	}
	if err := checkSchema(ctx, db, texts[:have]); err != nil {
		return err
	}
	for version := have + 1; version <= len(names); version++ {
		if err := runMigration(ctx, db, texts[version-1], version); err != nil {
			return fmt.Errorf("migration %s: %w", names[version-1], err)
		}
	}
	return nil
}

// identify returns the version of the schema, or 0 for a new file. It returns an error for another program's
// database.
func identify(ctx context.Context, db *sql.DB, dbPath string) (int, error) {
	var version, tables int
	var app int64
	err := db.QueryRowContext(ctx,
		`SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
			(SELECT count(*) FROM sqlite_schema)`).Scan(&version, &app, &tables)
	if err != nil {
		return 0, err
	}
	if app != applicationID && (tables > 0 || app != 0) {
		return 0, &ForeignError{Path: dbPath, ApplicationID: app}
	}
	if version < 0 || version == 0 && tables > 0 {
		return 0, damaged("schema version %d in a file with %d tables and indexes", version, tables)
	}
	return version, nil
}

func runMigration(ctx context.Context, db *sql.DB, text string, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after Commit
	text += fmt.Sprintf("\n;PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version)
	if _, err := tx.ExecContext(ctx, text); err != nil {
		if madeBefore(err) {
			return damaged("the schema is newer than its version, %d: %v", version-1, err)
		}
		return err
	}
	return tx.Commit()
}

// madeBefore reports whether a migration failed because its tables exist already. In that case the version in the
// file's header is wrong.
func madeBefore(err error) bool {
	return strings.Contains(err.Error(), "duplicate column name") || strings.Contains(err.Error(), "already exists")
}
