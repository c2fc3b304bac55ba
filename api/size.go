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
		OperationID: "post-size", Method: http.MethodPost, Path: "/v1/size",
		Summary: "Which size, in which queue, finishes soonest?",
		Description: "Each candidate with the distributions of its wait, its runtime and its finish, the best first; " +
			"for a malleable job that runs, " +
			"whether it had better expand, keep its size or shrink.",
		MaxBodyBytes: -1, // routes bounds it
		Errors:       []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.postSize)
}

func (s *Server) postSize(ctx context.Context, in *sizeInput) (*sizeOutput, error) {
	done, err := s.waitForSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.maySize(ctx, &in.Body); err != nil {
		return nil, err
	}
	body, err := s.ask.Size(&in.Body)
	if err != nil {
		return nil, err
	}
	return &sizeOutput{body}, nil
}
