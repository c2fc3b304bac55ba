package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

// problem is an error in the form of RFC 9457.
type problem struct{ wire.Problem }

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// describeProblems adds waitcast's own members to the schema of errors. It removes the schema's examples, which name
// other sites.
func describeProblems(doc *huma.OpenAPI) {
	schema := doc.Components.Schemas.Map()["ErrorModel"]
	if schema == nil {
		return
	}
	for _, p := range schema.Properties {
		p.Examples = nil
	}
	kind := schema.Properties["type"]
	kind.Default, kind.Description = nil, "Which kind of problem: "+wire.ProblemParameter+", "+wire.ProblemNoForecast+
		", or one that the status names, such as "+wire.ProblemType(http.StatusNotFound)+"."
	schema.Required = append(schema.Required, "type")
	schema.Properties["parameter"] = &huma.Schema{Type: huma.TypeString,
		Description: "The parameter, or the member of the body, that is wrong, where one is; the first of errors."}
	schema.Properties["reason"] = &huma.Schema{Type: huma.TypeString,
		Description: "Where no forecast is possible: the cause, as in cannot_say."}
	schema.Properties["hint"] = &huma.Schema{Type: huma.TypeString,
		Description: "What would help, where that is known."}
}

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// Refused is the error of an Admin function that refuses a request. The server answers with it.
type Refused struct {
	// Status is the HTTP status.
	Status int
	// Detail describes the cause. Hint describes what would help.
	Detail, Hint string
}

// Error implements error.
func (e *Refused) Error() string { return e.Detail }

func (e *Refused) problem() *problem {
	return &problem{wire.Problem{
		Type: wire.ProblemType(e.Status), Title: http.StatusText(e.Status), Status: e.Status, Detail: e.Detail,
		Hint: e.Hint,
	}}
}

// writeProblem answers with a problem.
func writeProblem(w http.ResponseWriter, p *problem) { access.WriteProblem(w, &p.Problem) }

// problemOf converts an error to a problem for the client, nil for a fault of the server.
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

// noForecastTitle is the title of problems of the type wire.ProblemNoForecast.
const noForecastTitle = "No forecast possible"

// refusalProblem converts the refusal of a use case to an HTTP problem.
func refusalProblem(r *ask.Refusal) *problem {
	status := http.StatusServiceUnavailable
	switch r.Kind {
	case ask.KindNotFound:
		status = http.StatusNotFound
	case ask.KindInvalid:
		status = http.StatusUnprocessableEntity
	}
	out := &problem{wire.Problem{
		Type: wire.ProblemType(status), Title: http.StatusText(status), Status: status, Detail: r.Detail,
		Parameter: r.Field, Reason: string(r.Reason), Hint: r.Hint,
	}}
	if r.Field != "" {
		out.Type = wire.ProblemParameter
	}
	if r.Reason != "" {
		out.Type, out.Title = wire.ProblemNoForecast, noForecastTitle
	}
	return out
}

// typedProblems adds the type and the name of the parameter to the problems of huma, as all other problems have them.
func typedProblems(_ huma.Context, _ string, v any) (any, error) {
	found, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	out := &wire.Problem{Type: wire.ProblemType(found.Status), Title: found.Title, Status: found.Status,
		Detail: found.Detail}
	for _, e := range found.Errors {
		out.Errors = append(out.Errors, wire.FieldError{Message: e.Message, Location: e.Location, Value: e.Value})
	}
	if len(out.Errors) > 0 && found.Status == http.StatusUnprocessableEntity {
		out.Type, out.Parameter = wire.ProblemParameter, parameterAt(out.Errors[0].Location)
	}
	return out, nil
}

// parameterAt returns the parameter at a location in huma's form: query.procs, body.sizes[1].
func parameterAt(location string) string {
	if _, name, ok := strings.Cut(location, "."); ok {
		return name
	}
	return location
}

// register adds an operation. Errors of its handler become problems if problemOf knows them; other errors stay as they
// are, and huma answers 500.
func register[I, O any](a huma.API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	huma.Register(a, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if p := problemOf(err); p != nil && !errors.As(err, new(huma.StatusError)) {
			return out, p
		}
		return out, err
	})
}
