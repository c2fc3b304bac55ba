package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type jobsInput struct {
	Cluster     string `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Queue       string `query:"queue" doc:"only this queue"`
	Limit       int    `query:"limit" default:"1000" minimum:"1" maximum:"100000" doc:"maximum number of jobs, those submitted first"`
	Offset      int    `query:"offset" default:"0" minimum:"0" doc:"number of jobs to skip at the beginning: next_offset of the previous answer. Jobs that start meanwhile move the others up"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type jobsOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.Jobs
}

type jobInput struct {
	ID          string  `path:"id" doc:"the job's id as the scheduler writes it"`
	Cluster     string  `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Keep        float64 `query:"keep" default:"0.25" exclusiveMinimum:"0" maximum:"1" doc:"the options in sooner keep at least this part of the processors and of the time limit"`
	IfNoneMatch string  `header:"If-None-Match" doc:"ETags of answers that the client has; if one of them is still right, the answer is 304"`
}

type jobOutput struct {
	ETag string `header:"ETag" doc:"weak validator: it stays the same while the answer stays the same, except age_seconds"`
	Body wire.JobAnswer
}

func (s *Server) registerJobs(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-jobs", Method: http.MethodGet, Path: "/v1/jobs",
		Summary: "The waiting jobs, each with the forecast at its submission and the rest of its wait",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getJobs)
	register(a, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{id}",
		Summary: "One waiting job, with the forecast at its submission and the rest of its wait",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getJob)
}

func (s *Server) getJobs(ctx context.Context, in *jobsInput) (*jobsOutput, error) {
	who := s.callerOf(ctx, in.Cluster)
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
	body := s.ask.Jobs(v, ask.JobsRequest{Queue: in.Queue, Limit: in.Limit, Offset: in.Offset}, who)
	return &jobsOutput{ETag: tag, Body: body}, nil
}

func (s *Server) getJob(ctx context.Context, in *jobInput) (*jobOutput, error) {
	who := s.callerOf(ctx, in.Cluster)
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
