package past

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/modelstore"
)

// buckets is the number of chunks in which the jobs of a history are stored. A lookup reads the one chunk that a job
// belongs to, about 150 KB in a history with a million jobs.
const buckets = 256

func bucketOf(hash uint64) int { return int(hash >> 56) }

// Gathering collects the jobs that leave while a history is replayed, and looks them up meanwhile.
type Gathering struct {
	records [buckets][]byte
	at      map[uint64]int // by the hash of a job's id, the offset of its newest record in the bucket
}

// NewGathering returns a Gathering without jobs.
func NewGathering() *Gathering { return &Gathering{at: map[uint64]int{}} }

// Add adds a job that left. It replaces an earlier one with the same id.
func (g *Gathering) Add(l *cluster.Left) {
	hash := xxhash.Sum64String(l.ID)
	b := &g.records[bucketOf(hash)]
	g.at[hash] = len(*b)
	*b = appendLeft(*b, l)
}

// Known returns, of the jobs with the given id, the one that left last. It returns false if no such job has left.
func (g *Gathering) Known(id string) (cluster.Left, bool) {
	hash := xxhash.Sum64String(id)
	at, ok := g.at[hash]
	if !ok {
		return cluster.Left{}, false
	}
	l, _, err := readLeft(g.records[bucketOf(hash)][at:])
	return l, err == nil && l.ID == id
}

// Len returns the number of different jobs.
func (g *Gathering) Len() int { return len(g.at) }

// Save calls put with the number and the data of each chunk to be stored in JobsPart.
func (g *Gathering) Save(put func(n int, data []byte) error) error {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compressing the jobs of a history: %w", err)
	}
	defer z.Close() //nolint:errcheck // nothing is written through it
	for n, records := range g.records {
		if len(records) == 0 {
			continue
		}
		if err := put(n, z.EncodeAll(records, nil)); err != nil {
			return err
		}
	}
	return nil
}

// Jobs looks up jobs that left during a stored history.
type Jobs struct {
	from        Chunks
	cluster, id string
	hashes      []uint64 // sorted hashes of the ids; most look-ups are for new ids, and need only these
}

// Jobs returns a Jobs with the same jobs. of is the name of the cluster, and id is the id of the history. The lookups
// of the result read the chunks that Save has stored, so the result takes less memory than g.
func (g *Gathering) Jobs(from Chunks, of, id string) *Jobs {
	j := &Jobs{from: from, cluster: of, id: id, hashes: make([]uint64, 0, len(g.at))}
	for hash := range g.at {
		j.hashes = append(j.hashes, hash)
	}
	slices.Sort(j.hashes)
	return j
}

// LoadJobs returns the Jobs of a stored history. of is the name of the cluster, and id the id of the history. It reads
// all chunks once.
func LoadJobs(ctx context.Context, from Chunks, of, id string) (*Jobs, error) {
	j := &Jobs{from: from, cluster: of, id: id}
	for n := range buckets {
		err := j.each(ctx, n, func(l *cluster.Left) { j.hashes = append(j.hashes, xxhash.Sum64String(l.ID)) })
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(j.hashes)
	j.hashes = slices.Clip(slices.Compact(j.hashes))
	return j, nil
}

// Known returns, of the jobs with the given id, the one that left last. ok is false if no such job has left. Errors
// come from the store. The error for a damaged chunk wraps modelstore.ErrCorrupt.
func (j *Jobs) Known(ctx context.Context, id string) (left cluster.Left, ok bool, err error) {
	hash := xxhash.Sum64String(id)
	if _, ok := slices.BinarySearch(j.hashes, hash); !ok {
		return cluster.Left{}, false, nil
	}
	err = j.each(ctx, bucketOf(hash), func(l *cluster.Left) {
		if l.ID == id {
			left, ok = *l, true // the newest record comes last
		}
	})
	return left, ok, err
}

// each reads the bucket n and calls fn with each of its jobs, in the order in which they left.
func (j *Jobs) each(ctx context.Context, n int, fn func(*cluster.Left)) error {
	data, err := j.from.HistoryChunk(ctx, j.cluster, j.id, JobsPart, n)
	if err != nil {
		return err
	}
	damaged := func(err error) error {
		return fmt.Errorf("history of cluster %s, chunk %d of its jobs: %w: %w", j.cluster, n, modelstore.ErrCorrupt,
			err)
	}
	if data == nil { // the bucket is empty
		return nil
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return damaged(err)
	}
	defer z.Close()
	records, err := z.DecodeAll(data, nil)
	if err != nil {
		return damaged(err)
	}
	for len(records) > 0 {
		l, size, err := readLeft(records)
		if err != nil {
			return damaged(err)
		}
		fn(&l)
		records = records[size:]
	}
	return nil
}

// appendLeft appends the record of a job to b: the length of the id, the id, then attempt and times as varints. A time
// is in nanoseconds since 1970; an unknown time is the minimum int64.
func appendLeft(b []byte, l *cluster.Left) []byte {
	w := codec.Writer(b)
	w.Text(l.ID)
	for _, n := range [...]int64{int64(l.Attempt), nanos(l.Submit), nanos(l.At), nanos(l.Began)} {
		w.Signed(n)
	}
	return w
}

const unknownNanos = -1 << 63

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return unknownNanos
	}
	return t.UnixNano()
}

var errLeft = errors.New("a record of a job is damaged")

// readLeft reads the first record of b. size is its length in bytes.
func readLeft(b []byte) (l cluster.Left, size int, err error) {
	r := codec.Reader{Rest: b}
	l.ID, l.Attempt = string(r.Bytes()), int(r.Signed())
	for _, to := range [...]*time.Time{&l.Submit, &l.At, &l.Began} {
		if at := r.Signed(); at != unknownNanos {
			*to = time.Unix(0, at).UTC()
		}
	}
	if r.Bad {
		return cluster.Left{}, 0, errLeft
	}
	return l, len(b) - len(r.Rest), nil
}
