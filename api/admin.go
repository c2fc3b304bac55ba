package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
)

// Admin is what only an administrator may ask for: those who know the token.
type Admin struct {
	// Token is what a request must carry as "Authorization: Bearer TOKEN", where there is no Guard that knows it. With an empty one nobody has
	// admin access.
	Token string
	// Import takes in a log of the past.
	Import ImportFunc
	// Quarantine lists lines that could not be used.
	Quarantine QuarantineFunc
	// LogLevel is how much is logged; without it that path is not there.
	LogLevel LogLevel
}

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

// adminScheme names the token in the OpenAPI description.
const adminScheme = "adminToken"

// adminOnly marks an operation in the OpenAPI description.
func adminOnly() []map[string][]string { return []map[string][]string{{adminScheme: {}}} }

func describeAdmin(doc *huma.OpenAPI) {
	if doc.Components.SecuritySchemes == nil {
		doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{}
	}
	doc.Components.SecuritySchemes[adminScheme] = &huma.SecurityScheme{
		Type: "http", Scheme: "bearer", Description: "the content of the daemon's admin_token_file, or a token of the role admin",
	}
}

// guardOf returns the options' guard, or the one without any configuration.
func guardOf(o *Options) *access.Guard {
	if o.Guard != nil {
		return o.Guard
	}
	token := ""
	if o.Admin != nil {
		token = o.Admin.Token
	}
	g, err := access.New(access.Options{AdminToken: token, Policy: access.Default(), Log: o.Log, Registry: o.Registry})
	if err != nil { // it reads no files
		o.Log.Error("nobody may ask anything", zap.Error(err))
	}
	return g
}

// admin lets a plain handler be used by administrators only.
func (s *Server) admin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := s.guard.Need(access.Of(r.Context()), access.Admin); p != nil {
			s.guard.Refuse(w, p)
			return
		}
		next(w, r)
	}
}

// adminOperation does the same for an operation of huma, ahead of the check of its parameters.
func (s *Server) adminOperation(ctx huma.Context, next func(huma.Context)) {
	if p := s.guard.Need(access.Of(ctx.Context()), access.Admin); p != nil {
		_, w := humago.Unwrap(ctx)
		s.guard.Refuse(w, p)
		return
	}
	next(ctx)
}

// refusal makes an error of why the guard refused what is asked.
func (s *Server) refusal(p *wire.Problem) error {
	out := (&Refused{Status: p.Status, Detail: p.Detail, Hint: p.Hint}).problem()
	switch p.Status {
	case http.StatusUnauthorized:
		return huma.ErrorWithHeaders(out, http.Header{"Www-Authenticate": s.guard.Challenges()})
	case http.StatusServiceUnavailable:
		return huma.ErrorWithHeaders(out, http.Header{"Retry-After": {"5"}})
	}
	return out
}

// writeProblem answers with a problem.
func writeProblem(w http.ResponseWriter, p *problem) { access.WriteProblem(w, &p.Problem) }
