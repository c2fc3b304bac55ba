package tail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// windowSize is the maximum number of open files: the file that is written to, and predecessors that may still get late
// lines. During an import of many old files, the oldest open one is finished without waiting for its grace.
const windowSize = 4

// maxSpins is the maximum number of immediate scans without a result; after that Next waits for the next poll. It is
// needed because a file system may report another identity of a file each time.
const maxSpins = 100

// scanShare limits the time spent on scans while there is much to read. A poll makes no further scan until scanShare
// times the duration of the last scan has passed since that scan. Otherwise scans of thousands of files on a slow file
// system would leave no time to read them. The value is a free choice.
const scanShare = 10

// textMax is the number of bytes of a skipped line that are reported.
const textMax = 256

// Line is one complete line of a log.
type Line struct {
	Path   string
	Number int64  // line number in its file, from 1
	Text   []byte // without \n or \r\n; valid until the next call of Next
}

// Batch is the result of one call of Next. Its slices are valid until the next call.
type Batch struct {
	Lines    []Line // all from one file
	Problems []Problem
	// Checkpoint is the position after these lines and problems, as opaque versioned JSON. Commit it together with
	// the results of the lines.
	Checkpoint []byte
	// CaughtUp is true if there was nothing more to read when this batch was made.
	CaughtUp bool
	// LagBytes is the number of bytes that had been written to the open logs but not read when this batch was made.
	LagBytes int64
	// Standing has, by path, the problems that kept files of the source from being read when this batch was made. If
	// they change, a batch is delivered even without lines.
	Standing []Problem
}

// file is one log that the tailer knows.
type file struct {
	filePosition
	cand   candidate // name and attributes when last seen
	src    source    // nil when not open
	head   []byte    // the bytes hashed in filePosition; nil if only the hashes are known
	tail   []byte
	bound  bool      // it was in the last listing
	misses int       // number of consecutive listings without it
	missed time.Time // time of the first listing without it and without its inode
	place  int       // place in the reading order, from 1; 0 for none yet

	void         bool      // empty at the last listing, and no longer written to
	judged       bool      // compared with the other files before its first read
	waits        int       // number of times its first read was delayed because files changed
	armed        bool      // it had content before its predecessors were last read
	atEnd        bool      // the last read reached the end of the file
	seen         status    // attributes at that read
	broken       status    // attributes when reading failed
	rest         bool      // there are bytes after Offset, but no complete line
	hasNext      bool      // a later file has begun
	quiet        time.Time // time since which it has had no new lines; not before the time when hasNext was set
	long         int64     // offset up to which the end of a line longer than MaxLine was searched
	nuls         nulRun
	nulsAccepted int64 // NUL bytes before this offset have existed for the grace
}

// nulRun is a run of NUL bytes that data may still replace.
type nulRun struct {
	pos   int64
	since time.Time
	size  int64 // size of the file then
	open  bool  // no newline after it yet
}

// work counts operations whose number grows with the number of files, for tests.
type work struct{ listings, stats, opens int }

// Tailer follows one source. It is not safe for concurrent use.
type Tailer struct {
	cfg     Config
	opts    Options
	log     *zap.Logger
	dir     bool
	tick    <-chan time.Time
	stop    func()
	watcher *watcher

	files  []*file // in reading order, without those in queue
	queue  []*file // the files after those in files; they were never opened
	queued int64   // bytes of queue
	low    string
	since  int64
	behind map[string]bool // entries of files that low or since cover although they were not read

	scanned  time.Time        // end of the last scan
	scanCost time.Duration    // duration of the last scan
	heads    map[id]*fileHead // during a scan: heads of the unknown files
	work     work
	access   func(string) // receives the kind of each access to the file system, before it; tests change files here

	listed       listing
	standing     map[string]Problem // files that cannot be read
	barred       map[string]Problem // configured paths that cannot be used
	stood        bool               // standing or barred changed since the last batch
	fresh        bool               // there has been neither a checkpoint nor a listing so far
	rescan       bool
	unsettled    bool // the last listing lacked a known file, so nothing is read before another listing
	blind        bool // the last scan found a path that it could not examine
	hadPrimary   bool
	missingSince time.Time

	buf              []byte
	batch            Batch
	reportedCaughtUp bool // CaughtUp was set in the last batch
}

