package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// maxLine is the maximum length of a line of journalctl, in bytes; the rest of a longer line is dropped. Journald keeps
// messages of up to 48 KB (LineMax), and in JSON a byte may take four characters.
const maxLine = 1 << 20

// aheadLines is the number of lines that are read ahead.
const aheadLines = 1024

// outputLine is a line of journalctl's output. cut is true if only the beginning of the line was kept.
type outputLine struct {
	text []byte
	cut  bool
}

// child is a running journalctl.
type child struct {
	cmd       *exec.Cmd
	lines     chan outputLine // closed at the end of the output
	stop      chan struct{}
	stopping  sync.Once
	complaint *complaint
	name      string
}

// killGrace is how long to wait for the end of the error output after journalctl has ended.
const killGrace = time.Second

// startChild starts a command whose output lines are sent to the channel lines of the child.
func startChild(args []string) (*child, error) {
	c := &child{
		cmd:   exec.Command(args[0], args[1:]...), //nolint:noctx // kill ends it
		lines: make(chan outputLine, aheadLines), stop: make(chan struct{}), complaint: &complaint{}, name: args[0],
	}
	c.cmd.Stderr, c.cmd.WaitDelay = c.complaint, killGrace
	output, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be run: %w; install systemd's journalctl, or follow the file of "+
			"SlurmctldLogFile", c.name, err)
	}
	go c.read(output)
	return c, nil
}

// read sends the lines of the output to the channel lines, and closes the channel at the end.
func (c *child) read(output io.Reader) {
	defer close(c.lines)
	from := bufio.NewReaderSize(output, 64<<10)
	for {
		line, err := readLine(from)
		if len(line.text) > 0 && (err == nil || line.cut) { // without its line end, the last line is incomplete
			select {
			case c.lines <- line:
			case <-c.stop:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line of at most maxLine bytes. It drops the rest of a longer line.
func readLine(from *bufio.Reader) (line outputLine, err error) {
	for {
		part, err := from.ReadSlice('\n')
		if room := maxLine - len(line.text); len(part) > room {
			part, line.cut = part[:room], true
		}
		line.text = append(line.text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			line.text = bytes.TrimSuffix(line.text, []byte("\n"))
			return line, err
		}
	}
}

// wait waits for the end of the process, after its last line was read. It returns an error if the process failed, or if
// it reported that other users' messages are hidden.
func (c *child) wait() error {
	err := c.cmd.Wait()
	said := c.complaint.String()
	switch {
	case err != nil:
		return fmt.Errorf("%s failed: %w: %s", c.name, err, said)
	case strings.Contains(said, "not seeing messages from other users"):
		return fmt.Errorf("%s shows the daemon's user its own messages only: add it to the group systemd-journal",
			c.name)
	}
	return nil
}

// kill kills the process, and waits for its end and for the goroutine that reads its output.
func (c *child) kill() {
	c.stopping.Do(func() { close(c.stop) })
	_ = c.cmd.Process.Kill() // the process may have ended already
	_ = c.cmd.Wait()         // the error reports the kill
	for range c.lines {      // until the reading goroutine ends
	}
}

// complaint keeps the first 4 KiB of the standard error output of journalctl.
type complaint struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (c *complaint) Write(p []byte) (int, error) {
	const most = 4 << 10
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p[:min(len(p), most-len(c.text))]...)
	return len(p), nil
}

// String returns the first line of the error output, or "no message".
func (c *complaint) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(c.text), "?")), "\n")
	if line == "" {
		return "no message"
	}
	return line
}
