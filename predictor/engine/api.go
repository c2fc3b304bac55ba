package engine

import (
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// Request is the request of a job, as package track knows it.
type Request = track.Request

// Hold is what is known of why a job does not compete, as package track knows it.
type Hold = track.Hold

// Prior is the errors of simulations elsewhere, which forecasts start from, as package ensemble knows it.
type Prior = ensemble.Prior

// PoolConfig is a pool as it is configured, as package pools knows it.
type PoolConfig = pools.PoolConfig

// Outage is processors of a pool that are away for a time.
type Outage = pools.Outage

// Pivot is a running job whose end a start hangs on.
type Pivot = pools.Pivot
