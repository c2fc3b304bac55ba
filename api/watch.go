package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/predictor/advice"
)

const (
	watchPath = "/v1/watch"
	// heartbeat is how often a client that nothing is told to hears that it is still connected: proxies close what is silent for 30 s or more.
	heartbeat = 15 * time.Second
	// watchPatience is how long a client may take to read an event before it is dropped.
	watchPatience = 10 * time.Second
	// watchRetry is after how long a client is told to come back that has lost its connection.
	watchRetry = 3 * time.Second
	// eventMedia is the type of server-sent events.
	eventMedia = "text/event-stream"
)

type watchInput struct {
	Request     string `query:"request" required:"true" maxLength:"32768" doc:"the question, as the body of POST /v1/size has it, in JSON"`
	LastEventID string `header:"Last-Event-ID" maxLength:"1024" doc:"id of the newest event that the client has: it stands until another advice is better by enough, and is not told again"`
}

// registerWatch does not use huma's own package sse: that begins to answer before anything can be refused, has numbers for ids, and no comments to keep a
// connection open with.
func (s *Server) registerWatch(a huma.API) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.SizeEvent](), true, "SizeEvent")
	huma.Register(a, huma.Operation{
		OperationID: "get-watch", Method: http.MethodGet, Path: watchPath,
		Summary: "Hear when the best size changes",
		Description: "Server-sent events: \"size\" with a SizeEvent when the advice changes, \"problem\" with an error as JSON when none can be given any more. " +
			"The first comes at once. Comments keep the connection open.",
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			eventMedia: {Schema: &huma.Schema{Type: huma.TypeArray, Items: schema}},
		}}},
	}, s.getWatch)
}

func (s *Server) getWatch(ctx context.Context, in *watchInput) (*huma.StreamResponse, error) {
	req, err := s.watched(ctx, in.Request)
	if err != nil {
		return nil, err
	}
	w, err := s.watchers.join(req, in.LastEventID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer s.watchers.remove(w)
		s.streamEvents(ctx, w.events)
	}}, nil
}

// watched reads a question that will be asked again and again: times from now become instants.
func (s *Server) watched(ctx context.Context, text string) (*wire.SizeRequest, error) {
	var req wire.SizeRequest
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return nil, unprocessable("request", "it must be the JSON of POST /v1/size: "+err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, unprocessable("request", "something comes after its JSON")
	}
	if err := s.maySize(ctx, &req); err != nil {
		return nil, err
	}
	q, err := s.newSizeQuery(&req)
	if err != nil {
		return nil, err
	}
	if req.Objective.Deadline != "" {
		at := q.now.Add(fromSeconds(q.objective.Deadline))
		req.Objective.Deadline = at.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	if r := req.Running; r != nil && r.RemainingSeconds > 0 && r.At == nil {
		at := q.now.UTC().Truncate(time.Second)
		r.At = &at
	}
	return &req, nil
}

// streamEvents writes events until the client goes, stops reading, or the server ends.
func (s *Server) streamEvents(ctx huma.Context, events <-chan []byte) {
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
			s.watchers.dropped.Inc()
		}
		_ = control.SetWriteDeadline(time.Time{}) // HTTP/2 ends a stream whose deadline passes, also while nothing is written
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
		case text = <-events:
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

// eventID tells the advice that stands: whoever has heard it can come back with it to any daemon.
func eventID(s advice.Standing) string {
	return strconv.FormatInt(int64(math.Round(s.Since*1000)), 36) + "." + base64.RawURLEncoding.EncodeToString([]byte(s.Name))
}

// parseEventID reads an event's id; it returns false for a text that is none.
func parseEventID(id string) (advice.Standing, bool) {
	since, name, ok := strings.Cut(id, ".")
	ms, err := strconv.ParseInt(since, 36, 64)
	decoded, bad := base64.RawURLEncoding.DecodeString(name)
	if !ok || err != nil || bad != nil || ms < 0 || len(decoded) == 0 {
		return advice.Standing{}, false
	}
	return advice.Standing{Name: string(decoded), Since: float64(ms) / 1000}, true
}
