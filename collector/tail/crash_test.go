package tail

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	seedFlag   = flag.Uint64("tail.seed", 0, "seed of the crash tests; 0 draws one")
	roundsFlag = flag.Int("tail.rounds", 0, "rounds of each style of the crash tests; 0: 3, or 60 with WAITCAST_LONG")
)

// world simulates three parts: a scheduler, which writes numbered lines; the rotation of its log; and a consumer, which
// commits from time to time and can be killed at any instant.
type world struct {
	*rig
	rng       *rand.Rand
	log       *os.File // the log that the scheduler writes to
	stale     bool     // the scheduler has not reopened its log yet
	pending   string   // the second half of a line whose first half is written
	seq       int
	inFile    int64   // the number of lines in log
	numbers   []int64 // number of each line in its file
	files     int     // the number of files begun so far
	origin    []int   // number of each line's file
	two       bool    // a second process keeps writing to files that the scheduler has left
	left      []leftLog
	rotated   int
	archiving bool      // the consumer has not started yet
	coarse    int       // how many changes of files fall into one tick of the file system's clock
	mtime     time.Time // the file system's clock, kept by the test so that a seed always gives the same world

	dropped   []*Tailer
	seen      []string // lines that Next returned since the last commit
	committed []string
	ckpt2     []byte // the checkpoint after seen
}

// leftLog is a log that another process still has open.
type leftLog struct {
	log    *os.File
	file   int
	inFile int64
}

