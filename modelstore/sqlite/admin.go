package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// pruneWindow is the range of numbers that one transaction of Prune covers. Such a transaction takes about 20 ms, and
// commits can run between two of them.
const pruneWindow = 10_000

// Meta implements modelstore.Store.
func (s *Store) Meta(ctx context.Context, key string) (string, error) {
	if err := s.begin(); err != nil {
		return "", err
	}
	defer s.end()
	var value string
	var crc int64
	err := s.read.QueryRowContext(ctx, "SELECT value, crc FROM meta WHERE key = ?", key).Scan(&value, &crc)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err == nil && newSummer().text(key).text(value).sum() != crc {
		err = damaged("the value of %q fails its checksum", key)
	}
	if err != nil {
		return "", s.fail("read "+key, err)
	}
	return value, nil
}

// readMeta returns every key with its value. It verifies each checksum.
func readMeta(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT key, value, crc FROM meta")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	sum := newSummer()
	all := map[string]string{}
	for rows.Next() {
		var key, value string
		var crc int64
		if err := rows.Scan(&key, &value, &crc); err != nil {
			return nil, scanError(ctx, "meta", err)
		}
		if sum.text(key).text(value).sum() != crc {
			return nil, damaged("the value of %q fails its checksum", key)
		}
		all[key] = value
	}
	return all, rows.Err()
}

// SetMeta implements modelstore.Store.
func (s *Store) SetMeta(ctx context.Context, key, value string) error {
	return s.change(ctx, "set "+key, func(w *batch) error {
		if value == "" {
			return w.exec("DELETE FROM meta WHERE key = ?", key)
		}
		return w.exec("INSERT INTO meta (key, value, crc) VALUES (?,?,?) ON CONFLICT DO UPDATE SET value = "+
			"excluded.value, crc = excluded.crc",
			key, value, w.sum.text(key).text(value).sum())
	})
}

// DropSnapshots implements modelstore.Store.
func (s *Store) DropSnapshots(ctx context.Context) error {
	return s.change(ctx, "drop snapshots", func(w *batch) error {
		return w.exec("DELETE FROM snapshot") // ON DELETE CASCADE also deletes the parts of the snapshots
	})
}

// Prune implements modelstore.Store.
func (s *Store) Prune(ctx context.Context, before time.Time, upTo int64) (int64, error) {
	var total, from int64
	for first := true; ; first = false {
		var n int64
		var done bool
		err := s.change(ctx, "prune", func(w *batch) (err error) {
			if first {
				if from, done, err = w.firstSeq(); err != nil || done {
					return err
				}
			}
			n, done, err = w.pruneWindow(clampTime(before), from, upTo)
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
		from += pruneWindow
		if done {
			return total, nil
		}
	}
}

// PruneRows implements modelstore.Store.
func (s *Store) PruneRows(ctx context.Context, before time.Time) (int64, error) {
	var total int64
	for {
		var n int64
		err := s.change(ctx, "prune the ledger", func(w *batch) error {
			result, err := w.tx.ExecContext(w.uncanceled(),
				"DELETE FROM ledger WHERE id IN (SELECT id FROM ledger WHERE closed < ? ORDER BY closed LIMIT ?)",
				clampTime(before), pruneWindow)
			if err != nil {
				return err
			}
			n, err = result.RowsAffected()
			return err
		})
		if err != nil {
			return total, err
		}
		if total += n; n < pruneWindow {
			return total, nil
		}
	}
}

// firstSeq returns the smallest number in the journal. empty is true if the journal has no entries.
func (w *batch) firstSeq() (first int64, empty bool, err error) {
	var least sql.NullInt64
	err = w.tx.QueryRowContext(w.uncanceled(), "SELECT min(seq) FROM journal").Scan(&least)
	return least.Int64, !least.Valid, err
}

// pruneWindow deletes entries from one range of numbers, which begins at `from`. done is true if no range is left to
// prune.
func (w *batch) pruneWindow(before, from, upTo int64) (n int64, done bool, err error) {
	var oldest sql.NullInt64
	if err := w.tx.QueryRowContext(w.uncanceled(), "SELECT min(seq) FROM snapshot").Scan(&oldest); err != nil {
		return 0, false, err
	}
	last := min(upTo, oldest.Int64)
	if !oldest.Valid || from > last {
		return 0, true, nil
	}
	result, err := w.tx.ExecContext(w.uncanceled(), "DELETE FROM journal WHERE seq BETWEEN ? AND ? AND time < ?",
		from, min(last, from+pruneWindow-1), before)
	if err != nil {
		return 0, false, err
	}
	n, err = result.RowsAffected()
	return n, from+pruneWindow > last, err
}
