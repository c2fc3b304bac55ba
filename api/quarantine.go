package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
)

type quarantineInput struct {
	Cluster string `query:"cluster" doc:"only lines of this cluster"`
	Reason  string `query:"reason" doc:"only lines of this reason, as in waitcast_bad_lines_total"`
	Limit   int    `query:"limit" default:"100" minimum:"1" maximum:"10000" doc:"maximum number of lines, the newest"`
}

type quarantineOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         wire.Quarantine
}

func (s *Server) registerQuarantine(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-quarantine", Method: http.MethodGet, Path: "/v1/quarantine", Security: adminOnly(),
		Middlewares: huma.Middlewares{s.adminOperation},
		Summary:     "Lines of the logs that could not be used",
		Errors:      []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusUnprocessableEntity},
	}, s.getQuarantine)
}

func (s *Server) getQuarantine(ctx context.Context, in *quarantineInput) (*quarantineOutput, error) {
	if in.Cluster != "" {
		if _, err := s.ask.View(in.Cluster); err != nil {
			return nil, err
		}
	}
	lines, err := s.opts.Admin.Quarantine(ctx, QuarantineQuery{Cluster: in.Cluster, Reason: in.Reason, Limit: in.Limit})
	if err != nil {
		return nil, fmt.Errorf("reading the quarantine: %w", err)
	}
	return &quarantineOutput{CacheControl: "no-store", Body: *lines}, nil
}