func (w *world) reopen(name string) {
	w.t.Helper()
	if w.log != nil && w.two {
		w.left = append(w.left, leftLog{w.log, w.files, w.inFile})
	} else if w.log != nil {
		w.ok(w.log.Close())
	}
	w.files++
	var err error
	w.log, err = os.OpenFile(w.path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	w.ok(err)
	w.stamp(w.log)
	w.inFile, w.stale = 0, false
}

func (w *world) put(text string) {
	w.t.Helper()
	_, err := w.log.WriteString(text)
	w.ok(err)
	w.stamp(w.log)
}

// tick advances the file system's clock, or leaves it unchanged, and returns it.
func (w *world) tick() time.Time {
	if w.rng.IntN(w.coarse) == 0 {
		w.mtime = w.mtime.Add(time.Millisecond)
	}
	return w.mtime
}

// stamp sets the modification time of an open log, which may have been renamed.
func (w *world) stamp(log *os.File) {
	w.t.Helper()
	tv := syscall.NsecToTimeval(w.tick().UnixNano())
	w.ok(syscall.Futimes(int(log.Fd()), []syscall.Timeval{tv, tv}))
}

// create makes an empty log, as logrotate does.
func (w *world) create(name string) {
	w.t.Helper()
	w.write(name, "")
	at := w.tick()
	w.ok(os.Chtimes(w.path(name), at, at))
}

// scheduler writes some lines, and sometimes only the first part of the last one.
func (w *world) scheduler() {
	w.flush()
	for range w.rng.IntN(8) {
		w.line()
		w.put(fmt.Sprintf("%d %s\n", w.seq, strings.Repeat("x", w.rng.IntN(200))))
	}
	if w.rng.IntN(3) == 0 {
		w.line()
		line := fmt.Sprintf("%d half\n", w.seq)
		n := w.rng.IntN(len(line))
		w.put(line[:n])
		w.pending = line[n:]
	}
}

// line adds a line to the counts of the log.
func (w *world) line() {
	w.seq++
	w.inFile++
	w.numbers, w.origin = append(w.numbers, w.inFile), append(w.origin, w.files)
}

// late makes the second process write a line to a log that the scheduler no longer uses.
func (w *world) late() {
	if len(w.left) == 0 {
		return
	}
	l := &w.left[len(w.left)-1-w.rng.IntN(min(3, len(w.left)))]
	w.seq++
	l.inFile++
	w.numbers, w.origin = append(w.numbers, l.inFile), append(w.origin, l.file)
	_, err := fmt.Fprintf(l.log, "%d late\n", w.seq)
	w.ok(err)
	w.stamp(l.log)
}

func (w *world) flush() {
	w.put(w.pending)
	w.pending = ""
}

// take makes the consumer call Next a few times.
func (w *world) take() {
	if w.tailer == nil {
		var err error
		w.opts.Clock = w.clock
		w.tailer, err = New(w.cfg, w.rig.ckpt, w.opts)
		w.ok(err)
	}
	w.clock.now = w.clock.now.Add(time.Duration(w.rng.IntN(4000)) * time.Millisecond)
	select {
	case w.clock.tick <- w.clock.now:
	default:
	}
	for range 1 + w.rng.IntN(6) {
		b, err := w.next()
		if err != nil {
			return
		}
		for _, l := range b.Lines {
			w.seen = append(w.seen, fmt.Sprintf("%d %s", l.Number, l.Text))
		}
		w.problems = append(w.problems, b.Problems...)
		w.ckpt2 = append([]byte(nil), b.Checkpoint...)
	}
}

func (w *world) commit() {
	if w.ckpt2 != nil {
		w.committed = append(w.committed, w.seen...)
		w.rig.ckpt = w.ckpt2
	}
	w.seen = w.seen[:0]
}

func (w *world) kill() {
	if w.tailer != nil {
		w.dropped = append(w.dropped, w.tailer)
	}
	w.tailer, w.seen, w.ckpt2 = nil, nil, nil
}

// check compares the committed lines with the written ones. Every line must be committed once, and in order within its
// file. If only one process writes, all lines must be in order.
func (w *world) check(allowed ...Reason) {
	w.t.Helper()
	next := make(map[int]int64) // by file: the number of committed lines
	for i, got := range w.committed {
		f := strings.Fields(got)
		n, err := strconv.Atoi(f[1])
		if err != nil || n < 1 || n > w.seq || n != i+1 && !w.two {
			w.t.Fatalf("committed line %d is %q\n%v", i+1, got, w.problems)
		}
		if f[0] != strconv.FormatInt(w.numbers[n-1], 10) {
			w.t.Fatalf("line %d has number %s in its file, want %d", n, f[0], w.numbers[n-1])
		}
		if next[w.origin[n-1]]++; next[w.origin[n-1]] != w.numbers[n-1] {
			w.t.Fatalf("line %d of its file is committed as the %dth: %q", w.numbers[n-1], next[w.origin[n-1]], got)
		}
	}
	if len(w.committed) != w.seq {
		w.t.Fatalf("%d lines committed of %d written\n%s\n%v", len(w.committed), w.seq, w.rig.ckpt, w.problems)
	}
	for _, p := range w.problems {
		ok := false
		for _, r := range allowed {
			ok = ok || p.Reason == r
		}
		if !ok {
			w.t.Errorf("problem: %v", p)
		}
	}
}

// shift renames log.N to log.N+1, compressed or not.
func (w *world) shift() {
	for i := w.rotated; i > 0; i-- {
		for _, ext := range []string{"", ".gz"} {
			from := fmt.Sprintf("log.%d%s", i, ext)
			if _, err := os.Stat(w.path(from)); err == nil {
				w.rename(from, fmt.Sprintf("log.%d%s", i+1, ext))
			}
		}
	}
	w.rotated++
}

func (w *world) renameNumbered() {
	w.shift()
	w.rename("log", "log.1")
	w.stale = true
	w.create("log")
}

func (w *world) renameGzip() {
	w.reopenIfStale()
	w.shift()
	w.rename("log", "log.1")
	w.between()
	w.reopen("log")
	w.between()
	w.gzip("log.1")
}

func (w *world) renameDelayedGzip() {
	w.reopenIfStale()
	w.renameNumbered()
	if _, err := os.Stat(w.path("log.2")); err == nil {
		w.between()
		w.gzip("log.2")
	}
}

func (w *world) renameDated() {
	w.rotated++
	w.rename("log", fmt.Sprintf("log-%08d", 20261120+w.rotated))
	w.stale = true
	if w.rng.IntN(2) == 0 {
		w.reopen("log")
	} else {
		w.create("log")
	}
}

func (w *world) symlink() {
	w.rotated++
	w.reopen(fmt.Sprintf("acct-%05d", w.rotated))
	w.between()
	if w.rotated > 1 && w.rng.IntN(2) == 0 { // the link is switched late
		w.scheduler()
		w.flush()
		w.between()
	}
	w.link(fmt.Sprintf("acct-%05d", w.rotated))
}

func (w *world) dated() {
	w.rotated++
	w.reopen(fmt.Sprintf("%08d", 20261120+w.rotated))
}

func (w *world) datedGzip() {
	w.dated()
	w.between()
	old := fmt.Sprintf("%08d", 20261120+w.rotated-1-w.rng.IntN(2))
	if _, err := os.Stat(w.path(old)); err == nil {
		w.gzip(old)
	}
}

func (w *world) copyTruncate() {
	w.flush() // only what is written between the copying and the truncation is lost
	w.shift()
	w.copy("log", "log.1")
	at := w.tick()
	w.ok(os.Chtimes(w.path("log.1"), at, at))
	w.between()
	if w.rng.IntN(3) == 0 && w.tailer != nil {
		w.scheduler()
		w.flush()
		for idle := 0; idle < 5; idle++ { // what is read before the truncation is not lost
			n := len(w.seen)
			w.take()
			if len(w.seen) > n {
				idle = 0
			}
		}
		w.commit()
	}
	w.ok(os.Truncate(w.path("log"), 0))
	w.stamp(w.log)
	w.inFile = 0
	w.files++
}

// archive makes many old files before the consumer starts, some of them empty.
func (w *world) archive(rotate func(*world)) {
	w.archiving = true
	for range 50 + w.rng.IntN(100) {
		if w.rng.IntN(5) > 0 {
			w.scheduler()
		}
		w.flush()
		rotate(w)
		w.reopenIfStale()
	}
	w.archiving = false
}

func (w *world) reopenIfStale() {
	if w.stale {
		w.flush()
		w.reopen("log")
	}
}

// between makes the consumer poll in the middle of a rotation.
func (w *world) between() {
	if w.rng.IntN(3) == 0 && !w.archiving {
		w.take()
	}
}

func (w *world) step(rotate func()) {
	switch n := w.rng.IntN(20); {
	case n < 7:
		w.scheduler()
	case n < 9:
		w.flush()
		rotate()
	case n < 11:
		if w.stale {
			w.reopenIfStale()
		}
	case n < 16:
		w.take()
	case n < 18:
		w.commit()
	default:
		w.kill()
	}
	if w.two && w.rng.IntN(4) == 0 {
		w.late()
	}
}

// TestCrashes proves that a consumer that is killed at random instants and restarted from its last commit has committed
// every line exactly once and in order, with every kind of rotation that itself loses nothing. If two processes write,
// the order holds within each file.
func TestCrashes(t *testing.T) {
	styles := []struct {
		name    string
		cfg     func(w *world)
		rotate  func(w *world)
		allowed []Reason
	}{
		{"rename", func(w *world) { w.reopen("log") }, (*world).renameNumbered, nil},
		{"rename+gzip", func(w *world) { w.reopen("log") }, (*world).renameGzip, nil},
		{"rename+delayed gzip", func(w *world) { w.reopen("log") }, (*world).renameDelayedGzip, nil},
		{"rename dated", func(w *world) { w.reopen("log") }, (*world).renameDated, nil},
		{"symlink", func(w *world) { w.cfg.Rotated = []string{"acct-*"}; w.symlink() }, (*world).symlink,
			[]Reason{Missing}},
		{"directory", func(w *world) { w.cfg.Path = w.dir; w.dated() }, (*world).dated, nil},
		{"directory+gzip", func(w *world) { w.cfg.Path = w.dir; w.dated() }, (*world).datedGzip, nil},
		{"rename, two writers", func(w *world) { w.two = true; w.reopen("log") }, (*world).renameNumbered, nil},
		{"rename dated, two writers", func(w *world) { w.two = true; w.reopen("log") }, (*world).renameDated, nil},
		{"copytruncate", func(w *world) { w.reopen("log") }, (*world).copyTruncate, []Reason{Truncated, Copied}},
	}
	for _, i := range []int{0, 1, 3, 4, 5, 6, 7} { // these styles again, with an archive that is imported first
		s := styles[i]
		cfg := s.cfg
		s.name += ", archive"
		s.cfg = func(w *world) { cfg(w); w.archive(s.rotate) }
		styles = append(styles, s)
	}
	rounds := *roundsFlag
	switch {
	case rounds > 0:
	case testing.Short():
		rounds = 1
	case os.Getenv("WAITCAST_LONG") != "":
		rounds = 60
	default:
		rounds = 3
	}
	for i, s := range styles {
		t.Run(s.name, func(t *testing.T) {
			for k := range rounds {
				seed := *seedFlag
				if seed == 0 {
					seed = drawSeed(i, k)
				}
				round(t, seed, s.cfg, s.rotate, s.allowed)
				if t.Failed() || *seedFlag != 0 {
					return
				}
			}
		})
	}
}

// drawSeed returns a random seed in the long tests and a fixed one otherwise. In about one random round in 130,
// copytruncate delivers lines twice, a known defect described in docs/tailing.md. That defect should not make a test
// of another change fail.
func drawSeed(style, round int) uint64 {
	if os.Getenv("WAITCAST_LONG") != "" {
		return rand.Uint64()
	}
	return 1 + 1000*uint64(style) + uint64(round)
}

func round(t *testing.T, seed uint64, cfg, rotate func(w *world), allowed []Reason) {
	ok := t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
		hazard(t, func(r *rig) {
			w := &world{rig: r, rng: rand.New(rand.NewPCG(seed, 0)), mtime: time.Unix(1_000_000_000, 0)}
			w.coarse = 1 << (2 * w.rng.IntN(4))
			w.cfg.BatchLines, w.cfg.BatchBytes, w.cfg.MaxLine = 1+w.rng.IntN(10), 1+w.rng.IntN(500), 1000
			defer func() {
				for _, d := range w.dropped {
					w.ok(d.Close())
				}
				w.ok(w.log.Close())
				for _, l := range w.left {
					w.ok(l.log.Close())
				}
			}()
			cfg(w)
			for range 400 {
				w.step(func() { rotate(w) })
			}
			w.flush()
			for idle := 0; idle < 20; idle++ {
				before := len(w.committed)
				w.take()
				w.commit()
				w.clock.now = w.clock.now.Add(DefaultGrace)
				if len(w.committed) > before {
					idle = 0
				}
			}
			w.check(allowed...)
		})
	})
	if !ok {
		t.Logf("replay with -run '%s' -tail.seed %d", t.Name(), seed)
	}
}
