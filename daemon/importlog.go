package daemon

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/waitcast/waitcast/collector/tail"
)

// importLineBytes is the longest line of an imported log, as of one that is followed.
const importLineBytes = tail.DefaultMaxLine

// countingReader reads until a context ends, and counts the bytes.
type countingReader struct {
	ctx   context.Context
	from  io.Reader
	bytes *atomic.Int64
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.from.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}
