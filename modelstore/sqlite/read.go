package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	driver "modernc.org/sqlite"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/internal/keys"
)

// replayChunk is the number of entries that are read at once. Between two chunks no read transaction is open, so that
// SQLite can reuse the WAL during a long replay.
const replayChunk = 1000

// knownSQL selects the known events of a job from the journal and the ledger. An event from the ledger has an
// outcome.
const knownSQL = `SELECT attempt, kind, time, submit, '' FROM journal WHERE cluster = ?1 AND job_id = ?2
	UNION ALL SELECT attempt, '', closed, submit, outcome FROM ledger WHERE cluster = ?1 AND job_id = ?2`

type queryRow func(ctx context.Context, query string, args ...any) *sql.Row

func lastSeq(ctx context.Context, query queryRow) (int64, error) {
	var last, crc int64
	err := query(ctx, "SELECT last_seq, crc FROM head").Scan(&last, &crc)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, damaged("the journal's last number is missing")
	}
	if err == nil && newSummer().int(last).sum() != crc {
		return 0, damaged("the journal's last number fails its checksum")
	}
	return last, err
}

// LastSeq implements modelstore.Store.
func (s *Store) LastSeq(ctx context.Context) (int64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.end()
	last, err := lastSeq(ctx, s.read.QueryRowContext)
	return last, s.fail("last number", err)
}

