// Package modelstore defines the persistent data of waitcast: the journal of events, the checkpoints of the log
// readers, the accuracy ledger, the quarantine of bad lines, the snapshots of state and models, and models that are
// saved separately from the snapshots. The interface Store is implemented by modelstore/sqlite (embedded) and
// modelstore/postgres (shared), and tested by modelstore/storetest.
//
// # Guarantees of every store
//
//   - A Batch is committed whole or not at all, so that a checkpoint never runs ahead of the events it stands for.
//   - What was committed once stays committed once: entries and rows whose key is there already are ignored.
//   - Times come back in UTC, to the nanosecond; an unknown instant is the zero time. Instants outside [MinTime,
//     MaxTime] are refused.
//   - A store has one writer (Commit, SetMeta, Prune, DropSnapshots, PutHistory, DropHistories take turns) and any
//     number of concurrent readers, which never wait for it and see only what is committed.
package modelstore

import (
	"context"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/job"
)

// Entry is one event of the journal.
type Entry struct {
	// Seq numbers the events in the order the fold saw them. The one writer assigns it, dense from 1.
	Seq int64
	// Source names the log or snapshot that the event is from.
	Source string
	Event  job.Event
}

// Key identifies one event of a job in the store, to distinguish a record that is read twice from a reused job id.
type Key struct {
	Attempt int
	Kind    job.Kind
	// Time is when it happened.
	Time time.Time
	// Submit is the job's submission by that record; zero if it has none.
	Submit time.Time
}

// Checkpoint is the position up to which a source has been read. Its Data is opaque to the store; a checkpoint without
// Data (length 0) deletes that of the source.
type Checkpoint struct {
	Source string
	Data   []byte
}

// Outcomes of a forecast: the values of Row.Outcome.
const (
	// Started: the job got its processors; its wait is an observation.
	Started = "started"
	// Cancelled: the job left the queue without a start; its wait is a lower bound.
	Cancelled = "cancelled"
)

// Row is one line of the accuracy ledger: a forecast and its outcome. Its key is (Cluster, JobID, Attempt).
type Row struct {
	// Seq is the number of the event that closed the row. It orders the ledger.
	Seq     int64
	Cluster string
	JobID   string
	Attempt int
	Queue   string
	// Procs is the size in processors, TimeLimit the requested wall-clock time; 0 means unknown.
	Procs     int
	TimeLimit time.Duration
	Submit    time.Time
	// Start is zero exactly if the job never started.
	Start time.Time
	// Outcome is Started or Cancelled.
	Outcome string
	// WaitSeconds is finite and at least 0; a lower bound if Outcome is Cancelled.
	WaitSeconds float64
	// Method names the predictor; empty if there was no forecast.
	Method string
	// Levels are the probabilities of the quantiles, Quantiles the forecast waits in seconds, one for each level. NaN
	// means that there is none, +Inf "never"; both come back bit by bit.
	Levels    []float64
	Quantiles []float64
	// Peers are the forecasts of other methods at the same instant and levels, for comparison on the same jobs.
	Peers []Peer
	// Reason is the reason for a missing forecast; empty if there was one.
	Reason string
	// Replayed marks a forecast made after the fact.
	Replayed bool
	// Served is the number of the surface that was really served; 0 if none was.
	Served int64
	// Parts are the parts of the wait; nil in a row of an older version without parts.
	Parts *Parts
}

// Parts are the two parts of the wait of a row, in fact and by the forecast: the job was blocked, or it was eligible
// and competed.
type Parts struct {
	// BlockedSeconds is the time for which the job did not compete, according to the records: it was held, waited for
	// another job or its begin time, or a limit or a missing resource kept it. The rest of WaitSeconds is its eligible
	// wait.
	BlockedSeconds float64
	// Blocked and Eligible are the forecast quantiles of both parts in seconds, one for each of the row's Levels, as
	// Row.Quantiles. Both are nil if the forecast was that no part is blocked: in a row with quantiles that means 0 s
	// at all levels, and the row's Quantiles.
	Blocked, Eligible []float64
	// Predicted is the forecast cause of the wait, if the job had to wait (job.Cause); empty without a forecast.
	Predicted string
	// Settled is the first reason for the wait, in the scheduler's word, on which two consecutive listings agreed;
	// empty if there was none, as for most jobs that started soon.
	Settled string
}

