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
		OperationID: "post-wait", Method: http.MethodPost, Path: "/v1/wait",
		Summary: "How long would the job wait with other sizes, time limits and queues?",
		Description: "Every combination with the distribution of its wait, ranked by the median start, or by the " +
			"median finish where a runtime is given.",
		MaxBodyBytes: -1, // routes bounds it
		Errors:       []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.postWait)
}

func (s *Server) postWait(ctx context.Context, in *waitsInput) (*waitsOutput, error) {
	done, err := s.waitForSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	asks := &wire.SizeRequest{User: in.Body.User, Account: in.Body.Account}
	if in.Body.Runtime != nil {
		asks.Runtime = *in.Body.Runtime
	}
	if err := s.maySize(ctx, asks); err != nil {
		return nil, err
	}
	body, err := s.ask.Waits(&in.Body)
	if err != nil {
		return nil, err
	}
	return &waitsOutput{body}, nil
}
