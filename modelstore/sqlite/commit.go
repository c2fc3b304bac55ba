package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/internal/pack"
)

// cancelCheckEvery is the number of statements after which a Commit checks whether its context was cancelled.
const cancelCheckEvery = 256

// inserts are the writer's prepared statements.
type inserts struct {
	entry, row, has, head *sql.Stmt
}

func (p *inserts) prepare(ctx context.Context, db *sql.DB) error {
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&p.entry, `INSERT INTO journal (seq, cluster, job_id, attempt, kind, time, submit, source, event, crc)
			VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (cluster, job_id, attempt, kind, turn) DO NOTHING`},
		{&p.row, `INSERT INTO ledger (seq, cluster, job_id, attempt, queue, procs, time_limit, submit, start, closed,
			outcome, wait_seconds, method, levels_id, quantiles, reason, replayed, served, peers,
			blocked_seconds, blocked, eligible, predicted, settled, crc)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
			ON CONFLICT (cluster, job_id, attempt) DO NOTHING`},
		{&p.has, `SELECT 1 FROM journal WHERE cluster = ? AND job_id = ? AND attempt = ? AND kind = ?`},
		{&p.head, `UPDATE head SET last_seq = ?, crc = ?`},
	} {
		stmt, err := db.PrepareContext(ctx, s.sql)
		if err != nil {
			return err
		}
		*s.to = stmt
	}
	return nil
}

// batch is one Commit under way.
type batch struct {
	ctx context.Context // the caller's context, which is checked but not passed to statements
	tx  *sql.Tx
	p   *inserts
	sum *summer
}

// Commit implements modelstore.Store.
func (s *Store) Commit(ctx context.Context, b modelstore.Batch) error {
	if b.Empty() {
		return ctx.Err()
	}
	return s.change(ctx, "commit", func(w *batch) error {
		last, err := w.entries(b.Entries)
		if err != nil {
			return err
		}
		if err := w.rows(b.Rows); err != nil {
			return err
		}
		if err := w.checkpoints(b.Checkpoints); err != nil {
			return err
		}
		if err := w.badLines(b.BadLines, s.opts.BadLines); err != nil {
			return err
		}
		if err := w.models(b.Models); err != nil {
			return err
		}
		return w.snapshot(b.Snapshot, last)
	})
}

// change runs fn in a transaction. Only one transaction can write at a time. The statements do not get ctx for two
// reasons: the driver would start a goroutine for each statement, and after an interrupted COMMIT it would be unknown
// whether the data are stored.
func (s *Store) change(ctx context.Context, doing string, fn func(*batch) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return s.fail(doing, err)
	}
	if err := s.lock.check(); err != nil { // if the file has no name any more, nobody would find the data again
		return err
	}
	tx, err := s.write.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return s.fail(doing, err)
	}
	err = fn(&batch{ctx: ctx, tx: tx, p: &s.insert, sum: newSummer()})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if rollbackErr := tx.Rollback(); rollbackErr != nil {
			err = fmt.Errorf("%w (and rolling back: %w)", err, rollbackErr)
		}
		return s.fail(doing, err)
	}
	return s.fail(doing, tx.Commit())
}

// uncanceled returns the context for statements. It cannot be cancelled.
func (w *batch) uncanceled() context.Context { return context.WithoutCancel(w.ctx) }

func (w *batch) exec(query string, args ...any) error {
	_, err := w.tx.ExecContext(w.uncanceled(), query, args...)
	return err
}

// entries appends entries to the journal and returns the new last number.
func (w *batch) entries(entries []modelstore.Entry) (int64, error) {
	ctx := w.uncanceled()
	last, err := lastSeq(ctx, w.tx.QueryRowContext)
	if err != nil || len(entries) == 0 {
		return last, err
	}
	insert, has := w.tx.StmtContext(ctx, w.p.entry), w.tx.StmtContext(ctx, w.p.has)
	for i := range entries {
		e := &entries[i]
		if i%cancelCheckEvery == 0 && w.ctx.Err() != nil {
			return 0, w.ctx.Err()
		}
		if err := e.Check(); err != nil {
			return 0, err
		}
		switch {
		case i > 0 && e.Seq != entries[i-1].Seq+1:
			return 0, &modelstore.SeqError{Got: e.Seq, Want: entries[i-1].Seq + 1}
		case e.Seq > last+1:
			return 0, &modelstore.SeqError{Got: e.Seq, Want: last + 1}
		case e.Seq <= last:
			if err := mustHave(ctx, has, e, last); err != nil {
				return 0, err
			}
			continue
		}
		if err := w.entry(ctx, insert, e); err != nil {
			return 0, err
		}
		last = e.Seq
	}
	_, err = w.tx.StmtContext(ctx, w.p.head).ExecContext(ctx, last, w.sum.int(last).sum())
	return last, err
}

