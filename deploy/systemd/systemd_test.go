// Package systemd_test checks the files that systemd and an admin get.
package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/config"
)

const program = "/usr/bin/waitcastd"

func unit(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("waitcastd.service")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// systemd understands every line of the unit. It also wants the program to exist, so a stand-in takes its place.
func TestSystemdVerifiesTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze missing: it is in the package systemd")
	}
	dir := t.TempDir()
	standIn := filepath.Join(dir, "waitcastd")
	if err := os.WriteFile(standIn, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program must be executable
		t.Fatal(err)
	}
	file := filepath.Join(dir, "waitcastd.service")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(unit(t), program, standIn)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), "waitcastd.service:") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The example beside the unit is the file that it starts with, loads, and keeps its data where systemd says.
func TestExampleLoads(t *testing.T) {
	if !strings.Contains(unit(t), "ExecStart="+program+" --config /etc/waitcast/waitcastd.yaml\n") {
		t.Error("the unit does not start with /etc/waitcast/waitcastd.yaml")
	}
	t.Setenv("STATE_DIRECTORY", "/var/lib/waitcast")
	c, err := config.Load("waitcastd.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Store.Path != "/var/lib/waitcast/waitcast.db" || !strings.HasPrefix(c.Listen, "127.0.0.1:") {
		t.Errorf("store %s, listen %s", c.Store.Path, c.Listen)
	}
}
