// Package polling waits in tests for a condition. It does not use a whole processor for the checks.
package polling

import "time"

// Until checks a condition again and again until it is true. It reports whether the condition became true within the
// limit.
//
// A check may be expensive, for example a command of Slurm or a scrape of all metrics. The pause after a check is four
// times as long as the check took, but at least 5 ms and at most 500 ms. So checks of up to 125 ms use at most a fifth
// of a processor.
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
		case <-time.After(pauseAfter(time.Since(begun))):
		}
	}
}

const (
	shortest = 5 * time.Millisecond
	longest  = 500 * time.Millisecond
)

// pauseAfter returns the time to wait after a check that took a given time.
func pauseAfter(check time.Duration) time.Duration {
	return min(max(4*check, shortest), longest)
}
