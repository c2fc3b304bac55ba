package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type nowInput struct {
	Cluster     string `query:"cluster" doc:"only this cluster"`
	Queue       string `query:"queue" doc:"only this queue"`
	User        string `query:"user" doc:"user who would submit the job, as in GET /v1/wait"`
	Account     string `query:"account" doc:"account that would be charged, as in GET /v1/wait"`
	QOS         string `query:"qos" doc:"quality of service, as in GET /v1/wait"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type nowOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.Now
}

func (s *Server) registerNow(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-now", Method: http.MethodGet, Path: "/v1/now",
		Summary: "Which jobs would start at once?",
		Errors:  []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, s.getNow)
}

func (s *Server) getNow(ctx context.Context, in *nowInput) (*nowOutput, error) {
	if err := s.mayAskAs(ctx, in.Cluster, in.User, in.Account); err != nil {
		return nil, err
	}
	q, err := s.ask.Now(ask.NowRequest{Cluster: in.Cluster, Queue: in.Queue, User: in.User, Account: in.Account,
		QOS: in.QOS})
	if err != nil {
		return nil, err
	}
	tag := s.tag(ctx, true, q.Views...)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	body, err := q.Answer()
	if err != nil {
		return nil, err
	}
	return &nowOutput{ETag: tag, Body: body}, nil
}
