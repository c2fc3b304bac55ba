package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type historyInput struct {
	Cluster string `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Queue   string `query:"queue" doc:"only this queue"`
	Since   string `query:"since" default:"30d" doc:"only jobs that started since: a time before the newest record (7d), or an instant (2026-03-02, 2026-03-02T13:00:00Z)"`
	Until   string `query:"until" doc:"only jobs that started before this time, written as in since"`
	Limit   int    `query:"limit" default:"200" minimum:"1" maximum:"10000" doc:"maximum number of entries"`
	Offset  int    `query:"offset" default:"0" minimum:"0" doc:"number of entries to skip at the beginning: next_offset of the previous answer"`

	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type historyOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.History
}

func (s *Server) registerHistory(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-history", Method: http.MethodGet, Path: "/v1/history",
		Summary: "How long jobs waited, by queue and day",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getHistory)
}

func (s *Server) getHistory(ctx context.Context, in *historyInput) (*historyOutput, error) {
	v, err := s.ask.ReadView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	q := HistoryQuery{Cluster: v.Cluster, Queue: in.Queue, Zone: v.Models.Zone()}
	if q.Since, q.Until, err = span(in.Since, in.Until, v.At); err != nil {
		return nil, err
	}
	tag := s.tag(ctx, false, v)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err // the client has this answer: the ledger need not be read
	}
	leave, err := s.enterLedger(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := s.opts.History(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	request := ask.HistoryRequest{Since: q.Since, Until: q.Until, Limit: in.Limit, Offset: in.Offset}
	return &historyOutput{ETag: tag, Body: s.ask.History(v, &request, found)}, nil
}
