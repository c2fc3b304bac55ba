package pipeline

import "sync/atomic"

// loadCounts count the work on the load of a cluster, for readers.
type loadCounts struct{ made, failures atomic.Int64 }

// LoadForecasts returns how many forecasts of the load were made since the start of the process, and how many attempts to observe or forecast it failed.
func (v *View) LoadForecasts() (made, failures int64) {
	if v.load == nil {
		return 0, 0
	}
	return v.load.counts.made.Load(), v.load.counts.failures.Load()
}
