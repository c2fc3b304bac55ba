package demo

import (
	"context"
	"errors"
	"time"
)

// Log is an accounting log that a simulated cluster has written, without a daemon on it, for tests.
type Log struct {
	// End is the end of the logged time.
	End time.Time
	// Jobs is the number of submitted jobs.
	Jobs int64
}

// WriteLog runs the simulated cluster from an instant on for some time, and further to a moment at which jobs wait, and
// writes its PBS accounting log into dir. The same seed writes the same log.
func WriteLog(ctx context.Context, dir string, from time.Time, history time.Duration, seed uint64) (l Log, err error) {
	c, err := newCluster(dir, from, seed)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	l.End, err = writeHistory(ctx, c, from.Add(history))
	l.Jobs = c.jobs
	return l, err
}
