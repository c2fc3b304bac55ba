package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waitcast/waitcast/modelstore"
)

// cancelCheckEvery is the number of values after which a Commit checks whether its context was cancelled.
const cancelCheckEvery = 256

// chunk is the number of entries or rows in one statement.
const chunk = 2000

// unsure has the batches for which Commit returned an error without knowing whether the server committed the
// transaction. The key is the checksum of a batch's bad lines. The writer sends such a batch again, perhaps after
// imports and rebuilds have written other data. Whether its entries and rows are stored follows from their keys. Bad
// lines have no keys, and must not be counted twice.
type unsure map[[sha256.Size]byte]*outcome

// outcome is the knowledge about one batch in unsure.
type outcome struct {
	// tokens are random names, one for each transaction that tried to store the batch and whose result is unknown.
	tokens []string
	// final is true if one of these transactions is known to be committed.
	final bool
}

// resolve finds out which transactions were committed. last is the token in the row of the space; it was written by the
// last committed transaction with bad lines. The caller has locked the row, so no earlier transaction is still open.
func (u unsure) resolve(last string) {
	for _, o := range u {
		o.final = o.final || slices.Contains(o.tokens, last)
		o.tokens = nil
	}
}

// final reports whether a batch with these bad lines is stored although its Commit returned an error.
func (u unsure) final(lines [sha256.Size]byte) bool { return u[lines] != nil && u[lines].final }

// change is one writing transaction.
type change struct {
	ctx           context.Context // limits the duration of the statements
	checkCanceled func() error    // returns an error if the caller cancelled
	tx            pgx.Tx
	s             *Store
	// lastSeq, badLines and lastRow are columns of the space's row. At first they have the stored values, later the
	// new ones.
	lastSeq, badLines, lastRow int64
	// token is the token of the last committed transaction that stored bad lines.
	token string
	// later collects the statements that are sent together at the end.
	later pgx.Batch
}

