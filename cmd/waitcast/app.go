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

// app is the state that the subcommands share.
type app struct {
	console.Console
	env func(string) string
	// zone is the time zone in which instants are shown.
	zone *time.Location

	// These are the persistent flags.
	url     string
	timeout duration.Value
	shows   credentials
	// socket is the path of the socket at which the command first looks for a daemon on this host. It is empty if no
	// socket is used.
	socket string

	// tokenFrom is the path of the file with the admin token if the token was found in one of the default places.
	tokenFrom string
	// asked is the client of the daemon; nil before the first request. health is the last health report of the
	// daemon.
	asked  *client.Client
	health *wire.Health
	// urlFrom describes in words where the daemon's address comes from: a flag, the environment or the default.
	urlFrom string
	// started is true once the code of a subcommand runs. Errors before that are errors of usage.
	started bool
}

// client returns a client for the daemon that the user selected.
func (a *app) client() (*client.Client, error) {
	address := client.DefaultURL
	a.urlFrom = "the default address"
	if a.url == "" && a.env("WAITCAST_URL") == "" && a.socket != "" && client.SocketAnswers(a.socket) {
		address, a.urlFrom = "unix://"+a.socket, "the default socket"
	}
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

// below returns all direct and indirect subcommands of a command.
func below(c *cobra.Command) []*cobra.Command {
	all := c.Commands()
	for _, sub := range c.Commands() {
		all = append(all, below(sub)...)
	}
	return all
}

// staleError is returned after an answer that is based on old data was printed.
type staleError struct{ age time.Duration }

func (e *staleError) Error() string {
	return fmt.Sprintf("the newest record is %s old", duration.Format(e.age))
}

// credentials are the flags of the credentials that the command sends to the daemon.
type credentials struct {
	tokenFile, ca, cert, key string
}
