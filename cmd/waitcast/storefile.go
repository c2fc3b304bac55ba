package main

import (
	"fmt"
	"os"
	"strings"
)

// isDatabase reports whether a store is a PostgreSQL database. Otherwise the store is a file.
func isDatabase(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// storeHolder returns the name under which this process acquires leases.
func storeHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("waitcast store copy, process %d on %s", os.Getpid(), host)
}
