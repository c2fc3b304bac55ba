package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// WatchEvent is one event of GET /v1/watch: advice, or the reason why there is no advice any more.
type WatchEvent struct {
	// ID is the id that is sent when reconnecting. It is empty for a problem.
	ID      string
	Advice  *wire.SizeEvent
	Problem *wire.Problem
	// JSON is the event's data as received.
	JSON json.RawMessage
}

const (
	// watchRetry is the default delay before reconnecting. The daemon may set another delay; mostRetry is its
	// maximum.
	watchRetry = 3 * time.Second
	mostRetry  = time.Minute
	// watchSilence is the time without data after which a connection counts as lost. The daemon sends at least a
	// comment every 15 s.
	watchSilence = 45 * time.Second
	// maxEvent is the maximum length in bytes of a line of an event.
	maxEvent = 1 << 20
)

// errSilent is the cause of closing a silent connection.
var errSilent = errors.New("nothing came for longer than the daemon is silent")

// Watch subscribes to a request and calls hear for each event, until the context ends or hear returns an error. After a
// lost connection it reconnects with the id of the newest event, so that advice that has not changed is not sent again.
// lastID is the id from an earlier Watch, or empty.
//
// Watch returns the error of hear, the error of the context, or the error of WaitJSON if the daemon refuses the
// request. If the status is 5xx or there is no answer, Watch tries again.
func (c *Client) Watch(ctx context.Context, question *wire.SizeRequest, lastID string,
	hear func(WatchEvent) error) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	target := c.base.JoinPath("/v1/watch")
	target.RawQuery = url.Values{"request": {string(body)}}.Encode()
	s := &stream{client: c, target: target.String(), lastID: lastID, retry: watchRetry, handle: hear}
	failures := 0
	for {
		heard, err := s.follow(ctx)
		var stop *stopError
		var problem *ProblemError
		var answer *AnswerError
		switch {
		case errors.As(err, &stop):
			return stop.err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &problem) && problem.Status < http.StatusInternalServerError,
			errors.As(err, &answer) && answer.Status < http.StatusInternalServerError:
			return err
		}
		if failures++; heard {
			failures = 0
		}
		timer := time.NewTimer(min(s.retry<<min(failures, 5), mostRetry))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// stream is a subscription that lasts over reconnections.
type stream struct {
	client         *Client
	target, lastID string
	retry          time.Duration
	handle         func(WatchEvent) error
}

// stopError is the error that the caller's function hear returned.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }

// follow reads one connection until it ends. heard reports whether the daemon accepted the connection.
func (s *stream) follow(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(watchSilence, func() { cancel(errSilent) })
	defer silence.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.target, nil)
	if err != nil {
		return false, &stopError{err}
	}
	request.Header.Set("Accept", "text/event-stream, application/problem+json")
	if s.lastID != "" {
		request.Header.Set("Last-Event-ID", s.lastID)
	}
	response, err := s.client.http.Do(request)
	if err != nil {
		return false, unreachable(s.client.URL(), orCause(ctx, err))
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		_, err = s.client.answer(response, nil)
		return false, err
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil ||
		kind != "text/event-stream" {
		return false, &AnswerError{URL: s.client.URL(), Status: response.StatusCode,
			Err: fmt.Errorf("it is no stream of events (content type %q)", kind)}
	}
	return true, s.read(response.Body, func() { silence.Reset(watchSilence) })
}

// read parses those parts of server-sent events that the daemon uses.
func (s *stream) read(from io.Reader, awake func()) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxEvent)
	var id, name, data string
	for lines.Scan() {
		awake()
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data += value
		case "retry":
			if ms, err := strconv.ParseUint(value, 10, 32); err == nil {
				s.retry = min(time.Duration(ms)*time.Millisecond, mostRetry)
			}
		case "":
			if lines.Text() == "" && data != "" {
				if err := s.dispatch(id, name, data); err != nil {
					return err
				}
				id, name, data = "", "", ""
			}
		}
	}
	return lines.Err()
}

// dispatch passes an event to the handler. It ignores events of an unknown kind.
func (s *stream) dispatch(id, name, data string) error {
	event := WatchEvent{ID: id, JSON: json.RawMessage(data)}
	var err error
	switch name {
	case "size":
		event.Advice = &wire.SizeEvent{}
		err = json.Unmarshal(event.JSON, event.Advice)
	case "problem":
		event.Problem = &wire.Problem{}
		err = json.Unmarshal(event.JSON, event.Problem)
	default:
		return nil
	}
	if err != nil {
		return &AnswerError{URL: s.client.URL(), Status: http.StatusOK, Err: err}
	}
	if id != "" {
		s.lastID = id
	}
	if err := s.handle(event); err != nil {
		return &stopError{err}
	}
	return nil
}
