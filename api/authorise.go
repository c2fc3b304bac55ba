package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

// mayAskAs returns an error if the caller may not send requests in the name of the given user or account.
func (s *Server) mayAskAs(ctx context.Context, user, account string) error {
	if p := s.guard.MayAskAs(access.Of(ctx), user, account); p != nil {
		return s.refusal(p, 0)
	}
	return nil
}

// maySize returns an error if a request for size advice names something that the caller may not use: the user or the
// account of the job, the user of earlier runs, or a running job.
func (s *Server) maySize(ctx context.Context, req *wire.SizeRequest) error {
	if err := s.mayAskAs(ctx, req.User, req.Account); err != nil {
		return err
	}
	if h := req.Runtime.History; h != nil {
		if err := s.mayAskAs(ctx, h.User, ""); err != nil {
			return err
		}
	}
	if r := req.Running; r == nil || r.JobID == "" || s.guard.SeesOthers(access.Of(ctx)) {
		return nil
	}
	if p := s.guard.Need(access.Of(ctx), access.User); p != nil {
		return s.refusal(p, 0)
	}
	for _, v := range s.views.Views() {
		for _, j := range v.Running {
			if j.ID == req.Running.JobID && access.Of(ctx).Own(j.User) {
				return nil
			}
		}
	}
	return ask.NotFound("no job of yours with this id runs")
}

// caller implements ask.Caller for the caller of a request. all means that the caller sees the jobs of all users.
type caller struct {
	access.Caller
	guard *access.Guard
	all   bool
}

// callerOf returns the caller of a request.
func (s *Server) callerOf(ctx context.Context) caller {
	c := access.Of(ctx)
	return caller{c, s.guard, s.guard.SeesOthers(c)}
}

// SeesAll implements ask.Caller.
func (c caller) SeesAll() bool { return c.all }

// Sees implements ask.Caller.
func (c caller) Sees(user string) bool { return c.all || c.Own(user) }

// NameOf implements ask.Caller.
func (c caller) NameOf(user string) string { return c.guard.NameFor(c.Caller, user) }

// SeesDetails implements ask.Caller.
func (c caller) SeesDetails(user string) bool { return c.Role == access.Admin || c.Own(user) }

// maySeeJobs returns an error if a caller may not see any jobs.
func (s *Server) maySeeJobs(c caller) error {
	if c.all {
		return nil
	}
	if p := s.guard.Need(c.Caller, access.User); p != nil {
		return s.refusal(p, 0)
	}
	return nil
}

// refusal converts a refusal of the guard to an error. retry is the time after which the client may try again; only the
// statuses 429 and 503 report it.
func (s *Server) refusal(p *wire.Problem, retry time.Duration) error {
	out := (&Refused{Status: p.Status, Detail: p.Detail, Hint: p.Hint}).problem()
	switch p.Status {
	case http.StatusUnauthorized:
		return huma.ErrorWithHeaders(out, http.Header{"Www-Authenticate": s.guard.Challenges()})
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return huma.ErrorWithHeaders(out, http.Header{"Retry-After": {retryAfter(retry)}})
	}
	return out
}

// admin restricts a plain handler to administrators.
func (s *Server) admin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := s.guard.Need(access.Of(r.Context()), access.Admin); p != nil {
			s.guard.Refuse(w, p)
			return
		}
		next(w, r)
	}
}

// adminOperation restricts an operation of huma to administrators, before its parameters are checked.
func (s *Server) adminOperation(ctx huma.Context, next func(huma.Context)) {
	if p := s.guard.Need(access.Of(ctx.Context()), access.Admin); p != nil {
		_, w := humago.Unwrap(ctx)
		s.guard.Refuse(w, p)
		return
	}
	next(ctx)
}

// adminScheme is the name of the security scheme of the admin token in the OpenAPI description.
const adminScheme = "adminToken"

// adminOnly returns the security requirement of an operation that only administrators may use, for the OpenAPI
// description.
func adminOnly() []map[string][]string { return []map[string][]string{{adminScheme: {}}} }
