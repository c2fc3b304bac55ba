package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/internal/keys"
)

// page is the number of entries or rows that are read at once. Between two pages no transaction is open and no
// connection is used.
const page = 2000

// read runs fn, which is one reading transaction or page.
func (s *Store) read(ctx context.Context, doing string, fn func(ctx context.Context) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	return s.readPage(ctx, doing, fn)
}

func (s *Store) readPage(ctx context.Context, doing string, fn func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return s.fail(doing, err)
	}
	bounded, cancel := s.bounded(ctx)
	defer cancel()
	return s.fail(doing, fn(bounded))
}

// LastSeq implements modelstore.Store.
func (s *Store) LastSeq(ctx context.Context) (last int64, err error) {
	err = s.read(ctx, "last number", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT last_seq FROM waitcast.space WHERE id = $1", s.space).Scan(&last)
	})
	return last, err
}

// Replay implements modelstore.Store.
func (s *Store) Replay(ctx context.Context, after int64, fn func(modelstore.Entry) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	upTo, err := s.LastSeq(ctx)
	if err != nil {
		return err
	}
	for {
		var entries []modelstore.Entry
		err := s.readPage(ctx, "replay", func(ctx context.Context) (err error) {
			entries, err = s.entries(ctx, after, upTo)
			return err
		})
		if err != nil {
			return err
		}
		for i := range entries {
			if err := s.interrupted(ctx); err != nil {
				return s.fail("replay", err)
			}
			if err := fn(entries[i]); err != nil {
				return err
			}
			after = entries[i].Seq
		}
		if len(entries) < page {
			return nil
		}
	}
}

// entries returns a page of the entries after a number, up to another number.
func (s *Store) entries(ctx context.Context, after, upTo int64) ([]modelstore.Entry, error) {
	rows, err := s.pool.Query(ctx,
		`SELECT seq, cluster, job_id, attempt, kind, time, source, event FROM waitcast.journal
		WHERE space = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`, s.space, after, upTo, page)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	entries := make([]modelstore.Entry, 0, page)
	var kind string
	var at int64
	var event []byte
	for rows.Next() {
		var e modelstore.Entry
		err := rows.Scan(&e.Seq, &e.Event.Cluster, &e.Event.ID, &e.Event.Attempt, &kind, &at, &e.Source,
			(*pgtype.DriverBytes)(&event))
		if err != nil {
			return nil, err
		}
		if e.Event.Kind, err = modelstore.ParseKind(kind); err != nil {
			return nil, fmt.Errorf("journal entry %d: %w", e.Seq, err)
		}
		e.Event.Cluster, e.Event.ID, e.Source = fromText(e.Event.Cluster), fromText(e.Event.ID), fromText(e.Source)
		e.Event.Time = time.Unix(0, at).UTC()
		if err := modelstore.DecodeEvent(event, &e.Event); err != nil {
			return nil, fmt.Errorf("journal entry %d: %w", e.Seq, err)
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Known implements modelstore.Store.
func (s *Store) Known(ctx context.Context, cluster, jobID string) (keys []modelstore.Key, err error) {
	err = s.read(ctx, "known events", func(ctx context.Context) error {
		keys, err = s.known(ctx, cluster, jobID)
		return err
	})
	return keys, err
}

// known returns the known events of a job from the journal and the ledger. An event from the ledger has an outcome.
func (s *Store) known(ctx context.Context, cluster, jobID string) ([]modelstore.Key, error) {
	rows, err := s.pool.Query(ctx,
		fmt.Sprintf(`SELECT attempt, kind, time, submit, '' FROM waitcast.journal
			WHERE space = $1 AND cluster = $2 AND job_id = $3
		UNION ALL SELECT attempt, '', closed, submit, outcome FROM waitcast.ledger
			WHERE space = %d AND cluster = $2 AND job_id = $3`, s.space),
		s.space, toText(cluster), toText(jobID))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var journal, ledger []modelstore.Key
	for rows.Next() {
		var k modelstore.Key
		var kind, outcome string
		var at, submit pgtype.Int8
		if err := rows.Scan(&k.Attempt, &kind, &at, &submit, &outcome); err != nil {
			return nil, err
		}
		k.Time, k.Submit = instant(at), instant(submit)
		if outcome != "" {
			ledger = append(ledger, keys.Closed(k, outcome)...)
			continue
		}
		if k.Kind, err = modelstore.ParseKind(kind); err != nil {
			return nil, err
		}
		journal = append(journal, k)
	}
	return keys.Join(journal, ledger), rows.Err()
}

// Checkpoints implements modelstore.Store.
func (s *Store) Checkpoints(ctx context.Context) (map[string][]byte, error) {
	all := make(map[string][]byte)
	err := s.read(ctx, "checkpoints", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, "SELECT source, data FROM waitcast.checkpoint WHERE space = $1", s.space)
		if err != nil {
			return err
		}
		var source string
		var data []byte
		_, err = pgx.ForEachRow(rows, []any{&source, &data}, func() error {
			all[fromText(source)], data = data, nil
			return nil
		})
		return err
	})
	return all, err
}

// Models implements modelstore.Store.
func (s *Store) Models(ctx context.Context) (map[string]modelstore.SavedModel, error) {
	all := make(map[string]modelstore.SavedModel)
	err := s.read(ctx, "saved models", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, "SELECT name, seq, data FROM waitcast.saved_model WHERE space = $1", s.space)
		if err != nil {
			return err
		}
		var m modelstore.SavedModel
		_, err = pgx.ForEachRow(rows, []any{&m.Name, &m.Seq, &m.Data}, func() error {
			m.Name = fromText(m.Name)
			all[m.Name] = m
			m.Data = nil
			return nil
		})
		return err
	})
	return all, err
}

