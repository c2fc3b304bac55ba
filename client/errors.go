package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/waitcast/waitcast/api/wire"
)

// ProblemError means that the daemon refused a request (RFC 9457).
type ProblemError struct {
	wire.Problem
	// JSON is the problem as received.
	JSON json.RawMessage
}

// Error implements error.
func (e *ProblemError) Error() string {
	text := e.Title
	switch {
	case text == "":
		text = e.Detail
	case e.Detail != "":
		text += ": " + e.Detail
	}
	if text == "" {
		text = e.Type
	}
	return fmt.Sprintf("%s (status %d)", text, e.Status)
}

// NoForecast reports whether the request is valid but the daemon cannot make a forecast. If so, Reason is the cause,
// and Hint describes what would help.
func (e *ProblemError) NoForecast() bool { return e.Type == wire.ProblemNoForecast }

// UnreachableError means that the daemon did not answer.
type UnreachableError struct {
	// URL is the address of the daemon, without a password.
	URL string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no answer from the waitcast daemon at %s: %v", e.URL, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// unreachable returns an *UnreachableError. It leaves out the URL, which net/http repeats in its errors.
func unreachable(address string, err error) error {
	var detail *url.Error
	if errors.As(err, &detail) {
		err = detail.Err
	}
	return &UnreachableError{URL: address, Err: err}
}

// AnswerError means that the answer is not from a waitcast daemon.
type AnswerError struct {
	// URL is the address of the daemon, without a password.
	URL string
	// Status is the HTTP status of the answer.
	Status int
	// Err describes what is wrong with the answer.
	Err error
}

// Error implements error.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("the answer of %s (status %d) is not one of a waitcast daemon: %v", e.URL, e.Status, e.Err)
}

// Unwrap returns Err.
func (e *AnswerError) Unwrap() error { return e.Err }
