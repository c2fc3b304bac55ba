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
	batch, err := r.tailer.Next(ctx)
	if err != nil {
		return nil, err
	}
	d := &Delivery{
		Source: &r.cfg, Checkpoint: batch.Checkpoint, CaughtUp: batch.CaughtUp, Lines: len(batch.Lines),
		Problems: batch.Problems, Events: make([]job.Event, 0, len(batch.Lines)),
	}
	limit := r.now().Add(futureTolerance)
	for i := range batch.Lines {
		r.parse(&batch.Lines[i], d, limit)
	}
	if batch.CaughtUp {
		r.live = true
	}
	return d, nil
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
				err = collector.Bad(collector.ReasonFuture, "time",
					"%s is later than now; is the time zone or the clock of the log wrong?", ev.Time.Format(time.RFC3339))
				d.Events = d.Events[:first]
				break
			}
		}
	}
	if err == nil {
		return
	}
	bad := BadLine{
		Path: line.Path, Number: line.Number, Reason: collector.ReasonFormat, Err: err,
		Text: append([]byte(nil), line.Text...),
	}
	var le *collector.LineError
	if errors.As(err, &le) {
		bad.Reason = le.Reason
	}
	d.Bad = append(d.Bad, bad)
}
