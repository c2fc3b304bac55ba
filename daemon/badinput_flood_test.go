package daemon_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/modelstore"
)

// measured is a daemon in its own process, so that its memory can be measured.
type measured struct {
	t   *testing.T
	p   *daemonProcess
	url string
}

// startMeasured runs a daemon on the site until the test ends.
func startMeasured(t *testing.T, s *site) *measured {
	t.Helper()
	t.Setenv("GOGC", "100") // the bounds are for Go's default; make test sets another value
	k := &killer{t: t, site: s}
	m := &measured{t: t, p: k.spawn()}
	url, ok := <-m.p.url
	if !ok {
		t.Fatalf("the daemon ended by itself: %s", m.p.stderr.String())
	}
	m.url = url
	t.Cleanup(m.stop)
	return m
}

// stop ends the daemon in order; a second call does nothing.
func (m *measured) stop() {
	m.t.Helper()
	if m.p == nil {
		return
	}
	must(m.t, m.p.cmd.Process.Signal(syscall.SIGTERM))
	drain(m.p.url)
	if err := m.p.cmd.Wait(); err != nil {
		m.t.Errorf("an orderly stop failed: %v\n%s", err, m.p.stderr.String())
	}
	m.p = nil
}

// metric returns the value of a series, "" if there is none.
func (m *measured) metric(series string) string {
	for line := range strings.Lines(fetch(m.url + "/metrics")) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// peak returns the peak memory of the process in bytes, or 0 if the system does not report it.
func (m *measured) peak() int64 {
	m.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			must(m.t, err)
			return kib << 10
		}
	}
	return 0
}

