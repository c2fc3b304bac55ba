package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
)

type sizeInput struct{ Body wire.SizeRequest }

type sizeOutput struct{ Body wire.Size }

func (s *Server) registerSize(a huma.API) {
	register(a, huma.Operation{
		OperationID: "post-size", Method: http.MethodPost, Path: sizePath,
		Summary:      "Which size, in which queue, finishes soonest?",
		MaxBodyBytes: -1, BodyReadTimeout: -1, // routes reads the body, and bounds both
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
			http.StatusServiceUnavailable},
	}, s.postSize)
}

func (s *Server) postSize(ctx context.Context, in *sizeInput) (*sizeOutput, error) {
	if err := s.maySize(ctx, &in.Body); err != nil {
		return nil, err
	}
	body, err := s.ask.Size(&in.Body, s.paceOf(ctx))
	if err != nil {
		return nil, err
	}
	return &sizeOutput{body}, nil
}
