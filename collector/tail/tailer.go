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

// windowSize is how many files are open at once: the one that is written to and
// predecessors which may still get late lines. An import of many old files
// finishes the oldest without waiting for its grace.
const windowSize = 4

// maxSpins bounds the immediate scans without result, should a file system give
// a file another identity each time it is asked; the poll goes on then.
const maxSpins = 100

// scanShare bounds the scans while there is much to read: at a poll none is made
// before so many times the duration of the last has passed, lest looking at
// thousands of files on a slow file system leave no time to read them. Ours.
const scanShare = 10

// textMax is how much of a skipped line is reported.
const textMax = 256

// Line is one complete line of a log.
type Line struct {
	Path   string
	Number int64  // 1-based in its file
	Text   []byte // without \n or \r\n; valid until the next call of Next
}

// Batch is what one call of Next found. Its slices are valid until the next call.
type Batch struct {
	Lines    []Line // all of one file
	Problems []Problem
	// Checkpoint is the position after these lines and problems, as opaque
	// versioned JSON. Commit it together with what the lines led to.
	Checkpoint []byte
	// CaughtUp: nothing more was there to read when this batch was made.
	CaughtUp bool
	// Standing is everything that keeps something of the source from being read when this batch was made, by path. A
	// change of it makes a batch.
	Standing []Problem
}

// file is one log the tailer knows.
type file struct {
	filePosition
	cand   candidate // where and what it was when last seen
	src    source    // nil when not open
	head   []byte    // the bytes hashed in filePosition; nil when only the hashes are known
	tail   []byte
	bound  bool // the last listing had it
	misses int  // listings in a row without it
	place  int  // in the reading order, from 1; 0 before it has one

	void         bool      // empty, and left by the writer, as of the last listing
	judged       bool      // compared with the other files before its first read
	waits        int       // how often it was kept from being begun by what changed meanwhile
	armed        bool      // seen non-empty, before its predecessors were last read
	atEnd        bool      // the last read came to the end of the file
	seen         status    // as of that read
	broken       status    // as of the read that failed
	rest         bool      // after Offset there is something, but no complete line
	hasNext      bool      // a later file has begun
	quiet        time.Time // since when it gave nothing, counted from hasNext on
	long         int64     // how far a line longer than MaxLine was searched for its end
	nuls         nulRun
	nulsAccepted int64 // NUL bytes before it were there for the grace
}

// nulRun is a run of NUL bytes that data may still replace.
type nulRun struct {
	pos   int64
	since time.Time
	size  int64 // of the file then
	open  bool  // no newline after it yet
}

// work counts what costs time in proportion to files, for the tests of it.
type work struct{ listings, stats, opens int }

// Tailer follows one source. It is for one goroutine.
type Tailer struct {
	cfg     Config
	opts    Options
	log     *zap.Logger
	dir     bool
	tick    <-chan time.Time
	stop    func()
	watcher *watcher

	files  []*file // in reading order, but for those in queue
	queue  []*file // the files after them, never opened
	queued int64   // bytes of queue
	low    string
	since  int64
	behind map[string]bool // marks of files passed by low or since, not in the table

	scanned  time.Time        // end of the last scan
	scanCost time.Duration    // how long it took
	heads    map[id]*fileHead // during a scan: heads of the unknown files
	work     work
	access   func(string) // called before each access to the file system, with what it is; tests change files in it

	listed       listing
	standing     map[string]Problem // files that cannot be read
	barred       map[string]Problem // configured paths that cannot be used
	stood        bool               // one of the two changed since the last batch
	fresh        bool               // neither checkpoint nor listing yet
	rescan       bool
	unsettled    bool // a known file is missing from one listing: look again first
	blind        bool // the last scan met something it could not look into
	hadPrimary   bool
	missingSince time.Time

	buf              []byte
	batch            Batch
	reportedCaughtUp bool // the last batch said CaughtUp
}

