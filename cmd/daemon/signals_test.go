package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startHanging starts the real program with a database that accepts the connection but never answers. It returns when
// the program waits for the answer, in the middle of its start.
func startHanging(t *testing.T) (cmd *exec.Cmd, printed *bytes.Buffer) {
	t.Helper()
	database, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	dir := t.TempDir()
	file := filepath.Join(dir, "waitcastd.yaml")
	text := fmt.Sprintf("{listen: '127.0.0.1:0', data_dir: %q, serve_only: true, store: {url: "+
		"'postgres://u@%s/db?sslmode=disable'}}", dir, database.Addr())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	printed = new(bytes.Buffer)
	cmd = exec.CommandContext(t.Context(), program, "--config", file)
	cmd.Args[0], cmd.Stderr = "waitcastd", printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if l, ok := database.(*net.TCPListener); ok {
		_ = l.SetDeadline(time.Now().Add(5 * time.Minute))
	}
	conn, err := database.Accept()
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the daemon does not start: %v\n%s", err, printed)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return cmd, printed
}

// TestSignalsWhileStarting proves that SIGTERM and SIGINT end a start with exit code 0, even if SIGHUP came before.
func TestSignalsWhileStarting(t *testing.T) {
	for name, signals := range map[string][]syscall.Signal{
		"SIGTERM": {syscall.SIGTERM}, "SIGINT": {syscall.SIGINT},
		"SIGHUP, then SIGTERM": {syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, printed := startHanging(t)
			for _, s := range signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Wait(); err != nil || !strings.Contains(printed.String(), "stopped while starting") {
				t.Errorf("it ended with %v, want exit code 0 and a note:\n%s", err, printed)
			}
		})
	}
}
