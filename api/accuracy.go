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
	Cluster string `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Queue   string `query:"queue" doc:"only this queue"`
	Size    string `query:"size_class" enum:"1,2-8,9-64,65-512,513-4096,4097+" doc:"only this size class, in processors"`
	Made    string `query:"made" enum:"live,replayed" doc:"only forecasts made as it happened (live), or afterwards (replayed)"`
	Since   string `query:"since" default:"30d" doc:"start of the period: coverage counts jobs submitted since, losses jobs whose wait ended since. A time before the newest record (7d), or an instant (2026-03-02, 2026-03-02T13:00:00Z)"`
	Until   string `query:"until" doc:"end of the period: losses count jobs before it, and coverage is as of this instant"`
	Limit   int    `query:"limit" default:"150" minimum:"1" maximum:"10000" doc:"maximum number of groups"`
	Offset  int    `query:"offset" default:"0" minimum:"0" doc:"number of groups to skip at the beginning: next_offset of the previous answer"`

	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type accuracyOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.Accuracy
}

func (s *Server) registerAccuracy(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-accuracy", Method: http.MethodGet, Path: "/v1/accuracy",
		Summary: "The accuracy of the forecasts, and of other methods on the same jobs",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getAccuracy)
}

func (s *Server) getAccuracy(ctx context.Context, in *accuracyInput) (*accuracyOutput, error) {
	v, err := s.ask.ReadView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	q := AccuracyQuery{Cluster: v.Cluster, Queue: in.Queue}
	q.AsOf, q.Seq = s.ask.AsOfInstant(v), v.Seq
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
	found, err := s.opts.Accuracy(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	return &accuracyOutput{ETag: tag, Body: s.ask.Accuracy(v, &ask.AccuracyRequest{
		Queue: in.Queue, SizeClass: in.Size, Made: in.Made, Since: q.Since, Until: q.Until, Limit: in.Limit,
		Offset: in.Offset,
	}, found)}, nil
}

// enterLedger waits until no other request reads the ledger, or returns the error of ctx. The caller must call leave
// when it has read the ledger, so that the next request may.
func (s *Server) enterLedger(ctx context.Context) (leave func(), err error) {
	select {
	case s.counting <- struct{}{}:
		return func() { <-s.counting }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// span parses the texts of the parameters since and until. newest is the time of the newest record. If the text of
// until is empty, the returned end is the zero time, which means no bound.
func span(from, to string, newest time.Time) (begin, end time.Time, err error) {
	if begin, err = since(from, newest); err != nil {
		return begin, end, ask.Invalid("since", err.Error())
	}
	if to != "" {
		if end, err = since(to, newest); err != nil {
			return begin, end, ask.Invalid("until", err.Error())
		}
	}
	return begin, end, nil
}

// since returns the instant that a text names: an instant (RFC 3339), a date (0:00 UTC), or a duration, which is
// subtracted from newest.
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
