package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

type queuesInput struct {
	Cluster     string `query:"cluster" doc:"only this cluster"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type queuesOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.Queues
}

func (s *Server) registerQueues(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-queues", Method: http.MethodGet, Path: "/v1/queues",
		Summary: "The queues with their jobs, and the fits of their lifetimes",
		Errors:  []int{http.StatusNotFound},
	}, s.getQueues)
}

func (s *Server) getQueues(ctx context.Context, in *queuesInput) (*queuesOutput, error) {
	views := s.views.Views()
	if in.Cluster != "" {
		v, err := s.ask.View(in.Cluster)
		if err != nil {
			return nil, err
		}
		views = []*readmodel.View{v}
	}
	tag := s.tag(ctx, false, views...)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	return &queuesOutput{ETag: tag, Body: s.ask.Queues(views)}, nil
}
