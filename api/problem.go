package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// problem is an error as RFC 9457 has it.
type problem struct{ wire.Problem }

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// noForecast says why no forecast is possible and what would help.
func noForecast(status int, reason headqueue.Reason, detail, hint string) *problem {
	return &problem{wire.Problem{
		Type: wire.ProblemNoForecast, Title: "No forecast possible", Status: status,
		Detail: detail, Reason: string(reason), Hint: hint,
	}}
}

// forecastProblem turns a predictor's error into a problem.
func forecastProblem(err error) error {
	var cannot *headqueue.CannotSay
	if !errors.As(err, &cannot) {
		return err
	}
	status := http.StatusServiceUnavailable // it may be possible later
	switch cannot.Reason {
	case headqueue.LargerThanMachine, predictor.ReasonUnknownSize:
		status = http.StatusUnprocessableEntity
	}
	return noForecast(status, cannot.Reason, cannot.Detail, cannot.Hint)
}

func unknownQueue(v *pipeline.View, queue string) *problem {
	hint := "no job of any queue has been seen yet"
	if names := v.Queues(); len(names) > 0 {
		hint = "known queues: " + strings.Join(names, ", ")
	}
	return noForecast(http.StatusNotFound, predictor.ReasonUnknownQueue,
		fmt.Sprintf("cluster %s has no queue %q", v.Cluster, queue), hint)
}

func notFound(detail string) *problem {
	return &problem{wire.Problem{
		Type: "about:blank", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Detail: detail,
	}}
}

func unprocessable(field, detail string) *problem {
	return &problem{wire.Problem{
		Type: "about:blank", Title: http.StatusText(http.StatusUnprocessableEntity),
		Status: http.StatusUnprocessableEntity, Detail: field + ": " + detail,
	}}
}
