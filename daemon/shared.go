package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/waitcast/waitcast/config"
)

// Several daemons can share a PostgreSQL database. A daemon that collects holds the lease of its space. If a daemon
// with the same configuration finds the lease taken, it stands by: it answers requests from the other daemon's journal,
// and takes over when the lease expires.

// shapeKey is the key under which a collecting daemon stores those fields of its configuration that other daemons need
// to follow its journal. fingerprintKey is the key that package pipeline uses too.
const (
	shapeKey       = "shape"
	fingerprintKey = "fingerprint"
)

// leasePolls is how many times a standby checks the lease within the duration of the lease.
const leasePolls = 4

// errTakeOver ends a core that stands by because the lease is free.
var errTakeOver = errors.New("nobody holds the lease any more")

// OtherConfigError means that the daemon that collects a space has a configuration that leads to a different state.
type OtherConfigError struct {
	Space, Holder string
}

// Error implements error.
func (e *OtherConfigError) Error() string {
	return fmt.Sprintf("space %q of store.url is collected by %s with another configuration: "+
		"give this daemon's a name of its own (store.space), or both the same clusters and models", e.Space, e.Holder)
}

// processName returns the name of this process for messages.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d (%s)", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// databaseName returns the location of the database for messages, without a password.
func databaseName(cfg *config.Config) string {
	switch {
	case cfg.Store.URL == "":
		return cfg.Store.Path
	case cfg.ServeOnly:
		return "PostgreSQL, of others"
	}
	return "PostgreSQL, space " + cfg.Store.Space
}
