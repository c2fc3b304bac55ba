package daemon_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reading has the resources that a waitcastd used to follow a log to its end and to answer the first requests.
type reading struct {
	wall, cpu     time.Duration // time until the log was read
	scrape        time.Duration // duration of the slower of two scrapes of /metrics
	metrics, page int           // size in bytes of /metrics and of a page of /v1/accuracy
	peak          int           // peak memory of the process in KiB, VmHWM
}

// BenchmarkManyQueues measures waitcastd with its defaults on a log of 30,000 jobs of 30,000 users in 10,000 queues,
// and compares the reading time with that of the same jobs in 2 queues.
func BenchmarkManyQueues(b *testing.B) {
	program := filepath.Join(b.TempDir(), "waitcastd")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program,
		"../cmd/daemon").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	c := crowd{jobs: 30_000, users: 30_000, seed: 6}
	for b.Loop() {
		c.queues = 2
		few := c.readBy(b, program)
		c.queues = 10_000
		many := c.readBy(b, program)
		b.ReportMetric(many.wall.Seconds()/few.wall.Seconds(), "times-as-long")
		b.ReportMetric(many.cpu.Seconds()/few.cpu.Seconds(), "times-the-CPU")
		b.ReportMetric(few.wall.Seconds(), "s-of-2")
		b.ReportMetric(many.wall.Seconds(), "s")
		b.ReportMetric(float64(many.peak)/1024, "MiB")
		b.ReportMetric(float64(few.peak)/1024, "MiB-of-2")
		b.ReportMetric(float64(many.metrics)/1e6, "metrics-MB")
		b.ReportMetric(many.scrape.Seconds(), "scrape-s")
		b.ReportMetric(float64(many.page)/1e6, "accuracy-MB")
	}
}

// readBy starts the program on the log, waits until the log has been read, and sends the first requests.
func (c crowd) readBy(b *testing.B, program string) (r reading) {
	b.Helper()
	s := newSite(b, "accounting", "")
	s.edit(b, "models: {window_jobs: 400, min_samples: 5}\n", "")
	port := freePort(b)
	s.edit(b, "127.0.0.1:0", port)
	s.add(b, c.text())
	cmd := exec.CommandContext(b.Context(), program, "--config", s.config)
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for status := 0; status != http.StatusOK; { // the time limit of go test ends the loop
		<-tick.C
		status, _ = answered("http://" + port + "/readyz")
	}
	r.wall, r.cpu = time.Since(begun), cpuOf(b, cmd.Process.Pid)
	for range 2 {
		at := time.Now()
		r.metrics = mustAnswer(b, port, "/metrics")
		r.scrape = max(r.scrape, time.Since(at))
	}
	r.page = mustAnswer(b, port, "/v1/accuracy?since=3650d")
	for _, path := range []string{"/v1/wait?procs=4&queue=q1", "/v1/now", "/"} {
		mustAnswer(b, port, path)
	}
	r.peak = peakOf(b, cmd.Process.Pid)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return r
}

// cpuOf returns the CPU time of a process so far: fields 14 and 15 of proc_pid_stat(5), in hundredths of a second.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	var user, system int64
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * (time.Second / 100)
}

// peakOf returns the peak memory of a process in KiB.
func peakOf(b *testing.B, pid int) (kib int) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		b.Fatal(err)
	}
	return kib
}

func mustAnswer(b *testing.B, port, path string) int {
	b.Helper()
	status, length := answered("http://" + port + path)
	if status != http.StatusOK {
		b.Fatalf("GET %s: status %d", path, status)
	}
	return length
}

// answered returns the status of an answer, 0 if there is none, and its length.
func answered(url string) (status, length int) {
	resp, err := http.Get(url) //nolint:noctx,gosec // the benchmark's own server
	if err != nil {
		return 0, 0
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		return 0, 0
	}
	return resp.StatusCode, int(n)
}
