package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

type modelInput struct {
	Queue       string `path:"queue" doc:"the name of the queue"`
	Cluster     string `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type modelOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.Models
}

func (s *Server) registerModel(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-model", Method: http.MethodGet, Path: "/v1/models/{queue}",
		Summary: "The models of one queue: laws of lifetimes, Lublin and Feitelson's model, Markov chains, users",
		Errors:  []int{http.StatusNotFound},
	}, s.getModel)
}

func (s *Server) getModel(ctx context.Context, in *modelInput) (*modelOutput, error) {
	v, tag, err := s.findModel(ctx, in)
	if err != nil {
		return nil, err
	}
	return &modelOutput{ETag: tag, Body: s.ask.Models(v, in.Queue)}, nil
}

// findModel returns the view with the models of the requested queue, and the tag of the answer. If the jobs of the
// queue are counted under another queue, it replaces in.Queue by that name. If the client has the answer already,
// findModel returns the error for status 304.
func (s *Server) findModel(ctx context.Context, in *modelInput) (v *readmodel.View, tag string, err error) {
	if v, err = s.ask.View(in.Cluster); err != nil {
		return nil, "", err
	}
	if err := ask.FindQueue(v, &in.Queue); err != nil {
		return nil, "", err
	}
	tag = s.tag(ctx, false, v)
	return v, tag, unchanged(in.IfNoneMatch, tag)
}
