package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type forecastInput struct {
	Cluster     string  `query:"cluster" doc:"cluster; may be left out where there is only one"`
	Queue       string  `query:"queue" doc:"only this queue"`
	Hours       float64 `query:"hours" default:"168" minimum:"1" maximum:"100000" doc:"only horizons up to so many hours"`
	IfNoneMatch string  `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type forecastOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, its ages aside"`
	Body wire.LoadForecast
}

func (s *Server) registerForecast(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-forecast", Method: http.MethodGet, Path: "/v1/forecast",
		Summary: "What do the next hours and days bring?",
		Description: "Queued work, queue length, utilization, arrivals and the waits of standard jobs from an hour " +
			"to a week ahead, as quantiles, for the cluster and each queue, " +
			"and how such forecasts turned out.",
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getForecast)
}

func (s *Server) getForecast(ctx context.Context, in *forecastInput) (*forecastOutput, error) {
	q, err := s.ask.Load(ask.LoadRequest{Cluster: in.Cluster, Queue: in.Queue, Hours: in.Hours})
	if err != nil {
		return nil, err
	}
	tag := strings.TrimSuffix(s.tag(ctx, false, q.View), `"`) + fmt.Sprintf(`-f%d"`, q.Outlook.Number)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	body, err := q.Answer()
	if err != nil {
		return nil, err
	}
	return &forecastOutput{ETag: tag, Body: body}, nil
}
