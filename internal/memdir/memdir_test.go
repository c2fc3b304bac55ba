package memdir

import (
	"os"
	"testing"
)

// TestUse proves that an existing TMPDIR is not changed, and that neither a folder on a disk nor a missing folder
// counts as in memory.
func TestUse(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp")
	if Use(); os.TempDir() != "/var/tmp" {
		t.Errorf("temporary files are in %s, want /var/tmp", os.TempDir())
	}
	for _, path := range []string{"/proc", "/no/such/folder"} {
		if roomy(path) {
			t.Errorf("%s is said to be in memory", path)
		}
	}
	t.Setenv("TMPDIR", "")
	want := "/tmp"
	if roomy(dir) {
		want = dir
	}
	if Use(); os.TempDir() != want {
		t.Errorf("temporary files are in %s, want %s", os.TempDir(), want)
	}
}
