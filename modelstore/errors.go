package modelstore

import (
	"errors"
	"fmt"
)

// What can be wrong with a store, for errors.Is.
var (
	// ErrFull: there is no room. Nothing was stored; answers can still be served, and the Commit be tried again.
	ErrFull = errors.New("no room left")
	// ErrCorrupt: the stored data are damaged. Close the store and open it again: it is then checked, set aside if
	// necessary, and rebuilt from the logs.
	ErrCorrupt = errors.New("stored data are damaged")
	// ErrReadOnly: the store cannot be written.
	ErrReadOnly = errors.New("not writable")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrLeaseLost: another process may write this store now, or this one never requested the lease. Nothing was
	// stored, and a retry cannot help: the caller's memory differs from the store. Restart, and request the lease.
	ErrLeaseLost = errors.New("the lease on the store is not held")
)

// SeqError reports that a Commit does not continue after the last one. It is an error of the caller: the batch before
// failed and was not committed again, or a number was given twice.
type SeqError struct {
	// Got is the offending Seq, Want the one that was expected.
	Got, Want int64
}

// Error implements error.
func (e *SeqError) Error() string {
	return fmt.Sprintf("journal entry has number %d, expected %d: commit failed batches again before going on",
		e.Got, e.Want)
}

// InvalidError reports that a value cannot be stored.
type InvalidError struct {
	// What names the value ("entry 17 (kth/123.0 start)"), Field the part of it that is wrong.
	What, Field string
	// Problem describes the error.
	Problem string
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("cannot store %s: %s %s", e.What, e.Field, e.Problem)
}

// DamagedError reports that every snapshot failed its checksum.
type DamagedError struct {
	// Seqs are their numbers, newest first.
	Seqs []int64
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("every snapshot is damaged (at events %v): drop them and replay the journal", e.Seqs)
}

// Unwrap returns ErrCorrupt.
func (e *DamagedError) Unwrap() error { return ErrCorrupt }

// NewerError reports that the store was written by a newer version of the program.
type NewerError struct {
	Path string
	// Have is the version of the store's schema, Known the newest that this program knows.
	Have, Known int
}

// Error implements error.
func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has schema version %d, but this program knows only up to %d: run the newer program, or "+
		"move the file away to start anew",
		e.Path, e.Have, e.Known)
}

// FileChange is a change of a store's file while it was open.
type FileChange string

// The kinds of changes.
const (
	// Deleted: the file has no name any more.
	Deleted FileChange = "was deleted while it was open"
	// Moved: the file has another name now, or is in another folder.
	Moved FileChange = "was moved or renamed while it was open"
	// Replaced: another file has its name now.
	Replaced FileChange = "was replaced by another file while it was open"
	// Unreachable: unknown, because the name cannot be looked up.
	Unreachable FileChange = "cannot be looked up any more"
)

// IdentityError reports that a file of the store is no longer the one that was opened. Nothing is stored until it is in
// its place again, because nobody would find it.
type IdentityError struct {
	// Path is the name by which the file was opened.
	Path   string
	Change FileChange
	// Reason is why the name cannot be looked up, for Unreachable.
	Reason error
	// Remedy is advice to the administrator.
	Remedy string
}

// Error implements error.
func (e *IdentityError) Error() string {
	if e.Reason != nil {
		return fmt.Sprintf("%s %s (%v): %s", e.Path, e.Change, e.Reason, e.Remedy)
	}
	return fmt.Sprintf("%s %s: %s", e.Path, e.Change, e.Remedy)
}

// Unwrap returns the reason.
func (e *IdentityError) Unwrap() error { return e.Reason }
