// Package refdata finds the reference data beside the repository. If the data are missing, a test is skipped with a
// message that names them.
package refdata

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the path of a file or folder of the shared reference data, in $WAITCAST_SHARED if that is set,
// otherwise in the folder "shared" beside the repository. If the file is missing, Shared skips the test with a message
// that names the file.
func Shared(t testing.TB, name string) string {
	t.Helper()
	dir := root(t)
	path := filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("reference data missing: %s in %s (CONTRIBUTING.md names the origin; WAITCAST_SHARED sets the folder)",
			name, dir)
	}
	return path
}

func root(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("WAITCAST_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module github.com/waitcast/waitcast\n")) { // not research's
			return filepath.Join(filepath.Dir(dir), "shared")
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("reference data missing: no go.mod above the test's folder")
		}
		dir = up
	}
}
