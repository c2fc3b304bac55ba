package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type forecastInput struct {
	Cluster     string  `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Queue       string  `query:"queue" doc:"only this queue"`
	Hours       float64 `query:"hours" default:"168" minimum:"1" maximum:"100000" doc:"only horizons up to this number of hours"`
	IfNoneMatch string  `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type forecastOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except its ages"`
	Body wire.LoadForecast
}

func (s *Server) registerForecast(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-forecast", Method: http.MethodGet, Path: "/v1/forecast",
		Summary: "The forecast of the load for the next hours and days",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getForecast)
}

func (s *Server) getForecast(ctx context.Context, in *forecastInput) (*forecastOutput, error) {
	q, err := s.ask.Load(ask.LoadRequest{Cluster: in.Cluster, Queue: in.Queue, Hours: in.Hours})
	if err != nil {
		return nil, err
	}
	tag := s.loadTag(ctx, q.View, q.Outlook.Number)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	body, err := q.Answer()
	if err != nil {
		return nil, err
	}
	return &forecastOutput{ETag: tag, Body: body}, nil
}
