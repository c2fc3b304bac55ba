package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

const (
	// changeSpace is how far apart two events of a client are at least: a busy cluster publishes many views a second,
	// and nobody reads faster.
	changeSpace = time.Second
)

type changesInput struct {
	Cluster string `query:"cluster" doc:"only this cluster"`
}

func (s *Server) registerChanges(a huma.API) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.Change](), true, "Change")
	register(a, huma.Operation{
		OperationID: "get-changes", Method: http.MethodGet, Path: changesPath,
		Summary: "Hear when there is something new to ask for",
		Description: "Server-sent events: \"change\" with a Change when another picture of a cluster is published, " +
			"or becomes stale, or when the conditions of /readyz change, at most once a second. The first comes at " +
			"once. Comments keep the connection open.",
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			eventMedia: {Schema: &huma.Schema{Type: huma.TypeArray, Items: schema}},
		}}},
	}, s.getChanges)
}

func (s *Server) getChanges(_ context.Context, in *changesInput) (*huma.StreamResponse, error) {
	if in.Cluster != "" {
		if _, err := s.ask.View(in.Cluster); err != nil {
			return nil, err
		}
	}
	select {
	case s.listening <- struct{}{}:
	default:
		return nil, ask.Unavailable(fmt.Sprintf("%d clients listen already", cap(s.listening)),
			"come back later, or ask now and then")
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer func() { <-s.listening }()
		var telling sync.WaitGroup
		defer telling.Wait()
		until, end := context.WithCancel(ctx.Context())
		defer end()
		events := make(chan wire.Change, 1)
		telling.Go(func() { s.sendChanges(until, in.Cluster, events) })
		streamEvents(ctx, s, events, func(c wire.Change) []byte { return eventText("", "change", c) })
	}}, nil
}

// sendChanges sends an event for every new picture until the context ends. One that has not been read yet is replaced.
func (s *Server) sendChanges(ctx context.Context, cluster string, events chan wire.Change) {
	beat := time.NewTicker(ask.StaleCheck) // data become stale without a new view
	defer beat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		published := s.views.Published()
		if now, change := s.change(ctx, cluster); now != told {
			told = now
			select {
			case <-events:
			default:
			}
			events <- change // nobody else sends
		}
		select {
		case <-ctx.Done():
			return
		case <-published:
		case <-beat.C:
		}
		pause.Reset(changeSpace)
	}
}

// change describes the pictures as they are, with a text that is another one when they are.
func (s *Server) change(ctx context.Context, cluster string) (string, wire.Change) {
	views := s.views.Views()
	out := wire.Change{Clusters: []wire.ClusterChange{}}
	var told []*readmodel.View
	for _, v := range views {
		if cluster == "" || v.Cluster == cluster {
			_, age, stale := s.ask.AsOf(v)
			told = append(told, v)
			out.Clusters = append(out.Clusters,
				wire.ClusterChange{Cluster: v.Cluster, AsOf: s.ask.AsOfInstant(v), AgeSeconds: age, Stale: stale})
		}
	}
	text := s.tag(ctx, false, told...)
	for _, c := range s.views.Conditions() {
		text += "\n" + c.String()
	}
	return text, out
}
