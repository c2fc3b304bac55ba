package offline

import (
	"io/fs"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// outMode is the mode of new files, before the umask.
const outMode fs.FileMode = 0o666

// Commands are the commands that work on files, without a daemon.
type Commands struct {
	*console.Console
	// daemon returns the client for "waitcast generate --live". timeout is the time within which the daemon must
	// begin to answer.
	daemon  func() (*client.Client, error)
	timeout *duration.Value
}
