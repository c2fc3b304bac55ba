package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// These are the reasons why a call failed: the values of the label "reason" of waitcast_snapshot_failures_total.
const (
	FailedStart   = "start"   // the command is missing or not executable
	FailedTimeout = "timeout" // the command was killed because it took too long
	FailedExit    = "exit"    // the command returned an error code
	FailedOutput  = "output"  // the output cannot be used
)

// CallError reports the reason why a call of a command failed.
type CallError struct {
	// Reason is one of the Failed constants.
	Reason string
	Err    error
}

// Error implements error.
func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Command is a program that queries a scheduler.
type Command struct {
	// Args are the program and its arguments. Env is added to the daemon's environment.
	Args []string
	Env  []string
	// Timeout is how long the command may take. After that it is killed, with all processes that it started.
	Timeout time.Duration
	// MaxOutput is the maximum size of the output in bytes; 0 means 64 MiB. A command that prints more is killed and
	// has failed.
	MaxOutput int
}

// maxOutput is the default of Command.MaxOutput. It is enough for 300,000 jobs of 200 bytes.
const maxOutput = 64 << 20

// maxComplaint is the maximum number of bytes that are kept of a command's standard error.
const maxComplaint = 4 << 10

// killGrace is how long to wait for the end of a killed command's output. A child process may hold it open.
const killGrace = time.Second

// Run runs the command and returns its standard output. Every error is a *CallError.
func Run(ctx context.Context, c Command) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	name := c.Args[0]
	cmd := exec.CommandContext(ctx, name, c.Args[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	// The command gets its own process group, so that its children can be killed, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killGrace
	out, complaint := &bounded{limit: cmp.Or(c.MaxOutput, maxOutput), refuse: cancel}, &bounded{limit: maxComplaint}
	cmd.Stdout, cmd.Stderr = out, complaint
	if err := cmd.Start(); err != nil {
		return nil,
			&CallError{FailedStart,
				fmt.Errorf("%s cannot be run: %w; install it, or set the source's command", name, err)}
	}
	err := cmd.Wait()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil,
			&CallError{FailedTimeout, fmt.Errorf("%s did not answer in %s and was killed; is the scheduler overloaded?",
				name, c.Timeout)}
	case out.refused:
		return nil, &CallError{FailedOutput, fmt.Errorf("%s printed more than %d bytes", name, out.limit)}
	case err != nil:
		return nil,
			&CallError{FailedExit, fmt.Errorf("%s failed: %w: %s", name, err, firstLine(complaint.kept.Bytes()))}
	}
	return out.kept.Bytes(), nil
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if line == "" {
		return "no message"
	}
	return strings.ToValidUTF8(line, "?")
}

// errTooMuch ends the copying of a command's output.
var errTooMuch = errors.New("too much output")

// bounded keeps written bytes up to a limit. Without refuse, bytes beyond the limit are dropped. If refuse is set, a
// write beyond the limit calls it and returns an error.
type bounded struct {
	kept    bytes.Buffer // not embedded, because its method ReadFrom would bypass the limit
	limit   int
	refuse  func()
	refused bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.kept.Len()
	if len(p) > room {
		if b.refuse != nil {
			b.refused = true
			b.refuse()
			return 0, errTooMuch
		}
		b.kept.Write(p[:room])
		return len(p), nil
	}
	return b.kept.Write(p)
}
