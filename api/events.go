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
	// heartbeat is how often a client that nothing is told to hears that it is still connected: proxies close what is
	// silent for 30 s or more.
	heartbeat = 15 * time.Second
	// watchPatience is how long a client may take to read an event before it is dropped.
	watchPatience = 10 * time.Second
	// watchRetry is after how long a client is told to come back that has lost its connection.
	watchRetry = 3 * time.Second
	// eventMedia is the type of server-sent events.
	eventMedia = "text/event-stream"
)

// streamEvents writes events until the client goes, stops reading, or the server ends.
func streamEvents[T any](ctx huma.Context, s *Server, events <-chan T, encode func(T) []byte) {
	ctx.SetHeader("Content-Type", eventMedia)
	ctx.SetHeader("Cache-Control", "no-store")
	ctx.SetHeader("X-Accel-Buffering", "no") // nginx would keep events back
	ctx.SetStatus(http.StatusOK)
	r, out := humago.Unwrap(ctx)
	if r.Method == http.MethodHead {
		return
	}
	control, flush := http.NewResponseController(out), flusher(out)
	write := func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(watchPatience)) // where it is not known nobody can be dropped
		_, err := out.Write(text)
		if err == nil {
			err = flush()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.metrics.dropped.Inc()
		}
		// HTTP/2 ends a stream whose deadline passes, also while nothing is written
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

// flusher returns what sends a writer's buffer off. The writers that count requests would keep its error to themselves.
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

// eventText writes an event. Its data has no line ends, as it is JSON.
func eventText(id, name string, data any) []byte {
	body, err := json.Marshal(data)
	if err != nil { // it is strings and finite numbers
		body = []byte("null")
	}
	var text []byte
	if id != "" {
		text = fmt.Appendf(text, "id: %s\n", id)
	}
	return fmt.Appendf(text, "event: %s\ndata: %s\n\n", name, body)
}