// Latest implements modelstore.Store.
func (s *Store) Latest(ctx context.Context) (snap *modelstore.Snapshot, err error) {
	err = s.read(ctx, "latest snapshot", func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
			func(tx pgx.Tx) error {
				snap, err = s.latest(ctx, tx)
				return err
			})
	})
	return snap, err
}

func (s *Store) latest(ctx context.Context, tx pgx.Tx) (*modelstore.Snapshot, error) {
	rows, err := tx.Query(ctx, "SELECT seq FROM waitcast.snapshot WHERE space = $1 ORDER BY seq DESC", s.space)
	if err != nil {
		return nil, err
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	var bad []int64
	for _, seq := range seqs {
		snap, err := s.snapshot(ctx, tx, seq)
		if errors.Is(err, modelstore.ErrCorrupt) {
			s.opts.Log.Error("a snapshot is damaged, passed over", zap.String("store", s.place),
				zap.Int64("event", seq), zap.Error(err))
			bad = append(bad, seq)
			continue
		}
		if err != nil {
			return nil, err
		}
		snap.Damaged = bad
		return snap, nil
	}
	if len(bad) > 0 {
		return nil, &modelstore.DamagedError{Seqs: bad}
	}
	return nil, nil
}

func (s *Store) snapshot(ctx context.Context, tx pgx.Tx, seq int64) (*modelstore.Snapshot, error) {
	snap := &modelstore.Snapshot{Seq: seq, Parts: make(map[string][]byte)}
	var at int64
	var want []byte
	err := tx.QueryRow(ctx, "SELECT at, sum FROM waitcast.snapshot WHERE space = $1 AND seq = $2", s.space,
		seq).Scan(&at, &want)
	if err != nil {
		return nil, err
	}
	snap.At = time.Unix(0, at).UTC()
	rows, err := tx.Query(ctx, "SELECT name, data FROM waitcast.snapshot_part WHERE space = $1 AND seq = $2",
		s.space, seq)
	if err != nil {
		return nil, err
	}
	var name string
	var data []byte
	if _, err := pgx.ForEachRow(rows, []any{&name, &data},
		func() error { snap.Parts[name], data = data, nil; return nil }); err != nil {
		return nil, err
	}
	if got := snap.Sum(); string(got[:]) != string(want) {
		return nil, damaged("snapshot %d fails its checksum", seq)
	}
	return snap, nil
}

// where returns the SQL condition of a query and its arguments. The number of the space is part of the text instead of
// an argument, so that no plan of the server opens or locks the tables of other spaces.
func (s *Store) where(q modelstore.RowQuery) (string, []any) {
	conditions, args := []string{fmt.Sprintf("space = %d", s.space)}, []any{}
	and := func(on bool, condition string, arg any) {
		if on {
			args = append(args, arg)
			conditions = append(conditions, fmt.Sprintf(condition, len(args)))
		}
	}
	and(true, "seq > $%d", q.After)
	and(q.Cluster != "", "cluster = $%d", toText(q.Cluster))
	and(q.Queue != "", "queue = $%d", toText(q.Queue))
	and(q.Outcome != "", "outcome = $%d", q.Outcome)
	and(!q.Since.IsZero(), "closed >= $%d", clampTime(q.Since))
	and(!q.Until.IsZero(), "closed < $%d", clampTime(q.Until))
	and(q.LiveOnly, "replayed = $%d", false)
	return " WHERE " + strings.Join(conditions, " AND "), args
}

// Rows implements modelstore.Store. It returns the rows that are stored when it is called, without rows that are
// pruned meanwhile.
func (s *Store) Rows(ctx context.Context, q modelstore.RowQuery, fn func(modelstore.Row) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	var upTo int64
	err := s.readPage(ctx, "ledger", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT last_row FROM waitcast.space WHERE id = $1", s.space).Scan(&upTo)
	})
	if err != nil {
		return err
	}
	var last *rowScan
	for given := 0; ; {
		want := page
		if q.Limit > 0 {
			want = min(page, q.Limit-given)
		}
		var rows []rowScan
		err := s.readPage(ctx, "ledger", func(ctx context.Context) (err error) {
			rows, err = s.rows(ctx, q, last, upTo, want)
			return err
		})
		if err != nil {
			return err
		}
		for i := range rows {
			if err := s.interrupted(ctx); err != nil {
				return s.fail("ledger", err)
			}
			if err := fn(rows[i].row); err != nil {
				return err
			}
		}
		given += len(rows)
		if len(rows) < want || given == q.Limit {
			return nil
		}
		last = &rows[len(rows)-1]
	}
}

