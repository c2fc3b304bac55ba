package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/internal/pack"
)

// sumRow returns the checksum of a row of the ledger.
func sumRow(s *summer, r *modelstore.Row, levels, quantiles, peers []byte) int64 {
	s.int(r.Seq).text(r.Cluster).text(r.JobID).int(int64(r.Attempt)).text(r.Queue).int(int64(r.Procs)).int(
		int64(r.TimeLimit))
	s.int(r.Submit.UnixNano()).maybe(r.Start.UnixNano(), !r.Start.IsZero()).int(r.Closed().UnixNano()).text(r.Outcome)
	s.float(r.WaitSeconds).text(r.Method).bytes(levels).bytes(quantiles).text(r.Reason)
	s.maybe(0, r.Replayed).int(r.Served)
	if peers != nil {
		s.bytes(peers)
	}
	if p := r.Parts; p != nil {
		s.float(p.BlockedSeconds).bytes(pack.Floats(p.Blocked)).bytes(pack.Floats(p.Eligible))
		s.text(p.Predicted).text(p.Settled)
	}
	return s.sum()
}

// partsColumns are the columns of the parts of a wait. All are NULL if there are no parts.
type partsColumns struct {
	seconds            sql.NullFloat64
	blocked, eligible  []byte
	predicted, settled sql.NullString
}

func columnsOf(p *modelstore.Parts) (c partsColumns) {
	if p == nil {
		return c
	}
	return partsColumns{
		sql.NullFloat64{Float64: p.BlockedSeconds, Valid: true}, pack.Floats(p.Blocked), pack.Floats(p.Eligible),
		sql.NullString{String: p.Predicted, Valid: true}, sql.NullString{String: p.Settled, Valid: true},
	}
}

func (c *partsColumns) parts() *modelstore.Parts {
	if !c.seconds.Valid {
		return nil
	}
	return &modelstore.Parts{
		BlockedSeconds: c.seconds.Float64, Blocked: pack.UnpackFloats(c.blocked),
		Eligible: pack.UnpackFloats(c.eligible), Predicted: c.predicted.String, Settled: c.settled.String,
	}
}

// where returns the SQL condition of a query and its arguments.
func where(q modelstore.RowQuery) (string, []any) {
	conditions := []string{"l.seq > ?"}
	args := []any{q.After}
	and := func(on bool, condition string, arg any) {
		if on {
			conditions = append(conditions, condition)
			args = append(args, arg)
		}
	}
	and(q.Cluster != "", "l.cluster = ?", q.Cluster)
	and(q.Queue != "", "l.queue = ?", q.Queue)
	and(q.Outcome != "", "l.outcome = ?", q.Outcome)
	and(!q.Since.IsZero(), "l.closed >= ?", clampTime(q.Since))
	and(!q.Until.IsZero(), "l.closed < ?", clampTime(q.Until))
	and(q.LiveOnly, "l.replayed = ?", 0)
	return " WHERE " + strings.Join(conditions, " AND "), args
}

// clampTime returns a limit in nanoseconds. A limit that cannot be represented becomes the nearest value.
func clampTime(t time.Time) int64 {
	switch {
	case t.Before(modelstore.MinTime()):
		return modelstore.MinTime().UnixNano()
	case t.After(modelstore.MaxTime()):
		return modelstore.MaxTime().UnixNano()
	}
	return t.UnixNano()
}

// Rows implements modelstore.Store.
func (s *Store) Rows(ctx context.Context, q modelstore.RowQuery, fn func(modelstore.Row) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	var theirs error
	err := scanRows(ctx, s.read, q, func(r modelstore.Row) error {
		if err := s.interrupted(ctx); err != nil {
			return err
		}
		theirs = fn(r)
		return theirs
	})
	if theirs != nil {
		return theirs
	}
	return s.fail("ledger", err)
}

