package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type meInput struct {
	Cluster     string `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	User        string `query:"user" doc:"owner of the jobs, for administrators; other callers are identified by their credential"`
	Name        string `query:"name" doc:"a further job name whose habit is shown, besides the names of jobs that wait or run"`
	Limit       int    `query:"limit" default:"1000" minimum:"1" maximum:"100000" doc:"maximum number of waiting jobs, those submitted first"`
	Offset      int    `query:"offset" default:"0" minimum:"0" doc:"number of waiting jobs to skip at the beginning: next_offset of the previous answer"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type meOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.Me
}

func (s *Server) registerMe(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/v1/me",
		Summary: "My waiting jobs with their forecasts, and my habits by job name",
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
			http.StatusServiceUnavailable},
	}, s.getMe)
}

func (s *Server) getMe(ctx context.Context, in *meInput) (*meOutput, error) {
	who := s.callerOf(ctx, in.Cluster)
	user, err := s.userOf(who.Caller, in.User)
	if err != nil {
		return nil, err
	}
	q, err := s.ask.Me(ask.MeRequest{Cluster: in.Cluster, User: user, Name: in.Name, Limit: in.Limit,
		Offset: in.Offset})
	if err != nil {
		return nil, err
	}
	tag := s.tag(ctx, true, q.View)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	return &meOutput{ETag: tag, Body: q.Answer(who)}, nil
}

// identifyHint describes how a caller can identify itself.
const identifyHint = "ask over the daemon's Unix socket (unix:///run/waitcast/api.sock, where it has one), which " +
	"knows the user who connects, over TLS with munge where access.munge is set, or with a token of the role user " +
	"(waitcast token new); the command waitcast uses the socket and munge by itself, and takes a token from " +
	"--token-file, WAITCAST_TOKEN_FILE or WAITCAST_TOKEN"

// userOf returns the user of a caller, or the one that an administrator names. Others may name only their own user. A
// caller without a user, such as an administrator's token, must name one.
func (s *Server) userOf(c access.Caller, named string) (string, error) {
	p := s.guard.Need(c, access.User)
	switch {
	case p != nil:
		p.Hint = identifyHint
	case named != "" && named != c.User:
		p = s.guard.Need(c, access.Admin)
	case c.User == "":
		return "", ask.Invalid("user", "this credential belongs to no user of the cluster: name one")
	}
	if p != nil {
		return "", s.refusal(p, 0)
	}
	return cmp.Or(named, c.User), nil
}
