package daemon

import (
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"go.uber.org/zap"
)

// stopGrace is the time that an orderly stop may take. Then unfinished work is abandoned. Nothing is lost: the next
// start reads the logs again from the last checkpoint.
const stopGrace = 10 * time.Second

// queued is the number of deliveries that may wait for the writer.
const queued = 16

// batchLines is the maximum number of lines in one delivery. Before a delivery is committed, every submission in it is
// forecast. One forecast takes from one to about 15 ms of CPU; it takes longest if a few hundred jobs wait.
const batchLines = 256

// Options are the needs of a daemon beside its configuration.
type Options struct {
	// Log may be nil.
	Log *zap.Logger
	// Level is the level of Log, which administrators and reloads change; nil if it does not change.
	Level *LogLevel
	// Now is the wall clock; nil means time.Now. A simulated cluster brings its own.
	Now func() time.Time
	// SimulatedSpeed is the speed of Now relative to the real clock, if it is that of a simulated cluster; 0 if Now is
	// real.
	SimulatedSpeed float64
	// Cores is the number of processors for work in the background; 0 means runtime.GOMAXPROCS.
	Cores int
	// Version is the program's.
	Version string
	// Load reads the configuration again, for a reload; nil if there is none.
	Load func() (*config.Config, error)
	// A value on Reload makes Run reload, as after SIGHUP; nil means never.
	Reload <-chan struct{}

	// The fields from here on outlive the cores.
	wasReady *atomic.Bool                         // whether /readyz has reported that the daemon is ready
	noticed  *atomic.Pointer[readmodel.Condition] // condition of the database; holds nil while there is none
	refused  *atomic.Pointer[readmodel.Condition] // condition of the configuration; holds nil while there is none
}
