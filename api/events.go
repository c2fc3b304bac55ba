package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

const (
	// heartbeat is the interval at which an idle stream sends a comment. Proxies close connections that are silent for
	// 30 s or more.
	heartbeat = 15 * time.Second
	// watchPatience is how long a client may take to read an event before it is disconnected.
	watchPatience = 10 * time.Second
	// watchRetry is the time after which a disconnected client should reconnect.
	watchRetry = 3 * time.Second
	// eventMedia is the type of server-sent events.
	eventMedia = "text/event-stream"
)

// streamEvents writes events until the client disconnects or stops reading, or the server ends.
func streamEvents[T any](ctx huma.Context, s *Server, events <-chan T, encode func(T) []byte) {
	ctx.SetHeader("Content-Type", eventMedia)
	ctx.SetHeader("Cache-Control", "no-store")
	ctx.SetHeader("X-Accel-Buffering", "no") // nginx would buffer events
	ctx.SetStatus(http.StatusOK)
	r, out := humago.Unwrap(ctx)
	if r.Method == http.MethodHead {
		return
	}
	control, flush := http.NewResponseController(out), flusher(out)
	write := func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(watchPatience)) // if this fails, slow clients are not dropped
		_, err := out.Write(text)
		if err == nil {
			err = flush()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.metrics.dropped.Inc()
		}
		// HTTP/2 ends a stream when its deadline passes, even if nothing is being written.
		_ = control.SetWriteDeadline(time.Time{})
		return err == nil
	}
	if !write(fmt.Appendf(nil, "retry: %d\n\n", watchRetry.Milliseconds())) {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var text []byte
		select {
		case <-r.Context().Done():
			return
		case <-s.closed:
			return
		case event := <-events:
			text = encode(event)
		case <-beat.C:
			text = []byte(":\n\n")
		}
		if !write(text) {
			return
		}
	}
}

// flusher returns the function that flushes the first writer, from the outermost inwards, that reports errors of
// flushing. The wrappers that count requests would hide such an error.
func flusher(w http.ResponseWriter) func() error {
	for inner := w; ; {
		if f, ok := inner.(interface{ FlushError() error }); ok {
			return f.FlushError
		}
		u, ok := inner.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return http.NewResponseController(w).Flush
		}
		inner = u.Unwrap()
	}
}

// eventText returns the text of a server-sent event. An event with an empty id has no id line. The JSON of data fits
// into one line, because it contains no line ends.
func eventText(id, name string, data any) []byte {
	body, err := json.Marshal(data)
	if err != nil { // cannot happen: all values are texts and finite numbers
		body = []byte("null")
	}
	var text []byte
	if id != "" {
		text = fmt.Appendf(text, "id: %s\n", id)
	}
	return fmt.Appendf(text, "event: %s\ndata: %s\n\n", name, body)
}
