package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// app is what the subcommands share.
type app struct {
	console.Console
	env func(string) string
	// zone is the zone that instants are shown in.
	zone *time.Location

	// The persistent flags.
	url     string
	timeout duration.Value
	shows   credentials

	// tokenFrom is the file of the admin token, where it was found in one of the default places.
	tokenFrom string
	// asked is the client of the daemon, once there is one; health is its last report.
	asked  *client.Client
	health *wire.Health
	// urlFrom reports where the daemon's address comes from.
	urlFrom string
	// started is true once a subcommand's own code runs: errors before are errors of usage.
	started bool
}

// client returns a client for the daemon that the user means.
func (a *app) client() (*client.Client, error) {
	address := client.DefaultURL
	a.urlFrom = "the default address"
	if fromEnv := a.env("WAITCAST_URL"); fromEnv != "" {
		address, a.urlFrom = fromEnv, "as WAITCAST_URL says"
	}
	if a.url != "" {
		address, a.urlFrom = a.url, "as --url says"
	}
	shown, err := a.credentials()
	if err != nil {
		return nil, err
	}
	c, err := client.New(address, shown)
	if err != nil {
		return nil, console.NewUsageError(fmt.Sprintf("%v (%s)", err, a.urlFrom))
	}
	a.asked = c
	return c, nil
}

// below returns all commands below one.
func below(c *cobra.Command) []*cobra.Command {
	all := c.Commands()
	for _, sub := range c.Commands() {
		all = append(all, below(sub)...)
	}
	return all
}

// staleError reports that the answer, which was printed, rests on old data.
type staleError struct{ age time.Duration }

func (e *staleError) Error() string {
	return fmt.Sprintf("the newest record is %s old", duration.Format(e.age))
}

// credentials are what the command shows to the daemon.
type credentials struct {
	tokenFile, ca, cert, key string
}
