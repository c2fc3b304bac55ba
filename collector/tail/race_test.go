package tail

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// act makes the tailer call f before its k-th access to the file system, counted from now. It returns a pointer to the
// number of accesses so far.
func (r *rig) act(k int, f func()) (accesses *int) {
	n := 0
	r.tailer.access = func(string) {
		if n++; n == k {
			f()
		}
	}
	return &n
}

// TestRotatedBetweenAnyTwoAccesses rotates the log, and writes to it again, between two accesses of the tailer to the
// file system, with one case for each access. The lines must be delivered once and in order, whichever files they come
// from. In its first run the test found that a truncated log was read before its copy.
func TestRotatedBetweenAnyTwoAccesses(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long under the race detector, which sees TestConcurrentWriter")
	}
	long := strings.Repeat("y", 200)
	copied := func(r *rig) { r.copy("log", "log.1") }
	truncated := func(r *rig) { r.ok(os.Truncate(r.path("log"), 0)); r.write("log", "5\n6\n") }
	tests := []struct {
		name    string
		before  func(r *rig) // runs when the tailer begins
		between []func(r *rig)
		skipped int // the number of long lines
	}{
		{"copied and truncated, never read", func(r *rig) { r.write("log", "1\n2\n3\n4\n") },
			[]func(r *rig){copied, truncated}, 0},
		{"copied and truncated, read before", func(r *rig) {
			r.write("log", "1\n2\n")
			r.want("log:1:1 log:2:2")
			r.write("log", "3\n4\n")
		}, []func(r *rig){copied, truncated}, 0},
		{"renamed", func(r *rig) { r.write("log", "1\n2\n3\n4\n") },
			[]func(r *rig){func(r *rig) { r.rename("log", "log.1"); r.write("log", "5\n6\n") }}, 0},
		{"part of it copied before", func(r *rig) {
			r.write("log", "1\n2\n3\n4\n")
			r.write("log.1", "1")
		}, []func(r *rig){copied, truncated}, 0},
		{"read before, and an empty copy made before", func(r *rig) {
			r.write("log", "1\n2\n3\n4\n")
			r.want("log:1:1 log:2:2 log:3:3 log:4:4")
			r.write("log.1", "")
		}, []func(r *rig){copied, truncated, func(r *rig) { r.rename("log", "log.0") },
			func(r *rig) { r.write("log", "7\n") }}, 0},
		{"read before, and part of a line copied before", func(r *rig) {
			r.write("log", "1\n2\n3\n4\n")
			r.want("log:1:1 log:2:2 log:3:3 log:4:4")
			r.write("log.1", "1")
		}, []func(r *rig){copied, truncated}, 0},
		{"some lines copied before", func(r *rig) {
			r.write("log", "1\n2\n3\n4\n")
			r.write("log.1", "1\n2\n")
		}, []func(r *rig){copied, truncated}, 0},
		{"the copy is compressed at once", func(r *rig) {
			r.write("log", "1\n2\n")
			r.want("log:1:1 log:2:2")
			r.write("log", "3\n4\n")
		}, []func(r *rig){copied, truncated, func(r *rig) { r.gzip("log.1") }}, 0},
		{"a line that is too long", func(r *rig) { r.write("log", "1\n2\n3\n4\n"+long+"\n") }, []func(r *rig){copied,
			func(r *rig) {
				r.ok(os.Truncate(r.path("log"), 0))
				r.write("log", "5\n6\n"+strings.Repeat("x", 300)+"\n")
			}}, 2},
		{"the log is renamed and compressed at once, too", func(r *rig) { r.write("log", "1\n2\n3\n4\n") },
			[]func(r *rig){copied, truncated, func(r *rig) {
				r.rename("log", "log.0")
				r.gzip("log.1")
				r.gzip("log.0")
			}}, 0},
	}
	for _, test := range tests {
		for split := range test.between { // the first steps of the rotation come before the tailer begins
			t.Run(fmt.Sprintf("%s, from step %d", test.name, split), func(t *testing.T) {
				for k, accesses := 1, 1; k <= accesses; k++ {
					accesses = 0
					for variant := range 4 {
						hazard(t, func(r *rig) {
							r.cfg.BatchBytes = DefaultBatchBytes
							if variant >= 2 {
								r.cfg.BatchBytes = 2 // one line at a time
							}
							n := rotatedAt(r, k, split, test.skipped, variant%2 == 0, test.before, test.between)
							accesses = max(accesses, n)
						})
					}
				}
			})
		}
	}
}

