package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// panicking runs the program with a bug that shows soon after its start.
func panicking() {
	go func() {
		var none []string
		_ = none[len(os.Args)]
	}()
	main()
}

// unitSetting returns the value of a setting of the service's unit.
func unitSetting(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/systemd/waitcastd.service")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}

// TestUnitRestartsAfterAPanic proves by the exit codes of the real program and the rules of systemd.service(5) that
// systemd starts the daemon again after a panic and after a failure, but not after a mistake in the configuration or an
// orderly end.
func TestUnitRestartsAfterAPanic(t *testing.T) {
	if restart := unitSetting(t, "Restart"); restart != "on-failure" {
		t.Fatalf("Restart=%s: this test knows the rules of on-failure", restart)
	}
	prevented := strings.Fields(unitSetting(t, "RestartPreventExitStatus"))
	dir := t.TempDir()
	follow := []string{"--format", "pbs", "--path", filepath.Join(dir, "log"), "--data-dir", dir}
	for name, c := range map[string]struct {
		program string
		args    []string
		code    int
		again   bool
	}{
		"a panic":           {"waitcastd-panics", append(follow, "--listen", "127.0.0.1:0"), 2, true},
		"a failure":         {"waitcastd", append(follow, "--listen", "192.0.2.1:1"), exitFailed, true},
		"a missing file":    {"waitcastd", []string{"--config", filepath.Join(dir, "no.yaml")}, exitConfig, false},
		"an unknown flag":   {"waitcastd", append(follow, "--no-such-flag"), exitConfig, false},
		"a wrong value":     {"waitcastd", append(follow, "--listen", "nowhere"), exitConfig, false},
		"an orderly end":    {"waitcastd", []string{"--version"}, exitDone, false},
		"a trial's mistake": {"waitcastd", []string{"check", "--no-such-flag"}, exitUsage, true}, // no unit runs it
	} {
		t.Run(name, func(t *testing.T) {
			code := exitCode(t, c.program, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if again := code != 0 && !slices.Contains(prevented, strconv.Itoa(code)); again != c.again {
				t.Errorf("systemd starts it again after exit code %d: %v, want %v", code, again, c.again)
			}
		})
	}
}

// exitCode runs a program of TestMain to its end.
func exitCode(t *testing.T, program string, args ...string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", program, err)
	}
	t.Logf("%s", out)
	return cmd.ProcessState.ExitCode()
}
