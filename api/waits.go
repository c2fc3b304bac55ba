package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
)

type waitsInput struct{ Body wire.WaitsRequest }

type waitsOutput struct{ Body wire.Waits }

func (s *Server) registerWaits(a huma.API) {
	register(a, huma.Operation{
		OperationID: "post-wait", Method: http.MethodPost, Path: waitsPath,
		Summary:      "How long would the job wait with other sizes, time limits and queues?",
		MaxBodyBytes: -1, BodyReadTimeout: -1, // routes reads the body, and bounds both
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
			http.StatusServiceUnavailable},
	}, s.postWait)
}

func (s *Server) postWait(ctx context.Context, in *waitsInput) (*waitsOutput, error) {
	asks := &wire.SizeRequest{Places: in.Body.Places, User: in.Body.User, Account: in.Body.Account}
	if in.Body.Runtime != nil {
		asks.Runtime = *in.Body.Runtime
	}
	if err := s.maySize(ctx, asks); err != nil {
		return nil, err
	}
	body, err := s.ask.Waits(&in.Body, s.paceOf(ctx))
	if err != nil {
		return nil, err
	}
	return &waitsOutput{body}, nil
}
