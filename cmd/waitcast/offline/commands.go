// Package offline has the commands of waitcast that work on files, without a daemon.
package offline

import (
	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// New returns the commands that work on files. daemon and timeout are for the commands that can use a daemon.
func New(c *console.Console, daemon func() (*client.Client, error), timeout *duration.Value) []*cobra.Command {
	a := &Commands{Console: c, daemon: daemon, timeout: timeout}
	return []*cobra.Command{
		newFit(a), newGenerate(a), newCompare(a), newShake(a), newResample(a), newSimulate(a), newStudy(a),
		newBacktest(a), newConvert(a),
	}
}
