package daemon

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// maxHeaderFrames is the maximum number of frames for the headers of one request. Clients fill their frames, which have
// room for 16 KiB.
const maxHeaderFrames = 32

var errHeaderFrames = errors.New("the headers of a request come in too many frames")

// limitHTTP2 makes the server end connections over HTTP/2 whose headers come too slowly or in too many frames. net/http
// has no deadline for these.
func limitHTTP2(s *http.Server) error {
	h2 := &http2.Server{}                                //nolint:staticcheck // net/http lets nobody see the frames
	if err := http2.ConfigureServer(s, h2); err != nil { //nolint:staticcheck // see above
		return err
	}
	s.TLSNextProto[http2.NextProtoTLS] = func(hs *http.Server, c *tls.Conn, h http.Handler) {
		opts := &http2.ServeConnOpts{Handler: h, BaseConfig: hs} //nolint:staticcheck // see above
		if base, ok := h.(interface{ BaseContext() context.Context }); ok {
			opts.Context = base.BaseContext()
		}
		h2.ServeConn(newHeaderDeadline(c), opts) //nolint:staticcheck // see above
	}
	return nil
}

// headerDeadline is a connection over HTTP/2. A frame of headers must be complete, with all frames that continue it,
// within headerTimeout after its first byte (RFC 9113, sections 4.1, 6.2 and 6.10).
type headerDeadline struct {
	*tls.Conn
	skip   int       // bytes before the next head of a frame
	head   [9]byte   // of a frame
	filled int       // bytes of head that have been read
	began  time.Time // when the present headers, or a frame of unknown type, began; zero between them
	frames int       // frames of the present headers
	ends   bool      // the present frame is the last one of its headers
	armed  bool      // the deadline of the connection is set
}

func newHeaderDeadline(c *tls.Conn) *headerDeadline {
	return &headerDeadline{Conn: c, skip: len(http2.ClientPreface)}
}

// Read implements net.Conn. The server calls it from one goroutine.
func (c *headerDeadline) Read(p []byte) (int, error) {
	var deadline time.Time
	if !c.began.IsZero() {
		deadline = c.began.Add(headerTimeout)
	}
	if c.armed || !deadline.IsZero() { // the first deadline of a connection is that of net/http
		if err := c.SetReadDeadline(deadline); err != nil {
			return 0, err
		}
		c.armed = !deadline.IsZero()
	}
	n, err := c.Conn.Read(p)
	c.scan(p[:n], time.Now())
	if c.frames > maxHeaderFrames {
		return 0, errHeaderFrames
	}
	return n, err
}

// scan follows the frames in the bytes that were read.
func (c *headerDeadline) scan(p []byte, now time.Time) {
	for len(p) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(p))
			c.skip, p = c.skip-n, p[n:]
		} else {
			if c.began.IsZero() {
				c.began = now
			}
			n := copy(c.head[c.filled:], p)
			c.filled, p = c.filled+n, p[n:]
			if c.filled < len(c.head) {
				return
			}
			c.frame()
		}
		if c.skip == 0 && c.ends {
			c.began, c.frames, c.ends = time.Time{}, 0, false
		}
	}
}

// frame reads the head of a frame.
func (c *headerDeadline) frame() {
	c.filled = 0
	c.skip = int(binary.BigEndian.Uint32(c.head[:]) >> 8)
	switch http2.FrameType(c.head[3]) {
	case http2.FrameHeaders, http2.FrameContinuation:
		c.frames++
		c.ends = http2.Flags(c.head[4]).Has(http2.FlagHeadersEndHeaders)
	default:
		if c.frames == 0 { // no headers are open
			c.began = time.Time{}
		}
	}
}