// Replay implements modelstore.Store.
func (s *Store) Replay(ctx context.Context, after int64, fn func(modelstore.Entry) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	upTo, err := lastSeq(ctx, s.read.QueryRowContext)
	if err != nil {
		return s.fail("replay", err)
	}
	chunk := make([]modelstore.Entry, 0, replayChunk)
	for {
		chunk = chunk[:0]
		err := scanEntries(ctx, s.read, after, upTo, replayChunk, func(e modelstore.Entry) error {
			chunk = append(chunk, e)
			return nil
		})
		if err != nil {
			return s.fail("replay", err)
		}
		for _, e := range chunk {
			if err := s.interrupted(ctx); err != nil {
				return s.fail("replay", err)
			}
			if err := fn(e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(chunk) < replayChunk {
			return nil
		}
	}
}

// interrupted returns an error if a reading must stop. It is called before each call of the caller's function.
func (s *Store) interrupted(ctx context.Context) error {
	if s.isClosed() {
		return modelstore.ErrClosed
	}
	return ctx.Err()
}

// entryColumns is a row of the journal.
type entryColumns struct {
	seq            int64
	cluster, jobID string
	attempt        int64
	kind           string
	time           int64
	submit         sql.NullInt64
	source         string
	event          []byte
}

func (c *entryColumns) sum(s *summer) int64 {
	return s.int(c.seq).text(c.cluster).text(c.jobID).int(c.attempt).text(c.kind).int(c.time).
		maybe(c.submit.Int64, c.submit.Valid).text(c.source).bytes(c.event).sum()
}

func (c *entryColumns) entry() (modelstore.Entry, error) {
	kind, err := modelstore.ParseKind(c.kind)
	if err != nil {
		return modelstore.Entry{}, fmt.Errorf("journal entry %d: %w", c.seq, err)
	}
	e := modelstore.Entry{Seq: c.seq, Source: c.source, Event: job.Event{
		Kind: kind, Cluster: c.cluster, ID: c.jobID, Attempt: int(c.attempt), Time: time.Unix(0, c.time).UTC(),
	}}
	if err := modelstore.DecodeEvent(c.event, &e.Event); err != nil {
		return e, fmt.Errorf("journal entry %d: %w", c.seq, err)
	}
	return e, nil
}

// scanEntries reads the entries whose Seq is greater than `after`, in order of Seq. upTo is the last number and limit
// the maximum count; a negative value means no limit.
func scanEntries(ctx context.Context, db *sql.DB, after, upTo, limit int64, fn func(modelstore.Entry) error) error {
	if upTo < 0 {
		upTo = 1<<63 - 1
	}
	rows, err := db.QueryContext(ctx, `SELECT seq, cluster, job_id, attempt, kind, time, submit, source, event, crc
		FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, after, upTo, limit)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	sum := newSummer()
	for rows.Next() {
		var c entryColumns
		var crc int64
		if err := rows.Scan(&c.seq, &c.cluster, &c.jobID, &c.attempt, &c.kind, &c.time, &c.submit, &c.source, &c.event,
			&crc); err != nil {
			return scanError(ctx, "journal", err)
		}
		if c.sum(sum) != crc {
			return damaged("journal entry %d fails its checksum", c.seq)
		}
		e, err := c.entry()
		if err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Known implements modelstore.Store.
func (s *Store) Known(ctx context.Context, cluster, jobID string) ([]modelstore.Key, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	if err := ctx.Err(); err != nil {
		return nil, s.fail("known events", err)
	}
	// The query does not get ctx, because the driver would start a goroutine for it. Starting the goroutine takes
	// longer than the query.
	rows, err := s.known.QueryContext(context.WithoutCancel(ctx), cluster, jobID)
	if err != nil {
		return nil, s.fail("known events", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	var journal, ledger []modelstore.Key
	for rows.Next() {
		var k modelstore.Key
		var kind, outcome string
		var at, submit sql.NullInt64
		if err := rows.Scan(&k.Attempt, &kind, &at, &submit, &outcome); err != nil {
			return nil, s.fail("known events", damaged("%v", err))
		}
		k.Time, k.Submit = instant(at), instant(submit)
		if outcome != "" {
			ledger = append(ledger, keys.Closed(k, outcome)...)
			continue
		}
		if k.Kind, err = modelstore.ParseKind(kind); err != nil {
			return nil, s.fail("known events", err)
		}
		journal = append(journal, k)
	}
	if err := rows.Err(); err != nil {
		return nil, s.fail("known events", err)
	}
	return keys.Join(journal, ledger), nil
}

func instant(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(0, n.Int64).UTC()
}

// Checkpoints implements modelstore.Store.
func (s *Store) Checkpoints(ctx context.Context) (map[string][]byte, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	all, err := readCheckpoints(ctx, s.read)
	return all, s.fail("checkpoints", err)
}

func readCheckpoints(ctx context.Context, db *sql.DB) (map[string][]byte, error) {
	rows, err := db.QueryContext(ctx, "SELECT source, data, crc FROM checkpoint")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	all := make(map[string][]byte)
	sum := newSummer()
	for rows.Next() {
		var source string
		var data []byte
		var crc int64
		if err := rows.Scan(&source, &data, &crc); err != nil {
			return nil, scanError(ctx, "checkpoint", err)
		}
		if sum.text(source).bytes(data).sum() != crc {
			return nil, damaged("the checkpoint of %q fails its checksum", source)
		}
		all[source] = data
	}
	return all, rows.Err()
}

// Models implements modelstore.Store.
func (s *Store) Models(ctx context.Context) (map[string]modelstore.SavedModel, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	all, err := readModels(ctx, s.read)
	return all, s.fail("saved models", err)
}

func readModels(ctx context.Context, db *sql.DB) (map[string]modelstore.SavedModel, error) {
	rows, err := db.QueryContext(ctx, "SELECT name, piece, seq, data, crc FROM saved_model ORDER BY name, piece")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	all := make(map[string]modelstore.SavedModel)
	sum := newSummer()
	for rows.Next() {
		var name string
		var piece, seq, crc int64
		var data sql.RawBytes
		if err := rows.Scan(&name, &piece, &seq, &data, &crc); err != nil {
			return nil, scanError(ctx, "saved model", err)
		}
		if sumModel(sum, name, piece, seq, data) != crc {
			return nil, damaged("piece %d of the saved model %q fails its checksum", piece, name)
		}
		m := all[name]
		all[name] = modelstore.SavedModel{Name: name, Seq: seq, Data: append(m.Data, data...)}
	}
	return all, rows.Err()
}

// Latest implements modelstore.Store.
func (s *Store) Latest(ctx context.Context) (*modelstore.Snapshot, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.fail("latest snapshot", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	seqs, err := snapshotSeqs(ctx, tx)
	if err != nil {
		return nil, s.fail("latest snapshot", err)
	}
	var bad []int64
	for _, seq := range seqs {
		snap, err := readSnapshot(ctx, tx, seq)
		if err = explain(s.path, "latest snapshot", err); errors.Is(err, modelstore.ErrCorrupt) {
			s.opts.Log.Error("a snapshot is damaged, passed over", zap.String("path", s.path), zap.Int64("event", seq),
				zap.Error(err))
			if _, pages := errors.AsType[*driver.Error](err); pages { // whole pages are damaged, not only rows
				s.noteDamage(err)
			}
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
		return nil, fmt.Errorf("store %s: %w", s.path, &modelstore.DamagedError{Seqs: bad})
	}
	return nil, nil
}

func snapshotSeqs(ctx context.Context, tx *sql.Tx) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT seq FROM snapshot ORDER BY seq DESC")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	var seqs []int64
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, rows.Err()
}

// eachRow calls fn for each row of a query about a snapshot.
func eachRow(ctx context.Context, tx *sql.Tx, query string, seq int64, fn func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, query, seq)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func readSnapshot(ctx context.Context, tx *sql.Tx, seq int64) (*modelstore.Snapshot, error) {
	snap := &modelstore.Snapshot{Seq: seq, Parts: make(map[string][]byte)}
	var at int64
	var want []byte
	if err := tx.QueryRowContext(ctx, "SELECT at, sum FROM snapshot WHERE seq = ?", seq).Scan(&at, &want); err != nil {
		return nil, err
	}
	snap.At = time.Unix(0, at).UTC()
	if err := eachRow(ctx, tx, "SELECT name, sum(length(data)) FROM snapshot_part WHERE seq = ? GROUP BY name", seq,
		func(rows *sql.Rows) error {
			var name string
			var size int64
			err := rows.Scan(&name, &size)
			snap.Parts[name] = make([]byte, 0, size)
			return err
		}); err != nil {
		return nil, err
	}
	if err := eachRow(ctx, tx, "SELECT name, data FROM snapshot_part WHERE seq = ? ORDER BY name, piece", seq,
		func(rows *sql.Rows) error {
			var name string
			var piece sql.RawBytes
			err := rows.Scan(&name, &piece)
			snap.Parts[name] = append(snap.Parts[name], piece...)
			return err
		}); err != nil {
		return nil, err
	}
	if got := snap.Sum(); string(got[:]) != string(want) {
		return nil, damaged("snapshot %d fails its checksum", seq)
	}
	return snap, nil
}