// New opens a source at a checkpoint; nil means none. The files need not exist yet. The error wraps ErrCheckpoint if
// the checkpoint is unusable.
func New(cfg Config, checkpoint []byte, opts Options) (*Tailer, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	if opts.Clock == nil {
		opts.Clock = wallClock{}
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	t := &Tailer{
		cfg: cfg, opts: opts, log: opts.Log.With(zap.String("source", cfg.Source)),
		dir: cfg.Pattern != "", rescan: true, fresh: checkpoint == nil,
		standing: make(map[string]Problem), access: func(string) {},
	}
	if checkpoint != nil {
		if err := t.restore(checkpoint); err != nil {
			return nil, err
		}
	} else if st, err := statPath(cfg.Path); err == nil && st.mode.IsDir() {
		t.dir = true
	}
	if t.dir {
		orDefault(&t.cfg.Pattern, "*")
	}
	opts.Metrics.touch(cfg.Source)
	t.tick, t.stop = opts.Clock.Ticker(cfg.Poll)
	if !cfg.NoInotify && !cfg.OneShot {
		t.watcher = newWatcher(t.relevant, t.log)
	}
	return t, nil
}

func (t *Tailer) restore(data []byte) error {
	c, err := decodeCheckpoint(t.cfg.Source, data)
	if err != nil {
		return err
	}
	t.dir = t.dir || c.Dir
	t.low, t.since, t.behind = c.Low, c.Since, make(map[string]bool)
	for _, b := range c.Behind {
		t.behind[b] = true
	}
	for i, m := range c.Files {
		f := &file{filePosition: m, place: i + 1}
		f.cand = candidate{path: m.Path, st: status{dev: m.Dev, ino: m.Ino, size: m.Size, mtime: m.Mtime}}
		t.files = append(t.files, f)
	}
	return nil
}

// Close closes files and stops file system events. Next must not be running.
func (t *Tailer) Close() error {
	t.stop()
	err := t.watcher.close()
	for _, f := range t.files {
		err = errors.Join(err, f.close())
	}
	return err
}

func (f *file) close() error {
	if f.src == nil {
		return nil
	}
	err := f.src.Close()
	f.src = nil
	return err
}

// Next blocks until there are lines or problems, until the standing problems change, or until it has just reached the
// end of the files. It returns the context's error when the context ends, and io.EOF at the end of all files in
// one-shot mode.
func (t *Tailer) Next(ctx context.Context) (Batch, error) {
	t.batch = Batch{Lines: t.batch.Lines[:0]}
	select {
	case <-t.tick: // a case of its own, because with much to read Next never waits
		t.rescan = t.rescan || t.opts.Clock.Now().Sub(t.scanned) >= scanShare*t.scanCost
	default:
	}
	for spins := 0; ; spins++ {
		if err := ctx.Err(); err != nil {
			return Batch{}, err
		}
		again := t.step() && (!t.rescan || spins < maxSpins)
		if len(t.batch.Lines) > 0 || len(t.batch.Problems) > 0 {
			return t.deliver()
		}
		if again {
			continue
		}
		if t.stood || !t.reportedCaughtUp && t.caughtUp() {
			return t.deliver()
		}
		if t.cfg.OneShot {
			return Batch{}, io.EOF
		}
		if t.reportedCaughtUp && t.opts.Idle != nil {
			t.opts.Idle()
		}
		if err := t.wait(ctx); err != nil {
			return Batch{}, err
		}
	}
}

// step polls and reads once, and reports whether it should be called again at once.
func (t *Tailer) step() (again bool) {
	scanned := t.rescan
	if t.rescan {
		t.rescan = false
		t.scan()
	}
	if t.unsettled {
		t.rescan = t.cfg.OneShot
		return t.rescan
	}
	t.arm(t.window(), false)
	w := t.window() // includes files that were empty in the first pass
	t.arm(w, true)
	blocked := false
	for i, f := range w {
		if !f.armed {
			continue
		}
		if f.Offset == 0 && !f.judged && !scanned && !t.listedSince(f) {
			t.rescan = true // before the first read of a file, check that no other file must be read before it
			return true
		}
		if t.judge(f); f.src != nil && len(t.batch.Problems) == 0 {
			t.read(f)
		}
		if len(t.batch.Lines) > 0 || len(t.batch.Problems) > 0 || t.rescan && f.Offset == 0 {
			return true
		}
		if blocked = f.rest && i+1 < len(w) && w[i+1].Offset == 0; blocked {
			break // the end of a line may come later
		}
	}
	finished := t.finish(w)
	return finished || t.rescan || !blocked && t.arm(t.window(), false)
}

func (t *Tailer) deliver() (Batch, error) {
	t.batch.CaughtUp = t.caughtUp()
	t.reportedCaughtUp, t.stood = t.batch.CaughtUp, false
	t.batch.Standing = t.allStanding()
	var err error
	t.batch.Checkpoint, err = t.encode()
	return t.batch, err
}

func (t *Tailer) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.tick:
		t.rescan = true
	case <-t.watcher.events():
		t.rescan = t.rescan || t.watcher.renamed.Swap(false)
	}
	return nil
}

