// Package collector defines how a scheduler's log becomes events. A Format makes a Parser for one source, and a
// Parser turns complete lines into job events. The formats are in packages below this one. Package collector/tail
// reads the files.
package collector

import (
	"fmt"
	"io"
	"time"

	"github.com/waitcast/waitcast/job"
)

// Parser turns the lines of one source into events, in the order of the lines. It may keep state from earlier lines (a
// header). It is not safe for concurrent use.
type Parser interface {
	// Parse reads one complete line, without its line end, and emits its events. It emits none for a comment, or for
	// a record that is not about a job. The line is valid only during the call. An error is a *LineError; events that
	// were emitted before it count.
	Parse(line []byte, emit func(job.Event)) error
}

// HeaderParser is a Parser whose files begin with a header on which later lines depend. After a restart the daemon
// continues in the middle of a file; it first passes the lines of the header to Header.
type HeaderParser interface {
	Parser
	// Header reads one line from the beginning of the file and reports whether the line belongs to the header. The
	// first line that does not belong to it ends the header.
	Header(line []byte) bool
}

// Flusher is a Parser whose records span several lines.
type Flusher interface {
	Parser
	// Flush is called after the last line of a complete file. An error reports a record without its end.
	Flush() error
}

// Dated is a Parser of local times. When clocks are set back, one hour of local time occurs twice. A time in that hour
// is resolved by the time at which the line was written. The reader, not the parser, keeps that time and saves it with
// the position.
type Dated interface {
	Parser
	// ReadAt is called before each line. now is the present time by the clock of the log if the line was written just
	// now, and the zero time otherwise.
	ReadAt(now time.Time)
	// After is called before each line with the newest instant of earlier lines, zero if there is none. It is for
	// formats with ordered lines. In such a format a local time that occurs twice means the first of its two instants,
	// or the second if only the first lies before newest.
	After(newest time.Time)
}

// Zoned is a Parser of local times whose records also have Unix times. If both differ by hours, the configured zone is
// not that of the log, and the parser corrects its local times by the difference.
type Zoned interface {
	Parser
	// Survey reads a line before Parse does, so that records before the first one with both times are corrected too.
	// It reports whether the difference is known.
	Survey(line []byte) (known bool)
	// Shift returns the difference, 0 if it is unknown. SetShift sets it for the records before the first one that
	// shows it.
	Shift() time.Duration
	SetShift(shift time.Duration)
}

// Whole is a job that one record describes from submission to end. It has the fields from which the models learn and
// from which the use of the machine is computed. Times are Unix seconds.
type Whole struct {
	Queue              string
	Procs              int
	Submit, Start, End int64
	// Ran is false for a job that left the queue without running; Start is then the time at which it left.
	Ran bool
}

// WholeParser is a Parser whose records hold whole jobs, in order of submission. With it, a log that is read once and
// not followed is read several times faster, with the same result.
type WholeParser interface {
	Parser
	// ParseWhole reads one line like Parse; ok is false for a line without a job.
	ParseWhole(line []byte) (w Whole, ok bool, err error)
}

// Order defines how the events of a source are ordered in time.
type Order uint8

const (
	// Live sources write a record at the time of its event. So the order of lines is the order of events.
	Live Order = iota
	// BySubmit sources have a whole job in one record, and their records are in order of submission (the Standard
	// Workload Format). Starts and ends are held back until the submissions have reached their times.
	BySubmit
)

// Format is one log format.
type Format struct {
	// Name is the name in the configuration: "pbs", "swf".
	Name string
	// Order defines how the events of a source are merged in time.
	Order Order
	// AtEnd is true if a record describes a whole job and is written after the end of the job. Such a log is read after
	// logs that record submissions and starts as they happen, so that its records add nothing to jobs that are known
	// already.
	AtEnd bool
	// InTurn is true if each server host of a scheduler writes its own log of this format, and only one host writes at
	// a time. Then only one of several configured files grows. The others do not change, or cannot be read.
	InTurn bool
	// Lists is true if the source lists the jobs of the scheduler, with the starts of jobs that have just ended.
	Lists bool
	// Private is true if the scheduler may hide the jobs of a user from other users (Slurm's PrivateData), and a source
	// of this format is its client, so that it matters to the daemon.
	Private bool
	// New returns a parser for one source.
	New func(Options) Parser
	// Records is set for a format whose records are not lines. It splits a file into records; Parse is called with each
	// record instead of a line. Such a file is read once and cannot be followed.
	Records func(io.Reader) RecordReader
}

// RecordReader reads the records of a document.
type RecordReader interface {
	// Next returns the next record and the number of the line in which it begins. The record is valid until the next
	// call. Next returns io.EOF after the last record, and another error for a damaged or truncated document. After
	// an error it must not be called again.
	Next() (record []byte, line int64, err error)
}

// Options are the parts of the configuration that a parser needs.
type Options struct {
	// Cluster is set in every event.
	Cluster string
	// Location is the zone of local times without an offset; nil means time.Local.
	Location *time.Location
	// MaxProcs is the largest size a job can have on this machine; a larger one is a bad line. 0 means unknown.
	MaxProcs int
	// Notice, if set, is called for problems of a line that is used nevertheless, such as an optional field that cannot
	// be read. It is called while the line is parsed.
	Notice func(*LineError)
	// Columns names the columns of a dump without a header, separated by commas. It is empty if the dump has a header
	// or a well-known form.
	Columns string
	// Only is the name of a cluster in the scheduler's accounting. Only records of that cluster are read; if it is
	// empty, all are read. Recorded is true for a log that is read once from its beginning. Unless Only is set, all
	// records of such a log must be of one cluster.
	Only     string
	Recorded bool
	// Others are the names of the daemon's other clusters. Their records are refused as bad lines.
	Others []string
	// Queues are the configured queues. A configured queue is never taken for a reservation, even if its name looks
	// like one.
	Queues []string
}

// These are the reasons why a line is bad: the values of the label "reason" of waitcast_bad_lines_total, and of the
// quarantine. Formats must not add others, so that the label stays bounded.
const (
	ReasonFormat   = "format"    // not a record of this format at all
	ReasonField    = "field"     // a field is missing or cannot be parsed
	ReasonTime     = "time"      // an impossible time
	ReasonProcs    = "procs"     // 0 processors, or more than the machine has
	ReasonFuture   = "future"    // later than the clock, by more than is tolerated
	ReasonLongLine = "long_line" // longer than the limit
	ReasonUnknown  = "unknown"   // an undocumented record type
)

// Reasons returns all reasons.
func Reasons() []string {
	return []string{ReasonFormat, ReasonField, ReasonTime, ReasonProcs, ReasonFuture, ReasonLongLine, ReasonUnknown}
}

// LineError reports the error in one line. The caller adds file and line number.
type LineError struct {
	// Reason is one of the Reason constants.
	Reason string
	// Field names the wrong part of the line, if it is a single part.
	Field string
	// Err describes the error.
	Err error
}

// Error implements error.
func (e *LineError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("bad line (%s): %v", e.Reason, e.Err)
	}
	return fmt.Sprintf("bad line (%s): field %s: %v", e.Reason, e.Field, e.Err)
}

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Bad returns a LineError with a formatted cause.
func Bad(reason, field, format string, args ...any) *LineError {
	return &LineError{Reason: reason, Field: field, Err: fmt.Errorf(format, args...)}
}
