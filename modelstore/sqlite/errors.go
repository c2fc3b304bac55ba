package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/waitcast/waitcast/modelstore"
)

// ForeignError reports that the file is a database of another program.
type ForeignError struct {
	Path string
	// ApplicationID is the application id in the file (PRAGMA application_id).
	ApplicationID int64
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is a database of another program (application id %#x): give the store a path of its own",
		e.Path, e.ApplicationID)
}

// explain wraps an error of the driver. The result has advice, and wraps the cause for errors.Is.
func explain(path, doing string, err error) error {
	if err == nil {
		return nil
	}
	hint, cause := diagnose(err)
	if cause == nil || errors.Is(err, cause) {
		return fmt.Errorf("store %s: %s: %w", path, doing, err)
	}
	return fmt.Errorf("store %s: %s: %w: %w (%s)", path, doing, cause, err, hint)
}

// diagnose classifies an error and returns advice. The result cause is nil if no caller needs to distinguish the
// error. The codes are listed at https://www.sqlite.org/rescode.html
func diagnose(err error) (hint string, cause error) {
	var e *driver.Error
	if !errors.As(err, &e) {
		return "", nil
	}
	switch code := e.Code(); {
	case code == lib.SQLITE_IOERR_SHMSIZE, code&0xff == lib.SQLITE_FULL:
		return "free space on its file system; nothing of this was stored, it can be tried again", modelstore.ErrFull
	case code&0xff == lib.SQLITE_CORRUPT, code&0xff == lib.SQLITE_NOTADB, code == lib.SQLITE_IOERR_SHORT_READ:
		return "restart: the damaged file is then set aside and rebuilt from the logs", modelstore.ErrCorrupt
	case code&0xff == lib.SQLITE_READONLY, code&0xff == lib.SQLITE_PERM, code&0xff == lib.SQLITE_CANTOPEN:
		return "check the owner and mode of the file and its folder, and that the file system is mounted for writing",
			modelstore.ErrReadOnly
	}
	return "", nil
}

// readOnlyHint wraps an error of the file system in ErrReadOnly or ErrFull, with advice, if it has one of these causes.
func readOnlyHint(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf(
			"%w: %w (check the owner and mode of the folder, and that the file system is mounted for writing)",
			modelstore.ErrReadOnly, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w (free space on the file system)", modelstore.ErrFull, err)
	}
	return err
}

// scanError returns the error for a row that cannot be read: that of the context if it was cancelled, because this
// closes the rows during the reading, otherwise an error for damaged data.
func scanError(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return damaged("%s: %v", what, err)
}

// damaged returns an error that wraps ErrCorrupt and names what is damaged.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", modelstore.ErrCorrupt, fmt.Sprintf(format, args...))
}
