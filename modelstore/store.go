// Package modelstore defines the persistent data of waitcast: the journal of events, the checkpoints of the log
// readers, the accuracy ledger, the quarantine of bad lines, the snapshots of state and models, and models that are
// saved separately from the snapshots. The packages modelstore/sqlite (a file) and modelstore/postgres (a shared
// database) implement the interface Store. Package modelstore/storetest tests both.
//
// # Guarantees of every store
//
//   - A Batch is committed whole or not at all. So a checkpoint is never ahead of the events up to it.
//   - Data that were committed are not committed twice: entries and rows whose key is stored already are ignored.
//   - Times are returned in UTC, with all nanoseconds. An unknown instant is the zero time. Instants outside
//     [MinTime, MaxTime] are refused.
//   - A store has one writer: Commit, SetMeta, Prune, DropSnapshots, PutHistory and DropHistories run one after
//     the other. It has any number of concurrent readers. Readers never wait for the writer, and see only data that
//     are committed.
package modelstore

import (
	"context"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/job"
)

// Entry is one event of the journal.
type Entry struct {
	// Seq is the number of the event in the order in which the fold processed the events. The writer assigns 1, 2, 3
	// and so on.
	Seq int64
	// Source is the log or the snapshot of the scheduler that the event comes from.
	Source string
	Event  job.Event
}

// Key identifies one event of a job in the store. By it, a record that is read twice is distinguished from a record of
// a later job with the same id.
type Key struct {
	Attempt int
	Kind    job.Kind
	// Time is the time of the event.
	Time time.Time
	// Submit is the time of the job's submission according to the record; zero if the record has none.
	Submit time.Time
}

// Checkpoint is the position up to which a source has been read. Its Data is opaque to the store. A checkpoint whose
// Data has length 0 deletes the checkpoint of the source.
type Checkpoint struct {
	Source string
	Data   []byte
}

// These are the outcomes of a forecast, for Row.Outcome.
const (
	// Started means that the job got its processors. Its wait is an observation.
	Started = "started"
	// Cancelled means that the job left the queue without a start. Its wait is a lower bound.
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
	// Procs is the size in processors. TimeLimit is the requested wall-clock time; 0 means unknown.
	Procs     int
	TimeLimit time.Duration
	Submit    time.Time
	// Start is zero if and only if the job never started.
	Start time.Time
	// Outcome is Started or Cancelled.
	Outcome string
	// WaitSeconds is finite and at least 0. If Outcome is Cancelled, it is a lower bound.
	WaitSeconds float64
	// Method is the name of the predictor; empty if there was no forecast.
	Method string
	// Levels are the probabilities of the quantiles. Quantiles are the forecast waits in seconds, one for each level.
	// NaN means that there is no quantile, +Inf means "never". The store returns both unchanged, bit by bit.
	Levels    []float64
	Quantiles []float64
	// Peers are the forecasts of other methods at the same instant and levels. They allow a comparison on the same
	// jobs.
	Peers []Peer
	// Reason is the reason for a missing forecast; empty if there was a forecast.
	Reason string
	// Replayed is true for a forecast that was made after the fact.
	Replayed bool
	// Served is the number of the surface from which the daemon answered; 0 if there was none.
	Served int64
	// Parts are the parts of the wait; nil in a row of an older version, which stored no parts.
	Parts *Parts
}

// Parts are the two parts of the wait of a row, real and forecast: the time for which the job was blocked, and the time
// for which it was eligible and competed.
type Parts struct {
	// BlockedSeconds is the time for which the job did not compete, according to the records. The job was held, or it
	// waited for another job or its begin time, or a limit or a missing resource blocked it. The rest of WaitSeconds
	// is its eligible wait.
	BlockedSeconds float64
	// Blocked and Eligible are the forecast quantiles of both parts in seconds, one for each of the row's Levels. NaN
	// and +Inf mean the same as in Row.Quantiles. Both are nil if the forecast was that the job would not be blocked.
	// If such a row has quantiles, the quantiles of the blocked part are 0 s at all levels, and those of the eligible
	// part are the row's Quantiles.
	Blocked, Eligible []float64
	// Predicted is the forecast cause of the wait, if the job would have to wait (job.Cause); empty without a
	// forecast.
	Predicted string
	// Settled is the first reason for the wait whose cause (job.CauseOf) stayed the same in consecutive listings, in
	// the scheduler's word. It is empty if there was none, as for most jobs with a short wait.
	Settled string
}

