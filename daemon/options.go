package daemon

import (
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"go.uber.org/zap"
)

// stopGrace is how long an orderly stop may take before work under way is abandoned. Nothing is lost then: the logs are
// read again from the last checkpoint.
const stopGrace = 10 * time.Second

// queued is the number of deliveries that may wait for the writer.
const queued = 16

// batchLines bounds the lines of one delivery. Every submission among them is forecast before the delivery can be
// committed, which takes about a millisecond each.
const batchLines = 256

// Options are the needs of a daemon beside its configuration.
type Options struct {
	// Log may be nil.
	Log *zap.Logger
	// Level is the level of Log, which administrators and reloads change; nil if it does not change.
	Level *LogLevel
	// Now is the wall clock; nil means time.Now. A simulated cluster brings its own.
	Now func() time.Time
	// Cores is the number of processors for work in the background; 0 means runtime.GOMAXPROCS.
	Cores int
	// Version is the program's.
	Version string
	// Load reads the configuration again, for a reload; nil if there is none.
	Load func() (*config.Config, error)
	// Reload asks Run for a reload, as SIGHUP does; nil is never.
	Reload <-chan struct{}

	// The rest outlives the cores.
	wasReady *atomic.Bool                         // of /readyz
	noticed  *atomic.Pointer[readmodel.Condition] // of the database; nil inside while nothing was noticed
}
