package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/waitcast/waitcast/modelstore"
)

// historySchema is the first version of the schema that has the table of histories.
const historySchema = 7

// dropWindow is the number of chunks that one transaction of DropHistories deletes. Commits can run between two of
// these transactions.
const dropWindow = 64

// PutHistory implements modelstore.HistoryStore.
func (s *Store) PutHistory(ctx context.Context, c modelstore.HistoryChunk) error {
	return s.change(ctx, "store "+c.String(), func(w *batch) error {
		if err := c.Check(); err != nil {
			return err
		}
		return w.exec(`INSERT INTO history (cluster, id, part, n, data, crc) VALUES (?,?,?,?,?,?)
			ON CONFLICT DO UPDATE SET data = excluded.data, crc = excluded.crc`,
			c.Cluster, c.ID, c.Part, c.N, c.Data, c.Sum())
	})
}

// HistoryChunks implements modelstore.HistoryStore. Between two chunks no read transaction is open. So SQLite can
// reuse the WAL during a long reading.
func (s *Store) HistoryChunks(ctx context.Context, cluster, id, part string,
	fn func(n int, data []byte) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	next := modelstore.HistoryChunk{Cluster: cluster, ID: id, Part: part}
	for {
		found, err := s.chunk(ctx, "n >= ? ORDER BY n LIMIT 1", next)
		if err == nil && found != nil {
			err = s.interrupted(ctx)
		}
		if err != nil {
			return s.fail("read "+next.String()+" or a later one", err)
		}
		if found == nil {
			return nil
		}
		if err := fn(found.N, found.Data); err != nil {
			return err
		}
		next.N = found.N + 1
	}
}

// HistoryChunk implements modelstore.HistoryStore.
func (s *Store) HistoryChunk(ctx context.Context, cluster, id, part string, n int) ([]byte, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	key := modelstore.HistoryChunk{Cluster: cluster, ID: id, Part: part, N: n}
	found, err := s.chunk(ctx, "n = ?", key)
	if err != nil {
		return nil, s.fail("read "+key.String(), err)
	}
	if found == nil {
		return nil, nil
	}
	return found.Data, nil
}

// chunk returns the chunk of a part that a condition on its number selects. It returns nil if there is none.
func (s *Store) chunk(ctx context.Context, condition string,
	key modelstore.HistoryChunk) (found *modelstore.HistoryChunk, err error) {
	err = scanHistory(ctx, s.read, "WHERE cluster = ? AND id = ? AND part = ? AND "+condition,
		[]any{key.Cluster, key.ID, key.Part, key.N},
		func(c modelstore.HistoryChunk) error { found = &c; return nil })
	return found, err
}

// scanHistory reads chunks and verifies the checksum of each.
func scanHistory(ctx context.Context, db *sql.DB, condition string, args []any,
	fn func(modelstore.HistoryChunk) error) error {
	query := "SELECT cluster, id, part, n, data, crc FROM history " + condition //nolint:gosec // a constant
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	for rows.Next() {
		var c modelstore.HistoryChunk
		var crc int64
		if err := rows.Scan(&c.Cluster, &c.ID, &c.Part, &c.N, &c.Data, &crc); err != nil {
			return scanError(ctx, "history", err)
		}
		if int64(c.Sum()) != crc {
			return damaged("%s fails its checksum", &c)
		}
		if err := fn(c); err != nil {
			return err
		}
	}
	return rows.Err()
}

// DropHistories implements modelstore.HistoryStore.
func (s *Store) DropHistories(ctx context.Context, cluster string, keep ...string) error {
	marks := strings.TrimSuffix(strings.Repeat("?,", len(keep)), ",")
	//nolint:gosec // nothing but question marks is put in
	query := "DELETE FROM history WHERE rowid IN (SELECT rowid FROM history WHERE cluster = ? AND id NOT IN (" + marks +
		") LIMIT ?)"
	args := []any{cluster}
	for _, id := range keep {
		args = append(args, id)
	}
	args = append(args, dropWindow)
	for {
		var n int64
		err := s.change(ctx, "drop histories of "+cluster, func(w *batch) error {
			result, err := w.tx.ExecContext(w.uncanceled(), query, args...)
			if err != nil {
				return err
			}
			n, err = result.RowsAffected()
			return err
		})
		if err != nil || n < dropWindow {
			return err
		}
	}
}

// Histories implements modelstore.HistoryStore.
func (s *Store) Histories(ctx context.Context) ([]modelstore.HistoryPart, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	parts, err := readParts(ctx, s.read)
	return parts, s.fail("list the histories", err)
}

func readParts(ctx context.Context, db *sql.DB) ([]modelstore.HistoryPart, error) {
	// SQLite stores the lengths of a row's values at the beginning of the row, and so it does not read the data for
	// their length.
	rows, err := db.QueryContext(ctx, `SELECT cluster, id, part, count(*), sum(length(data)) FROM history
		GROUP BY cluster, id, part ORDER BY cluster, id, part`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	var parts []modelstore.HistoryPart
	for rows.Next() {
		var p modelstore.HistoryPart
		if err := rows.Scan(&p.Cluster, &p.ID, &p.Part, &p.Chunks, &p.Bytes); err != nil {
			return nil, scanError(ctx, "history", err)
		}
		parts = append(parts, p)
	}
	return parts, rows.Err()
}