// rotatedAt checks one case of TestRotatedBetweenAnyTwoAccesses, with the rotation before the k-th access.
func rotatedAt(r *rig, k, split, skipped int, killed bool, before func(*rig), between []func(*rig)) (accesses int) {
	r.cfg.MaxLine = 100
	before(r)
	lines := withoutFiles(r.lines)
	if killed {
		r.close()
	}
	for _, f := range between[:split] {
		f(r)
	}
	if r.tailer == nil {
		r.start()
	}
	n := r.act(k, func() {
		for _, f := range between[split:] {
			f(r)
		}
		r.tailer.rescan = true // the folder has changed
	})
	rotated := func() bool { return *n >= k }
	reasons := map[Reason]int{}
	for last := false; !last; {
		last = rotated()
		for range 2 {
			r.poll(time.Second)
			lines = append(lines, withoutFiles(r.lines)...)
			for _, p := range r.problems {
				reasons[p.Reason]++
			}
		}
		if !rotated() {
			return *n // the tailer had come to rest before
		}
	}
	want := strings.Fields("1 2 3 4 5 6 7")[:6+len(between)/4]
	if !slices.Equal(lines, want) || reasons[LineTooLong] != skipped {
		r.t.Errorf("rotated before access %d: lines %v, want %v; problems %v", k, lines, want, reasons)
	}
	return *n
}

// withoutFiles returns the texts of lines given as name:number:text.
func withoutFiles(lines []string) []string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, l[strings.LastIndexByte(l, ':')+1:])
	}
	return texts
}

// rotatingWriter writes numbered lines and rotates its log, one step at a time.
type rotatingWriter struct {
	*rig
	rng   *rand.Rand
	steps []func()
	log   *os.File
	lines int // in all steps
	long  int // the mean number of lines for each line that is too long
	last  string
}

func (w *rotatingWriter) then(step func()) { w.steps = append(w.steps, step) }

// step does the next step of the rotation.
func (w *rotatingWriter) step() {
	if len(w.steps) > 0 {
		step := w.steps[0]
		w.steps = w.steps[1:]
		step()
	}
}

// append appends some lines, sometimes in two parts.
func (w *rotatingWriter) append() {
	text := ""
	for range 1 + w.rng.IntN(20) {
		w.lines++
		text += fmt.Sprintf("%d %s\n", w.lines, strings.Repeat("x", w.rng.IntN(60)))
		if w.rng.IntN(w.long) == 0 {
			text += strings.Repeat("y", 100+w.rng.IntN(900)) + "\n"
		}
	}
	cut := w.rng.IntN(2 * len(text))
	for _, piece := range []string{text[:min(cut, len(text))], text[min(cut, len(text)):]} {
		w.then(func() { _, err := w.log.WriteString(piece); w.ok(err) })
	}
}

func (w *rotatingWriter) reopen() {
	w.ok(w.log.Close())
	w.open()
}