func (w *batch) entry(ctx context.Context, insert *sql.Stmt, e *modelstore.Entry) error {
	payload, err := modelstore.EncodeEvent(&e.Event)
	if err != nil {
		return fmt.Errorf("encode entry %d: %w", e.Seq, err)
	}
	submit := e.Event.Times.Submit
	if submit.IsZero() && e.Event.Kind == job.Submit {
		submit = e.Event.Time
	}
	c := entryColumns{
		seq: e.Seq, cluster: e.Event.Cluster, jobID: e.Event.ID, attempt: int64(e.Event.Attempt),
		kind: e.Event.Kind.String(), time: e.Event.Time.UnixNano(), source: e.Source, event: payload,
	}
	if !submit.IsZero() {
		c.submit = sql.NullInt64{Int64: submit.UnixNano(), Valid: true}
	}
	_, err = insert.ExecContext(ctx, c.seq, c.cluster, c.jobID, c.attempt, c.kind, c.time, c.submit, c.source,
		string(c.event), c.sum(w.sum))
	return err
}

// mustHave returns a *modelstore.SeqError unless the journal has the key (cluster, job, attempt, kind) of an entry that
// is committed again.
func mustHave(ctx context.Context, has *sql.Stmt, e *modelstore.Entry, last int64) error {
	var one int
	err := has.QueryRowContext(ctx, e.Event.Cluster, e.Event.ID, e.Event.Attempt, e.Event.Kind.String()).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return &modelstore.SeqError{Got: e.Seq, Want: last + 1}
	}
	return err
}

func (w *batch) rows(rows []modelstore.Row) error {
	if len(rows) == 0 {
		return nil
	}
	ctx := w.uncanceled()
	insert := w.tx.StmtContext(ctx, w.p.row)
	levelIDs := make(map[string]int64)
	for i := range rows {
		if i%cancelCheckEvery == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		r := &rows[i]
		if err := r.Check(); err != nil {
			return err
		}
		levels, quantiles, peers := pack.Floats(r.Levels), pack.Floats(r.Quantiles), pack.Peers(r.Peers)
		levelsID, err := w.levelsID(levelIDs, levels)
		if err != nil {
			return err
		}
		parts := columnsOf(r.Parts)
		_, err = insert.ExecContext(ctx, r.Seq, r.Cluster, r.JobID, r.Attempt, r.Queue, r.Procs, int64(r.TimeLimit),
			r.Submit.UnixNano(),
			nanos(r.Start), r.Closed().UnixNano(), r.Outcome, r.WaitSeconds, r.Method, levelsID, quantiles, r.Reason,
			r.Replayed, r.Served, peers, parts.seconds, parts.blocked, parts.eligible, parts.predicted, parts.settled,
			sumRow(w.sum, r, levels, quantiles, peers))
		if err != nil {
			return err
		}
	}
	return nil
}

// levelsID returns the id of a list of levels. It returns nil if the list is empty. Nearly all rows share one list.
func (w *batch) levelsID(ids map[string]int64, levels []byte) (any, error) {
	if len(levels) == 0 {
		return nil, nil
	}
	if id, ok := ids[string(levels)]; ok {
		return id, nil
	}
	if err := w.exec("INSERT INTO levels (levels) VALUES (?) ON CONFLICT DO NOTHING", levels); err != nil {
		return nil, err
	}
	var id int64
	err := w.tx.QueryRowContext(w.uncanceled(), "SELECT id FROM levels WHERE levels = ?", levels).Scan(&id)
	ids[string(levels)] = id
	return id, err
}

