package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
)

type curvesOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.LifetimeCurves
}

func (s *Server) registerCurves(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-lifetimes", Method: http.MethodGet, Path: "/v1/models/{queue}/lifetimes",
		Summary: "The observed lifetimes of a queue's jobs, and the laws fitted to them",
		Errors:  []int{http.StatusNotFound},
	}, s.getCurves)
}

func (s *Server) getCurves(ctx context.Context, in *modelInput) (*curvesOutput, error) {
	v, tag, err := s.findModel(ctx, in)
	if err != nil {
		return nil, err
	}
	return &curvesOutput{ETag: tag, Body: s.ask.Curves(v, in.Queue)}, nil
}