// String formats the parts themselves when a row is printed, instead of their address.
func (p *Parts) String() string {
	if p == nil {
		return "none"
	}
	type parts Parts
	return fmt.Sprintf("%+v", parts(*p))
}

// Peer is another method's answer to the question of a row.
type Peer struct {
	// Method names it; of one row each once.
	Method string
	// Quantiles are in seconds, one for each of the row's Levels, as Row.Quantiles.
	Quantiles []float64
}

// Closed returns the event time at which the row was closed: the start, or submission plus wait for a job that never
// started.
func (r *Row) Closed() time.Time {
	if !r.Start.IsZero() {
		return r.Start
	}
	return r.Submit.Add(time.Duration(r.WaitSeconds * float64(time.Second)))
}

// MaxBadLineText is the number of bytes of a bad line that are kept, and of its message.
const MaxBadLineText = 1024

// DefaultBadLines is the number of bad lines a store keeps by default.
const DefaultBadLines = 10_000

// BadLine is a line of a log that could not be understood, in the quarantine that an administrator can list.
type BadLine struct {
	// At is the wall-clock time at which it was read.
	At     time.Time
	Source string
	Path   string
	// Line is the number of the line in Path, from 1; 0 if unknown.
	Line int64
	// Reason is one of the collector's reasons.
	Reason  string
	Message string
	// Text is the line itself. Commit cuts Text and Message to MaxBadLineText bytes.
	Text []byte
}

// Snapshot is the state and the models after the event Seq, as opaque versioned bytes by name ("state", "models/...").
type Snapshot struct {
	Seq int64
	// At is the wall-clock time at which it was taken.
	At    time.Time
	Parts map[string][]byte
	// Damaged are the numbers of newer snapshots that Latest passed over because their checksum failed. Commit
	// ignores it.
	Damaged []int64
}

// SavedModel is a model that is saved separately, because it is too large for every snapshot. It may be as of another
// event than any snapshot. One without Data (length 0) deletes the model with that name.
type SavedModel struct {
	Name string
	// Seq is the number of the newest event in the model; 0 if unknown.
	Seq int64
	// Data is opaque to the store.
	Data []byte
}

// Batch has the data of one transaction.
type Batch struct {
	Entries     []Entry
	Checkpoints []Checkpoint
	Rows        []Row
	BadLines    []BadLine
	Snapshot    *Snapshot
	Models      []SavedModel
}

// Empty reports whether the batch is empty.
func (b *Batch) Empty() bool {
	return len(b.Entries)+len(b.Checkpoints)+len(b.Rows)+len(b.BadLines)+len(b.Models) == 0 && b.Snapshot == nil
}

// RowQuery selects rows of the ledger. The zero value selects all.
type RowQuery struct {
	// Cluster and Queue select rows of that cluster and queue; empty means any.
	Cluster string
	Queue   string
	// Outcome is Started or Cancelled; empty means both.
	Outcome string
	// Since and Until select rows closed (Row.Closed) at or after Since and before Until; zero means no bound.
	Since time.Time
	Until time.Time
	// After selects rows with a greater Seq.
	After int64
	// LiveOnly leaves out the rows marked Replayed.
	LiveOnly bool
	// Limit is the greatest number of rows; 0 means all.
	Limit int
	// Newest takes the rows from the greatest Seq down, so that with a Limit the newest are returned.
	Newest bool
}

