package modelstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// MaxHistoryChunk is the greatest number of bytes of a chunk of a history: a store has a chunk in memory whole.
const MaxHistoryChunk = 64 << 20

// HistoryChunk is one piece of a history: of the events of imported logs, which a cluster's state is learnt from. Its
// key is (Cluster, ID, Part, N).
type HistoryChunk struct {
	Cluster string
	// ID names one history of the cluster. A cluster may have several while a new one takes the place of another.
	ID string
	// Part is the part of the history that the chunk belongs to ("events", "jobs"); each part has its own numbers.
	Part string
	// N is the number of the chunk in its part, from 0.
	N int
	// Data is opaque to the store: 1 to MaxHistoryChunk bytes.
	Data []byte
}

// HistoryPart describes one part of a history.
type HistoryPart struct {
	Cluster, ID, Part string
	// Chunks is the number of chunks, Bytes the total length of their data.
	Chunks, Bytes int64
}

// HistoryStore keeps histories: the events of imported logs, in chunks of opaque bytes. Which history is in force, and
// how many chunks it should have, is for the caller to note (Store.SetMeta): chunks alone do not show that the last
// ones are missing. Each method that writes uses short transactions of its own, which take turns with Store.Commit; the
// reading ones never wait.
type HistoryStore interface {
	// PutHistory stores a chunk; one of the same key is replaced. It is stored whole or not at all, and durable like a
	// Commit. A chunk that no store can keep is refused (*InvalidError).
	PutHistory(ctx context.Context, c HistoryChunk) error

	// HistoryChunks calls fn with number and data of each chunk of a part, in order of N; there may be none. fn may
	// call the store and keep data. Chunks that are stored, replaced or dropped meanwhile are seen or not. An error of
	// fn ends it and is returned as it is. A damaged chunk ends it with an error that wraps ErrCorrupt and names the
	// chunk.
	HistoryChunks(ctx context.Context, cluster, id, part string, fn func(n int, data []byte) error) error

	// HistoryChunk returns the data of one chunk, nil if there is none. The error about a damaged one wraps ErrCorrupt
	// and names the chunk.
	HistoryChunk(ctx context.Context, cluster, id, part string, n int) ([]byte, error)

	// DropHistories deletes every history of a cluster but those of the IDs in keep. It works in several transactions;
	// an error or ctx leaves a part of it done.
	DropHistories(ctx context.Context, cluster string, keep ...string) error

	// Histories describes the stored histories by cluster, ID and part. It does not read the data.
	Histories(ctx context.Context) ([]HistoryPart, error)
}

// String names the chunk in messages.
func (c *HistoryChunk) String() string {
	return fmt.Sprintf("chunk %d of part %q of history %q of cluster %q", c.N, c.Part, c.ID, c.Cluster)
}

// Check returns an *InvalidError if the chunk cannot be stored: its cluster, ID or part is empty or not text, its
// number is negative, or its data are empty or too long.
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

// Sum returns the checksum that stores keep beside the chunk: CRC-32C over cluster, ID and part, each after its length,
// the number, and the data after their length. Lengths and the number have 8 bytes, little-endian.
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
