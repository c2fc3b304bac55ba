package tail

import "fmt"

// Reason is the kind of a problem. It is a metric label, so there are few.
type Reason string

// The reasons of problems.
const (
	LineTooLong    Reason = "line_too_long"   // a line longer than MaxLine was skipped
	NulBytes       Reason = "nul_bytes"       // a line still had NUL bytes after the grace and was skipped
	PartialLine    Reason = "partial_line"    // a finished file ends without newline; the rest is ignored
	Truncated      Reason = "truncated"       // a file became shorter or was rewritten, and is read again from offset 0
	CheckpointLost Reason = "checkpoint_lost" // the file of the checkpoint cannot be found
	Missing        Reason = "missing"         // the path does not exist (yet)
	Unreadable     Reason = "unreadable"      // the file cannot be opened or read
	IsDirectory    Reason = "is_a_directory"  // a file's path is a directory
	Behind         Reason = "behind"          // a copy of a known file is shorter than the part that was read
	NotRegular     Reason = "not_regular"     // the path is a pipe, device or socket
	Copied         Reason = "copy"            // a file is a copy of one being read; it is ignored
	BadHeader      Reason = "header"          // Options.Header failed
	Suppressed     Reason = "suppressed"      // journald dropped messages before storing them

	// These reasons are about the content of lines. The tailer's consumer reports them.
	WrongFormat Reason = "wrong_format" // the log is written in another format than configured
	Future      Reason = "future"       // records are dated later than now
	OddField    Reason = "odd_field"    // an optional field of a good record cannot be parsed and is ignored
)

// Standing reports whether the problem keeps the log from being read until somebody fixes it.
func (r Reason) Standing() bool {
	switch r {
	case Missing, Unreadable, IsDirectory, NotRegular, WrongFormat, Behind:
		return true
	}
	return false
}

// Problem is a problem for an administrator. Standing ones (see Reason.Standing) are reported once until they change.
type Problem struct {
	Path   string
	Number int64 // line number from 1, 0 if the problem has no line
	Reason Reason
	Err    error // details, never nil
	// Text is the beginning of the skipped line.
	Text []byte
}

// Error implements error: path, line, reason, details.
func (p Problem) Error() string {
	if p.Number > 0 {
		return fmt.Sprintf("%s:%d: %s: %v", p.Path, p.Number, p.Reason, p.Err)
	}
	return fmt.Sprintf("%s: %s: %v", p.Path, p.Reason, p.Err)
}

// Unwrap returns the details.
func (p Problem) Unwrap() error { return p.Err }
