package modelstore

import (
	"errors"
	"fmt"
)

// These are kinds of errors of a store, for errors.Is.
var (
	// ErrFull means that the disk is full. Nothing was stored. The daemon can still answer requests, and the Commit
	// can be repeated.
	ErrFull = errors.New("no room left")
	// ErrCorrupt means that the stored data are damaged. If the store is a file, close it and open it again: opening
	// checks the store, sets it aside if necessary, and creates a new one, which is filled from the logs.
	ErrCorrupt = errors.New("stored data are damaged")
	// ErrReadOnly means that the store cannot be written.
	ErrReadOnly = errors.New("not writable")
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrLeaseLost means that another process may write this store now, or that this process never acquired the
	// lease. Nothing was stored. A retry cannot help, because the caller's memory differs from the store. Restart,
	// and acquire the lease.
	ErrLeaseLost = errors.New("the lease on the store is not held")
)

// SeqError reports that a Commit does not continue after the last one. This is a mistake of the caller: the previous
// batch failed and was not committed again, or a number was used twice.
type SeqError struct {
	// Got is the wrong Seq. Want is the expected Seq.
	Got, Want int64
}

// Error implements error.
func (e *SeqError) Error() string {
	return fmt.Sprintf("journal entry has number %d, expected %d: commit failed batches again before going on",
		e.Got, e.Want)
}

// InvalidError reports that a value cannot be stored.
type InvalidError struct {
	// What names the value ("entry 17 (kth/123.0 start)"). Field names the part of it that is wrong.
	What, Field string
	// Problem describes the error.
	Problem string
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("cannot store %s: %s %s", e.What, e.Field, e.Problem)
}

// DamagedError reports that every snapshot has a wrong checksum.
type DamagedError struct {
	// Seqs are the numbers of the snapshots, newest first.
	Seqs []int64
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("every snapshot is damaged (at events %v): drop them and replay the journal", e.Seqs)
}

// Unwrap returns ErrCorrupt.
func (e *DamagedError) Unwrap() error { return ErrCorrupt }

// NewerError reports that a newer version of the program wrote the store.
type NewerError struct {
	Path string
	// Have is the version of the store's schema. Known is the newest version that this program knows.
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

// These are the kinds of changes.
const (
	// Deleted means that the file has no name any more.
	Deleted FileChange = "was deleted while it was open"
	// Moved means that the file has another name or is in another folder.
	Moved FileChange = "was moved or renamed while it was open"
	// Replaced means that another file has the name now.
	Replaced FileChange = "was replaced by another file while it was open"
	// Unreachable means that the name cannot be looked up, so that the change is unknown.
	Unreachable FileChange = "cannot be looked up any more"
)

// IdentityError reports that a file of the store is no longer the file that was opened. Nothing more is stored until
// the opened file is in its place again, because nobody would find the data.
type IdentityError struct {
	// Path is the name by which the file was opened.
	Path   string
	Change FileChange
	// Reason is the error of looking up the name; it is set for Unreachable.
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
