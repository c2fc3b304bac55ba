// Package refdata finds the reference data beside the repository. A test uses the data if it is there, and is otherwise
// skipped with the name of what is missing.
package refdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the path of the named file or directory of the shared reference data: below $WAITCAST_SHARED if that
// is set, or else below the folder "shared" beside the repository. If it is missing, Shared skips the test and names
// it.
func Shared(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(root(t), filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("reference data missing: shared/%s (set WAITCAST_SHARED to the folder that holds it)", name)
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
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(filepath.Dir(dir), "shared")
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("reference data missing: no go.mod above the test's folder")
		}
		dir = up
	}
}
