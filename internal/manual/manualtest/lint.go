// Package manualtest checks manual pages with mandoc.
package manualtest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/waitcast/waitcast/internal/manual"
)

// Lint writes the pages, by the names of their files, into a folder. The test fails for each page about which mandoc
// has a warning. Lint returns the folder and mandoc's path. The test is skipped if mandoc is missing.
func Lint(t *testing.T, pages map[string]string) (dir, mandoc string) {
	t.Helper()
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc missing (make test-deps)")
	}
	dir = t.TempDir()
	if err := manual.Write(dir, pages); err != nil {
		t.Fatal(err)
	}
	for name := range pages {
		out, err := exec.CommandContext(t.Context(), mandoc, "-T", "lint", "-W", "warning",
			filepath.Join(dir, name)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	return dir, mandoc
}
