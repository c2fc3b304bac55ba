package tail

import "fmt"

// Reason is the kind of a problem; it is a metric label, so there are few.
type Reason string

// The reasons of problems.
const (
	LineTooLong    Reason = "line_too_long"   // a line longer than MaxLine was skipped
	NulBytes       Reason = "nul_bytes"       // a line with NUL bytes stayed so for the grace and was skipped
	PartialLine    Reason = "partial_line"    // a finished file ends without newline; the rest was left
	Truncated      Reason = "truncated"       // a file became shorter or was rewritten: read again from 0
	CheckpointLost Reason = "checkpoint_lost" // the file of the checkpoint is nowhere to be found
	Missing        Reason = "missing"         // the path does not exist (yet)
	Unreadable     Reason = "unreadable"      // the file cannot be opened or read
	IsDirectory    Reason = "is_a_directory"  // a file's path is a directory
	NotRegular     Reason = "not_regular"     // the path is a pipe, device or socket
	Copied         Reason = "copy"            // a file is a copy of one being read: left alone
	BadHeader      Reason = "header"          // Options.Header failed
	Suppressed     Reason = "suppressed"      // journald dropped messages before they were in its journal

	// Of the lines' meaning, which the tailer knows nothing of: for its consumer.
	WrongFormat Reason = "wrong_format" // the log is written in another format than configured
	Future      Reason = "future"       // records are dated later than now
	OddField    Reason = "odd_field"    // a field of a record that counts cannot be read and is passed over
)

// Standing reports whether the problem keeps the log from being read until somebody mends it.
func (r Reason) Standing() bool {
	switch r {
	case Missing, Unreadable, IsDirectory, NotRegular, WrongFormat:
		return true
	}
	return false
}

// Problem is something an administrator should know. Standing ones (missing,
// unreadable, is_a_directory, not_regular) are reported once until they change.
type Problem struct {
	Path   string
	Number int64 // 1-based line, 0 where none is meant
	Reason Reason
	Err    error // details, never nil
	// Text is the beginning of a line that was skipped.
	Text []byte
}

// Error makes a Problem an error: path, line, reason, details.
func (p Problem) Error() string {
	if p.Number > 0 {
		return fmt.Sprintf("%s:%d: %s: %v", p.Path, p.Number, p.Reason, p.Err)
	}
	return fmt.Sprintf("%s: %s: %v", p.Path, p.Reason, p.Err)
}

// Unwrap gives the details.
func (p Problem) Unwrap() error { return p.Err }
