package swf

import (
	"errors"
	"fmt"
	"strconv"
)

// Reason is what is wrong with a field.
type Reason uint8

// These are the reasons for which a line is refused.
const (
	Missing  Reason = iota + 1 // the line ends before the field
	Junk                       // the field is not a decimal number
	Overflow                   // the number does not fit into 64 bits
)

// String returns the reason in words.
func (r Reason) String() string {
	switch r {
	case Missing:
		return "is missing: the line has too few fields"
	case Junk:
		return "is not a decimal number"
	case Overflow:
		return "does not fit into 64 bits"
	}
	return "reason " + strconv.Itoa(int(r))
}

// FieldError reports which field of a record cannot be read, and why.
type FieldError struct {
	Field  int    // number of the field, from 1 to 18
	Reason Reason // what is wrong
	Text   string // beginning of the invalid text, if there is any
}

// Error returns a message with the number and the name of the field.
func (e *FieldError) Error() string {
	name := "unknown field"
	if e.Field >= 1 && e.Field <= Fields {
		name = fieldNames[e.Field-1]
	}
	if e.Text == "" {
		return fmt.Sprintf("field %d (%s) %v", e.Field, name, e.Reason)
	}
	return fmt.Sprintf("field %d (%s) %v: %q", e.Field, name, e.Reason, e.Text)
}

// HeaderError reports a header line that is invalid. The line is kept in [Header.Lines].
type HeaderError struct {
	Key   string // key such as "MaxProcs"
	Value string // text after the colon
	Want  string // description of valid texts
}

// Error returns a message with the key, its value and a description of valid values.
func (e *HeaderError) Error() string {
	return fmt.Sprintf("header %s: want %s, got %q", e.Key, e.Want, e.Value)
}

// LineError is a line that could not be used. It wraps a *FieldError, a *HeaderError or [ErrLineTooLong].
type LineError struct {
	Name string // name of the file; empty if the Reader does not know it
	Line int64  // counted from 1
	Err  error  // the reason
}

// Error returns a message with the file and the line.
func (e *LineError) Error() string {
	name := e.Name
	if name == "" {
		name = "line "
	} else {
		name += ":"
	}
	return name + strconv.FormatInt(e.Line, 10) + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// ErrLineTooLong means that a line is longer than [MaxLine].
var ErrLineTooLong = errors.New("line is longer than 65536 bytes: not a workload file?")

// shorten returns the beginning of a text for an error message.
func shorten(b []byte) string {
	const most = 40
	if len(b) > most {
		return string(b[:most]) + "..."
	}
	return string(b)
}
