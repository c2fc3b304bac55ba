package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// problem is an error as RFC 9457 has it.
type problem struct{ wire.Problem }

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// describeProblems adds waitcast's own members to the schema of errors, and takes out its examples, which name foreign sites.
func describeProblems(doc *huma.OpenAPI) {
	schema := doc.Components.Schemas.Map()["ErrorModel"]
	if schema == nil {
		return
	}
	for _, p := range schema.Properties {
		p.Examples = nil
	}
	schema.Properties["reason"] = &huma.Schema{Type: huma.TypeString,
		Description: "Where no forecast is possible: the cause, as in cannot_say."}
	schema.Properties["hint"] = &huma.Schema{Type: huma.TypeString,
		Description: "What would help, where that is known."}
}

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// noForecast says why no forecast is possible and what would help.
func noForecast(status int, reason headqueue.Reason, detail, hint string) *problem {
	return &problem{wire.Problem{
		Type: wire.ProblemNoForecast, Title: "No forecast possible", Status: status,
		Detail: detail, Reason: string(reason), Hint: hint,
	}}
}

// forecastProblem turns a predictor's error into a problem.
func forecastProblem(err error) error {
	var cannot *headqueue.CannotSay
	if !errors.As(err, &cannot) {
		return err
	}
	status := http.StatusServiceUnavailable // it may be possible later
	switch cannot.Reason {
	case headqueue.LargerThanMachine, predictor.ReasonUnknownSize:
		status = http.StatusUnprocessableEntity
	}
	return noForecast(status, cannot.Reason, cannot.Detail, cannot.Hint)
}

// reasonNothingRead says that no record has been read yet: an empty picture is not an empty cluster.
const reasonNothingRead headqueue.Reason = "nothing_read"

func nothingRead(v *pipeline.View) *problem {
	return noForecast(http.StatusServiceUnavailable, reasonNothingRead,
		fmt.Sprintf("no record of cluster %s has been read yet", v.Cluster), "ask again later; /readyz tells what is missing")
}

// tooLarge is about a request that no model is needed for.
func tooLarge(v *pipeline.View, req *job.Request, size, limit int, d cluster.Dimension) *problem {
	what := map[cluster.Dimension]string{
		cluster.Procs: "processors", cluster.Nodes: "nodes", cluster.GPUs: "GPUs", cluster.Memory: "processors' shares of memory",
	}[d]
	where := "cluster " + v.Cluster
	if len(v.Pools) > 1 || limit < v.Pool(req.Queue).Capacity(d) {
		where = "queue " + req.Queue + " of " + where
	}
	detail := fmt.Sprintf("%d %s asked for, %s has %d", size, what, where, limit)
	hint := fmt.Sprintf("ask for at most %d %s", limit, what)
	if v.Pool(req.Queue).Source == cluster.FromHighestUse {
		detail = fmt.Sprintf("%d %s asked for, the highest use of %s seen so far is %d", size, what, where, limit)
		hint = "set procs of the cluster in the configuration if it is larger"
	}
	return noForecast(http.StatusUnprocessableEntity, headqueue.LargerThanMachine, detail, hint)
}

// reasonOverQueue says that the rules of the queue never let such a job start.
const reasonOverQueue headqueue.Reason = "over_queue_limit"

func overQueue(queue, asked, allowed string) *problem {
	return noForecast(http.StatusUnprocessableEntity, reasonOverQueue, asked+" asked for, queue "+queue+" takes "+allowed, "ask for "+allowed+", or in another queue")
}

func unknownQueue(v *pipeline.View, queue string) *problem {
	hint := "no job of any queue has been seen yet"
	if names := v.Queues(); len(names) > 0 {
		hint = "known queues: " + queueList(names)
	}
	return noForecast(http.StatusNotFound, predictor.ReasonUnknownQueue,
		fmt.Sprintf("cluster %s has no queue %q", v.Cluster, queue), hint)
}

// listedQueues is the number of queues that a message names.
const listedQueues = 20

// queueList writes the names of queues, not all of very many.
func queueList(names []string) string {
	if more := len(names) - listedQueues; more > 0 {
		return fmt.Sprintf("%s and %d more (GET /v1/queues has all)", strings.Join(names[:listedQueues], ", "), more)
	}
	return strings.Join(names, ", ")
}

func notFound(detail string) *problem {
	return &problem{wire.Problem{
		Type: "about:blank", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Detail: detail,
	}}
}

func unprocessable(field, detail string) *problem {
	return &problem{wire.Problem{
		Type: "about:blank", Title: http.StatusText(http.StatusUnprocessableEntity),
		Status: http.StatusUnprocessableEntity, Detail: field + ": " + detail,
	}}
}

// unanswered makes an answer of why something could not be read: a *Refused's own, else that this is the server's fault.
func unanswered(doing string, err error) error {
	var refused *Refused
	if errors.As(err, &refused) {
		return refused.problem()
	}
	return fmt.Errorf("%s: %w", doing, err)
}