// Commit implements modelstore.Store. Its errors may also wrap modelstore.ErrLeaseLost.
func (s *Store) Commit(ctx context.Context, b modelstore.Batch) error {
	if b.Empty() {
		return ctx.Err()
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	entries, err := packEntries(ctx, b.Entries, false)
	if err != nil {
		return s.fail("commit", err)
	}
	rows, err := packRows(ctx, b.Rows)
	if err != nil {
		return s.fail("commit", err)
	}
	var lines *[sha256.Size]byte
	if len(b.BadLines) > 0 {
		sum := sumBadLines(b.BadLines)
		lines = &sum
	}
	return s.transact(ctx, "commit", lines, func(w *change) error {
		if err := w.entries(b.Entries, entries); err != nil {
			return err
		}
		if err := w.rows(rows); err != nil {
			return err
		}
		w.checkpoints(b.Checkpoints)
		w.models(b.Models)
		if lines == nil || !s.unsure.final(*lines) {
			w.putBadLines(b.BadLines, s.opts.BadLines)
		}
		return w.snapshot(b.Snapshot)
	})
}

// sumBadLines returns a checksum of the bad lines of a batch.
func sumBadLines(lines []modelstore.BadLine) [sha256.Size]byte {
	h := sha256.New()
	for _, b := range lines {
		// Writing to a hash never fails.
		_, _ = fmt.Fprintf(h, "%d %q %q %d %q %q %x\n", timeOrEpoch(b.At), b.Source, b.Path, b.Line, b.Reason,
			b.Message, b.Text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// change runs fn in a transaction that locks the row of the space, after a check that this process holds the lease of
// the space.
func (s *Store) change(ctx context.Context, doing string, fn func(*change) error) error {
	return s.transact(ctx, doing, nil, fn)
}

// transact does the same as change. For a batch with bad lines, lines is the checksum of these, and transact stores a
// token of the transaction, so that the batch is recognized when it is sent again. If lines is nil, the space keeps the
// token of the earlier transaction.
func (s *Store) transact(ctx context.Context, doing string, lines *[sha256.Size]byte, fn func(*change) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	if s.opts.ReadOnly {
		return s.fail(doing, fmt.Errorf("%w: the store was opened for reading", modelstore.ErrReadOnly))
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.lease == nil {
		return s.fail(doing, fmt.Errorf("%w: acquire it before writing", modelstore.ErrLeaseLost))
	}
	if err := ctx.Err(); err != nil {
		return s.fail(doing, err)
	}
	bounded, cancel := s.bounded(ctx)
	defer cancel()
	tx, err := s.pool.Begin(bounded)
	if err != nil {
		return s.fail(doing, err)
	}
	w := &change{ctx: bounded, checkCanceled: ctx.Err, tx: tx, s: s}
	token := ""
	if lines != nil {
		token = rand.Text()
	}
	if err = w.run(fn, token); err == nil {
		err = ctx.Err()
	}
	final, cancel := s.bounded(context.WithoutCancel(ctx))
	defer cancel()
	if err != nil {
		if rollbackErr := tx.Rollback(final); rollbackErr != nil && !errors.Is(rollbackErr, pgx.ErrTxClosed) {
			err = fmt.Errorf("%w (and rolling back: %w)", err, rollbackErr)
		}
		if errors.Is(err, modelstore.ErrLeaseLost) {
			err = s.lost(final, s.lease)
		}
		return s.fail(doing, err)
	}
	err = tx.Commit(final)
	if lines != nil {
		s.noteOutcome(*lines, token, err == nil)
	}
	if err != nil {
		return s.fail(doing, fmt.Errorf("unknown whether it was made final: %w", err))
	}
	return nil
}

// noteOutcome records whether the transaction with a token is known to be committed.
func (s *Store) noteOutcome(lines [sha256.Size]byte, token string, known bool) {
	if known {
		delete(s.unsure, lines)
		return
	}
	o := s.unsure[lines]
	if o == nil {
		o = &outcome{}
		s.unsure[lines] = o
	}
	o.tokens = append(o.tokens, token)
}

// run locks the space, runs fn, and writes the changes and the token into the space's row. If token is empty, the row
// keeps its token. The row is written last, so that the time of the lease begins at the end of the transaction.
func (w *change) run(fn func(*change) error, token string) error {
	var nonce *string
	var epoch int64
	err := w.tx.QueryRow(w.ctx,
		"SELECT last_seq, bad_lines, last_row, token, nonce, epoch FROM waitcast.space WHERE id = $1 FOR UPDATE",
		w.s.space).Scan(&w.lastSeq, &w.badLines, &w.lastRow, &w.token, &nonce, &epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return damaged("the space is gone from the database")
	}
	if err != nil {
		return err
	}
	if nonce == nil || *nonce != w.s.lease.nonce || epoch != w.s.lease.epoch {
		return modelstore.ErrLeaseLost
	}
	w.s.unsure.resolve(w.token)
	if err := fn(w); err != nil {
		return err
	}
	if token == "" {
		token = w.token
	}
	w.later.Queue(
		`WITH changed AS (UPDATE waitcast.space SET last_seq = $2, bad_lines = $3, version = version + 1, token = $4,
			expires = greatest(expires, clock_timestamp() + $5), last_row = $7 WHERE id = $1 RETURNING version)
		SELECT pg_notify($6, version::text) FROM changed`, w.s.space, w.lastSeq, w.badLines, token, w.s.lease.ttl,
		w.s.channel(), w.lastRow)
	if err := w.checkCanceled(); err != nil {
		return err
	}
	return w.tx.SendBatch(w.ctx, &w.later).Close()
}

// entries appends entries to the journal. Entries up to lastSeq must be stored already: see mustHave.
func (w *change) entries(entries []modelstore.Entry, c *entryColumns) error {
	if len(entries) == 0 {
		return nil
	}
	first := entries[0].Seq
	if first > w.lastSeq+1 {
		return &modelstore.SeqError{Got: first, Want: w.lastSeq + 1}
	}
	n := len(entries)
	there := int(min(int64(n), w.lastSeq+1-first))
	if err := w.mustHave(entries[:there], c.slice(0, there)); err != nil {
		return err
	}
	if err := w.insert(c, there); err != nil {
		return err
	}
	w.lastSeq = max(w.lastSeq, entries[n-1].Seq)
	return nil
}

// insert inserts the entries from an index on.
func (w *change) insert(c *entryColumns, from int) error {
	for n := len(c.seq); from < n; from += chunk {
		if err := w.checkCanceled(); err != nil {
			return err
		}
		part := c.slice(from, min(n, from+chunk))
		_, err := w.tx.Exec(w.ctx,
			`INSERT INTO waitcast.journal (space, seq, cluster, job_id, attempt, kind, turn, time, submit,
				source, event)
			SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[],
				$7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[])
			ON CONFLICT (space, cluster, job_id, attempt, kind, turn) DO NOTHING`,
			w.s.space, part.seq, part.cluster, part.jobID, part.attempt, part.kind, part.turn, part.time, part.submit,
			part.source, part.event)
		if err != nil {
			return err
		}
	}
	return nil
}

// mustHave checks entries that are committed again. It returns a *modelstore.SeqError for the first one whose key
// (cluster, job, attempt, kind) is not in the journal.
func (w *change) mustHave(entries []modelstore.Entry, c *entryColumns) error {
	for from := 0; from < len(entries); from += chunk {
		part := c.slice(from, min(len(entries), from+chunk))
		var missing *int64
		err := w.tx.QueryRow(w.ctx,
			`SELECT min(e.seq) FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[])
				e (seq, cluster, job_id, attempt, kind)
			WHERE NOT EXISTS (SELECT FROM waitcast.journal j WHERE j.space = $1 AND j.cluster = e.cluster
				AND j.job_id = e.job_id AND j.attempt = e.attempt AND j.kind = e.kind)`,
			w.s.space, part.seq, part.cluster, part.jobID, part.attempt, part.kind).Scan(&missing)
		if err != nil {
			return err
		}
		if missing != nil {
			return &modelstore.SeqError{Got: *missing, Want: w.lastSeq + 1}
		}
	}
	return nil
}

func (w *change) rows(c *rowColumns) error {
	for from := 0; from < len(c.seq); from += chunk {
		if err := w.checkCanceled(); err != nil {
			return err
		}
		if err := c.insert(w, from, min(len(c.seq), from+chunk)); err != nil {
			return err
		}
	}
	return nil
}

func (w *change) checkpoints(checkpoints []modelstore.Checkpoint) {
	for _, c := range checkpoints {
		if len(c.Data) == 0 {
			w.later.Queue("DELETE FROM waitcast.checkpoint WHERE space = $1 AND source = $2", w.s.space,
				toText(c.Source))
			continue
		}
		w.later.Queue(`INSERT INTO waitcast.checkpoint (space, source, data) VALUES ($1,$2,$3)
			ON CONFLICT (space, source) DO UPDATE SET data = excluded.data`, w.s.space, toText(c.Source), c.Data)
	}
}

func (w *change) models(models []modelstore.SavedModel) {
	for _, m := range models {
		if len(m.Data) == 0 {
			w.later.Queue("DELETE FROM waitcast.saved_model WHERE space = $1 AND name = $2", w.s.space, toText(m.Name))
			continue
		}
		w.later.Queue(`INSERT INTO waitcast.saved_model (space, name, seq, data) VALUES ($1,$2,$3,$4)
			ON CONFLICT (space, name) DO UPDATE SET seq = excluded.seq, data = excluded.data`,
			w.s.space, toText(m.Name), m.Seq, m.Data)
	}
}

// putBadLines adds bad lines and deletes the oldest ones if there are too many.
func (w *change) putBadLines(lines []modelstore.BadLine, keep int) {
	if len(lines) == 0 {
		return
	}
	w.badLines += int64(len(lines))
	kept := lines[max(0, len(lines)-keep):]
	for i, b := range kept {
		text := b.Text[:min(len(b.Text), modelstore.MaxBadLineText)]
		if text == nil {
			text = []byte{}
		}
		message := b.Message
		if len(message) > modelstore.MaxBadLineText {
			message = strings.ToValidUTF8(message[:modelstore.MaxBadLineText], "")
		}
		w.later.Queue("INSERT INTO waitcast.bad_line (space, id, at, source, path, line, reason, message, text) "+
			"VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9)",
			w.s.space, w.badLines-int64(len(kept))+int64(i)+1, timeOrEpoch(b.At), toText(b.Source), toText(b.Path),
			b.Line, toText(b.Reason), toText(message), text)
	}
	w.later.Queue("DELETE FROM waitcast.bad_line WHERE space = $1 AND id <= $2", w.s.space, w.badLines-int64(keep))
}

func (w *change) snapshot(s *modelstore.Snapshot) error {
	if s == nil {
		return nil
	}
	if err := s.Check(w.lastSeq); err != nil {
		return err
	}
	s, err := s.Encoded()
	if err != nil {
		return err
	}
	sum := s.Sum()
	w.later.Queue("DELETE FROM waitcast.snapshot WHERE space = $1 AND seq = $2", w.s.space, s.Seq)
	w.later.Queue("INSERT INTO waitcast.snapshot (space, seq, at, sum) VALUES ($1,$2,$3,$4)", w.s.space, s.Seq,
		s.At.UnixNano(), sum[:])
	for name, data := range s.Parts {
		if data == nil {
			data = []byte{}
		}
		w.later.Queue("INSERT INTO waitcast.snapshot_part (space, seq, name, data) VALUES ($1,$2,$3,$4)", w.s.space,
			s.Seq, name, data)
	}
	w.later.Queue(`DELETE FROM waitcast.snapshot WHERE space = $1 AND seq NOT IN
		(SELECT seq FROM waitcast.snapshot WHERE space = $1 ORDER BY seq DESC LIMIT 2)`, w.s.space)
	return nil
}

// channel returns the name of the notification channel for changes of the space.
func (s *Store) channel() string { return "waitcast_" + strconv.Itoa(int(s.space)) }

// SetMeta implements modelstore.Store.
func (s *Store) SetMeta(ctx context.Context, key, value string) error {
	return s.change(ctx, "set "+key, func(w *change) error {
		if value == "" {
			w.later.Queue("DELETE FROM waitcast.meta WHERE space = $1 AND key = $2", s.space, toText(key))
			return nil
		}
		w.later.Queue("INSERT INTO waitcast.meta (space, key, value) VALUES ($1,$2,$3) ON CONFLICT (space, key) DO "+
			"UPDATE SET value = excluded.value",
			s.space, toText(key), toText(value))
		return nil
	})
}

// DropSnapshots implements modelstore.Store.
func (s *Store) DropSnapshots(ctx context.Context) error {
	return s.change(ctx, "drop snapshots", func(w *change) error {
		// ON DELETE CASCADE also deletes the parts of the snapshots.
		w.later.Queue("DELETE FROM waitcast.snapshot WHERE space = $1", s.space)
		return nil
	})
}

// pruneWindow is the range of numbers that one transaction of Prune covers. Commits can run between two of these
// transactions.
const pruneWindow = 10_000

// Prune implements modelstore.Store.
func (s *Store) Prune(ctx context.Context, before time.Time, upTo int64) (int64, error) {
	var total int64
	from := int64(-1)
	for {
		var n int64
		var done bool
		err := s.change(ctx, "prune", func(w *change) (err error) {
			n, done, err = w.prune(clampTime(before), &from, upTo)
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
		if done {
			return total, nil
		}
	}
}

// prune deletes entries in one range of numbers, which begins at `from`, or at the smallest number in the journal if
// that is greater. It sets `from` to the beginning of the next range. done is true if no range is left to prune.
func (w *change) prune(before int64, from *int64, upTo int64) (n int64, done bool, err error) {
	var least, oldest *int64
	err = w.tx.QueryRow(w.ctx, `SELECT (SELECT min(seq) FROM waitcast.journal WHERE space = $1), (SELECT min(seq) `+
		`FROM waitcast.snapshot WHERE space = $1)`,
		w.s.space).Scan(&least, &oldest)
	if err != nil || least == nil || oldest == nil {
		return 0, true, err
	}
	*from = max(*from, *least)
	last := min(upTo, *oldest)
	if *from > last {
		return 0, true, nil
	}
	to := min(last, *from+pruneWindow-1)
	tag, err := w.tx.Exec(w.ctx,
		"DELETE FROM waitcast.journal WHERE space = $1 AND seq BETWEEN $2 AND $3 AND time < $4", w.s.space,
		*from, to, before)
	*from = to + 1
	return tag.RowsAffected(), to == last, err
}

// PruneRows implements modelstore.Store. It drops the tables of months that ended before the instant, and deletes
// rows of other tables.
func (s *Store) PruneRows(ctx context.Context, before time.Time) (int64, error) {
	var total int64
	for {
		var n int64
		var dropped bool
		err := s.change(ctx, "prune the ledger", func(w *change) (err error) {
			if n, dropped, err = w.dropMonth(clampTime(before)); err != nil || dropped {
				return err
			}
			n, err = w.deleteRows(clampTime(before))
			return err
		})
		if err != nil {
			return total, err
		}
		if total += n; !dropped && n < pruneWindow {
			return total, nil
		}
	}
}

// deleteRows deletes the oldest rows that were closed before an instant: pruneWindow rows, and all rows with the same
// closing time as the last of these.
func (w *change) deleteRows(before int64) (int64, error) {
	tag, err := w.tx.Exec(w.ctx, fmt.Sprintf(`DELETE FROM waitcast.ledger WHERE space = %d AND closed <=
		(SELECT max(closed) FROM (SELECT closed FROM waitcast.ledger WHERE space = %[1]d AND closed < $1
			ORDER BY closed LIMIT $2) oldest)`, w.s.space), before, pruneWindow)
	return tag.RowsAffected(), err
}
