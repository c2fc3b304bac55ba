package daemon

import (
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"go.uber.org/zap"
)

// stopGrace is the maximum time for an orderly stop. Work that is unfinished then is abandoned. Nothing is lost: the
// next start reads the logs again from the last checkpoint.
const stopGrace = 10 * time.Second

// queued is the number of deliveries that may wait for the writer.
const queued = 16

// batchLines is the maximum number of lines in one delivery. Every submission in a delivery is forecast before the
// delivery is committed. One forecast takes 1 ms to about 15 ms of CPU time; it takes longest if a few hundred jobs
// wait.
const batchLines = 256

// Options are the inputs of a daemon besides its configuration.
type Options struct {
	// Log may be nil.
	Log *zap.Logger
	// Level is the level of Log. Administrators and reloads change it. It is nil if the level does not change.
	Level *LogLevel
	// Now returns the wall-clock time; nil means time.Now. A simulated cluster has its own clock.
	Now func() time.Time
	// SimulatedSpeed is the speed of Now relative to the real clock if Now is the clock of a simulated cluster. It is
	// 0 if Now is real.
	SimulatedSpeed float64
	// Cores is the number of processors for work in the background; 0 means runtime.GOMAXPROCS.
	Cores int
	// Version is the version of the program.
	Version string
	// Load reads the configuration again for a reload; nil if the configuration cannot be read again.
	Load func() (*config.Config, error)
	// Reload makes Run reload when it receives a value, as after SIGHUP. A nil channel never does.
	Reload <-chan struct{}

	// The following fields outlive the cores.
	wasReady *atomic.Bool                         // whether /readyz has reported that the daemon is ready
	noticed  *atomic.Pointer[readmodel.Condition] // the condition of the database; it holds nil while there is none
	// The condition of the configuration; it holds nil while there is none.
	refused *atomic.Pointer[readmodel.Condition]
}
