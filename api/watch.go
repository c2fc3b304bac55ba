package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type watchInput struct {
	Request     string `query:"request" required:"true" maxLength:"32768" doc:"the body of POST /v1/size, as JSON"`
	LastEventID string `header:"Last-Event-ID" maxLength:"1024" doc:"id of the newest event that the client has: its advice is kept until another one is sufficiently better, and is not sent again"`
}

// registerWatch adds the operation GET /v1/watch. It does not use huma's package sse. That package begins the answer
// before a request can be refused, has only numeric ids, and cannot send the comments that keep a connection open.
func (s *Server) registerWatch(a huma.API) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.SizeEvent](), true, "SizeEvent")
	register(a, huma.Operation{
		OperationID: "get-watch", Method: http.MethodGet, Path: watchPath,
		Summary: "Server-sent events when the best size changes",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			eventMedia: {Schema: &huma.Schema{Type: huma.TypeArray, Items: schema}},
		}}},
	}, s.getWatch)
}

func (s *Server) getWatch(ctx context.Context, in *watchInput) (*huma.StreamResponse, error) {
	req, err := decodeWatched(in.Request)
	if err != nil {
		return nil, err
	}
	if err := s.maySize(ctx, req); err != nil {
		return nil, err
	}
	w, err := s.join(ctx, req, in.LastEventID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer s.watchers.Leave(w)
		streamEvents(ctx, s, w.Updates(), encodeUpdate)
	}}, nil
}

// join adds a watching client. It waits for a slot first, because the first evaluation is as expensive as POST
// /v1/size.
func (s *Server) join(ctx context.Context, req *wire.SizeRequest, lastID string) (*ask.Watcher, error) {
	slot, p, retry := s.guard.Enter(ctx, access.Of(ctx), 1, 1)
	if p != nil {
		return nil, s.refusal(p, retry)
	}
	defer slot.End()
	if err := s.ask.FixTimes(req); err != nil {
		return nil, err
	}
	return s.watchers.Join(req, lastID, &pace{ctx, s, slot})
}

// decodeWatched decodes the request of a watching client.
func decodeWatched(text string) (*wire.SizeRequest, error) {
	if name := duplicateMember([]byte(text)); name != "" {
		return nil, ask.Invalid("request", name+": "+givenTwice)
	}
	var req wire.SizeRequest
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return nil, ask.Invalid("request", "it must be the JSON of POST /v1/size: "+err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, ask.Invalid("request", "something comes after its JSON")
	}
	return &req, nil
}

// encodeUpdate encodes an update: advice, or the reason why there is none any more.
func encodeUpdate(u ask.SizeUpdate) []byte {
	if u.Err == nil {
		return eventText(u.ID, "size", u.Event)
	}
	if p := problemOf(u.Err); p != nil {
		return eventText("", "problem", p.Problem)
	}
	return eventText("", "problem", wire.Problem{
		Type: wire.ProblemType(http.StatusInternalServerError), Title: http.StatusText(http.StatusInternalServerError),
		Status: http.StatusInternalServerError, Detail: "no advice can be given",
	})
}
