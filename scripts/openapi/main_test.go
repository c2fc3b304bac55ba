package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestFileIsCurrent fails if docs/openapi.json differs from what a daemon serves.
func TestFileIsCurrent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := write(file); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/openapi.json")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/openapi.json is not what a daemon serves (%v): run go generate ./api", err)
	}
}
