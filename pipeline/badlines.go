package pipeline

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/modelstore"
)

// mostOpenBad is the maximum number of bad lines after a checkpoint that are recognized when they are read again.
const mostOpenBad = 1000

// openBad has the bad lines of a source that are in the quarantine and come after the newest committed checkpoint. A
// restart reads them again.
type openBad struct {
	lines []uint64 // hashes of the lines, in the order of reading
	// passed is the number of lines before these that were read since the start.
	passed int
	// again has the hashes of lines that an earlier process quarantined, and that this one has not read again.
	again   map[uint64]int
	changed bool
}

// badKey returns the name under which the store has the hashes of a source, among the checkpoints.
func badKey(sourceName string) string { return sourceName + badSuffix }

const badSuffix = "/.bad"

// add adds a line, and reports whether the quarantine does not have it yet.
func (o *openBad) add(b *modelstore.BadLine) bool {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(b.Reason + " ")) // never fails
	if _, _ = sum.Write(b.Text); len(b.Text) == 0 {
		_, _ = sum.Write([]byte(b.Message))
	}
	hash := sum.Sum64()
	o.changed = true
	o.lines = append(o.lines, hash)
	o.drop(len(o.lines) - mostOpenBad)
	if o.again[hash] == 0 {
		return true
	}
	o.again[hash]--
	return false
}

// count returns the number of lines that were read since the start.
func (o *openBad) count() int { return o.passed + len(o.lines) }

// commit drops the lines before a checkpoint, which is committed. count is the result of count at that checkpoint.
func (o *openBad) commit(count int) { o.drop(count - o.passed) }

func (o *openBad) drop(n int) {
	if n > 0 {
		o.lines, o.passed, o.changed = slices.Delete(o.lines, 0, n), o.passed+n, true
	}
}

// readAgain ends the search for lines of an earlier process, because the end of the log was reached.
func (o *openBad) readAgain() {
	if o.again != nil {
		o.again, o.changed = nil, true
	}
}

func newOpenBad(saved []byte) (o openBad) {
	for ; len(saved) >= 8; saved = saved[8:] {
		if o.again == nil {
			o.again = map[uint64]int{}
		}
		o.again[binary.LittleEndian.Uint64(saved)]++
	}
	return o
}

// encode returns the hashes as bytes, none if there are none.
func (o *openBad) encode() (data []byte) {
	for _, hash := range slices.Sorted(maps.Keys(o.again)) {
		for range o.again[hash] {
			data = binary.LittleEndian.AppendUint64(data, hash)
		}
	}
	for _, hash := range o.lines {
		data = binary.LittleEndian.AppendUint64(data, hash)
	}
	return data
}

// saveBad adds the hashes of bad lines that have changed to the batch.
func (p *Pipeline) saveBad(batch *modelstore.Batch) {
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		in := p.sources[name]
		if !in.bad.changed || p.stopped(in.cluster) {
			continue
		}
		in.bad.changed = false
		if data := in.bad.encode(); len(data) > 0 || in.badSaved {
			in.badSaved = len(data) > 0
			batch.Checkpoints = append(batch.Checkpoints, modelstore.Checkpoint{Source: badKey(name), Data: data})
		}
	}
}

// quarantine puts a line into the quarantine, unless an earlier process did. A polled scheduler has no checkpoints.
func (p *Pipeline) quarantine(d *source.Delivery, b *modelstore.BadLine, batch *modelstore.Batch) {
	b.At, b.Source = p.now(), d.Source.Name
	if d.Source.Polled || p.sources[d.Source.Name].bad.add(b) {
		batch.BadLines = append(batch.BadLines, *b)
	}
}
