package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/internal/pack"
)

// entryColumns has entries as arrays, one for each column. With it, a statement for thousands of rows has only ten
// arguments.
type entryColumns struct {
	seq, attempt, turn, time            []int64
	submit                              []pgtype.Int8
	cluster, jobID, kind, source, event []string
}

// packEntries checks entries and returns their columns. The numbers of the entries must be consecutive or, if gaps is
// true, rise.
func packEntries(ctx context.Context, entries []modelstore.Entry, gaps bool) (*entryColumns, error) {
	n := len(entries)
	c := &entryColumns{seq: make([]int64, n), attempt: make([]int64, n), turn: make([]int64, n), time: make([]int64, n),
		submit:  make([]pgtype.Int8, n),
		cluster: make([]string, n), jobID: make([]string, n), kind: make([]string, n), source: make([]string, n),
		event: make([]string, n)}
	for i := range entries {
		if i%cancelCheckEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		if err := e.Check(); err != nil {
			return nil, err
		}
		if i > 0 && e.Seq != entries[i-1].Seq+1 && (!gaps || e.Seq <= entries[i-1].Seq) {
			return nil, &modelstore.SeqError{Got: e.Seq, Want: entries[i-1].Seq + 1}
		}
		if err := c.set(i, e); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *entryColumns) set(i int, e *modelstore.Entry) error {
	payload, err := modelstore.EncodeEvent(&e.Event)
	if err != nil {
		return fmt.Errorf("encode entry %d: %w", e.Seq, err)
	}
	submit := e.Event.Times.Submit
	if submit.IsZero() && e.Event.Kind == job.Submit {
		submit = e.Event.Time
	}
	if e.Event.Kind.Repeats() {
		c.turn[i] = e.Seq
	}
	c.seq[i], c.attempt[i], c.time[i], c.submit[i] = e.Seq, int64(e.Event.Attempt), e.Event.Time.UnixNano(),
		nanos(submit)
	c.cluster[i], c.jobID[i], c.kind[i] = toText(e.Event.Cluster), toText(e.Event.ID), e.Event.Kind.String()
	c.source[i], c.event[i] = toText(e.Source), string(payload)
	return nil
}

// slice returns the columns of the entries with the indexes from `from` to `to`-1.
func (c *entryColumns) slice(from, to int) *entryColumns {
	return &entryColumns{seq: c.seq[from:to], attempt: c.attempt[from:to], turn: c.turn[from:to], time: c.time[from:to],
		submit:  c.submit[from:to],
		cluster: c.cluster[from:to], jobID: c.jobID[from:to], kind: c.kind[from:to], source: c.source[from:to],
		event: c.event[from:to]}
}

// rowColumns has rows of the ledger as arrays, one for each column.
type rowColumns struct {
	seq, attempt, procs, timeLimit, submit, closed, served []int64
	start                                                  []pgtype.Int8
	cluster, jobID, queue, outcome, method, reason         []string
	wait                                                   []float64
	levels, quantiles, peers                               [][]byte
	replayed                                               []bool
	blockedSeconds                                         []pgtype.Float8
	blocked, eligible                                      [][]byte
	predicted, settled                                     []pgtype.Text
}

// rowKey is the unique key of a row.
type rowKey struct {
	cluster, jobID string
	attempt        int
}

// packRows checks rows and returns their columns. If several rows have the same key, it takes the first.
func packRows(ctx context.Context, rows []modelstore.Row) (*rowColumns, error) {
	c := &rowColumns{}
	seen := make(map[rowKey]bool, len(rows))
	for i := range rows {
		if i%cancelCheckEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r := &rows[i]
		if err := r.Check(); err != nil {
			return nil, err
		}
		key := rowKey{r.Cluster, r.JobID, r.Attempt}
		if seen[key] {
			continue
		}
		seen[key] = true
		c.seq, c.attempt, c.procs = append(c.seq, r.Seq), append(c.attempt, int64(r.Attempt)),
			append(c.procs, int64(r.Procs))
		c.timeLimit, c.submit = append(c.timeLimit, int64(r.TimeLimit)), append(c.submit, r.Submit.UnixNano())
		c.start, c.closed, c.served = append(c.start, nanos(r.Start)), append(c.closed, r.Closed().UnixNano()),
			append(c.served, r.Served)
		c.cluster, c.jobID, c.queue = append(c.cluster, toText(r.Cluster)), append(c.jobID, toText(r.JobID)),
			append(c.queue, toText(r.Queue))
		c.outcome, c.method, c.reason = append(c.outcome, r.Outcome), append(c.method, toText(r.Method)),
			append(c.reason, toText(r.Reason))
		c.wait, c.replayed = append(c.wait, r.WaitSeconds), append(c.replayed, r.Replayed)
		c.levels, c.quantiles, c.peers = append(c.levels, pack.Floats(r.Levels)),
			append(c.quantiles, pack.Floats(r.Quantiles)), append(c.peers, pack.Peers(r.Peers))
		c.addParts(r.Parts)
	}
	return c, nil
}

// addParts adds the parts of a wait. nil becomes NULL in all of their columns.
func (c *rowColumns) addParts(p *modelstore.Parts) {
	known := p != nil
	if !known {
		p = &modelstore.Parts{}
	}
	c.blockedSeconds = append(c.blockedSeconds, pgtype.Float8{Float64: p.BlockedSeconds, Valid: known})
	c.blocked, c.eligible = append(c.blocked, pack.Floats(p.Blocked)), append(c.eligible, pack.Floats(p.Eligible))
	c.predicted = append(c.predicted, pgtype.Text{String: toText(p.Predicted), Valid: known})
	c.settled = append(c.settled, pgtype.Text{String: toText(p.Settled), Valid: known})
}

// insert inserts the rows with the indexes from `from` to `to`-1 in order, except those whose key is stored already. A
// subquery looks up the key of each row, because the planner cannot turn a subquery into a join that reads the whole
// ledger.
func (c *rowColumns) insert(w *change, from, to int) error {
	if err := makePartitions(w.ctx, w.tx, w.s.space, c.closed[from:to]); err != nil {
		return err
	}
	_, err := w.tx.Exec(w.ctx,
		fmt.Sprintf(`INSERT INTO waitcast.ledger (space, id, seq, cluster, job_id, attempt, queue, procs, time_limit,
			submit, start, closed, outcome, wait_seconds, method, levels, quantiles, peers, reason, replayed, served,
			blocked_seconds, blocked, eligible, predicted, settled)
		SELECT %d, $1::bigint + n, seq, cluster, job_id, attempt, queue, procs, time_limit, submit, start, closed,
			outcome, wait_seconds, method, levels, quantiles, peers, reason, replayed, served, blocked_seconds,
			blocked, eligible, predicted, settled
		FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[],
			$7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[],
			$13::double precision[], $14::text[], $15::bytea[], $16::bytea[], $17::bytea[], $18::text[],
			$19::boolean[], $20::bigint[], $21::double precision[], $22::bytea[], $23::bytea[], $24::text[],
			$25::text[]) WITH ORDINALITY r (seq, cluster, job_id, attempt, queue, procs, time_limit, submit, start,
			closed, outcome, wait_seconds, method, levels, quantiles, peers, reason, replayed, served,
			blocked_seconds, blocked, eligible, predicted, settled, n)
		WHERE (SELECT l.seq FROM waitcast.ledger l WHERE l.space = %[1]d AND l.cluster = r.cluster
			AND l.job_id = r.job_id AND l.attempt = r.attempt LIMIT 1) IS NULL`, w.s.space),
		w.lastRow, c.seq[from:to], c.cluster[from:to], c.jobID[from:to], c.attempt[from:to], c.queue[from:to],
		c.procs[from:to], c.timeLimit[from:to],
		c.submit[from:to], c.start[from:to], c.closed[from:to], c.outcome[from:to], c.wait[from:to], c.method[from:to],
		c.levels[from:to], c.quantiles[from:to], c.peers[from:to], c.reason[from:to], c.replayed[from:to],
		c.served[from:to], c.blockedSeconds[from:to], c.blocked[from:to], c.eligible[from:to], c.predicted[from:to],
		c.settled[from:to])
	w.lastRow += int64(to - from)
	return err
}

// ledgerColumns are the columns that rowScan reads.
const ledgerColumns = "id, seq, cluster, job_id, attempt, queue, procs, time_limit, submit, start, outcome, " +
	"wait_seconds, method, levels, quantiles, peers, reason, replayed, served, " +
	"blocked_seconds, blocked, eligible, predicted, settled"

// rowScan reads one row of the ledger from a result.
type rowScan struct {
	id                       int64
	row                      modelstore.Row
	timeLimit, submit        int64
	start                    pgtype.Int8
	levels, quantiles, peers []byte
	blockedSeconds           pgtype.Float8
	blocked, eligible        []byte
	predicted, settled       pgtype.Text
}

// targets returns the pointers into which ledgerColumns are scanned.
func (r *rowScan) targets() []any {
	return []any{&r.id, &r.row.Seq, &r.row.Cluster, &r.row.JobID, &r.row.Attempt, &r.row.Queue, &r.row.Procs,
		&r.timeLimit, &r.submit, &r.start, &r.row.Outcome,
		&r.row.WaitSeconds, &r.row.Method, &r.levels, &r.quantiles, &r.peers, &r.row.Reason, &r.row.Replayed,
		&r.row.Served, &r.blockedSeconds, &r.blocked, &r.eligible, &r.predicted, &r.settled}
}

// finish converts the scanned columns to the row.
func (r *rowScan) finish() {
	for _, s := range []*string{&r.row.Cluster, &r.row.JobID, &r.row.Queue, &r.row.Method, &r.row.Reason} {
		*s = fromText(*s)
	}
	r.row.TimeLimit, r.row.Submit, r.row.Start = time.Duration(r.timeLimit), time.Unix(0, r.submit).UTC(),
		instant(r.start)
	r.row.Levels, r.row.Quantiles = pack.UnpackFloats(r.levels), pack.UnpackFloats(r.quantiles)
	r.row.Peers = pack.UnpackPeers(r.peers, len(r.row.Levels))
	if r.blockedSeconds.Valid {
		r.row.Parts = &modelstore.Parts{
			BlockedSeconds: r.blockedSeconds.Float64, Blocked: pack.UnpackFloats(r.blocked),
			Eligible:  pack.UnpackFloats(r.eligible),
			Predicted: fromText(r.predicted.String), Settled: fromText(r.settled.String),
		}
	}
	modelstore.DecodeRow(&r.row)
}
