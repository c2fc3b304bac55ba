// Package testprogram builds programs of this repository for tests. Go keeps a program that `go run` has linked, so the
// packages whose tests need the same program link it once, while `go build` links it each time.
package testprogram

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds the command in a folder, such as "../../cmd/waitcast", and returns the path of the program. The test
// ends if this fails.
func Build(t testing.TB, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(folder))
	build := exec.CommandContext(t.Context(), "go", "run", "-C", folder, "-ldflags=-s", "-exec", "cp", ".", program)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", folder, err, out)
	}
	return program
}