// TestEndlessLine covers a line of 64 MB (1 GB in the long run). It proves that the line needs no memory, that it is
// counted and quarantined with its place and its beginning, and that the lines before and after it are used.
func TestEndlessLine(t *testing.T) {
	size, most := int64(64<<20), int64(32<<20)
	if long() {
		size = 1 << 30
	}
	if testing.Short() {
		most = 48 << 20 // the race detector's own memory; 33 MiB were seen
	}
	s := newSite(t, "accounting", "")
	a, b := life{"1.t", 4, 0, 1, 5}, life{"2.t", 4, 2, 3, 6}
	s.add(t, a.q())
	m := startMeasured(t, s)
	eventually(t, "the first line", func() bool { return m.metric(events("applied")) == "1" })
	before := m.peak()
	if before == 0 {
		t.Skip("this system does not tell the peak memory of a process (/proc)")
	}
	begun := time.Now()
	f, err := os.OpenFile(s.log, os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	_, err = io.CopyN(f, endless("garbage "), size)
	must(t, err)
	must(t, f.Close())
	wrote := time.Since(begun)
	s.add(t, "\n"+a.s()+b.q()+a.e())
	eventually(t, "the lines behind the long one", func() bool { return m.metric(events("applied")) == "4" })
	t.Logf("a line of %d MiB, written in %s: what follows was taken in after %s; peak memory %d MiB, %d before",
		size>>20, wrote.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond), m.peak()>>20, before>>20)
	if grown := m.peak() - before; grown > most {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	if got := m.metric(badLines("long_line")); got != "1" {
		t.Errorf("%s bad lines of reason long_line, want 1", got)
	}
	m.stop()
	k := s.kept(t)
	if len(k.Bad) != 1 || k.Bad[0].Line != 2 || k.Bad[0].Reason != "long_line" ||
		!strings.HasPrefix(string(k.Bad[0].Text), "garbage garbage") {
		t.Errorf("quarantine %+v, want line 2 with its beginning", k.Bad)
	}
	if len(k.Entries) != 4 {
		t.Errorf("%d events, want 4", len(k.Entries))
	}
}

// endless repeats its text forever.
type endless string

// Read implements io.Reader.
func (e endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// TestBinaryJunk proves that random bytes, NUL bytes and invalid UTF-8 between good lines do not affect other lines:
// every good line counts once, and every bad line is in quarantine.
func TestBinaryJunk(t *testing.T) {
	if testing.Short() {
		t.Skip("waits out a grace of 10 s: not with -short")
	}
	const jobs = 200
	s := newSite(t, "accounting", "")
	seed := killSeed(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	var log strings.Builder
	var junk []string
	for i := range jobs {
		l := life{fmt.Sprintf("%d.t", i), 1, 3 * i, 3*i + 1, 3*i + 2}
		for _, line := range []string{l.q(), l.s(), l.e()} {
			log.WriteString(line)
			if rng.IntN(3) == 0 {
				text := rubbish(rng, line)
				junk = append(junk, text)
				log.WriteString(text + "\n")
			}
		}
	}
	s.add(t, log.String())
	d := s.start(t)
	d.caughtUp()
	d.wantMetric(events("applied"), fmt.Sprint(3*jobs))
	d.stop()
	k := s.kept(t)
	if len(k.Entries) != 3*jobs || len(k.Rows) != jobs || len(k.Bad) != len(junk) {
		t.Fatalf("%d events, %d rows, %d bad lines, want %d, %d, %d", len(k.Entries), len(k.Rows), len(k.Bad), 3*jobs,
			jobs,
			len(junk))
	}
	slices.Reverse(k.Bad)
	for i, b := range k.Bad {
		if len(b.Text) == 0 || !strings.HasPrefix(junk[i], string(b.Text)) {
			t.Errorf("%s:%d: quarantined %q, want %q", b.Path, b.Line, b.Text, junk[i])
		}
	}
}

// rubbish returns an invalid line, without its end: random bytes, NULs, or a good line with NULs or invalid UTF-8 in
// it.
func rubbish(rng *rand.Rand, good string) string {
	good = strings.TrimSuffix(good, "\n")
	switch rng.IntN(4) {
	case 0:
		b := make([]byte, 1+rng.IntN(2000))
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		text := "x" + strings.NewReplacer("\n", "", "\r", "").Replace(string(b))
		return text
	case 1:
		return strings.Repeat("\x00", 1+rng.IntN(10_000))
	case 2:
		return good[:20] + "\x00" + good[20:]
	}
	return "\xff\xfe" + good
}

// TestFlood proves that very many lines at once are all read with bounded memory, and logs the speed. The short run has
// 100,000 records of ended jobs, as Slurm's jobcomp writes them, and 10,000 records of submissions, starts and ends,
// where each submission is forecast. The long run has a million of each.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("30,000 lines: not with -short")
	}
	for name, c := range map[string]struct {
		lines int
		line  func(n int, rng *rand.Rand) string
	}{
		"ends":        {30_000, endedLine},
		"whole lives": {3_000, numberedLine},
	} {
		t.Run(name, func(t *testing.T) {
			if long() {
				c.lines = 1_000_000
			}
			flood(t, c.lines, c.line)
		})
	}
}

// endedLine returns the record of an ended job that no earlier record mentions.
func endedLine(n int, _ *rand.Rand) string {
	at := epoch().Add(time.Duration(n) * time.Second)
	return string(pbs.AppendEnded(nil, pbs.Record{
		ID: fmt.Sprintf("%d.t", n), User: "secretuser", Queue: "work", Created: at, Queued: at, Eligible: at, Procs: 4,
		TimeLimit: time.Hour, Start: at.Add(time.Minute), End: at.Add(10 * time.Minute),
	}))
}

// flood appends many lines at once to the log of a running daemon.
func flood(t *testing.T, lines int, line func(int, *rand.Rand) string) {
	s := newSite(t, "accounting", "")
	s.add(t, life{"x.t", 4, 0, 1, 5}.q())
	m := startMeasured(t, s)
	eventually(t, "the first line", func() bool { return m.metric(events("applied")) == "1" })
	before := m.peak()
	begun := time.Now()
	good, size := 1+appendLines(t, s.log, lines, line), int64(0)
	if info, err := os.Stat(s.log); err == nil {
		size = info.Size()
	}
	total := `waitcast_lines_total{cluster="main",source="main/accounting"}`
	tick := time.NewTicker(100 * time.Millisecond) // a scrape costs as much as many lines
	defer tick.Stop()
	for m.metric(total) != strconv.FormatFloat(float64(lines+1), 'g', -1, 64) {
		if <-tick.C; time.Since(begun) > patience+time.Duration(lines)*2*time.Millisecond {
			t.Fatalf("%s of %d lines after %s", m.metric(total), lines+1, time.Since(begun))
		}
	}
	took := time.Since(begun)
	t.Logf("%d lines (%d MiB) in %s, their writing included, %.0f lines/s; peak memory %d MiB, %d before",
		lines, size>>20, took.Round(time.Millisecond), float64(lines)/took.Seconds(), m.peak()>>20, before>>20)
	if grown := m.peak() - before; before > 0 && grown > 256<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	m.stop()
	k := s.kept(t)
	told := 0
	for _, e := range k.Entries {
		if !e.Event.Derived {
			told++
		}
	}
	if told != good {
		t.Errorf("%d events in the journal, want %d", told, good)
	}
	if want := min(lines+1-good, modelstore.DefaultBadLines); len(k.Bad) != want {
		t.Errorf("%d bad lines in quarantine, want %d", len(k.Bad), want)
	}
}

// appendLines appends lines to a log and returns the number of records among them.
func appendLines(t *testing.T, path string, lines int, line func(int, *rand.Rand) string) (good int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	w := bufio.NewWriterSize(f, 1<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range lines {
		text := line(n, rng)
		if !strings.HasPrefix(text, "garbage") {
			good++
		}
		_, err := w.WriteString(text)
		must(t, err)
	}
	must(t, w.Flush())
	must(t, f.Close())
	return good
}
