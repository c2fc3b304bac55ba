package modelstore

import (
	"errors"
	"fmt"
)

// What can be wrong with a store, for errors.Is.
var (
	// ErrFull: there is no room. Nothing was stored; answers can still be served, and the Commit be tried again.
	ErrFull = errors.New("no room left")
	// ErrCorrupt: what is stored is damaged. Close the store and open it again: it is checked then, set aside if need be,
	// and rebuilt from the logs.
	ErrCorrupt = errors.New("stored data are damaged")
	// ErrReadOnly: the store cannot be written.
	ErrReadOnly = errors.New("not writable")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrLeaseLost: somebody else may write this store now, or nobody asked for the right to. Nothing of this was stored, and trying again
	// cannot help: what the caller has in memory is not what the store holds. Start anew, and ask for the lease.
	ErrLeaseLost = errors.New("the lease on the store is not held")
)

// SeqError says that a Commit does not go on where the last one ended. It is a mistake of the caller: the batch before
// failed and was not committed again, or a number was given twice.
type SeqError struct {
	// Got is the offending Seq, Want the one that was expected.
	Got, Want int64
}

// Error implements error.
func (e *SeqError) Error() string {
	return fmt.Sprintf("journal entry has number %d, expected %d: commit failed batches again before going on", e.Got, e.Want)
}

// InvalidError says that a value cannot be stored.
type InvalidError struct {
	// What names the value ("entry 17 (kth/123.0 start)"), Field the part of it that is wrong.
	What, Field string
	// Problem says what is wrong with it.
	Problem string
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("cannot store %s: %s %s", e.What, e.Field, e.Problem)
}

// DamagedError says that every snapshot failed its checksum.
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

// NewerError says that the store was written by a newer version of the program.
type NewerError struct {
	Path string
	// Have is the version of the store's schema, Known the newest that this program knows.
	Have, Known int
}

// Error implements error.
func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has schema version %d, but this program knows only up to %d: run the newer program, or move the file away to start anew",
		e.Path, e.Have, e.Known)
}
