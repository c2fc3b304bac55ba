package modelstore

import (
	"context"
	"time"
)

// Position has the counters of a store that are not part of its content.
type Position struct {
	// LastSeq is the greatest number ever committed. BadLines is the number of bad lines ever committed.
	LastSeq, BadLines int64
}

// Portable is a Store whose whole content can be copied to another store. modelstore/transfer copies it.
type Portable interface {
	Store

	// Snapshots calls fn with the stored snapshots, oldest first. If a snapshot is damaged, Snapshots stops with an
	// error that wraps ErrCorrupt.
	Snapshots(ctx context.Context, fn func(Snapshot) error) error

	// AllMeta returns all keys of SetMeta with their values.
	AllMeta(ctx context.Context) (map[string]string, error)

	// Load stores b in one transaction. It differs from Commit as follows. The numbers of b.Entries must rise but may
	// have gaps. Entries with numbers up to the store's LastSeq are ignored. Afterwards LastSeq is at least to.LastSeq.
	// If b.BadLines is not empty, it replaces all stored bad lines, and their count becomes to.BadLines, but at least
	// the number of these lines. If b.BadLines is empty, the stored bad lines and their count stay.
	Load(ctx context.Context, b Batch, to Position) error
}

// Info describes a store. It can be read without opening the store, even while a daemon has the store open.
type Info struct {
	// Kind is "sqlite" or "postgres". Place is the file or the database, without a password.
	Kind  string `json:"kind"`
	Place string `json:"place"`
	// Schema is the version of the schema. Known is the newest version that this program knows.
	Schema int `json:"schema"`
	Known  int `json:"known_schema"`
	// Bytes is the size on disk, including the journals of the database system.
	Bytes  int64       `json:"bytes"`
	Spaces []SpaceInfo `json:"spaces"`
}

// SpaceInfo describes one space of a store. A store in a file has one space, which has no name.
type SpaceInfo struct {
	Name string `json:"name,omitempty"`
	// LastSeq is the greatest number ever committed. Entries, Rows, BadLines, Checkpoints and Snapshots are counts.
	LastSeq     int64 `json:"last_seq"`
	Entries     int64 `json:"entries"`
	Rows        int64 `json:"rows"`
	BadLines    int64 `json:"bad_lines"`
	Checkpoints int64 `json:"checkpoints"`
	Snapshots   int64 `json:"snapshots"`
	// HistoryChunks is the number of chunks of all histories (HistoryStore). HistoryBytes is the length of their
	// data.
	HistoryChunks int64 `json:"history_chunks"`
	HistoryBytes  int64 `json:"history_bytes"`
	// Holder is the writer: the holder of the lease, or the process that has the file open. It is empty if there is
	// none.
	Holder string `json:"holder,omitempty"`
	// Epoch is the number of the lease. Until is its end unless it is renewed. Both are zero for a file.
	Epoch int64     `json:"epoch,omitempty"`
	Until time.Time `json:"until,omitzero"`
}
