// Package collector defines how a scheduler's log becomes events: a Format makes a Parser for one source, and a
// Parser turns complete lines into job events. The formats live in packages below it, the reading of files in
// collector/tail.
package collector

import (
	"fmt"
	"io"
	"time"

	"github.com/waitcast/waitcast/job"
)

// Parser turns the lines of one source into events, in the order of the lines. It may keep facts of earlier lines (a
// header); it is used by one goroutine.
type Parser interface {
	// Parse reads one complete line, without its line end, and emits its events: none for a comment or a record that is
	// not about a job. The line is valid only during the call. An error is a *LineError; the events emitted before it
	// count.
	Parse(line []byte, emit func(job.Event)) error
}

// HeaderParser is a Parser whose files begin with a header that later lines depend on. After a restart the daemon reads
// on in the middle of a file; it hands the header's lines to Header first.
type HeaderParser interface {
	Parser
	// Header reads one line of the file's beginning and reports whether it belonged to the header; the first line that
	// does not ends the reading.
	Header(line []byte) bool
}

// Flusher is a Parser that puts records together of several lines.
type Flusher interface {
	Parser
	// Flush is called after the last line of a file that is complete. An error reports a record whose end never came.
	Flush() error
}

// Dated is a Parser of local times. An hour that clocks show twice is resolved by when the line was written. The parser
// keeps nothing of that itself: the reader knows it, and saves it with the position.
type Dated interface {
	Parser
	// ReadAt is called with the clock before lines that were written just now, and with the zero time before others.
	ReadAt(now time.Time)
	// After is called before each line with the newest instant of earlier lines, zero if there is none. A format whose
	// lines are in the order of their times takes as the second pass what would be earlier than that as the first.
	After(newest time.Time)
}

// Whole is a job in one record, as far as models and the use of the machine need it. Instants are Unix seconds.
type Whole struct {
	Queue              string
	Procs              int
	Submit, Start, End int64
	// Ran is false for a job that left the queue at Start without a start.
	Ran bool
}

// WholeParser is a Parser whose records have whole jobs, in order of submission. A log that is read once and not
// followed can be taken in many times faster this way; the result is the same.
type WholeParser interface {
	Parser
	// ParseWhole reads one line like Parse; ok is false for a line without a job.
	ParseWhole(line []byte) (w Whole, ok bool, err error)
}

// Order defines how the events of a source are ordered in time.
type Order uint8

const (
	// Live sources write a record when it happens: the order of lines is the order of events.
	Live Order = iota
	// BySubmit sources have a whole job in one record, and records come in order of submission (the Standard Workload
	// Format). Starts and ends are held back until the submissions have passed them.
	BySubmit
)

// Format is one log format.
type Format struct {
	// Name is how the configuration names it: "pbs", "swf".
	Name string
	// Order defines how to merge its events in time.
	Order Order
	// InTurn is true if the hosts of a scheduler's servers write such a log in turn, each its own: of a cluster with
	// several of them, one is written, and the others are silent or cannot be read.
	InTurn bool
	// New returns a parser for one source.
	New func(Options) Parser
	// Records is set for a format whose records are not lines: it takes a file apart, and Parse is called with each
	// record. Such a file is read once; it cannot be followed.
	Records func(io.Reader) RecordReader
}

// RecordReader takes a document apart.
type RecordReader interface {
	// Next returns the next record, which is valid until the next call, and the number of the line in which it begins.
	// It returns io.EOF after the last, and another error, after which nothing follows, for a document that is broken
	// or cut off.
	Next() (record []byte, line int64, err error)
}

// Options are what a parser must know from the configuration.
type Options struct {
	// Cluster goes into every event.
	Cluster string
	// Location is the zone of local times without an offset; nil means time.Local.
	Location *time.Location
	// MaxProcs is the largest size a job can have on this machine; a larger one is a bad line. 0 means unknown.
	MaxProcs int
	// Notice, if it is set, receives what is odd about a line that counts all the same: a field that cannot be read,
	// and that is not needed. It is called while the line is parsed.
	Notice func(*LineError)
	// Columns names the columns of a format of columns whose dump has no header, separated by commas. Empty where the
	// dump has one, or where its form is well known.
	Columns string
	// Only names the cluster, as the scheduler's accounting calls it, whose records are read where it has those of
	// several; empty reads all. Recorded is true for a log that is read once from its beginning: if Only is empty, its
	// records must be of one cluster then.
	Only     string
	Recorded bool
	// Others are the names of the other clusters of a daemon: their records are refused, as bad lines.
	Others []string
	// Queues are the configured queues: one whose name looks like that of a reservation is a queue all the same.
	Queues []string
}

// Reasons why a line is bad: the values of the label "reason" of waitcast_bad_lines_total, and of the quarantine.
// Formats add none of their own, so that the label stays bounded.
const (
	ReasonFormat   = "format"    // not a record of this format at all
	ReasonField    = "field"     // a field is missing or does not parse
	ReasonTime     = "time"      // an instant that cannot be
	ReasonProcs    = "procs"     // 0 processors, or more than the machine has
	ReasonFuture   = "future"    // happened later than now
	ReasonLongLine = "long_line" // longer than the limit
	ReasonUnknown  = "unknown"   // a record type that nobody has documented
)

// Reasons returns them all.
func Reasons() []string {
	return []string{ReasonFormat, ReasonField, ReasonTime, ReasonProcs, ReasonFuture, ReasonLongLine, ReasonUnknown}
}

// LineError reports what is wrong with one line. File and line number are added by the one who knows them.
type LineError struct {
	// Reason is one of the Reason constants.
	Reason string
	// Field names the part of the line that is wrong, if one part is.
	Field string
	// Err reports what is wrong with it.
	Err error
}

// Error implements error.
func (e *LineError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("bad line (%s): %v", e.Reason, e.Err)
	}
	return fmt.Sprintf("bad line (%s): field %s: %v", e.Reason, e.Field, e.Err)
}

// Unwrap returns what is wrong with the field.
func (e *LineError) Unwrap() error { return e.Err }

// Bad returns a LineError with a formatted cause.
func Bad(reason, field, format string, args ...any) *LineError {
	return &LineError{Reason: reason, Field: field, Err: fmt.Errorf(format, args...)}
}