// window opens and returns the oldest unfinished files that have content, at most windowSize.
func (t *Tailer) window() []*file {
	var w []*file
	for i := 0; len(w) < windowSize; i++ {
		if i == len(t.files) && t.next() == nil {
			break
		}
		f := t.files[i]
		if f.Done || t.empty(f) {
			continue
		}
		if f.src != nil || t.open(f) {
			w = append(w, f)
		} else if t.rescan {
			break // f was renamed, and newer files must not be read before it is found again
		}
	}
	return w
}

// empty reports whether f is not open and nothing was written to it yet.
func (t *Tailer) empty(f *file) bool {
	if f.src != nil || f.Offset > 0 || f.cand.st.size > 0 {
		return false
	}
	if f.void {
		return true
	}
	t.work.stats++
	st, err := t.stat(f.cand.path)
	return err == nil && st.id() == f.id() && st.size == 0
}

// listedSince reports whether the last listing was made after f had content, and f has not changed since then. If so,
// that listing has every file that was written to before f.
func (t *Tailer) listedSince(f *file) bool {
	if f.cand.primary || !f.bound || !f.cand.begun {
		return false
	}
	st, err := f.src.Stat()
	return err == nil && st.unchanged(f.cand.st)
}

// arm marks the files that have content, newest first. A file is read only if it had content before its predecessors
// were read to their ends: by then the scheduler no longer wrote to the predecessors, so lines stay in order. If before
// is true, arm marks only files before one that is already marked.
func (t *Tailer) arm(w []*file, before bool) (changed bool) {
	for _, f := range slices.Backward(w) {
		if before = before && !f.armed; before || f.armed || f.src == nil {
			continue
		}
		if st, err := f.src.Stat(); err == nil && st.size > 0 {
			f.armed, changed = true, true
		}
	}
	return changed
}

