package engine

import (
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// Request is the request of a job (track.Request).
type Request = track.Request

// Place is one of several queues in which a job may start (track.Place).
type Place = track.Place

// MostPlaces is the maximum number of queues of a request (track.MostPlaces).
const MostPlaces = track.MostPlaces

// JoinPlaces returns the form of places in Request.Queues (track.JoinPlaces).
func JoinPlaces(places []Place) string { return track.JoinPlaces(places) }

// Hold is the known reason why a job does not compete (track.Hold).
type Hold = track.Hold

// Prior has the errors of simulations on other clusters, which the first forecasts use (ensemble.Prior).
type Prior = ensemble.Prior

// PoolConfig is the configuration of a pool (pools.PoolConfig).
type PoolConfig = pools.PoolConfig

// Outage is a time during which processors of a pool are unavailable.
type Outage = pools.Outage

// Access defines who may use the nodes of an outage.
type Access = pools.Access

// Nodes are the nodes of a pool (pools.Nodes).
type Nodes = pools.Nodes

// NodeGroup is a group of equal nodes of a pool.
type NodeGroup = pools.NodeGroup

// QueueRules has rules for the jobs of a queue: whether they get whole nodes, and their default memory.
type QueueRules = pools.QueueRules

// Pivot is a running job on whose end the start of a job or request depends.
type Pivot = pools.Pivot

// Kept is the limit that keeps a request from starting at once (pools.Kept).
type Kept = pools.Kept

// Freed describes which running jobs must end until a limit has room for a request (pools.Freed).
type Freed = pools.Freed