func (w *rotatingWriter) open() {
	var err error
	w.log, err = os.OpenFile(w.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	w.ok(err)
}

// rotate rotates the log in one of four ways.
func (w *rotatingWriter) rotate(day int) {
	to, before := fmt.Sprintf("log-%08d", 20240100+day), w.last
	w.last = to
	switch way := w.rng.IntN(4); way {
	case 0:
		w.then(func() { w.write(to, "") })
		w.then(func() { w.copyPart(to) })
		w.then(func() { w.copy("log", to) })
		w.then(func() { w.ok(w.log.Truncate(0)) })
	case 1: // the writer keeps writing to the renamed file for a while
		w.then(func() { w.rename("log", to) })
		for range 1 + w.rng.IntN(3) {
			w.append()
		}
		w.then(w.reopen)
	default:
		if way == 2 && before != "" {
			w.then(func() { w.write(before+".gz", "") })
			w.then(func() { w.gzip(before) })
		}
		w.then(func() { w.rename("log", to) })
		w.then(w.reopen)
	}
}

// copyPart copies the first part of the log to another file.
func (w *rotatingWriter) copyPart(to string) {
	b, err := os.ReadFile(w.path("log"))
	w.ok(err)
	w.ok(os.WriteFile(w.path(to), b[:w.rng.IntN(len(b)+1)], 0o644))
}

// TestRotatedAtRandomAccesses lets a writer write and rotate, step by step and at random, between the tailer's accesses
// to the file system. The consumer commits every batch and is killed at random. Every line must be delivered once and
// in order.
func TestRotatedAtRandomAccesses(t *testing.T) {
	rounds := 60
	switch {
	case *roundsFlag > 0:
		rounds = *roundsFlag
	case testing.Short():
		rounds = 20
	case os.Getenv("WAITCAST_LONG") != "":
		rounds = 5000
	}
	for seed := range uint64(rounds) {
		if *seedFlag != 0 {
			seed = *seedFlag
		}
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			hazard(t, func(r *rig) { rotatedAtRandom(r, seed) })
		}) || *seedFlag != 0 {
			return
		}
	}
}

func rotatedAtRandom(r *rig, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 77))
	w := &rotatingWriter{rig: r, rng: rng, long: 2 + rng.IntN(100)}
	r.cfg.BatchBytes, r.cfg.MaxLine = 1<<(4+rng.IntN(14)), 99
	w.open()
	defer func() { w.ok(w.log.Close()) }()
	for day := range 3 + rng.IntN(6) {
		for range 1 + rng.IntN(3) {
			w.append()
		}
		w.rotate(day)
	}
	w.append()
	rate := 1 + rng.IntN(60)
	committed := 0
	for idle := 0; idle < 6; {
		before := committed
		r.start()
		r.tailer.access = func(string) {
			if rng.IntN(rate) == 0 {
				for range 1 + rng.IntN(4) {
					w.step()
				}
			}
		}
		for range 1 + rng.IntN(12) {
			committed = w.take(committed)
		}
		if len(w.steps) == 0 && committed == before {
			idle++
		}
		for range rng.IntN(4) {
			w.step()
		}
	}
	if committed != w.lines {
		r.t.Fatalf("%d lines of %d", committed, w.lines)
	}
}

// take takes a batch, checks that its lines are the next ones, and commits it. It returns the new number of committed
// lines.
func (w *rotatingWriter) take(committed int) int {
	w.t.Helper()
	w.clock.now = w.clock.now.Add(time.Duration(w.rng.IntN(1500)) * time.Millisecond)
	if len(w.steps) == 0 {
		w.clock.now = w.clock.now.Add(DefaultGrace)
	}
	select {
	case w.clock.tick <- w.clock.now:
	default:
	}
	b, err := w.next()
	if err != nil {
		return committed // nothing new
	}
	for _, l := range b.Lines {
		committed++
		if number, _, _ := bytes.Cut(l.Text, []byte{' '}); string(number) != strconv.Itoa(committed) {
			w.t.Fatalf("line %s comes as the %dth, from %s:%d", number, committed, filepath.Base(l.Path), l.Number)
		}
	}
	w.ckpt = bytes.Clone(b.Checkpoint)
	return committed
}
