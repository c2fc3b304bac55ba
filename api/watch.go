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

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type watchInput struct {
	Request     string `query:"request" required:"true" maxLength:"32768" doc:"the question, as the body of POST /v1/size has it, in JSON"`
	LastEventID string `header:"Last-Event-ID" maxLength:"1024" doc:"id of the newest event that the client has: it stands until another advice is better by enough, and is not told again"`
}

// registerWatch does not use huma's own package sse: that begins to answer before anything can be refused, has numbers
// for ids, and no comments to keep a connection open with.
func (s *Server) registerWatch(a huma.API) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.SizeEvent](), true, "SizeEvent")
	register(a, huma.Operation{
		OperationID: "get-watch", Method: http.MethodGet, Path: watchPath,
		Summary: "Hear when the best size changes",
		Description: "Server-sent events: \"size\" with a SizeEvent when the advice changes, \"problem\" with an " +
			"error as JSON when none can be given any more. " +
			"The first comes at once. Comments keep the connection open.",
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
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
	if err := s.ask.FixTimes(req); err != nil {
		return nil, err
	}
	w, err := s.watchers.Join(req, in.LastEventID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer s.watchers.Leave(w)
		streamEvents(ctx, s, w.Updates(), encodeUpdate)
	}}, nil
}

// decodeWatched decodes the question of a client that watches.
func decodeWatched(text string) (*wire.SizeRequest, error) {
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

// encodeUpdate encodes an advice, or why there is none any more.
func encodeUpdate(u ask.SizeUpdate) []byte {
	if u.Err == nil {
		return eventText(u.ID, "size", u.Event)
	}
	if p := problemOf(u.Err); p != nil {
		return eventText("", "problem", p.Problem)
	}
	return eventText("", "problem", wire.Problem{
		Type: "about:blank", Title: http.StatusText(http.StatusInternalServerError),
		Status: http.StatusInternalServerError, Detail: "no advice can be given",
	})
}