// String formats the parts. Without it, a printed row would show their address.
func (p *Parts) String() string {
	if p == nil {
		return "none"
	}
	type parts Parts
	return fmt.Sprintf("%+v", parts(*p))
}

// Peer is the forecast of another method for the job of a row.
type Peer struct {
	// Method is the name of the method. A row has at most one Peer of each method.
	Method string
	// Quantiles are in seconds, one for each of the row's Levels. NaN and +Inf mean the same as in Row.Quantiles.
	Quantiles []float64
}

// Closed returns the event time at which the row was closed: the start, or the submission plus the wait if the job
// never started.
func (r *Row) Closed() time.Time {
	if !r.Start.IsZero() {
		return r.Start
	}
	return r.Submit.Add(time.Duration(r.WaitSeconds * float64(time.Second)))
}

// MaxBadLineText is the maximum number of bytes that are kept of a bad line, and of its message.
const MaxBadLineText = 1024

// DefaultBadLines is the number of bad lines that a store keeps by default.
const DefaultBadLines = 10_000

// BadLine is a line of a log that could not be parsed. It is in the quarantine, which an administrator can list.
type BadLine struct {
	// At is the wall-clock time at which the line was read.
	At     time.Time
	Source string
	Path   string
	// Line is the number of the line in Path, counted from 1; 0 if unknown.
	Line int64
	// Reason is one of the collector's reasons.
	Reason  string
	Message string
	// Text is the line. Commit cuts Text and Message to MaxBadLineText bytes.
	Text []byte
}

// Snapshot has the state and the models after the event Seq. They are opaque bytes with a version, by name ("state",
// "models/...").
type Snapshot struct {
	Seq int64
	// At is the wall-clock time at which the snapshot was made.
	At    time.Time
	Parts map[string][]byte
	// Encoders have further parts, by name. Commit encodes one after the other while it writes the snapshot, so that
	// they are not in memory together. Whatever reads a snapshot from the store gets all parts in Parts.
	Encoders map[string]Encoder
	// Damaged are the numbers of newer snapshots that Latest ignored because their checksum was wrong. Commit ignores
	// this field.
	Damaged []int64
}

// Encoder encodes a part of a snapshot. It returns the number of bytes, and a function that passes the bytes to put,
// piece by piece. put does not keep a piece. A second call must give the same bytes.
type Encoder func() (size int, write func(put func([]byte) error) error, err error)

// SavedModel is a model that is saved separately, because it is too large to be in every snapshot. It may belong to a
// different event than every snapshot. A SavedModel whose Data has length 0 deletes the model with that name.
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
	// Since and Until select rows that were closed (Row.Closed) at or after Since and before Until; zero means no
	// limit.
	Since time.Time
	Until time.Time
	// After selects rows with a greater Seq.
	After int64
	// LiveOnly leaves out the rows in which Replayed is true.
	LiveOnly bool
	// Limit is the maximum number of rows; 0 means no limit.
	Limit int
	// Newest returns the rows in descending order of Seq. With a Limit these are the newest rows.
	Newest bool
}