// New opens a source at checkpoint; nil means that there is none. Nothing of
// the source need exist yet. The error wraps ErrCheckpoint when that is at
// fault.
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

// Close lets go of files and events. Next must not be running.
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

// Next blocks until there are lines or problems, or until it has just caught
// up with the files. It returns the context's error when
// that ends, and io.EOF at the end of a one-shot.
func (t *Tailer) Next(ctx context.Context) (Batch, error) {
	t.batch = Batch{Lines: t.batch.Lines[:0]}
	select {
	case <-t.tick: // also while there is so much to read that it never waits
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
	w := t.window() // with files that were empty when the first look passed them
	t.arm(w, true)
	blocked := false
	for i, f := range w {
		if !f.armed {
			continue
		}
		if f.Offset == 0 && !f.judged && !scanned && !t.listedSince(f) {
			t.rescan = true // before a file is begun: is there really none to be read before it?
			return true
		}
		if t.judge(f); f.src != nil && len(t.batch.Problems) == 0 {
			t.read(f)
		}
		if len(t.batch.Lines) > 0 || len(t.batch.Problems) > 0 || t.rescan && f.Offset == 0 {
			return true
		}
		if blocked = f.rest && i+1 < len(w) && w[i+1].Offset == 0; blocked {
			break // the end of a line may still come
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

// window opens the oldest unfinished files that have begun.
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
			break // f was renamed: nothing newer before it is found again
		}
	}
	return w
}

// empty: f is not open since nothing was written to it yet.
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

// listedSince: the last listing was made after f had begun, and f did not change
// after it. So all that was written before f was listed too.
func (t *Tailer) listedSince(f *file) bool {
	if f.cand.primary || !f.bound || !f.cand.begun {
		return false
	}
	st, err := f.src.Stat()
	return err == nil && st.unchanged(f.cand.st)
}

// arm notes which files have begun, newest first. A file is read only if it was
// seen to have begun before its predecessors were read to their ends: by then a
// writer had left them, so its lines stay in order. With before, only files
// before one already noted are.
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

// finish closes predecessors that were silent for the grace. Those that still
// exist are remembered, and opened again should they grow.
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

// caughtUp reports whether everything there is was read, and sets the lag.
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
		if st.size > 0 && !(f.atEnd && st.unchanged(f.seen)) {
			all = false
		}
	}
	t.opts.Metrics.lagging(t.cfg.Source, lag)
	return all
}

func (t *Tailer) problem(path string, line int64, r Reason, err error) {
	t.skipped(path, line, r, err, nil)
}

// skipped is problem for a line that was skipped, which begins with text. To log problems is the consumer's, at his
// rate.
func (t *Tailer) skipped(path string, line int64, r Reason, err error, text []byte) {
	text, _, _ = bytes.Cut(text, []byte{'\n'})
	text = bytes.Clone(text[:min(len(text), textMax)])
	t.batch.Problems = append(t.batch.Problems, Problem{Path: path, Number: line, Reason: r, Err: err, Text: text})
	t.opts.Metrics.problem(t.cfg.Source, r)
}

// reportStanding reports a standing problem of a file unless it was reported already.
func (t *Tailer) reportStanding(p Problem) {
	if t.standing[p.Path].Reason != p.Reason {
		t.standing[p.Path], t.stood = p, true
		t.problem(p.Path, 0, p.Reason, p.Err)
	}
}

// mended forgets the standing problem of a file, if there is one.
func (t *Tailer) mended(path string) {
	if _, ok := t.standing[path]; ok {
		delete(t.standing, path)
		t.stood = true
	}
}

// stands reports whether a path has a standing problem.
func (t *Tailer) stands(path string) bool {
	return t.standing[path].Reason != "" || t.barred[path].Reason != ""
}

// allStanding returns the standing problems by path; one of a configured path hides that of the file there.
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

// String names the tailer in logs.
func (t *Tailer) String() string { return fmt.Sprintf("%s (%s)", t.cfg.Source, t.cfg.Path) }
