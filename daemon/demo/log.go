package demo

import (
	"context"
	"errors"
	"time"
)

// Log is an accounting log that a simulated cluster has written, without a daemon on it, for tests.
type Log struct {
	// End is up to when the log tells.
	End time.Time
	// Jobs is how many jobs were submitted.
	Jobs int64
}

// WriteLog lets the simulated cluster run from the midnight epoch for some time, and on to a moment at which jobs wait,
// and writes its PBS accounting log into dir. The same seed writes the same log.
func WriteLog(ctx context.Context, dir string, epoch time.Time, history time.Duration, seed uint64) (l Log, err error) {
	c, err := newCluster(dir, epoch, seed)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	l.End, err = writeHistory(ctx, c, history)
	l.Jobs = c.jobs
	return l, err
}