func (w *batch) checkpoints(checkpoints []modelstore.Checkpoint) error {
	for _, c := range checkpoints {
		var err error
		if len(c.Data) == 0 {
			err = w.exec("DELETE FROM checkpoint WHERE source = ?", c.Source)
		} else {
			err = w.exec(`INSERT INTO checkpoint (source, data, crc) VALUES (?,?,?)
				ON CONFLICT DO UPDATE SET data = excluded.data, crc = excluded.crc`,
				c.Source, c.Data, w.sum.text(c.Source).bytes(c.Data).sum())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *batch) badLines(lines []modelstore.BadLine, keep int) error {
	for _, b := range lines[max(0, len(lines)-keep):] {
		text := b.Text[:min(len(b.Text), modelstore.MaxBadLineText)]
		if text == nil {
			text = []byte{}
		}
		message := b.Message
		if len(message) > modelstore.MaxBadLineText {
			message = strings.ToValidUTF8(message[:modelstore.MaxBadLineText], "")
		}
		err := w.exec("INSERT INTO bad_line (at, source, path, line, reason, message, text) VALUES (?,?,?,?,?,?,?)",
			timeOrEpoch(b.At), b.Source, b.Path, b.Line, b.Reason, message, text)
		if err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return w.exec("DELETE FROM bad_line WHERE id <= (SELECT max(id) FROM bad_line) - ?", keep)
}

// timeOrEpoch replaces a time that cannot be stored by the beginning of 1970. So no bad line is refused because of
// its time.
func timeOrEpoch(t time.Time) int64 {
	if t.Before(modelstore.MinTime()) || t.After(modelstore.MaxTime()) {
		return 0
	}
	return t.UnixNano()
}

func (w *batch) snapshot(s *modelstore.Snapshot, last int64) error {
	if s == nil {
		return nil
	}
	if err := s.Check(last); err != nil {
		return err
	}
	if err := w.exec("DELETE FROM snapshot WHERE seq = ?", s.Seq); err != nil {
		return err
	}
	// The parts refer to this row, so it comes before them. Its checksum is known after them.
	if err := w.exec("INSERT INTO snapshot (seq, at, sum) VALUES (?,?,x'')", s.Seq, s.At.UnixNano()); err != nil {
		return err
	}
	pieces := map[string]int{} // the number of pieces of each part so far
	sum, err := s.Write(func(name string, data []byte) error {
		if err := w.pieces(s.Seq, name, data, pieces); err != nil {
			return fmt.Errorf("part %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.exec("UPDATE snapshot SET sum = ? WHERE seq = ?", sum[:], s.Seq); err != nil {
		return err
	}
	return w.exec("DELETE FROM snapshot WHERE seq NOT IN (SELECT seq FROM snapshot ORDER BY seq DESC LIMIT 2)")
}

func (w *batch) models(models []modelstore.SavedModel) error {
	for _, m := range models {
		if err := w.exec("DELETE FROM saved_model WHERE name = ?", m.Name); err != nil {
			return err
		}
		for piece := 0; len(m.Data) > 0; piece++ {
			data := m.Data[:min(len(m.Data), pieceBytes)]
			err := w.exec("INSERT INTO saved_model (name, piece, seq, data, crc) VALUES (?,?,?,?,?)",
				m.Name, piece, m.Seq, data, sumModel(w.sum, m.Name, int64(piece), m.Seq, data))
			if err != nil {
				return fmt.Errorf("model %s: %w", m.Name, err)
			}
			m.Data = m.Data[len(data):]
		}
	}
	return nil
}

// pieceBytes is the maximum size of the pieces in which a part or a model is written. SQLite copies each written value,
// and does not release the memory of the copy.
const pieceBytes = 256 << 10

// pieces writes bytes of a part of a snapshot in pieces. An empty part is one empty piece. written has the number of
// pieces of each part so far.
func (w *batch) pieces(seq int64, name string, data []byte, written map[string]int) error {
	if data == nil {
		data = []byte{} // nil would be stored as NULL
	}
	for {
		n := min(len(data), pieceBytes)
		if err := w.exec("INSERT INTO snapshot_part (seq, name, piece, data) VALUES (?,?,?,?)", seq, name,
			written[name], data[:n]); err != nil {
			return err
		}
		written[name]++
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}
