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
	// changeSpace is the minimum time between two events to a client. A busy cluster publishes more views in a second
	// than anybody can read.
	changeSpace = time.Second
)

type changesInput struct {
	Cluster string `query:"cluster" doc:"only this cluster"`
}

func (s *Server) registerChanges(a huma.API) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.Change](), true, "Change")
	register(a, huma.Operation{
		OperationID: "get-changes", Method: http.MethodGet, Path: changesPath,
		Summary: "Server-sent events when there is new data",
		Errors:  []int{http.StatusNotFound, http.StatusServiceUnavailable},
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

// sendChanges sends an event when views, their staleness or the conditions have changed, until the context ends. At
// least changeSpace passes between two events. A new event replaces one that the client has not read yet.
func (s *Server) sendChanges(ctx context.Context, cluster string, events chan wire.Change) {
	beat := time.NewTicker(ask.StaleCheck) // a view can become stale while no new view is published
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
			events <- change // this goroutine is the only sender
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

// change returns a text that changes when the views of the cluster or the conditions change, and the event that
// describes these views. An empty cluster means all clusters.
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
