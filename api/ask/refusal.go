package ask

import (
	"errors"
	"fmt"
	"strings"

	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// Kind is the kind of a refusal.
type Kind int

// The kinds of refusals.
const (
	KindNotFound    Kind = iota + 1 // a named object does not exist
	KindInvalid                     // the request is invalid
	KindUnavailable                 // an answer may be possible later
)

// Refusal is the error of a request that cannot be answered.
type Refusal struct {
	Kind Kind
	// Reason is the cause if no forecast is possible; else it is empty.
	Reason headqueue.Reason
	// Field is the wrong parameter, if there is one.
	Field string
	// Detail describes the error. Hint describes what would help, if that is known.
	Detail, Hint string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Detail }

// NotFound returns a Refusal for an object that does not exist.
func NotFound(detail string) *Refusal { return &Refusal{Kind: KindNotFound, Detail: detail} }

// Invalid returns a Refusal for an invalid field.
func Invalid(field, detail string) *Refusal {
	return &Refusal{Kind: KindInvalid, Field: field, Detail: field + ": " + detail}
}

// Unavailable returns a Refusal for a request that may be answered later.
func Unavailable(detail, hint string) *Refusal {
	return &Refusal{Kind: KindUnavailable, Detail: detail, Hint: hint}
}

// noForecast returns a Refusal with the reason why no forecast is possible and what would help.
func noForecast(kind Kind, reason headqueue.Reason, detail, hint string) *Refusal {
	return &Refusal{Kind: kind, Reason: reason, Detail: detail, Hint: hint}
}

// forecastRefusal converts a predictor's error to a Refusal.
func forecastRefusal(err error) error {
	var cannot *headqueue.CannotSay
	if !errors.As(err, &cannot) {
		return err
	}
	kind := KindUnavailable // by default: a forecast may be possible later
	switch cannot.Reason {
	case headqueue.LargerThanMachine, predictor.ReasonUnknownSize:
		kind = KindInvalid
	}
	return noForecast(kind, cannot.Reason, cannot.Detail, cannot.Hint)
}

// reasonNothingRead means that no record has been read yet, so nothing is known of the cluster.
const reasonNothingRead headqueue.Reason = "nothing_read"

func nothingRead(v *readmodel.View) *Refusal {
	return noForecast(KindUnavailable, reasonNothingRead,
		fmt.Sprintf("no record of cluster %s has been read yet", v.Cluster),
		"ask again later; /readyz tells what is missing")
}

// reasonOverQueue means that the rules of the queue never let the requested job start.
const reasonOverQueue headqueue.Reason = "over_queue_limit"

func queueLimitRefusal(queue, asked, allowed string) *Refusal {
	return noForecast(KindInvalid, reasonOverQueue, asked+" asked for, queue "+queue+" takes "+allowed,
		"ask for "+allowed+", or in another queue")
}

func unknownQueue(v *readmodel.View, queue string) *Refusal {
	hint := "no job of any queue has been seen yet"
	if names := v.Queues(); len(names) > 0 {
		hint = "known queues: " + queueList(names)
	}
	return noForecast(KindNotFound, predictor.ReasonUnknownQueue,
		fmt.Sprintf("cluster %s has no queue %q", v.Cluster, queue), hint)
}

// listedQueues is the maximum number of names in a message.
const listedQueues = 20

// queueList lists at most listedQueues of the names (of queues, accounts or QOSs), and the number of the others.
func queueList(names []string) string {
	if more := len(names) - listedQueues; more > 0 {
		return fmt.Sprintf("%s and %d more (GET /v1/queues has all)", strings.Join(names[:listedQueues], ", "), more)
	}
	return strings.Join(names, ", ")
}
