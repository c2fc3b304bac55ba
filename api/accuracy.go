package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
)

type accuracyInput struct {
	Cluster string `query:"cluster" doc:"cluster; may be left out where there is only one"`
	Queue   string `query:"queue" doc:"only this queue"`
	Size    string `query:"size_class" enum:"1,2-8,9-64,65-512,513-4096,4097+" doc:"only this size class"`
	Made    string `query:"made" enum:"live,replayed" doc:"only forecasts made as it happened, or after the fact"`
	Since   string `query:"since" default:"30d" doc:"coverage: only jobs submitted since; losses: only jobs whose wait ended since: a time before the newest record (7d), or an instant (2026-03-02, 2026-03-02T13:00:00Z)"`
	Until   string `query:"until" doc:"losses: and before; coverage is as of this instant"`
	Limit   int    `query:"limit" default:"200" minimum:"1" maximum:"10000" doc:"at most so many groups"`
	Offset  int    `query:"offset" default:"0" minimum:"0" doc:"leave out so many groups at the beginning: next_offset of the answer before"`

	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type accuracyOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.Accuracy
}

func (s *Server) registerAccuracy(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-accuracy", Method: http.MethodGet, Path: "/v1/accuracy",
		Summary: "Forecasts against facts",
		Description: "How the forecasts turned out that were made for every job at its submission, beside other " +
			"methods on the same jobs. Coverage is over all submissions whose quantile has passed, jobs that still " +
			"wait included. The ledger is read for it, by one request at a time.",
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getAccuracy)
}

func (s *Server) getAccuracy(ctx context.Context, in *accuracyInput) (*accuracyOutput, error) {
	v, err := s.ask.ReadView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	q := AccuracyQuery{Cluster: v.Cluster, Queue: in.Queue}
	q.AsOf, q.Seq = s.ask.AsOfInstant(v), v.Seq
	if q.Since, err = since(in.Since, v.At); err != nil {
		return nil, ask.Invalid("since", err.Error())
	}
	if in.Until != "" {
		if q.Until, err = since(in.Until, v.At); err != nil {
			return nil, ask.Invalid("until", err.Error())
		}
	}
	tag := s.tag(ctx, false, v)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err // before the ledger is read
	}
	select {
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found, err := s.opts.Accuracy(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	return &accuracyOutput{ETag: tag, Body: s.ask.Accuracy(v, &ask.AccuracyRequest{
		Queue: in.Queue, SizeClass: in.Size, Made: in.Made, Since: q.Since, Until: q.Until, Limit: in.Limit,
		Offset: in.Offset,
	}, found)}, nil
}

// since reads an instant, or a time before the newest record.
func since(text string, newest time.Time) (time.Time, error) {
	for _, layout := range [...]string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	d, err := duration.Parse(text)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("%q is neither an instant (2026-03-02, 2026-03-02T13:00:00Z) nor a time (%s)",
			text, duration.Allowed)
	}
	return newest.Add(-d), nil
}
