package daemon_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// rotationStyle is one way in which a log is rotated.
type rotationStyle struct {
	name   string
	path   string // path of the log below the folder of the test; "" means "accounting"
	source string // YAML added to the source
	late   bool   // folder and log are created later
	lossy  bool   // loses lines by itself
	// open creates the first file.
	open func(*rotatingWriter)
	// rotate begins a new file. If rotate is nil, between begins it.
	rotate func(*rotatingWriter)
	// step is called before every step of the writer.
	step func(*rotatingWriter)
	// between replaces every other life of the daemon.
	between func(*rotatingWriter, *killer)
}

func rotationStyles() []rotationStyle {
	const primary = "accounting"
	plain := func(w *rotatingWriter) { w.reopen(w.path) }
	return []rotationStyle{
		{name: "rename and create", open: plain, rotate: (*rotatingWriter).rename},
		{name: "rename, writer signalled later", open: plain, rotate: (*rotatingWriter).renameHeld},
		{name: "copytruncate", lossy: true, open: plain, rotate: (*rotatingWriter).copyTruncate},
		{name: "symlink switch", source: `rotated: ["target-*"]`, open: (*rotatingWriter).switchLink,
			rotate: (*rotatingWriter).switchLink},
		{name: "gzip of rotated files", open: plain, rotate: (*rotatingWriter).renameZip,
			step: (*rotatingWriter).zipSome},
		{name: "dated files", path: "days", open: (*rotatingWriter).nextDay, rotate: (*rotatingWriter).nextDay},
		{name: "log appears later", path: "later/" + primary, late: true, open: plain,
			rotate: (*rotatingWriter).renameGap},
		{name: "deleted and made anew", open: plain, between: (*rotatingWriter).recreate},
		{name: "poll only", source: "inotify: off", open: plain, rotate: (*rotatingWriter).rename},
	}
}

// rotatingWriter writes numbered lines like a scheduler, but under harder conditions: lines in parts, and rotations
// after any line.
type rotatingWriter struct {
	t     *testing.T
	style rotationStyle
	dir   string // folder of the log's files
	path  string
	rng   *rand.Rand

	lines, every, perStep int
	late                  int // number of steps until the log appears

	file    *os.File
	pending string   // the rest of a line whose beginning was written
	written []string // lines that were begun
	rotated int
	held    int          // number of lines until the writer is signalled; until then the writer uses a renamed file
	zip     []string     // rotated files to be compressed
	reused  int          // new files that got the inode of the one deleted before
	window  map[int]bool // the lines written between copying and truncation
}

func newRotatingWriter(t *testing.T, s rotationStyle, seed uint64, lines, every int) *rotatingWriter {
	w := &rotatingWriter{t: t, style: s, rng: rand.New(rand.NewPCG(seed, 99)), lines: lines, every: every,
		window: map[int]bool{}}
	if s.path == "" {
		s.path = "accounting"
	}
	w.path = filepath.Join(t.TempDir(), s.path)
	w.dir = filepath.Dir(w.path)
	if s.path == "days" {
		w.dir = w.path
		must(t, os.Mkdir(w.dir, 0o700))
	}
	t.Cleanup(func() {
		if w.file != nil {
			must(t, w.file.Close())
		}
	})
	return w
}

// left reports whether more lines must be written.
func (w *rotatingWriter) left() bool { return len(w.written) < w.lines || w.pending != "" }

// grant makes n steps, or fewer if all lines are written.
func (w *rotatingWriter) grant(n int) {
	w.t.Helper()
	for ; n > 0 && w.left(); n-- {
		w.step()
	}
	if !w.left() {
		for w.style.step != nil && len(w.zip) > 0 {
			w.style.step(w)
		}
	}
}

// step writes some lines. The last one may stay incomplete until the next step.
func (w *rotatingWriter) step() {
	if w.late > 0 {
		w.late--
		return
	}
	if w.file == nil {
		must(w.t, os.MkdirAll(w.dir, 0o700))
		w.style.open(w)
	}
	if w.style.step != nil {
		w.style.step(w)
	}
	for range 1 + w.rng.IntN(2*w.perStep-1) {
		w.finishLine()
		if w.held == 0 && w.style.rotate != nil && w.rng.IntN(w.every) == 0 && len(w.written) > 0 {
			w.rotated++
			w.style.rotate(w)
		}
		if len(w.written) == w.lines {
			return
		}
		w.line()
		if w.held > 0 {
			if w.held--; w.held == 0 {
				w.finishLine()
				w.reopen(w.path)
			}
		}
	}
}

// line writes a line, or only its beginning.
func (w *rotatingWriter) line() {
	text := numberedLine(len(w.written), w.rng)
	w.written = append(w.written, text)
	n := len(text)
	if !w.style.lossy && w.rng.IntN(3) == 0 {
		n = w.rng.IntN(n)
	}
	w.put(text[:n])
	w.pending = text[n:]
}

func (w *rotatingWriter) finishLine() {
	w.put(w.pending)
	w.pending = ""
}

func (w *rotatingWriter) put(text string) {
	w.t.Helper()
	_, err := w.file.WriteString(text)
	must(w.t, err)
}

