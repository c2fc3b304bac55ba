package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a running waitcastd.
type process struct {
	cmd    *exec.Cmd
	url    string        // address of the daemon, set once it serves
	served chan struct{} // closed once the daemon serves
	gone   chan struct{} // closed when the daemon has ended
	err    error         // how the daemon ended; valid after gone is closed
	began  time.Time

	mu       sync.Mutex
	tail     []string // the last lines of the daemon's log
	replayed int64    // number of journal events that the daemon replayed at its start
	reloads  int      // number of reloads that the daemon reported, including refused ones
}

// kept is the number of lines of a daemon's log that are kept for error messages.
const kept = 12

// spawn starts a daemon. Its log messages of level warn and error are counted in said, by text.
func spawn(ctx context.Context, program, config string, said *messages) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, "--config", config), served: make(chan struct{}),
		gone: make(chan struct{}), began: time.Now()}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.listen(out, said)
		p.err = p.cmd.Wait()
		close(p.gone)
	}()
	return p, nil
}

func (p *process) listen(from io.Reader, said *messages) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var line struct {
			Level, Msg, URL string
			Replayed        int64
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			line.Level, line.Msg = "error", lines.Text()
		}
		p.mu.Lock()
		if p.tail = append(p.tail, lines.Text()); len(p.tail) > kept {
			p.tail = p.tail[1:]
		}
		switch {
		case line.Msg == "restored":
			p.replayed = line.Replayed
		case line.Msg == "serving":
			p.url = line.URL
			close(p.served)
		case strings.Contains(line.Msg, "in force"): // the new configuration, or the old one if the new one was refused
			p.reloads++
			if line.URL != "" {
				p.url = line.URL
			}
		}
		p.mu.Unlock()
		if line.Level == "warn" || line.Level == "error" {
			said.add(line.Level + ": " + line.Msg)
		}
	}
}

func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// told returns how many reloads the daemon has reported, and how many journal events it replayed at its start.
func (p *process) told() (reloads int, replayed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reloads, p.replayed
}

// kill kills the daemon and waits for its end. It is an error if the daemon had ended before.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.gone
	if errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("the daemon ended by itself: %w\n%s", p.err, p.lastWords())
	}
	return err
}

// stop stops the daemon in order. If that takes longer than patience, it kills the daemon and returns an error. It also
// returns an error if the daemon ends with one.
func (p *process) stop(patience time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.gone:
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("the daemon does not end within %v of SIGTERM\n%s", patience, p.lastWords()),
			p.kill())
	}
	if p.err != nil {
		return fmt.Errorf("an orderly stop failed: %w\n%s", p.err, p.lastWords())
	}
	return nil
}

// poll checks a condition until it holds. It returns an error if the process ends, patience passes or ctx ends before.
// what names the condition.
func (p *process) poll(ctx context.Context, what string, patience time.Duration, cond func() bool) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.gone:
			return fmt.Errorf("waiting for: %s: the daemon ended by itself: %w\n%s", what, p.err, p.lastWords())
		case <-deadline.C:
			return fmt.Errorf("waited %v in vain for: %s\n%s\n%s", patience, what, p.body(ctx, "/readyz"),
				p.lastWords())
		case <-tick.C:
		}
	}
	return nil
}

// serving waits until the daemon serves.
func (p *process) serving(ctx context.Context, patience time.Duration) error {
	return p.poll(ctx, "serving", patience, func() bool {
		select {
		case <-p.served:
			return true
		default:
			return false
		}
	})
}

// ready reports whether the daemon is ready. Conditions that the soak causes on purpose are allowed: that records dated
// ahead are set aside and, if held is true, that the log is missing. held is true while no file has the log's name,
// because its writer still uses a renamed file.
func (p *process) ready(ctx context.Context, held bool) bool {
	state, rest, _ := strings.Cut(p.body(ctx, "/readyz"), "\n")
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "set_aside: ") && !(held && strings.HasPrefix(line, "source_unreadable: ")) {
			return false
		}
	}
	return state == "ready" || state == "degraded" && rest != ""
}

// body returns the text of the answer to GET of a path, or the text of the error.
func (p *process) body(ctx context.Context, path string) string {
	p.mu.Lock()
	url := p.url
	p.mu.Unlock()
	if url == "" {
		return "it never served"
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, http.NoBody)
	if err != nil {
		return err.Error()
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// metrics returns the values of the series in /metrics. A key is the name of the series with its labels.
func (p *process) metrics(ctx context.Context) map[string]float64 {
	series := map[string]float64{}
	for line := range strings.Lines(p.body(ctx, "/metrics")) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if at := strings.LastIndexByte(line, ' '); at > 0 && strings.Contains(name, "{") {
			name, value = line[:at], strings.TrimSpace(line[at:])
		}
		if x, err := strconv.ParseFloat(value, 64); ok && err == nil && line[0] != '#' {
			series[name] = x
		}
	}
	return series
}

// asOf returns the instant of the daemon's picture, up to which it has read the log.
func (p *process) asOf(ctx context.Context) time.Time {
	var a struct {
		AsOf time.Time `json:"as_of"`
	}
	if json.Unmarshal([]byte(p.body(ctx, "/v1/queues")), &a) != nil {
		return time.Time{} // the daemon has read nothing yet
	}
	return a.AsOf
}

// highWater returns the peak resident memory of the daemon's process in bytes, 0 if the system does not report it.
func (p *process) highWater() float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			// 0 if it is no number
			kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb * 1024
		}
	}
	return 0
}

// messages counts log messages of daemons by their texts. It is safe for concurrent use.
type messages struct {
	mu sync.Mutex
	by map[string]int
}

// mostMessages is the maximum number of different messages that are counted.
const mostMessages = 200

func (m *messages) add(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[string]int{}
	}
	if text = text[:min(len(text), 160)]; m.by[text] > 0 || len(m.by) < mostMessages {
		m.by[text]++
	}
}
