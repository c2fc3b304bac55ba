package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

// whenPath is the path of a request for which futures are simulated.
const whenPath = "/v1/when"

type whenInput struct {
	Cluster     string `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Queue       string `query:"queue" doc:"queue; may be left out if there is only one"`
	Procs       int    `query:"procs" minimum:"1" doc:"requested processors, at least 1; if left out, the parameter nodes is used"`
	Nodes       int    `query:"nodes" minimum:"0" doc:"requested nodes"`
	TimeLimit   string `query:"time_limit" doc:"requested wall-clock time: 90m, 2:00:00, 1-12:00, seconds; by default a week"`
	Hours       int    `query:"hours" default:"48" minimum:"1" maximum:"168" doc:"number of full hours from now on"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type whenOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except its ages"`
	Body wire.When
}

func (s *Server) registerWhen(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-when", Method: http.MethodGet, Path: whenPath,
		Summary: "How long would a job wait, by the hour of its submission?",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getWhen)
}

func (s *Server) getWhen(ctx context.Context, in *whenInput) (*whenOutput, error) {
	q, err := s.ask.When(ask.WhenRequest{Hours: in.Hours, Wait: ask.WaitRequest{Cluster: in.Cluster, Queue: in.Queue,
		Procs: in.Procs, Nodes: in.Nodes, TimeLimit: in.TimeLimit}})
	if err != nil {
		return nil, err
	}
	tag := s.loadTag(ctx, q.View, q.Outlook.Number)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	body, err := q.Answer(ctx, s.paceOf(ctx))
	if err != nil {
		return nil, err
	}
	return &whenOutput{ETag: tag, Body: body}, nil
}
