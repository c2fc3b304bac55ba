package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun proves that the page names missing shared data, and that an unknown flag is an error.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "page.md")
	if err := run([]string{"-shared", dir, "-out", out}, io.Discard); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(page), "**Missing:** ") ||
		!strings.Contains(string(page), "Made by `make papers`") {
		t.Errorf("%v: %s", err, page)
	}
	for problem, args := range map[string][]string{"-color": {"-color"}, "no arguments": {"x"}} {
		if err := run(args, io.Discard); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