// selectRows returns the statement of a query and its arguments. The statement sorts only the numbers of rows, because
// SQLite keeps everything that it sorts in memory. Sorting the whole rows of a year took hundreds of megabytes.
func selectRows(q modelstore.RowQuery) (string, []any) {
	condition, args := where(q)
	order := " ORDER BY l.seq, l.id LIMIT ?"
	if q.Newest {
		order = " ORDER BY l.seq DESC, l.id DESC LIMIT ?"
	}
	limit := -1
	if q.Limit > 0 {
		limit = q.Limit
	}
	return `SELECT l.seq, l.cluster, l.job_id, l.attempt, l.queue, l.procs, l.time_limit, l.submit, l.start,
		l.outcome, l.wait_seconds, l.method, v.levels, l.quantiles, l.reason, l.replayed, l.served, l.peers,
		l.blocked_seconds, l.blocked, l.eligible, l.predicted, l.settled, l.crc
		FROM (SELECT l.id FROM ledger l` + condition + order + `) wanted CROSS JOIN ledger l ON l.id = wanted.id
		LEFT JOIN levels v ON v.id = l.levels_id`, append(args, limit)
}

// scanRows reads rows of the ledger and verifies each checksum.
func scanRows(ctx context.Context, db *sql.DB, q modelstore.RowQuery, fn func(modelstore.Row) error) error {
	text, args := selectRows(q)
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	sum := newSummer()
	for rows.Next() {
		r, err := scanRow(ctx, rows, sum)
		if err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

func scanRow(ctx context.Context, rows *sql.Rows, sum *summer) (modelstore.Row, error) {
	var r modelstore.Row
	var timeLimit, submit, crc int64
	var start sql.NullInt64
	var levels, quantiles, peers []byte
	var parts partsColumns
	err := rows.Scan(&r.Seq, &r.Cluster, &r.JobID, &r.Attempt, &r.Queue, &r.Procs, &timeLimit, &submit, &start,
		&r.Outcome, &r.WaitSeconds, &r.Method, &levels, &quantiles, &r.Reason, &r.Replayed, &r.Served, &peers,
		&parts.seconds, &parts.blocked, &parts.eligible, &parts.predicted, &parts.settled, &crc)
	if err != nil {
		return r, scanError(ctx, "ledger", err)
	}
	r.TimeLimit, r.Submit, r.Start = time.Duration(timeLimit), time.Unix(0, submit).UTC(), instant(start)
	r.Levels, r.Quantiles = pack.UnpackFloats(levels), pack.UnpackFloats(quantiles)
	r.Peers, r.Parts = pack.UnpackPeers(peers, len(r.Levels)), parts.parts()
	if sumRow(sum, &r, levels, quantiles, peers) != crc {
		return r, damaged("the ledger's row of event %d fails its checksum", r.Seq)
	}
	modelstore.DecodeRow(&r)
	return r, nil
}

// CountRows implements modelstore.Store.
func (s *Store) CountRows(ctx context.Context, q modelstore.RowQuery) (int64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.end()
	condition, args := where(q)
	var n int64
	err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM ledger l"+condition, args...).Scan(&n)
	if q.Limit > 0 {
		n = min(n, int64(q.Limit))
	}
	return n, s.fail("count the ledger", err)
}

// BadLines implements modelstore.Store.
func (s *Store) BadLines(ctx context.Context, limit int) ([]modelstore.BadLine, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	if limit <= 0 {
		limit = -1
	}
	lines, err := readBadLines(ctx, s.read, limit)
	return lines, s.fail("bad lines", err)
}

// CountBadLines implements modelstore.Store. Every bad line has a new number, and numbers have no gaps.
func (s *Store) CountBadLines(ctx context.Context) (int64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.end()
	var n int64
	err := s.read.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM bad_line").Scan(&n)
	return n, s.fail("count bad lines", err)
}

func readBadLines(ctx context.Context, db *sql.DB, limit int) ([]modelstore.BadLine, error) {
	rows, err := db.QueryContext(ctx,
		"SELECT at, source, path, line, reason, message, text FROM bad_line ORDER BY id DESC LIMIT ?", limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	var lines []modelstore.BadLine
	for rows.Next() {
		var b modelstore.BadLine
		var at int64
		if err := rows.Scan(&at, &b.Source, &b.Path, &b.Line, &b.Reason, &b.Message, &b.Text); err != nil {
			return nil, err
		}
		b.At = time.Unix(0, at).UTC()
		lines = append(lines, b)
	}
	return lines, rows.Err()
}
