package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
)

type jobsInput struct {
	Cluster     string `query:"cluster" doc:"cluster; may be left out where there is only one"`
	Queue       string `query:"queue" doc:"only this queue"`
	Limit       int    `query:"limit" default:"1000" minimum:"1" maximum:"100000" doc:"at most so many jobs, those submitted first"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type jobsOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.Jobs
}

type jobInput struct {
	ID          string  `path:"id" doc:"the job's id as the scheduler writes it"`
	Cluster     string  `query:"cluster" doc:"cluster; may be left out where there is only one"`
	Keep        float64 `query:"keep" default:"0.25" exclusiveMinimum:"0" maximum:"1" doc:"what is told in sooner keeps at least this part of the processors and of the time limit"`
	IfNoneMatch string  `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type jobOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.JobAnswer
}

func (s *Server) registerJobs(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-jobs", Method: http.MethodGet, Path: "/v1/jobs",
		Summary: "The jobs that wait, what was forecast for each at its submission, and what that means now",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getJobs)
	register(a, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{id}",
		Summary: "One job that waits, what was forecast for it at its submission, and what that means now",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getJob)
}

func (s *Server) getJobs(ctx context.Context, in *jobsInput) (*jobsOutput, error) {
	who := s.callerOf(ctx)
	if err := s.maySeeJobs(who); err != nil {
		return nil, err
	}
	v, err := s.ask.ReadView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	tag := s.tag(ctx, true, v)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	return &jobsOutput{ETag: tag, Body: s.ask.Jobs(v, in.Queue, in.Limit, who)}, nil
}

func (s *Server) getJob(ctx context.Context, in *jobInput) (*jobOutput, error) {
	who := s.callerOf(ctx)
	if err := s.maySeeJobs(who); err != nil {
		return nil, err
	}
	q, err := s.ask.Job(in.Cluster, in.ID, in.Keep, who)
	if err != nil {
		return nil, err
	}
	tag := s.tag(ctx, true, q.View)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	return &jobOutput{ETag: tag, Body: q.Answer()}, nil
}
