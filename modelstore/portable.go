package modelstore

import (
	"context"
	"time"
)

// Position has the counters of a store that are not part of its content.
type Position struct {
	// LastSeq is the greatest number ever committed, BadLines the number of bad lines ever committed.
	LastSeq, BadLines int64
}

// Portable is a Store whose whole content can be copied to another one, as modelstore/transfer does.
type Portable interface {
	Store

	// Snapshots calls fn with the snapshots that are kept, the oldest first. A damaged one ends it with an error that
	// wraps ErrCorrupt.
	Snapshots(ctx context.Context, fn func(Snapshot) error) error

	// AllMeta returns every key with its value.
	AllMeta(ctx context.Context) (map[string]string, error)

	// Load stores b in one transaction, as Commit does, with these differences: the numbers of b.Entries need only
	// rise, and entries up to the store's LastSeq are passed over; b.BadLines, if there are any, take the place of all
	// bad lines; and the store then stands at least at `to` (a BadLines of 0 leaves that count).
	Load(ctx context.Context, b Batch, to Position) error
}

// Info describes a store without opening it, even one that a daemon has open.
type Info struct {
	// Kind is "sqlite" or "postgres", Place the file or the database (without a password).
	Kind  string `json:"kind"`
	Place string `json:"place"`
	// Schema is the version of the schema, Known the newest that this program supports.
	Schema int `json:"schema"`
	Known  int `json:"known_schema"`
	// Bytes is the size on disk, journals of the database included.
	Bytes  int64       `json:"bytes"`
	Spaces []SpaceInfo `json:"spaces"`
}

// SpaceInfo describes one space of a store. A store in a file is one space without a name.
type SpaceInfo struct {
	Name string `json:"name,omitempty"`
	// LastSeq is the highest number ever committed. Entries, Rows, BadLines, Checkpoints and Snapshots are counts.
	LastSeq     int64 `json:"last_seq"`
	Entries     int64 `json:"entries"`
	Rows        int64 `json:"rows"`
	BadLines    int64 `json:"bad_lines"`
	Checkpoints int64 `json:"checkpoints"`
	Snapshots   int64 `json:"snapshots"`
	// HistoryChunks is the number of chunks of all histories (HistoryStore), HistoryBytes the length of their data.
	HistoryChunks int64 `json:"history_chunks"`
	HistoryBytes  int64 `json:"history_bytes"`
	// Holder is the writer: the holder of the lease, or the process that has the file open; empty if there is none.
	Holder string `json:"holder,omitempty"`
	// Epoch is the number of the lease, Until its end unless it is renewed; both are zero for a file.
	Epoch int64     `json:"epoch,omitempty"`
	Until time.Time `json:"until,omitzero"`
}
