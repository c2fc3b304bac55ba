package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/swf"
)

const (
	// mostWorkloads is the maximum number of workloads that are drawn at a time. It is small because forecasts come
	// first.
	mostWorkloads = 2
	// mostJobs bounds the jobs of one workload.
	mostJobs = 10_000_000
	// defaultJobs is the number of jobs if neither jobs nor hours are given.
	defaultJobs = 10_000
	// flushJobs is the number of jobs between two flushes. A flush shows whether the client has disconnected.
	flushJobs = 512
	// workloadPatience is how long a client may take to read flushJobs jobs.
	workloadPatience = time.Minute
)

type workloadInput struct {
	Queue   string  `query:"queue" doc:"the queue whose models are used; by default those of all queues together"`
	Cluster string  `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Model   string  `query:"model" enum:"lublin,markov,uniform_log,users" default:"lublin" doc:"the live model from which jobs are drawn"`
	Jobs    int64   `query:"jobs" minimum:"0" maximum:"10000000" doc:"maximum number of jobs; 10000 if neither jobs nor hours are given"`
	Hours   float64 `query:"hours" minimum:"0" maximum:"100000" doc:"only jobs that are submitted within this number of hours from the beginning, and at most 10000000 jobs"`
	Format  string  `query:"format" enum:"swf,jsonl" default:"swf" doc:"swf is the Standard Workload Format, jsonl is lines of JSON"`
	Seed    string  `query:"seed" pattern:"^[0-9]{0,19}$" doc:"a whole number of at most 19 digits: the same seed and the same models give the same jobs; by default a random one"`
}

func (s *Server) registerWorkload(a huma.API) {
	line := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.SyntheticJob](), true, "SyntheticJob")
	register(a, huma.Operation{
		OperationID: "get-workload", Method: http.MethodGet, Path: "/v1/workload",
		Summary: "Jobs drawn from the live models",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			swfMedia: {Schema: &huma.Schema{Type: huma.TypeString}}, ndjsonMedia: {Schema: line},
		}}},
	}, s.getWorkload)
}

// swfMedia is the type of a workload in the Standard Workload Format.
const swfMedia = "text/plain; charset=utf-8"

func (s *Server) getWorkload(_ context.Context, in *workloadInput) (*huma.StreamResponse, error) {
	v, err := s.ask.View(in.Cluster)
	if err != nil {
		return nil, err
	}
	if in.Queue != "" {
		if err := ask.FindQueue(v, &in.Queue); err != nil {
			return nil, err
		}
	}
	seed := uint64(rand.Uint32()) // short enough to be typed by a user
	if in.Seed != "" {
		if seed, err = strconv.ParseUint(in.Seed, 10, 64); err != nil {
			return nil, ask.Invalid("seed", "want a whole number of at most 19 digits")
		}
	}
	select {
	case s.drawing <- struct{}{}:
	default:
		return nil, ask.Unavailable(fmt.Sprintf("%d workloads are being drawn already", mostWorkloads),
			"ask again later")
	}
	jobs, err := v.Synthetic(in.Model, in.Queue, seed)
	if err != nil {
		<-s.drawing
		return nil, workloadProblem(err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer func() { <-s.drawing }()
		s.streamWorkload(ctx, in, v, jobs, seed)
	}}, nil
}

// workloadProblem returns a refusal with a hint if err means that a model is not fitted, otherwise err itself.
func workloadProblem(err error) error {
	var missing *readmodel.NotFittedError
	if errors.As(err, &missing) {
		return ask.Unavailable(missing.Error(),
			"let more jobs end, import an older log, or take another model; GET /v1/models/{queue} tells what each has")
	}
	return err
}

// streamWorkload writes the jobs until there are enough, or the client disconnects.
func (s *Server) streamWorkload(ctx huma.Context, in *workloadInput, v *readmodel.View, jobs *readmodel.Synthetic,
	seed uint64) {
	media := swfMedia
	if in.Format == "jsonl" {
		media = ndjsonMedia
	}
	ctx.SetHeader("Content-Type", media)
	ctx.SetHeader("Cache-Control", "no-store")
	ctx.SetHeader("Waitcast-Seed", strconv.FormatUint(seed, 10))
	ctx.SetStatus(http.StatusOK)
	r, w := humago.Unwrap(ctx)
	if r.Method == http.MethodHead {
		return
	}
	most, until := in.Jobs, in.Hours*3600
	if until == 0 {
		until = math.Inf(1)
		if most == 0 {
			most = defaultJobs
		}
	}
	if most == 0 {
		most = mostJobs
	}
	out := newWorkloadWriter(in, v, jobs, seed, w)
	control := http.NewResponseController(w)
	for id := int64(1); id <= most; id++ {
		if id%flushJobs == 1 {
			_ = control.SetWriteDeadline(time.Now().Add(workloadPatience))
			if r.Context().Err() != nil {
				return
			}
		}
		j, ok := jobs.Next()
		if !ok || j.Submit >= until || j.Submit > math.MaxInt64/2 || out.write(id, &j) != nil {
			break
		}
	}
	_ = out.flush() // the client may have disconnected
}

// workloadWriter writes jobs in one of the formats.
type workloadWriter struct {
	write func(id int64, j *readmodel.SyntheticJob) error
	flush func() error
}

func newWorkloadWriter(in *workloadInput, v *readmodel.View, jobs *readmodel.Synthetic, seed uint64,
	w io.Writer) workloadWriter {
	if in.Format == "jsonl" {
		buffer := bufio.NewWriter(w)
		encoder := json.NewEncoder(buffer)
		return workloadWriter{
			func(id int64, j *readmodel.SyntheticJob) error { return encoder.Encode(jsonJob(id, j, jobs.Queues)) },
			buffer.Flush,
		}
	}
	out := swf.NewWriter(w)
	queue := in.Queue
	if queue == "" {
		queue = "all"
	}
	header := &swf.Header{
		UnixStartTime: jobs.Start.Unix(), MaxProcs: int64(jobs.Machine),
		Lines: []string{
			"; Version: 2.2",
			fmt.Sprintf("; Note: drawn by waitcast from the live model %s of queue %q as of %s, seed %d", in.Model,
				queue, v.At.Format(time.RFC3339), seed),
		},
	}
	if len(jobs.Queues) > 0 {
		header.Queues = map[int64]string{}
		for i, name := range jobs.Queues {
			if name = strings.Join(strings.Fields(name), " "); name == "" {
				name = "unnamed"
			}
			header.Queues[int64(i)] = name
		}
	}
	failed := out.WriteHeader(header)
	return workloadWriter{func(id int64, j *readmodel.SyntheticJob) error {
		if failed != nil {
			return failed
		}
		return out.Write(swfJob(id, j))
	}, out.Flush}
}

func jsonJob(id int64, j *readmodel.SyntheticJob, queues []string) *wire.SyntheticJob {
	out := &wire.SyntheticJob{
		ID: id, SubmitSeconds: j.Submit, Procs: j.Procs, RuntimeSeconds: j.Runtime, TimeLimitSeconds: j.Limit,
		User: max(0, j.User),
	}
	if j.Queue >= 0 && j.Queue < int64(len(queues)) {
		out.Queue = queues[j.Queue]
	}
	return out
}

// swfJob returns a job as a record of the Standard Workload Format. It truncates the submission to whole seconds,
// rounds the runtime, to at least 1 s, and rounds the time limit up.
func swfJob(id int64, j *readmodel.SyntheticJob) *swf.Record {
	limit := int64(swf.Unknown)
	if j.Limit > 0 {
		limit = int64(math.Ceil(j.Limit))
	}
	return &swf.Record{
		ID: id, Submit: int64(j.Submit), Wait: swf.Unknown,
		Runtime:   int64(max(1, min(math.Round(j.Runtime), math.MaxInt64/2))),
		Allocated: int64(j.Procs), RequestedProcs: int64(j.Procs), CPUTime: swf.Unknown, Memory: swf.Unknown,
		TimeLimit:    limit,
		RequestedMem: swf.Unknown, Status: swf.StatusCompleted, User: j.User, Group: swf.Unknown,
		Executable: swf.Unknown, Queue: j.Queue, Partition: swf.Unknown, Preceding: swf.Unknown, ThinkTime: swf.Unknown,
	}
}
