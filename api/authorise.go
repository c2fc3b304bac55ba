package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// private reports whether the scheduler of one of the given clusters hides the jobs of a user from other users. An
// empty name, as well as no name, stands for all clusters.
func (s *Server) private(clusters ...string) bool {
	all := len(clusters) == 0 || slices.Contains(clusters, "")
	return slices.ContainsFunc(s.views.Views(), func(v *readmodel.View) bool {
		return (all || slices.Contains(clusters, v.Cluster)) && v.PrivateJobs()
	})
}

// mayAskAs returns an error if the caller may not send requests about a cluster in the name of the given user or
// account.
func (s *Server) mayAskAs(ctx context.Context, cluster, user, account string) error {
	return s.callerOf(ctx, cluster).mayAskAs(s, user, account)
}

func (c caller) mayAskAs(s *Server, user, account string) error {
	if p := s.guard.MayAskAs(c.Caller, c.private, user, account); p != nil {
		return s.refusal(c.withReason(p), 0)
	}
	return nil
}

// withReason adds to a refusal that the scheduler hides jobs, if this is the reason.
func (c caller) withReason(p *wire.Problem) *wire.Problem {
	if c.private && c.guard.Others(false) < c.guard.Others(true) {
		p.Detail += "; Slurm hides the jobs of a user from others (PrivateData=jobs), or has not said whether it does"
	}
	return p
}

// maySize returns an error if a request for size advice names something that the caller may not use: the user or the
// account of the job, the user of earlier runs, or a running job.
func (s *Server) maySize(ctx context.Context, req *wire.SizeRequest) error {
	clusters := make([]string, 0, len(req.Places))
	for _, p := range req.Places {
		clusters = append(clusters, p.Cluster)
	}
	c := s.callerOf(ctx, clusters...)
	if err := c.mayAskAs(s, req.User, req.Account); err != nil {
		return err
	}
	if h := req.Runtime.History; h != nil {
		if err := c.mayAskAs(s, h.User, ""); err != nil {
			return err
		}
	}
	if r := req.Running; r == nil || r.JobID == "" {
		return nil
	}
	if err := s.maySeeJobs(c); err != nil || c.all {
		return err
	}
	for _, v := range s.views.Views() {
		for _, j := range v.Running {
			if j.ID == req.Running.JobID && c.Own(j.User) {
				return nil
			}
		}
	}
	return ask.NotFound("no job of yours with this id runs")
}

// caller implements ask.Caller for the caller of a request about a cluster. private means that the scheduler hides the
// jobs of a user from other users. all means that the caller sees the jobs of all users.
type caller struct {
	access.Caller
	guard        *access.Guard
	private, all bool
}

// callerOf returns the caller of a request about the given clusters, as for private.
func (s *Server) callerOf(ctx context.Context, clusters ...string) caller {
	c, private := access.Of(ctx), s.private(clusters...)
	return caller{c, s.guard, private, s.guard.SeesOthers(c, private)}
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
		return s.refusal(c.withReason(p), 0)
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
