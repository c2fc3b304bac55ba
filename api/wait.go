package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type waitInput struct {
	Cluster     string  `query:"cluster" doc:"cluster; may be left out where there is only one"`
	Queue       string  `query:"queue" doc:"queue (Slurm partition); may be left out where there is only one"`
	Procs       int     `query:"procs" minimum:"0" doc:"processors asked for; if left out, nodes"`
	Nodes       int     `query:"nodes" minimum:"0" doc:"nodes asked for; takes the place of procs where that is left out"`
	GPUs        int     `query:"gpus" minimum:"0" doc:"GPUs asked for, of all nodes together"`
	Memory      string  `query:"memory" doc:"memory asked for, of all nodes together: 4000M, 64G (powers of 1024)"`
	TimeLimit   string  `query:"time_limit" doc:"wall-clock time asked for: 90m, 2:00:00, 1-12:00, seconds"`
	User        string  `query:"user" doc:"who would submit it"`
	Account     string  `query:"account" doc:"account it would be charged to"`
	QOS         string  `query:"qos" doc:"quality of service"`
	By          string  `query:"by" doc:"an instant (RFC 3339), or how long from now (2h, 1-12:00, seconds): the answer has the probability of a start by then"`
	Curve       bool    `query:"curve" doc:"tell the distribution in points that can be drawn"`
	Explain     bool    `query:"explain" default:"true" doc:"tell waits_for and sooner, which cost more than the forecast"`
	Keep        float64 `query:"keep" default:"0.25" exclusiveMinimum:"0" maximum:"1" doc:"what is told in sooner keeps at least this part of the processors and of the time limit"`
	IfNoneMatch string  `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type waitOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.Wait
}

func (s *Server) registerWait(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-wait", Method: http.MethodGet, Path: "/v1/wait",
		Summary:     "How long would this job wait?",
		Description: "The distribution of the wait of a job that would be submitted now.",
		Errors:      []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getWait)
}

func (s *Server) getWait(ctx context.Context, in *waitInput) (*waitOutput, error) {
	if err := s.mayAskAs(ctx, in.User, in.Account); err != nil {
		return nil, err
	}
	q, err := s.ask.Wait(&ask.WaitRequest{
		Cluster: in.Cluster, Queue: in.Queue, Procs: in.Procs, Nodes: in.Nodes, GPUs: in.GPUs, Memory: in.Memory,
		TimeLimit: in.TimeLimit, By: in.By, Curve: in.Curve,
		User: in.User, Account: in.Account, QOS: in.QOS, Explain: in.Explain, Keep: in.Keep,
	})
	if err != nil {
		return nil, err
	}
	tag := s.tag(ctx, true, q.View)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	body, err := q.Answer(s.callerOf(ctx))
	if err != nil {
		return nil, err
	}
	return &waitOutput{ETag: tag, Body: body}, nil
}
