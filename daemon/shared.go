package daemon

import (
	"context"
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
// to follow its journal. versionKey is the key of the version of its program. fingerprintKey is the key that package
// pipeline uses too.
const (
	shapeKey       = "shape"
	versionKey     = "version"
	fingerprintKey = "fingerprint"
)

// publishShape stores the fields of the configuration that other daemons need to follow the journal, and the version of
// this program. Before that it compares both with those of the last start, for rebuildReason.
func (c *collectingCore) publishShape(ctx context.Context) error {
	shape, err := c.cfg.MarshalShape()
	if err != nil {
		return err
	}
	before := map[string]string{}
	for key, value := range map[string]string{shapeKey: string(shape), versionKey: c.opts.Version} {
		if before[key], err = c.store.Meta(ctx, key); err != nil {
			return err
		}
		if before[key] != value {
			if err := c.store.SetMeta(ctx, key, value); err != nil {
				return err
			}
		}
	}
	c.rebuildReason = whyRebuilt(c.cfg, before[shapeKey], before[versionKey], c.opts.Version)
	return nil
}

// whyRebuilt describes the differences between the last start and this one: the versions of the program, and the keys
// of the configuration that shape the state. The old values are empty in a database of version 0.1.0. The result is
// empty if there is no known difference.
func whyRebuilt(cfg *config.Config, oldShape, oldVersion, version string) string {
	var differences []string
	switch {
	case oldVersion == "":
		differences = append(differences, "waitcastd was upgraded to version "+version)
	case oldVersion != version:
		differences = append(differences, "waitcastd was version "+oldVersion+" and is version "+version+" now")
	}
	if keys, err := cfg.ChangedShape([]byte(oldShape)); err == nil && len(keys) > 0 {
		differences = append(differences, "the configuration has other values of "+strings.Join(keys, ", "))
	}
	return strings.Join(differences, ", and ")
}

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
