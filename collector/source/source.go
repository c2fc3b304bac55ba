// Package source reads one log of a scheduler: it follows the files, parses their lines, and delivers events with the
// checkpoint that stands for having taken them in.
package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// futureTolerance is how far ahead of the wall clock an event may be: clocks differ, but a record of tomorrow would make
// everything that follows look late.
const futureTolerance = 24 * time.Hour

// Config describes one source.
type Config struct {
	// Name is unique in the daemon; the checkpoint is kept under it.
	Name    string
	Format  collector.Format
	Options collector.Options
	Files   tail.Config
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
	// CaughtUp is true when there was nothing more to read.
	CaughtUp bool
}

// Reader reads one source. Its methods are for one goroutine.
type Reader struct {
	cfg    Config
	tailer *tail.Tailer
	parser collector.Parser
	now    func() time.Time
	// live is true once the end of the log has been reached: what comes later is read as it happens.
	live bool
}

// Open starts reading after the checkpoint, or as the configuration says if there is none.
func Open(cfg Config, checkpoint []byte, now func() time.Time, opts tail.Options) (*Reader, error) {
	r := &Reader{cfg: cfg, parser: cfg.Format.New(cfg.Options), now: now}
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
	limit := r.now().Add(futureTolerance)
	for i := range batch.Lines {
		r.parse(&batch.Lines[i], d, limit)
	}
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
	return batch, &Delivery{
		Source: &r.cfg, Checkpoint: batch.Checkpoint, CaughtUp: batch.CaughtUp, Lines: len(batch.Lines), Problems: batch.Problems,
	}, err
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
	limit := r.now().Add(futureTolerance).Unix()
	for i := range batch.Lines {
		w, ok, err := parser.ParseWhole(batch.Lines[i].Text)
		if err == nil && ok && w.End > limit {
			err = future(time.Unix(w.End, 0))
		}
		if err != nil {
			d.refuse(&batch.Lines[i], err)
		} else if ok {
			into = append(into, w)
		}
	}
	return into, d, nil
}

func future(at time.Time) error {
	return collector.Bad(collector.ReasonFuture, "time",
		"%s is later than now; is the time zone or the clock of the log wrong?", at.Format(time.RFC3339))
}

func (r *Reader) parse(line *tail.Line, d *Delivery, limit time.Time) {
	first := len(d.Events)
	err := r.parser.Parse(line.Text, func(ev job.Event) {
		ev.Live = r.live
		d.Events = append(d.Events, ev)
	})
	if err == nil {
		for _, ev := range d.Events[first:] {
			if ev.Time.After(limit) {
				err = future(ev.Time)
				d.Events = d.Events[:first]
				break
			}
		}
	}
	if err != nil {
		d.refuse(line, err)
	}
}

// refuse notes a line that cannot be used.
func (d *Delivery) refuse(line *tail.Line, err error) {
	d.Bad = append(d.Bad, Refused(line.Path, line.Number, line.Text, err))
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