// Store keeps persistent data. It is safe for concurrent use. Its errors wrap ErrFull, ErrCorrupt, ErrReadOnly or
// ErrClosed if one of them is the cause.
type Store interface {
	// Commit stores b in one transaction, whole or not at all. An empty batch changes nothing. If Commit fails, nothing
	// of b is stored, unless the store is on a server that failed during the commit (see package postgres). In both
	// cases the same batch may be committed again.
	//
	// The Seqs of b.Entries must be consecutive and continue after the last Commit. Otherwise Commit returns a
	// *SeqError, so that a lost batch is noticed. b may begin with entries that are stored already. An entry with a
	// new Seq is ignored if an entry with its key (Cluster, ID, Attempt, Kind) is stored already; its Seq then stays
	// unused. Entries of kinds that can occur several times in a life have no key (job.Kind.Repeats). A row is
	// ignored if a row with its key is stored already. Values that no store can keep are refused (*InvalidError).
	//
	// The store keeps the two snapshots with the greatest Seqs. A snapshot replaces another one with the same Seq.
	// The Seq of a snapshot must not exceed the Seq of the last entry. Commit checks ctx before and during its work,
	// but not once it has begun to end the transaction.
	Commit(ctx context.Context, b Batch) error

	// Replay calls fn with every entry whose Seq is greater than `after`, in order of Seq. It uses the entries that are
	// stored when it is called. If fn returns an error, Replay stops and returns it unchanged. fn may call the store.
	Replay(ctx context.Context, after int64, fn func(Entry) error) error

	// LastSeq returns the greatest Seq ever committed, including pruned entries. It returns 0 if there is none.
	LastSeq(ctx context.Context) (int64, error)

	// Known returns the known events of a job, by attempt and then in the order of kinds. If the entries of an
	// attempt are pruned, its row of the ledger still gives the submission, and the start or cancellation. Known
	// returns nil if the job is unknown.
	Known(ctx context.Context, cluster, jobID string) ([]Key, error)

	// Checkpoints returns the data of every source's checkpoint.
	Checkpoints(ctx context.Context) (map[string][]byte, error)

	// Models returns every saved model by its name.
	Models(ctx context.Context) (map[string]SavedModel, error)

	// Latest returns the newest snapshot whose checksum is right. It returns nil if there never was a snapshot. If
	// all stored snapshots are damaged, it returns a *DamagedError. A replay of the whole journal then gives the
	// state, except for pruned entries.
	Latest(ctx context.Context) (*Snapshot, error)

	// Rows calls fn with the selected rows in order of Seq. Rows with the same Seq are in the order in which they were
	// committed. If fn returns an error, Rows stops and returns that error unchanged. fn may call the store.
	Rows(ctx context.Context, q RowQuery, fn func(Row) error) error

	// CountRows returns the number of rows that Rows would pass to fn.
	CountRows(ctx context.Context, q RowQuery) (int64, error)

	// BadLines returns the newest bad lines, newest first. It returns at most limit of them, or all if limit is 0.
	BadLines(ctx context.Context, limit int) ([]BadLine, error)

	// CountBadLines returns the number of bad lines that were ever committed. It includes lines that newer ones have
	// replaced.
	CountBadLines(ctx context.Context) (int64, error)

	// Meta returns the value that is stored under key. It returns "" if there is none.
	Meta(ctx context.Context, key string) (string, error)

	// SetMeta stores value under key. An empty value removes the key.
	SetMeta(ctx context.Context, key, value string) error

	// Prune deletes the entries whose event time is before `before` and whose Seq is at most upTo, and returns their
	// number. It never deletes entries after the oldest stored snapshot, so that a replay can still begin at that
	// snapshot. Without a snapshot it deletes nothing. It works in several transactions, so an error or the end of
	// ctx may leave a part of the entries. The ledger keeps the rows of pruned jobs. The file keeps its size, and
	// later entries use the free room.
	Prune(ctx context.Context, before time.Time, upTo int64) (int64, error)

	// PruneRows deletes the rows of the ledger that were closed (Row.Closed) before an instant, and returns their
	// number. It works in several transactions, so an error or the end of ctx may leave a part of the rows.
	PruneRows(ctx context.Context, before time.Time) (int64, error)

	// DropSnapshots deletes all snapshots, so that the state is rebuilt from the journal. Journal, ledger,
	// checkpoints and saved models stay. If a program rebuilds because the fingerprint has changed, it first drops
	// the snapshots and then stores the new fingerprint. After a crash between the two, it drops them again.
	DropSnapshots(ctx context.Context) error

	// HistoryStore keeps the events of imported logs.
	HistoryStore

	// Close makes everything durable and releases the store. A second Close has no effect.
	Close() error
}

// Verifier is a Store in a file. A file can be removed while the store is open.
type Verifier interface {
	// Verify returns an *IdentityError as long as a file of the store is not in its place, otherwise nil. It is cheap.
	Verify() error
}

// Verify returns the error of s.Verify if the store is a Verifier, and nil otherwise.
func Verify(s Store) error {
	if v, ok := s.(Verifier); ok {
		return v.Verify()
	}
	return nil
}
