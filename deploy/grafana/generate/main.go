// Command generate writes the dashboards into the current folder.
package main

import (
	"fmt"
	"os"

	"github.com/waitcast/waitcast/deploy/grafana"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := grafana.Dashboards()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(f.Name, f.JSON, 0o644); err != nil { //nolint:gosec // a file of the sources
			return err
		}
	}
	return nil
}
