package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// checkSchema compares the tables, columns and indexes of a database with those of a new database in memory, which
// the same migrations created. The comparison is needed because SQLite has no checksum of the schema's text: a
// flipped bit renames a column. Additional tables are allowed. checkSchema does not compare the texts of the schema,
// because SQLite changes them when tables are altered.
func checkSchema(ctx context.Context, db *sql.DB, migrations []string) error {
	if len(migrations) == 0 {
		return nil
	}
	connector, err := driver.NewConnector(":memory:")
	if err != nil {
		return fmt.Errorf("database in memory: %w", err)
	}
	fresh := sql.OpenDB(connector)
	defer func() { _ = fresh.Close() }() // the database in memory is not needed any more
	fresh.SetMaxOpenConns(1)             // without this, each connection would have a database of its own
	for i, text := range migrations {
		if err := runMigration(ctx, fresh, text, i+1); err != nil {
			return inMemory(ctx, fmt.Sprintf("migration %d", i+1), err)
		}
	}
	want, err := schemaOf(ctx, fresh)
	if err != nil {
		return inMemory(ctx, "schema", err)
	}
	have, err := schemaOf(ctx, db)
	if err != nil {
		return err
	}
	for part, columns := range want {
		if have[part] != columns {
			return damaged("the schema's %s has the columns %q instead of %q", part, have[part], columns)
		}
	}
	return nil
}

// inMemory returns an error of the database in memory. The error is not wrapped, so that it does not count as damage
// of the file. If the caller cancelled, the error is that of the context.
func inMemory(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%s, in memory: %s", what, err.Error())
}

// schemaOf returns the columns of each table and index, with their declarations.
func schemaOf(ctx context.Context, db *sql.DB) (map[string]string, error) {
	parts := map[string]string{}
	for _, query := range []string{
		`SELECT 'table ' || s.name, x.name || ' ' || x.type || ' ' || x."notnull" || x.pk || x.hidden
			FROM sqlite_schema s, pragma_table_xinfo(s.name) x WHERE s.type = 'table' ORDER BY s.name, x.cid`,
		`SELECT 'index ' || s.name || ' of ' || s.tbl_name, coalesce(x.name, '') || ' ' || x.cid || x."desc" ||
			x.key || x.coll FROM sqlite_schema s, pragma_index_xinfo(s.name) x
			WHERE s.type = 'index' ORDER BY s.name, x.seqno`,
	} {
		rows, err := db.QueryContext(ctx, query)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var part, column string
			if err := rows.Scan(&part, &column); err != nil {
				return nil, errors.Join(scanError(ctx, "schema", err), rows.Close())
			}
			parts[part] += column + ", "
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// brokenSchema wraps an error of a prepared statement that SQLite refuses. This cannot happen if the schema is
// intact.
func brokenSchema(err error) error {
	if e, ok := errors.AsType[*driver.Error](err); ok && e.Code()&0xff == lib.SQLITE_ERROR {
		return damaged("the schema: %v", err)
	}
	return err
}