// reopen lets the writer continue in another file.
func (w *rotatingWriter) reopen(path string) {
	w.t.Helper()
	if w.file != nil {
		must(w.t, w.file.Close())
	}
	var err error
	w.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(w.t, err)
}

// pause sometimes lets the daemon read in the middle of a rotation.
func (w *rotatingWriter) pause() {
	if w.rng.IntN(3) == 0 {
		<-time.After(time.Duration(w.rng.Int64N(int64(40 * time.Millisecond))))
	}
}

// aside renames the log, and returns its new name.
func (w *rotatingWriter) aside() string {
	w.t.Helper()
	name := fmt.Sprintf("%s-%05d", w.path, w.rotated)
	must(w.t, os.Rename(w.path, name))
	w.pause()
	return name
}

func (w *rotatingWriter) rename() {
	w.aside()
	w.reopen(w.path)
}

// renameHeld rotates like logrotate: the writer continues to write to the renamed file until it is signalled.
func (w *rotatingWriter) renameHeld() {
	w.aside()
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	must(w.t, err)
	must(w.t, f.Close())
	w.held = 1 + w.rng.IntN(20)
}

// renameGap rotates so that the log is missing for a while: the writer creates it only when it is signalled.
func (w *rotatingWriter) renameGap() {
	w.aside()
	w.held = 1 + w.rng.IntN(20)
}

func (w *rotatingWriter) renameZip() {
	w.zip = append(w.zip, w.aside())
	w.reopen(w.path)
}

// zipSome sometimes compresses a rotated file as gzip does: the original is deleted when the copy is complete and has
// the original's time.
func (w *rotatingWriter) zipSome() {
	if len(w.zip) == 0 || w.left() && w.rng.IntN(10) > 0 {
		return
	}
	name := w.zip[0]
	w.zip = w.zip[1:]
	from, err := os.Open(name)
	must(w.t, err)
	info, err := from.Stat()
	must(w.t, err)
	to, err := os.OpenFile(name+".gz", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	must(w.t, err)
	z := gzip.NewWriter(to)
	_, err = io.Copy(z, from)
	must(w.t, errors.Join(err, z.Close(), to.Close(), from.Close()))
	w.pause()
	must(w.t, os.Chtimes(name+".gz", info.ModTime(), info.ModTime()))
	must(w.t, os.Remove(name))
}

// copyTruncate copies the log while lines are written to it, and truncates it. Some lines are written between the two.
func (w *rotatingWriter) copyTruncate() {
	from, err := os.Open(w.path)
	must(w.t, err)
	to, err := os.OpenFile(fmt.Sprintf("%s-%05d", w.path, w.rotated), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	must(w.t, err)
	for {
		n, err := io.CopyN(to, from, 2048)
		if errors.Is(err, io.EOF) && n == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			w.t.Fatal(err)
		}
		if w.rng.IntN(3) == 0 && len(w.written) < w.lines {
			w.line()
		}
		w.pause()
	}
	must(w.t, errors.Join(from.Close(), to.Close()))
	for w.rng.IntN(2) == 0 && len(w.written) < w.lines {
		w.window[len(w.written)] = true
		w.line()
	}
	w.pause()
	must(w.t, os.Truncate(w.path, 0))
}

// switchLink opens a new file and switches the link to it.
func (w *rotatingWriter) switchLink() {
	name := fmt.Sprintf("target-%05d", w.rotated)
	w.reopen(filepath.Join(w.dir, name))
	if w.rotated > 0 && w.rng.IntN(2) == 0 {
		w.line()
		w.finishLine()
	}
	w.pause()
	must(w.t, os.Symlink(name, w.path+".new"))
	must(w.t, os.Rename(w.path+".new", w.path))
}

func (w *rotatingWriter) nextDay() {
	w.reopen(filepath.Join(w.dir, epoch().AddDate(0, 0, w.rotated).Format("20060102")))
}

// recreate deletes the log, after it was completely read and committed, and creates it again. In some cases a daemon
// continues for a moment meanwhile. In others no daemon runs, and the new file gets the inode of the old one.
func (w *rotatingWriter) recreate(k *killer) {
	w.finishLine()
	p := k.spawn()
	url, ok := <-p.url
	if !ok || !becomesReady(url) {
		w.t.Fatalf("a daemon does not read all there is: %s", p.stderr.String())
	}
	alive := w.rng.IntN(2) == 0
	kill := func() {
		must(w.t, p.cmd.Process.Kill())
		drain(p.url)
		_ = p.cmd.Wait() // "signal: killed"
	}
	if !alive {
		kill()
	}
	w.rotated++
	before, err := w.file.Stat()
	must(w.t, err)
	must(w.t, errors.Join(w.file.Close(), os.Remove(w.path)))
	w.file = nil
	w.reopen(w.path)
	after, err := w.file.Stat()
	must(w.t, err)
	if os.SameFile(before, after) {
		w.reused++
	}
	w.grant(w.rng.IntN(stepsPerLife))
	if alive {
		kill()
	}
	w.grant(stepsPerLife / 2)
}

// note describes the special results of the style.
func (w *rotatingWriter) note() string {
	switch {
	case w.style.between != nil:
		return fmt.Sprintf(", %d with the same inode", w.reused)
	case w.style.lossy:
		return fmt.Sprintf(", %d lines between copying and truncation", len(w.window))
	}
	return ""
}
