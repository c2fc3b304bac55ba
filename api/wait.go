package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type waitInput struct {
	Cluster     string  `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Queue       string  `query:"queue" doc:"queue (Slurm partition); may be left out if there is only one. The jobs of queues beyond the number models.max_queues count in the queue \"other\". For such a queue the answer has \"other\" as queue, and the requested name as asked_queue"`
	Procs       int     `query:"procs" minimum:"0" doc:"requested processors, at least 1; if left out, the parameter nodes is used"`
	Nodes       int     `query:"nodes" minimum:"0" doc:"requested nodes; used instead of procs if that is left out"`
	GPUs        int     `query:"gpus" minimum:"0" doc:"requested GPUs, of all nodes together"`
	GPUType     string  `query:"gpu_type" doc:"type of the requested GPUs, as the scheduler names it; by default any"`
	Memory      string  `query:"memory" doc:"requested memory, of all nodes together: 4000M, 64G (powers of 1024)"`
	TimeLimit   string  `query:"time_limit" doc:"requested wall-clock time: 90m, 2:00:00, 1-12:00, seconds"`
	User        string  `query:"user" doc:"user who would submit the job: waits and runtimes of the user's own jobs improve the forecast"`
	Account     string  `query:"account" doc:"account that would be charged; counts only if the scheduler reports its rules"`
	QOS         string  `query:"qos" doc:"quality of service; counts only if the scheduler reports its rules"`
	By          string  `query:"by" doc:"an instant (RFC 3339), or a time from now (2h, 1-12:00, seconds): the answer then has start_by, the probability of a start by that instant. A time of the day alone is refused, because its time zone is unknown"`
	Curve       bool    `query:"curve" doc:"true adds curve, points of the distribution for drawing"`
	Explain     bool    `query:"explain" default:"true" doc:"false leaves out waits_for and sooner, which take longer than the forecast"`
	Keep        float64 `query:"keep" default:"0.25" exclusiveMinimum:"0" maximum:"1" doc:"the options in sooner keep at least this part of the processors and of the time limit"`
	IfNoneMatch string  `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type waitOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.Wait
}

func (s *Server) registerWait(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-wait", Method: http.MethodGet, Path: "/v1/wait",
		Summary: "How long would this job wait?",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getWait)
}

func (s *Server) getWait(ctx context.Context, in *waitInput) (*waitOutput, error) {
	if err := s.mayAskAs(ctx, in.Cluster, in.User, in.Account); err != nil {
		return nil, err
	}
	q, err := s.ask.Wait(&ask.WaitRequest{
		Cluster: in.Cluster, Queue: in.Queue, Procs: in.Procs, Nodes: in.Nodes, GPUs: in.GPUs, GPUType: in.GPUType,
		Memory: in.Memory, TimeLimit: in.TimeLimit, By: in.By, Curve: in.Curve,
		User: in.User, Account: in.Account, QOS: in.QOS, Explain: in.Explain, Keep: in.Keep,
	})
	if err != nil {
		return nil, err
	}
	tag := s.tag(ctx, true, q.View)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	body, err := q.Answer(s.callerOf(ctx, in.Cluster))
	if err != nil {
		return nil, err
	}
	return &waitOutput{ETag: tag, Body: body}, nil
}
