package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

// problem is an error as RFC 9457 has it.
type problem struct{ wire.Problem }

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// describeProblems adds waitcast's own members to the schema of errors, and takes out its examples, which name foreign
// sites.
func describeProblems(doc *huma.OpenAPI) {
	schema := doc.Components.Schemas.Map()["ErrorModel"]
	if schema == nil {
		return
	}
	for _, p := range schema.Properties {
		p.Examples = nil
	}
	schema.Properties["reason"] = &huma.Schema{Type: huma.TypeString,
		Description: "Where no forecast is possible: the cause, as in cannot_say."}
	schema.Properties["hint"] = &huma.Schema{Type: huma.TypeString,
		Description: "What would help, where that is known."}
}

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// Refused is an error by which a function of Admin says that it cannot do what was asked: it becomes the answer.
type Refused struct {
	// Status is that of HTTP.
	Status int
	// Detail is the cause, Hint what would help; in words.
	Detail, Hint string
}

// Error implements error.
func (e *Refused) Error() string { return e.Detail }

func (e *Refused) problem() *problem {
	return &problem{wire.Problem{
		Type: "about:blank", Title: http.StatusText(e.Status), Status: e.Status, Detail: e.Detail, Hint: e.Hint,
	}}
}

// writeProblem answers with a problem.
func writeProblem(w http.ResponseWriter, p *problem) { access.WriteProblem(w, &p.Problem) }

// problemOf returns the problem that an error is for the client, nil for a fault of the server.
func problemOf(err error) *problem {
	var known *problem
	var refused *Refused
	var refusal *ask.Refusal
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		return refused.problem()
	case errors.As(err, &refusal):
		return refusalProblem(refusal)
	}
	return nil
}

// refusalProblem returns the refusal of a use case as HTTP has it.
func refusalProblem(r *ask.Refusal) *problem {
	status := http.StatusServiceUnavailable
	switch r.Kind {
	case ask.KindNotFound:
		status = http.StatusNotFound
	case ask.KindInvalid:
		status = http.StatusUnprocessableEntity
	}
	out := &problem{wire.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: r.Detail, Reason: string(r.Reason),
		Hint: r.Hint,
	}}
	if r.Reason != "" {
		out.Type, out.Title = wire.ProblemNoForecast, "No forecast possible"
	}
	return out
}

// register adds an operation. The errors of its handler become problems.
func register[I, O any](a huma.API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	huma.Register(a, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if p := problemOf(err); p != nil && !errors.As(err, new(huma.StatusError)) {
			return out, p
		}
		return out, err
	})
}
