// Package mungetest runs the real munged for tests.
package mungetest

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Start runs a munged with its own key until the test ends. The test and its child processes find programs munge and
// unmunge in PATH that use this munged. Start skips the test if munge is not installed.
func Start(t *testing.T) {
	t.Helper()
	programs := map[string]string{}
	for _, name := range []string{"munge", "unmunge", "munged"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is missing: make test-deps installs munge", name)
		}
		programs[name] = path
	}
	dir, err := os.MkdirTemp("", "munge") // a short path: the name of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // other users must get at the socket
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	key := make([]byte, 128)
	_, _ = rand.Read(key) // rand.Read never fails
	if err := os.WriteFile(at("key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	// Without --foreground the command returns once its child process answers.
	out, err := exec.CommandContext(t.Context(), programs["munged"], "--force", "--key-file="+at("key"),
		"--socket="+at("socket"), "--pid-file="+at("pid"), "--log-file="+at("log"),
		"--seed-file="+at("seed")).CombinedOutput()
	if err != nil {
		t.Fatalf("munged: %v: %s", err, out)
	}
	t.Cleanup(func() { stop(t, at("pid")) })
	for _, name := range []string{"munge", "unmunge"} {
		script := fmt.Sprintf("#!/bin/sh\nexec %s --socket=%s \"$@\"\n", programs[name], at("socket"))
		if err := os.WriteFile(at(name), []byte(script), 0o755); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// stop ends the munged whose process id is in a file.
func stop(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL) // munged may not notice SIGTERM until the next client comes
	}
	if err != nil {
		t.Error(err)
	}
}

// Credential returns a credential of the program munge that contains a text. options are further options of munge.
func Credential(t *testing.T, text string, options ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "munge", append(options, "--string="+text)...).CombinedOutput()
	if err != nil {
		t.Fatalf("munge: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