// finish closes files that were read to their ends: compressed ones, predecessors that had no new lines for the grace,
// the oldest one if the window is full, and in one-shot mode all. They are opened again if they grow.
func (t *Tailer) finish(w []*file) (finished bool) {
	begun := false
	now := t.opts.Clock.Now()
	for i, f := range slices.Backward(w) {
		_, gz := f.src.(*gzipSource)
		if begun && !f.hasNext {
			f.hasNext, f.quiet = true, now
		}
		silent := begun && now.Sub(f.quiet) >= t.cfg.Grace
		crowded := begun && i == 0 && len(w) == windowSize && !f.rest
		begun = begun || f.armed
		if (f.atEnd || !f.armed) && (gz || t.cfg.OneShot && begun || silent || crowded) {
			t.done(f)
			finished = true
		}
	}
	if finished {
		t.pruneFinished()
	}
	return finished
}

func (t *Tailer) done(f *file) {
	if f.rest {
		t.problem(f.cand.path, f.Line+1, PartialLine, errors.New("the file is finished, but its last line has no end"))
	}
	f.Done = true
	f.Size, f.Mtime = f.cand.st.size, f.cand.st.mtime
	if f.seen.id() == f.id() {
		f.Size, f.Mtime = f.seen.size, f.seen.mtime
	}
	if err := f.close(); err != nil {
		t.log.Warn("closing", zap.String("path", f.cand.path), zap.Error(err))
	}
}

// caughtUp reports whether all files were read to their ends. It also sets the lag of the batch and its metric.
func (t *Tailer) caughtUp() bool {
	lag := t.queued
	all := !t.unsettled && t.queued == 0
	for _, f := range t.files {
		if f.Done || f.src == nil && (t.stands(f.cand.path) || !f.bound) {
			continue
		}
		if f.src == nil {
			all = all && t.empty(f)
			lag += f.cand.st.size
			continue
		}
		st, err := f.src.Stat()
		if err != nil {
			all = false
			continue
		}
		if _, gz := f.src.(*gzipSource); !gz {
			lag += max(0, st.size-f.Offset)
		}
		if st.size > 0 && !(f.atEnd && st.unchanged(f.seen)) || t.awaitsData(f) {
			all = false
		}
	}
	t.batch.LagBytes = lag
	t.opts.Metrics.lagging(t.cfg.Source, lag)
	return all
}

func (t *Tailer) problem(path string, line int64, r Reason, err error) {
	t.skipped(path, line, r, err, nil)
}

// skipped adds a problem to the batch. text is the beginning of the skipped line, nil if no line was skipped. The
// consumer logs problems, at its own rate.
func (t *Tailer) skipped(path string, line int64, r Reason, err error, text []byte) {
	text, _, _ = bytes.Cut(text, []byte{'\n'})
	text = bytes.Clone(text[:min(len(text), textMax)])
	t.batch.Problems = append(t.batch.Problems, Problem{Path: path, Number: line, Reason: r, Err: err, Text: text})
	t.opts.Metrics.problem(t.cfg.Source, r)
}

// reportStanding reports a standing problem of a file unless one with the same reason is standing already.
func (t *Tailer) reportStanding(p Problem) {
	if t.standing[p.Path].Reason != p.Reason {
		t.standing[p.Path], t.stood = p, true
		t.problem(p.Path, 0, p.Reason, p.Err)
	}
}

// mended removes the standing problem of a file, if there is one.
func (t *Tailer) mended(path string) {
	if _, ok := t.standing[path]; ok {
		delete(t.standing, path)
		t.stood = true
	}
}

// stands reports whether a path has a lasting problem.
func (t *Tailer) stands(path string) bool {
	return t.standing[path].Reason != "" || t.barred[path].Reason != ""
}

// allStanding returns the lasting problems by path. A problem of a configured path replaces that of the file at the
// same path.
func (t *Tailer) allStanding() []Problem {
	var all []Problem
	for path, p := range t.standing {
		if _, ok := t.barred[path]; !ok {
			all = append(all, p)
		}
	}
	all = slices.AppendSeq(all, maps.Values(t.barred))
	slices.SortFunc(all, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// String returns the name of the tailer for logs.
func (t *Tailer) String() string { return fmt.Sprintf("%s (%s)", t.cfg.Source, t.cfg.Path) }
