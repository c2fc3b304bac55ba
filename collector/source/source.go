// Package source reads one log of a scheduler: it follows the files, parses their lines, and delivers events with the
// checkpoint that stands for having taken them in.
package source

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// futureTolerance is how far ahead of the wall clock an event may be: a wrong time zone is up to 26 hours off, of which the half
// is believable; a record of tomorrow would make everything that follows look late.
const futureTolerance = 24 * time.Hour

// aheadTolerance is how far ahead an event may be without a word: the clocks of hosts differ.
const aheadTolerance = 5 * time.Minute

// Config describes one source.
type Config struct {
	// Name is unique in the daemon; the checkpoint is kept under it.
	Name    string
	Format  collector.Format
	Options collector.Options
	Files   tail.Config
	// Others are the formats that a log is tried with that makes no sense in Format, to name the right one.
	Others []collector.Format
}

// BadLine is a line that could not be used.
type BadLine struct {
	Path   string
	Number int64
	Reason string
	Err    error
	Text   []byte
}

// Delivery is what one batch of lines told.
type Delivery struct {
	Source *Config
	Events []job.Event
	Bad    []BadLine
	// Problems are about files rather than lines.
	Problems []tail.Problem
	// Lines is the number of lines read.
	Lines int
	// Checkpoint stands for all the lines up to the end of this delivery.
	Checkpoint []byte
	// Answered is true where a scheduler was asked and told something that is of use.
	Answered bool
	// CaughtUp is true when there was nothing more to read.
	CaughtUp bool
}

// Reader reads one source. Its methods are for one goroutine.
type Reader struct {
	cfg    Config
	tailer *tail.Tailer
	parser collector.Parser
	now    func() time.Time
	detect detector
	ahead  bool // a record of the future has been mentioned
	// metrics may be nil.
	metrics *tail.Metrics
	// live is true once the end of the log has been reached: what comes later is read as it happens.
	live bool
}

// Open starts reading after the checkpoint, or as the configuration says if there is none.
func Open(cfg Config, checkpoint []byte, now func() time.Time, opts tail.Options) (*Reader, error) {
	r := &Reader{cfg: cfg, parser: cfg.Format.New(cfg.Options), now: now, metrics: opts.Metrics}
	r.detect = newDetector(&r.cfg)
	opts.Header = r.header
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	tailer, err := tail.New(cfg.Files, checkpoint, opts)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", cfg.Name, err)
	}
	r.tailer = tailer
	return r, nil
}

// Close releases the files.
func (r *Reader) Close() error { return r.tailer.Close() }

// header lets the parser read the beginning of a file that is continued in its middle.
func (r *Reader) header(path string, content io.Reader) error {
	p, ok := r.parser.(collector.HeaderParser)
	if !ok {
		return nil
	}
	lines := bufio.NewScanner(content)
	for lines.Scan() {
		if !p.Header(lines.Bytes()) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: reading the header: %w", path, err)
	}
	return nil
}

// Next waits for new lines and returns what they told. In one-shot mode it returns io.EOF after the last.
func (r *Reader) Next(ctx context.Context) (*Delivery, error) {
	batch, d, err := r.next(ctx)
	if err != nil {
		return nil, err
	}
	d.Events = make([]job.Event, 0, len(batch.Lines))
	now := r.now()
	for i := range batch.Lines {
		r.parse(&batch.Lines[i], d, now)
	}
	r.finish(&batch, d)
	r.live = r.live || batch.CaughtUp && !hidden(batch.Problems)
	return d, nil
}

// hidden reports whether the log could not be read: what it holds when it appears is history all the same.
func hidden(problems []tail.Problem) bool {
	for _, p := range problems {
		if p.Reason.Standing() {
			return true
		}
	}
	return false
}

func (r *Reader) next(ctx context.Context) (tail.Batch, *Delivery, error) {
	batch, err := r.tailer.Next(ctx)
	d := &Delivery{Source: &r.cfg, Checkpoint: batch.Checkpoint, CaughtUp: batch.CaughtUp, Lines: len(batch.Lines)}
	for _, p := range batch.Problems {
		if reason := skipped(p.Reason); reason != "" {
			d.Lines++
			d.Bad = append(d.Bad, BadLine{Path: p.Path, Number: p.Number, Reason: reason, Err: p.Err, Text: p.Text})
		} else {
			d.Problems = append(d.Problems, p)
		}
	}
	return batch, d, err
}

