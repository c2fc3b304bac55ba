package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/waitcast/waitcast/api/wire"
)

// ProblemError is a daemon's answer that it cannot do what was asked (RFC 9457).
type ProblemError struct {
	wire.Problem
	// JSON is the problem as it came.
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

// NoForecast is true if the daemon understood but cannot make a forecast: Reason is why, Hint what would help.
func (e *ProblemError) NoForecast() bool { return e.Type == wire.ProblemNoForecast }

// UnreachableError is the error if the daemon did not answer.
type UnreachableError struct {
	// URL is where it was looked for, without a password.
	URL string
	// Err is why there was no answer.
	Err error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no answer from the waitcast daemon at %s: %v", e.URL, e.Err)
}

// Unwrap returns why there was no answer.
func (e *UnreachableError) Unwrap() error { return e.Err }

// unreachable leaves out the URL that net/http repeats in its errors.
func unreachable(address string, err error) error {
	var detail *url.Error
	if errors.As(err, &detail) {
		err = detail.Err
	}
	return &UnreachableError{URL: address, Err: err}
}

// AnswerError is the error if another program answered than a waitcast daemon.
type AnswerError struct {
	// URL is where it was asked, without a password.
	URL string
	// Status is the HTTP status of the answer.
	Status int
	// Err is the fault of the answer.
	Err error
}

// Error implements error.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("the answer of %s (status %d) is not one of a waitcast daemon: %v", e.URL, e.Status, e.Err)
}

// Unwrap returns what is wrong with the answer.
func (e *AnswerError) Unwrap() error { return e.Err }
