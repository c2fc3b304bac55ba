package swf

import (
	"errors"
	"fmt"
	"strconv"
)

// Reason is the error in a field.
type Reason uint8

// The reasons a line is refused for.
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
	Field  int    // 1 to 18, as the format counts them
	Reason Reason // what is wrong
	Text   string // the start of the offending text, where there is any
}

// Error names the field by number and name.
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

// HeaderError reports which header line cannot be understood. The line itself is kept in [Header.Lines].
type HeaderError struct {
	Key   string // as "MaxProcs"
	Value string // what stands after the colon
	Want  string // what should stand there
}

// Error names the key, its value and what was expected.
func (e *HeaderError) Error() string {
	return fmt.Sprintf("header %s: want %s, got %q", e.Key, e.Want, e.Value)
}

// LineError is a line that could not be used. It wraps a *FieldError, a *HeaderError or [ErrLineTooLong].
type LineError struct {
	Name string // the file, empty where the Reader was not told
	Line int64  // counted from 1
	Err  error  // why
}

// Error names file and line.
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

// ErrLineTooLong is the reason of a line longer than [MaxLine].
var ErrLineTooLong = errors.New("line is longer than 65536 bytes: not a workload file?")

// shorten returns the start of a text for an error message.
func shorten(b []byte) string {
	const most = 40
	if len(b) > most {
		return string(b[:most]) + "..."
	}
	return string(b)
}
