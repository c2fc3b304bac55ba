package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waitcast/waitcast/modelstore"
)

var _ modelstore.Portable = (*Store)(nil)

// Snapshots implements modelstore.Portable.
func (s *Store) Snapshots(ctx context.Context, fn func(modelstore.Snapshot) error) error {
	var snaps []*modelstore.Snapshot
	err := s.read(ctx, "snapshots", func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
			func(tx pgx.Tx) error {
				rows, err := tx.Query(ctx, "SELECT seq FROM waitcast.snapshot WHERE space = $1 ORDER BY seq", s.space)
				if err != nil {
					return err
				}
				seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
				if err != nil {
					return err
				}
				for _, seq := range seqs {
					snap, err := s.snapshot(ctx, tx, seq)
					if err != nil {
						return err
					}
					snaps = append(snaps, snap)
				}
				return nil
			})
	})
	if err != nil {
		return err
	}
	for _, snap := range snaps {
		if err := fn(*snap); err != nil {
			return err
		}
	}
	return nil
}

// AllMeta implements modelstore.Portable.
func (s *Store) AllMeta(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	err := s.read(ctx, "values", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, "SELECT key, value FROM waitcast.meta WHERE space = $1", s.space)
		if err != nil {
			return err
		}
		var key, value string
		_, err = pgx.ForEachRow(rows, []any{&key, &value}, func() error {
			all[fromText(key)] = fromText(value)
			return nil
		})
		return err
	})
	return all, err
}

// Load implements modelstore.Portable.
func (s *Store) Load(ctx context.Context, b modelstore.Batch, to modelstore.Position) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	entries, err := packEntries(ctx, b.Entries, true)
	if err != nil {
		return s.fail("load", err)
	}
	rows, err := packRows(ctx, b.Rows)
	if err != nil {
		return s.fail("load", err)
	}
	return s.change(ctx, "load", func(w *change) error {
		there := 0
		for there < len(b.Entries) && b.Entries[there].Seq <= w.lastSeq {
			there++
		}
		if err := w.insert(entries, there); err != nil {
			return err
		}
		if n := len(b.Entries); n > 0 {
			w.lastSeq = max(w.lastSeq, b.Entries[n-1].Seq)
		}
		w.lastSeq = max(w.lastSeq, to.LastSeq)
		if err := w.rows(rows); err != nil {
			return err
		}
		w.checkpoints(b.Checkpoints)
		w.models(b.Models)
		if n := int64(len(b.BadLines)); n > 0 {
			w.later.Queue("DELETE FROM waitcast.bad_line WHERE space = $1", s.space)
			w.badLines = max(to.BadLines, n) - n
			w.putBadLines(b.BadLines, int(n))
		}
		return w.snapshot(b.Snapshot)
	})
}
