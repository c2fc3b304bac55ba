// Package polling waits in tests for a condition without keeping a processor busy with looking.
package polling

import "time"

// Until looks whether a condition holds until it does, and reports whether it did within the limit.
//
// A look may be expensive: a command of Slurm, a scrape of all metrics. So the pause between two looks is four times as
// long as the last look took: looking takes at most a fifth of a processor, however slow the machine is.
func Until(limit time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		begun := time.Now()
		if holds() {
			return true
		}
		select {
		case <-deadline.C:
			return false
		case <-time.After(pause(time.Since(begun))):
		}
	}
}

const (
	shortest = 5 * time.Millisecond
	longest  = 500 * time.Millisecond
)

// pause returns the time to wait after a check that took a given time.
func pause(look time.Duration) time.Duration {
	return min(max(4*look, shortest), longest)
}