// skipped returns the reason for which a line is bad that was not even handed out, "" for any other problem.
func skipped(r tail.Reason) string {
	switch r {
	case tail.LineTooLong:
		return collector.ReasonLongLine
	case tail.NulBytes:
		return collector.ReasonFormat
	}
	return ""
}

// finish adds what the lines of a delivery show together.
func (r *Reader) finish(batch *tail.Batch, d *Delivery) {
	slices.SortStableFunc(d.Bad, func(a, b BadLine) int { return cmp.Compare(a.Number, b.Number) })
	if batch.CaughtUp {
		r.detect.ended(r.cfg.Files.Path)
	}
	if p := r.detect.problem; p != nil {
		if !r.detect.counted {
			r.detect.counted = true
			r.metrics.Count(r.cfg.Name, p.Reason)
		}
		d.Problems = slices.Insert(d.Problems, 0, *p) // what keeps the file from being read at all comes last: it is worse
	}
}

// TellsWhole reports whether NextWhole may be used.
func (r *Reader) TellsWhole() bool {
	_, ok := r.parser.(collector.WholeParser)
	return ok
}

// NextWhole is Next for a log that is read once: it appends the jobs to into and returns it with a delivery that has no events.
func (r *Reader) NextWhole(ctx context.Context, into []collector.Whole) ([]collector.Whole, *Delivery, error) {
	batch, d, err := r.next(ctx)
	if err != nil {
		return into, nil, err
	}
	parser := r.parser.(collector.WholeParser)
	now := r.now().Unix()
	for i := range batch.Lines {
		line := &batch.Lines[i]
		w, ok, err := parser.ParseWhole(line.Text)
		if err == nil && ok && w.End > now {
			err = r.checkAhead(line, d, time.Unix(w.End, 0), time.Unix(now, 0))
		}
		switch {
		case err != nil:
			r.refuse(d, line, err)
		case ok:
			r.detect.good()
			into = append(into, w)
		default:
			r.detect.fruitless(line, "")
		}
	}
	r.finish(&batch, d)
	return into, d, nil
}

// checkAhead returns an error for an instant that cannot be used because it lies too far ahead. One that lies ahead at all is mentioned
// once: it is used, but forecasts suffer.
func (r *Reader) checkAhead(line *tail.Line, d *Delivery, at, now time.Time) error {
	ahead := at.Sub(now)
	if ahead <= aheadTolerance {
		return nil
	}
	advice := fmt.Sprintf("%s is later than now, by %s: is the cluster's time_zone right, which is %s, and the clock of the log's host?",
		at.UTC().Format(time.RFC3339), ahead.Round(time.Second), r.zone())
	if ahead > futureTolerance {
		return collector.Bad(collector.ReasonFuture, "time", "%s", advice)
	}
	if !r.ahead {
		r.ahead = true
		r.metrics.Count(r.cfg.Name, tail.Future)
		d.Problems = append(d.Problems, tail.Problem{Path: line.Path, Number: line.Number, Reason: tail.Future, Err: errors.New(advice)})
	}
	return nil
}

// zone names the zone of the log's local times.
func (r *Reader) zone() string {
	if loc := r.cfg.Options.Location; loc != nil {
		return loc.String()
	}
	return time.Local.String()
}

func (r *Reader) parse(line *tail.Line, d *Delivery, now time.Time) {
	first := len(d.Events)
	err := r.parser.Parse(line.Text, func(ev job.Event) {
		ev.Live = r.live
		d.Events = append(d.Events, ev)
	})
	if err == nil {
		for _, ev := range d.Events[first:] {
			if err = r.checkAhead(line, d, ev.Time, now); err != nil {
				d.Events = d.Events[:first]
				break
			}
		}
	}
	switch {
	case len(d.Events) > first:
		r.detect.good()
	case err == nil:
		r.detect.fruitless(line, "")
	}
	if err != nil {
		r.refuse(d, line, err)
	}
}

// refuse notes a line that cannot be used.
func (r *Reader) refuse(d *Delivery, line *tail.Line, err error) {
	bad := Refused(line.Path, line.Number, line.Text, err)
	r.detect.fruitless(line, bad.Reason)
	d.Bad = append(d.Bad, bad)
}

// Refused returns the line, which it copies, as one that could not be used because of err.
func Refused(path string, number int64, text []byte, err error) BadLine {
	bad := BadLine{Path: path, Number: number, Reason: collector.ReasonFormat, Err: err, Text: append([]byte(nil), text...)}
	var le *collector.LineError
	if errors.As(err, &le) {
		bad.Reason = le.Reason
	}
	return bad
}