// Store keeps persistent data. It is safe for concurrent use. Errors wrap ErrFull, ErrCorrupt, ErrReadOnly or ErrClosed
// if that is the cause.
type Store interface {
	// Commit stores b in one transaction, all or nothing; an empty batch does nothing. If it fails, nothing of b is
	// stored, and the same batch may be committed again.
	//
	// The Seqs of b.Entries must be consecutive and continue after the last Commit (else *SeqError), so that a lost
	// batch is noticed; existing entries may be repeated at the head. An entry with a new Seq whose key (Cluster, ID,
	// Attempt, Kind; kinds that repeat within a life have none, see job.Kind.Repeats) is there already is ignored, and
	// its Seq stays unused. So is a row whose key is there already. Values that no store can keep are refused
	// (*InvalidError).
	//
	// Of snapshots the two with the greatest Seq are kept; one with the Seq of another replaces it. Its Seq must not
	// exceed the last entry's. ctx is looked at before and during the work; once the transaction is being made final,
	// it runs to its end.
	Commit(ctx context.Context, b Batch) error

	// Replay calls fn with every entry whose Seq is greater than after, in order of Seq, as of the moment of the call.
	// An error of fn ends it and is returned as it is. fn may call the store.
	Replay(ctx context.Context, after int64, fn func(Entry) error) error

	// LastSeq returns the greatest Seq ever committed, pruned entries included; 0 if there is none.
	LastSeq(ctx context.Context) (int64, error)

	// Known returns the events known of a job, by attempt and then in the order of kinds. For an attempt whose entries
	// are pruned, its row of the ledger still gives submit, and start or cancel. Nil if the job was never seen.
	Known(ctx context.Context, cluster, jobID string) ([]Key, error)

	// Checkpoints returns the data of every source's checkpoint.
	Checkpoints(ctx context.Context) (map[string][]byte, error)

	// Models returns every saved model by its name.
	Models(ctx context.Context) (map[string]SavedModel, error)

	// Latest returns the newest snapshot whose checksum holds, nil if there never was one. If there are snapshots and
	// all of them are damaged, it returns *DamagedError; a replay of the whole journal then gives the state, as far as
	// it was not pruned.
	Latest(ctx context.Context) (*Snapshot, error)

	// Rows calls fn with the selected rows in order of Seq (rows of one Seq in the order they were committed). An error
	// of fn ends it and is returned as it is. fn may call the store.
	Rows(ctx context.Context, q RowQuery, fn func(Row) error) error

	// CountRows returns how many rows Rows would give.
	CountRows(ctx context.Context, q RowQuery) (int64, error)

	// BadLines returns the newest bad lines, newest first; at most limit, all if limit is 0.
	BadLines(ctx context.Context, limit int) ([]BadLine, error)

	// CountBadLines returns how many bad lines were ever committed, those that had to make room for newer ones
	// included.
	CountBadLines(ctx context.Context) (int64, error)

	// Meta returns the value stored under key, "" if there is none.
	Meta(ctx context.Context, key string) (string, error)

	// SetMeta stores value under key, "" removes it.
	SetMeta(ctx context.Context, key, value string) error

	// Prune deletes the entries whose event time is before `before` and whose Seq is at most upTo, and returns their
	// number. It never deletes entries after the oldest stored snapshot (so that an older snapshot can still be
	// replayed from), and nothing if there is no snapshot. It works in several transactions, so an error or ctx may
	// leave a part of the work done. The ledger keeps the rows of pruned jobs. The file keeps its size, and later
	// entries use the room.
	Prune(ctx context.Context, before time.Time, upTo int64) (int64, error)

	// PruneRows deletes the rows of the ledger that were closed (Row.Closed) before an instant, and returns how many.
	// It works in several transactions; an error or ctx leaves a part of it done.
	PruneRows(ctx context.Context, before time.Time) (int64, error)

	// DropSnapshots deletes all snapshots, so that the state is rebuilt from the journal; journal, ledger, checkpoints
	// and saved models stay. Whoever rebuilds because of a changed fingerprint drops first and stores the new
	// fingerprint after: a crash between the two then only drops again.
	DropSnapshots(ctx context.Context) error

	// HistoryStore keeps the events of imported logs.
	HistoryStore

	// Close makes everything durable and releases the store. A second Close does nothing.
	Close() error
}

// Verifier is a Store that somebody can take away while it is open: a file.
type Verifier interface {
	// Verify returns an *IdentityError while a file of the store is not in its place, and nil once it is again. It is
	// cheap.
	Verify() error
}

// Verify returns the error of a store that is a Verifier, nil for any other.
func Verify(s Store) error {
	if v, ok := s.(Verifier); ok {
		return v.Verify()
	}
	return nil
}