// selectRows returns the statement for the next rows of a query after last, in the query's order, and its arguments.
func (s *Store) selectRows(q modelstore.RowQuery, last *rowScan, upTo int64, limit int) (string, []any) {
	condition, args := s.where(q)
	args = append(args, upTo)
	condition += fmt.Sprintf(" AND id <= $%d", len(args))
	order, past := "seq, id", ">"
	if q.Newest {
		order, past = "seq DESC, id DESC", "<"
	}
	if last != nil {
		args = append(args, last.row.Seq, last.id)
		condition += fmt.Sprintf(" AND (seq, id) %s ($%d, $%d)", past, len(args)-1, len(args))
	}
	args = append(args, limit)
	return fmt.Sprintf("SELECT %s FROM waitcast.ledger%s ORDER BY %s LIMIT $%d", ledgerColumns, condition, order,
		len(args)), args
}

// rows returns the next rows of a query after last, in the query's order.
func (s *Store) rows(ctx context.Context, q modelstore.RowQuery, last *rowScan, upTo int64,
	limit int) ([]rowScan, error) {
	text, args := s.selectRows(q, last, upTo, limit)
	answer, err := s.pool.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	var rows []rowScan
	for answer.Next() {
		var r rowScan
		if err := answer.Scan(r.targets()...); err != nil {
			return nil, err
		}
		r.finish()
		rows = append(rows, r)
	}
	return rows, answer.Err()
}

// CountRows implements modelstore.Store.
func (s *Store) CountRows(ctx context.Context, q modelstore.RowQuery) (n int64, err error) {
	err = s.read(ctx, "count the ledger", func(ctx context.Context) error {
		condition, args := s.where(q)
		return s.pool.QueryRow(ctx, "SELECT count(*) FROM waitcast.ledger"+condition, args...).Scan(&n)
	})
	if q.Limit > 0 {
		n = min(n, int64(q.Limit))
	}
	return n, err
}

// BadLines implements modelstore.Store.
func (s *Store) BadLines(ctx context.Context, limit int) (lines []modelstore.BadLine, err error) {
	most := pgtype.Int8{Int64: int64(limit), Valid: limit > 0}
	err = s.read(ctx, "bad lines", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT at, source, path, line, reason, message, text FROM waitcast.bad_line
			WHERE space = $1 ORDER BY id DESC LIMIT $2`, s.space, most)
		if err != nil {
			return err
		}
		var at int64
		var b modelstore.BadLine
		_, err = pgx.ForEachRow(rows, []any{&at, &b.Source, &b.Path, &b.Line, &b.Reason, &b.Message, &b.Text},
			func() error {
				b.At = time.Unix(0, at).UTC()
				b.Source, b.Path, b.Reason, b.Message = fromText(b.Source), fromText(b.Path), fromText(b.Reason),
					fromText(b.Message)
				lines = append(lines, b)
				b.Text = nil
				return nil
			})
		return err
	})
	return lines, err
}

// CountBadLines implements modelstore.Store.
func (s *Store) CountBadLines(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, "count bad lines", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT bad_lines FROM waitcast.space WHERE id = $1", s.space).Scan(&n)
	})
	return n, err
}

// Meta implements modelstore.Store.
func (s *Store) Meta(ctx context.Context, key string) (value string, err error) {
	err = s.read(ctx, "read "+key, func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, "SELECT value FROM waitcast.meta WHERE space = $1 AND key = $2", s.space,
			toText(key)).Scan(&value)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return fromText(value), err
}
