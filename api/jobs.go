package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline"
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
	ID          string `path:"id" doc:"the job's id as the scheduler writes it"`
	Cluster     string `query:"cluster" doc:"cluster; may be left out where there is only one"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type jobOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.JobAnswer
}

func (s *Server) registerJobs(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "get-jobs", Method: http.MethodGet, Path: "/v1/jobs",
		Summary: "The jobs that wait, what was forecast for each at its submission, and what that means now",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getJobs)
	huma.Register(a, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{id}",
		Summary: "One job that waits, what was forecast for it at its submission, and what that means now",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getJob)
}

func (s *Server) getJobs(ctx context.Context, in *jobsInput) (*jobsOutput, error) {
	who := s.visibilityFor(ctx)
	if err := who.any(); err != nil {
		return nil, err
	}
	v, err := s.readView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	out := &jobsOutput{ETag: s.tag(ctx, true, v), Body: wire.Jobs{Cluster: v.Cluster, Jobs: []wire.Job{}, AsOf: s.asOfInstant(v)}}
	if err := unchanged(in.IfNoneMatch, out.ETag); err != nil {
		return nil, err
	}
	var now time.Time
	now, out.Body.AgeSeconds, out.Body.Stale = s.asOf(v)
	for _, w := range v.Waiting() {
		if in.Queue != "" && w.Job.Queue != in.Queue || !who.sees(w.Job) {
			continue
		}
		if out.Body.Waiting++; len(out.Body.Jobs) < in.Limit {
			one := waitingJob(v, &w, now, nil)
			who.name(w.Job, &one)
			out.Body.Jobs = append(out.Body.Jobs, one)
		}
	}
	return out, nil
}

func (s *Server) getJob(ctx context.Context, in *jobInput) (*jobOutput, error) {
	who := s.visibilityFor(ctx)
	if err := who.any(); err != nil {
		return nil, err
	}
	v, err := s.view(in.Cluster)
	if err != nil {
		return nil, err
	}
	if v.At.IsZero() {
		return nil, nothingRead(v)
	}
	all := v.Waiting()
	i := slices.IndexFunc(all, func(w pipeline.Waiting) bool { return w.Job.ID == in.ID && who.sees(w.Job) })
	if i < 0 {
		return nil, notFound(fmt.Sprintf("no job %q waits in cluster %s: it has started or left, or was never submitted", in.ID, v.Cluster))
	}
	out := &jobOutput{ETag: s.tag(ctx, true, v), Body: wire.JobAnswer{Cluster: v.Cluster, AsOf: s.asOfInstant(v)}}
	if err := unchanged(in.IfNoneMatch, out.ETag); err != nil {
		return nil, err
	}
	var now time.Time
	now, out.Body.AgeSeconds, out.Body.Stale = s.asOf(v)
	waits := v.PivotsOf(all[i].Job)
	out.Body.Job = waitingJob(v, &all[i], now, waits)
	explainJob(v, &all[i], now, waits, &out.Body.Job)
	who.redact(&out.Body.Job, waits)
	who.name(all[i].Job, &out.Body.Job)
	return out, nil
}

// waitingJob describes a job that waits, and why its forecast moved, by what it waits for where that is known. Whose it is it does not tell.
func waitingJob(v *pipeline.View, w *pipeline.Waiting, now time.Time, waits []pipeline.Pivot) wire.Job {
	j := w.Job
	out := wire.Job{
		ID: j.ID, Queue: j.Queue, Procs: j.Procs, Tasks: j.Tasks, TimeLimitSeconds: j.TimeLimit.Seconds(), Submit: j.Submit,
		WaitedSeconds: math.Max(0, now.Sub(j.Submit).Seconds()), Held: j.Held, HeldReason: j.Reason, AheadJobs: w.Ahead, AheadProcs: w.AheadProcs,
	}
	if out.DetailsPending = j.DetailsPending(); out.DetailsPending && j.Unqueued {
		out.Queue = "" // the queue that stands for it in the picture is a guess
	}
	served := v.Served(j)
	switch {
	case served == nil:
		out.NoForecast = "afterwards"
	case served.Quantiles == nil:
		out.NoForecast = served.Reason
	default:
		out.Forecast = jobForecast(served, out.WaitedSeconds, now)
		m := v.Move(w, served, waits, now)
		out.Moved, out.MovedBy = moved(&out, &m), string(m.Cause)
	}
	return out
}

func jobForecast(served *pipeline.Served, waited float64, now time.Time) *wire.JobForecast {
	rest := pipeline.NewCurve(served.Levels, served.Quantiles).Rest(waited)
	out := &wire.JobForecast{
		AtSubmit: quantiles(served.Quantiles), Now: quantiles(rest), Start: instants(rest, now),
		AheadJobs: served.Ahead, AheadProcs: served.AheadProcs, Methods: []wire.Method{},
	}
	for _, p := range served.Peers {
		m := wire.Method{Name: p.Method}
		if q := p.Quantiles[waittime.Median]; q >= 0 {
			m.MedianSeconds = seconds(q)
		}
		out.Methods = append(out.Methods, m)
	}
	return out
}

func were(n int) string {
	if n == 1 {
		return "1 job was"
	}
	return fmt.Sprintf("%d jobs were", n)
}

// readView returns the view of a cluster of which something has been read, and that has the queue, if one is named. The queue becomes the one under
// which its jobs are counted.
func (s *Server) readView(cluster string, queue *string) (*pipeline.View, error) {
	v, err := s.view(cluster)
	switch {
	case err != nil:
		return nil, err
	case v.At.IsZero():
		return nil, nothingRead(v)
	case *queue == "":
		return v, nil
	}
	return v, findQueue(v, queue)
}

// findQueue replaces the name of a queue by that of the queue under which its jobs are counted, and refuses one that was never seen.
func findQueue(v *pipeline.View, queue *string) error {
	found, ok := v.QueueOf(*queue)
	if !ok {
		return unknownQueue(v, *queue)
	}
	*queue = found
	return nil
}

// askedQueue returns the queue that was asked about where its jobs are counted under another one, else "".
func askedQueue(asked, found string) string {
	if asked == found {
		return ""
	}
	return asked
}
