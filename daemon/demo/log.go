package demo

import (
	"context"
	"errors"
	"time"
)

// Log is an accounting log for tests that a simulated cluster has written without a daemon.
type Log struct {
	// End is the end of the logged time.
	End time.Time
	// Jobs is the number of submitted jobs.
	Jobs int64
}

// WriteLog runs the simulated cluster for some time, and then on to an instant at which jobs wait. It writes the
// cluster's PBS accounting log into dir. The same seed gives the same log.
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
