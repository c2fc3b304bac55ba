package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/waitcast/waitcast/config"
)

// Several daemons share a PostgreSQL database. A daemon that collects holds the lease on its space. One that finds it
// held by another of the same configuration stands by: it answers from the other's journal, and takes over when the
// lease runs out.

// shapeKey is the key under which a collecting daemon stores the part of its configuration that others need to follow
// its journal; fingerprintKey is that of package pipeline.
const (
	shapeKey       = "shape"
	fingerprintKey = "fingerprint"
)

// leasePolls is how often within the time of a lease a standby checks it.
const leasePolls = 4

// errTakeOver ends a core that stands by: the lease is free.
var errTakeOver = errors.New("nobody holds the lease any more")

// OtherConfigError says that a space is collected by a daemon whose configuration shapes another state.
type OtherConfigError struct {
	Space, Holder string
}

// Error implements error.
func (e *OtherConfigError) Error() string {
	return fmt.Sprintf("space %q of store.url is collected by %s with another configuration: "+
		"give this daemon's a name of its own (store.space), or both the same clusters and models", e.Space, e.Holder)
}

// processName is the name of this process in messages.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d (%s)", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// databaseName returns the place of the database for messages, without a password.
func databaseName(cfg *config.Config) string {
	switch {
	case cfg.Store.URL == "":
		return cfg.Store.Path
	case cfg.ServeOnly:
		return "PostgreSQL, of others"
	}
	return "PostgreSQL, space " + cfg.Store.Space
}
