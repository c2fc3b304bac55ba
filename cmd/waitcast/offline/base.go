package offline

import (
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// Commands are the commands that work on files, without a daemon.
type Commands struct {
	*console.Console
	// daemon returns the client of waitcast generate --live, and timeout is the time that the daemon has to begin.
	daemon  func() (*client.Client, error)
	timeout *duration.Value
}
