package modelstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// MaxHistoryChunk is the maximum number of bytes of a chunk of a history. A store holds a whole chunk in memory.
const MaxHistoryChunk = 64 << 20

// HistoryChunk is one piece of a history: the events of imported logs, from which a cluster's state is learnt. The key
// of a chunk is (Cluster, ID, Part, N).
type HistoryChunk struct {
	Cluster string
	// ID is the name of one history of the cluster. A cluster may have several while a new history replaces another
	// one.
	ID string
	// Part is the part of the history to which the chunk belongs ("events" or "jobs"). In each part the numbers of the
	// chunks begin at 0.
	Part string
	// N is the number of the chunk in its part, counted from 0.
	N int
	// Data is opaque to the store. It has 1 to MaxHistoryChunk bytes.
	Data []byte
}

// HistoryPart describes one part of a history.
type HistoryPart struct {
	Cluster, ID, Part string
	// Chunks is the number of chunks. Bytes is the total length of their data.
	Chunks, Bytes int64
}

// HistoryStore keeps histories: the events of imported logs, in chunks of opaque bytes. The caller must store which
// history is in force and how many chunks it has (Store.SetMeta), because the chunks alone do not show that the last
// ones are missing. Each method that writes uses short transactions of its own, which alternate with the transactions
// of Store.Commit. The methods that read never wait.
type HistoryStore interface {
	// PutHistory stores a chunk. It replaces a chunk with the same key. The chunk is stored whole or not at all, and
	// is as durable as a Commit. PutHistory returns an *InvalidError for a chunk that no store can keep.
	PutHistory(ctx context.Context, c HistoryChunk) error

	// HistoryChunks calls fn with the number and the data of each chunk of a part, in order of N. The part may have
	// no chunks. fn may call the store and keep data. A chunk that is stored, replaced or deleted meanwhile may be
	// passed or not. If fn returns an error, HistoryChunks stops and returns that error unchanged. If a chunk is
	// damaged, HistoryChunks stops with an error that wraps ErrCorrupt and names the chunk.
	HistoryChunks(ctx context.Context, cluster, id, part string, fn func(n int, data []byte) error) error

	// HistoryChunk returns the data of one chunk. It returns nil if there is none. If the chunk is damaged, the error
	// wraps ErrCorrupt and names the chunk.
	HistoryChunk(ctx context.Context, cluster, id, part string, n int) ([]byte, error)

	// DropHistories deletes every history of a cluster except the histories with the IDs in `keep`. It works in several
	// transactions, so an error or the end of ctx may leave a part of the histories.
	DropHistories(ctx context.Context, cluster string, keep ...string) error

	// Histories describes the stored histories by cluster, ID and part. It does not read their data.
	Histories(ctx context.Context) ([]HistoryPart, error)
}

// String returns the name of the chunk for messages.
func (c *HistoryChunk) String() string {
	return fmt.Sprintf("chunk %d of part %q of history %q of cluster %q", c.N, c.Part, c.ID, c.Cluster)
}

// Check returns an *InvalidError if the chunk cannot be stored. The causes are: its cluster, ID or part is empty or
// not text; its number is negative; its data are empty or too long.
func (c *HistoryChunk) Check() error {
	invalid := func(field, problem string) error {
		return &InvalidError{What: c.String(), Field: field, Problem: problem}
	}
	switch {
	case c.Cluster == "" || !isText(c.Cluster):
		return invalid("cluster", "is empty or not UTF-8 text")
	case c.ID == "" || !isText(c.ID):
		return invalid("id", "is empty or not UTF-8 text")
	case c.Part == "" || !isText(c.Part):
		return invalid("part", "is empty or not UTF-8 text")
	case c.N < 0:
		return invalid("number", "is negative")
	case len(c.Data) == 0:
		return invalid("data", "are empty")
	case len(c.Data) > MaxHistoryChunk:
		return invalid("data", fmt.Sprintf("have %d bytes, more than %d", len(c.Data), MaxHistoryChunk))
	}
	return nil
}

// Sum returns the checksum that stores keep together with the chunk. It is the CRC-32C of the cluster, the ID and the
// part, each preceded by its length, then of the number, and then of the data, preceded by their length. The lengths
// and the number have 8 bytes, little-endian.
func (c *HistoryChunk) Sum() uint32 {
	var b []byte
	for _, text := range []string{c.Cluster, c.ID, c.Part} {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, text...)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(c.N))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(c.Data)))
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(b, table), table, c.Data)
}
