package sqlite

import (
	"context"
	"database/sql"

	"github.com/waitcast/waitcast/modelstore"
)

var _ modelstore.Portable = (*Store)(nil)

// Snapshots implements modelstore.Portable.
func (s *Store) Snapshots(ctx context.Context, fn func(modelstore.Snapshot) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.fail("snapshots", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	seqs, err := snapshotSeqs(ctx, tx)
	if err != nil {
		return s.fail("snapshots", err)
	}
	for i := len(seqs) - 1; i >= 0; i-- {
		snap, err := readSnapshot(ctx, tx, seqs[i])
		if err != nil {
			return s.fail("snapshots", err)
		}
		if err := fn(*snap); err != nil {
			return err
		}
	}
	return nil
}

// AllMeta implements modelstore.Portable.
func (s *Store) AllMeta(ctx context.Context) (map[string]string, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	all, err := readMeta(ctx, s.read)
	return all, s.fail("values", err)
}

// Load implements modelstore.Portable.
func (s *Store) Load(ctx context.Context, b modelstore.Batch, to modelstore.Position) error {
	return s.change(ctx, "load", func(w *batch) error {
		last, err := w.load(b.Entries, to.LastSeq)
		if err != nil {
			return err
		}
		if err := w.rows(b.Rows); err != nil {
			return err
		}
		if err := w.checkpoints(b.Checkpoints); err != nil {
			return err
		}
		if err := w.models(b.Models); err != nil {
			return err
		}
		if err := w.replaceBadLines(b.BadLines, max(to.BadLines, int64(len(b.BadLines)))); err != nil {
			return err
		}
		return w.snapshot(b.Snapshot, last)
	})
}

// load appends entries with rising numbers to the journal. Afterwards the last number of the journal is at least
// upTo.
func (w *batch) load(entries []modelstore.Entry, upTo int64) (int64, error) {
	ctx := w.uncanceled()
	last, err := lastSeq(ctx, w.tx.QueryRowContext)
	if err != nil {
		return 0, err
	}
	insert := w.tx.StmtContext(ctx, w.p.entry)
	newest := last
	for i := range entries {
		e := &entries[i]
		if i%cancelCheckEvery == 0 && w.ctx.Err() != nil {
			return 0, w.ctx.Err()
		}
		if err := e.Check(); err != nil {
			return 0, err
		}
		if i > 0 && e.Seq <= entries[i-1].Seq {
			return 0, &modelstore.SeqError{Got: e.Seq, Want: entries[i-1].Seq + 1}
		}
		if e.Seq <= last {
			continue
		}
		if err := w.entry(ctx, insert, e); err != nil {
			return 0, err
		}
		newest = e.Seq
	}
	newest = max(newest, upTo)
	_, err = w.tx.StmtContext(ctx, w.p.head).ExecContext(ctx, newest, w.sum.int(newest).sum())
	return newest, err
}

// replaceBadLines replaces all bad lines by the given ones; without lines it changes nothing. ever is the number of bad
// lines that were ever committed.
func (w *batch) replaceBadLines(lines []modelstore.BadLine, ever int64) error {
	if len(lines) == 0 {
		return nil
	}
	for _, query := range []string{"DELETE FROM bad_line", "DELETE FROM sqlite_sequence WHERE name = 'bad_line'"} {
		if err := w.exec(query); err != nil {
			return err
		}
	}
	// SQLite assigns this number plus 1 as the next id: https://www.sqlite.org/autoinc.html
	if err := w.exec("INSERT INTO sqlite_sequence (name, seq) VALUES ('bad_line', ?)",
		ever-int64(len(lines))); err != nil {
		return err
	}
	return w.badLines(lines, len(lines))
}
