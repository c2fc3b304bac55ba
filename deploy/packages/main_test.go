// Package packages_test builds the packages, checks them, installs them, and runs the installed programs.
package packages_test

import (
	"fmt"
	"os"
	"testing"
)

// artifacts is the folder of the packages that the tests build. It exists while they run.
var artifacts string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == confineRole {
		fmt.Fprintln(os.Stderr, confine(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(tests(m))
}

func tests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "wcp") // a short path, because sockets are made below it
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the package's user looks in
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	artifacts = dir
	return m.Run()
}
