package signals

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// roleEnv makes the test binary a process that gets a signal before it starts to handle signals.
const roleEnv = "WAITCAST_TEST_SIGNALS"

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	which := map[string]syscall.Signal{"terminated": syscall.SIGTERM, "hangup": syscall.SIGHUP,
		"command": syscall.SIGHUP}[role]
	if err := syscall.Kill(os.Getpid(), which); err != nil {
		os.Exit(9)
	}
	switch role {
	case "terminated":
		ctx, stop := Terminated(context.Background())
		<-ctx.Done()
		stop()
	case "hangup":
		<-Hangups()
	case "command":
		EndOnHangup()
		select {} // the signal ends the process
	}
	os.Exit(0)
}

// TestEarly proves that a signal that comes before the program handles signals is not lost and does not kill a daemon,
// and that a hangup ends a command that does not handle it.
func TestEarly(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]string{
		"terminated": "exit status 0", "hangup": "exit status 0", "command": "signal: hangup",
	} {
		cmd := exec.CommandContext(t.Context(), program) //nolint:gosec // the test itself
		cmd.Env = append(os.Environ(), roleEnv+"="+role)
		_ = cmd.Run() // the test checks the state in which the process ended
		if got := cmd.ProcessState.String(); got != want {
			t.Errorf("%s: %s, want %s", role, got, want)
		}
	}
}
