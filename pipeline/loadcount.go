package pipeline

import "sync/atomic"

// loadCounts count the work on the load of a cluster, for readers.
type loadCounts struct{ made, failures atomic.Int64 }
