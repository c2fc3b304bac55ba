package history

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// futureTolerance is the maximum time by which a record may be ahead of the clock. Records that are further ahead are
// refused. Local times that are read with a wrong zone are wrong by up to 26 hours.
const futureTolerance = 24 * time.Hour

// File is the result of reading one file.
type File struct {
	// Path is the name by which the file was opened. Format is the name of its format.
	Path, Format string
	// Records is the number of lines, or of records of a document. Bad is the number of records that were refused.
	Records, Bad int64
	// Events is the number of events in the records.
	Events int64
}

// reader reads one file.
type reader struct {
	file   File
	cfg    *Config
	parser collector.Parser
	emit   func(ev job.Event, line int64) error
	line   int64
	// newest is the newest instant that is in the order of the records.
	newest   time.Time
	bySubmit bool
	events   []job.Event // events of the record that is being parsed
	failed   error
}

// readPath reads the file at a path. It opens the file with open.
func readPath(ctx context.Context, path string, cfg *Config, emit func(job.Event, int64) error) (File, error) {
	from, err := cfg.open(path)
	if err != nil {
		return File{Path: path}, err
	}
	defer func() { _ = from.Close() }() // nothing was written
	r := &reader{file: File{Path: path}, cfg: cfg, emit: emit}
	err = r.read(ctx, from)
	return r.file, err
}

// read reads the whole file. It returns only errors about the file. It refuses each bad record separately.
func (r *reader) read(ctx context.Context, from io.Reader) error {
	text, closeText, err := Decompressed(from)
	if err != nil {
		return fmt.Errorf("%s: %w", r.file.Path, err)
	}
	defer closeText()
	var format collector.Format
	if r.cfg.Format == "" {
		format, text, err = Recognize(text, r.cfg.Options, r.cfg.Formats)
	} else {
		format, err = Named(r.cfg.Formats, r.cfg.Format)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.file.Path, err)
	}
	r.file.Format, r.bySubmit = format.Name, format.Order == collector.BySubmit
	options := r.cfg.Options
	options.Notice = r.notice
	r.parser = format.New(options)
	if format.Records != nil {
		err = r.records(ctx, format.Records(text))
	} else {
		err = r.lines(ctx, NewLines(r.survey(text), tail.DefaultMaxLine))
	}
	if p, ok := r.parser.(collector.Zoned); ok {
		r.cfg.shift = p.Shift()
	}
	return errors.Join(err, r.failed)
}

// survey lets a parser of local times measure the difference of zones in the beginning of a text, and keeps what the
// parser knew at the end of the file before for the next one. It returns the whole text.
func (r *reader) survey(text io.Reader) io.Reader {
	p, ok := r.parser.(collector.Zoned)
	if !ok {
		return text
	}
	p.SetShift(r.cfg.shift)
	buffered := bufio.NewReaderSize(text, headBytes)
	head, _ := buffered.Peek(headBytes) // an error occurs again when the text is read
	for line := range bytes.Lines(head) {
		if p.Survey(line) {
			break
		}
	}
	return buffered
}

// lines reads a file that consists of lines.
func (r *reader) lines(ctx context.Context, lines *Lines) error {
	for r.failed == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := lines.Next()
		r.line = lines.Number()
		var long *LongLineError
		switch {
		case errors.Is(err, io.EOF):
			r.line-- // the last line
			if flusher, ok := r.parser.(collector.Flusher); ok {
				if err := flusher.Flush(); err != nil {
					r.refuse(nil, unfinished(err))
				}
			}
			return nil
		case errors.As(err, &long):
			r.file.Records++
			r.refuse(line, collector.Bad(collector.ReasonLongLine, "", "%w", err))
		case err != nil:
			r.broken(err)
			return nil
		default:
			r.whole(line, lines.Open())
		}
	}
	return nil
}

// whole parses a complete line. open is true if the line end is missing.
func (r *reader) whole(line []byte, open bool) {
	r.file.Records++
	err := r.parse(line)
	switch {
	case err != nil && open:
		r.refuse(line, cutOff(err))
	case err != nil:
		r.refuse(line, err)
	case open:
		r.mention(collector.ReasonFormat, errors.New("the last line has no line end: is the file whole?"))
	}
}

// records reads a document, for example of JSON.
func (r *reader) records(ctx context.Context, records collector.RecordReader) error {
	for r.failed == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		record, line, err := records.Next()
		r.line = line
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			r.broken(err)
			return nil
		}
		r.file.Records++
		if err := r.parse(record); err != nil {
			r.refuse(record, inRecord(r.file.Records, err))
		}
	}
	return nil
}

// inRecord adds the number of a record to an error. A line number would not help, because a document may be a single
// line.
func inRecord(number int64, err error) error {
	var bad *collector.LineError
	if !errors.As(err, &bad) {
		return fmt.Errorf("record %d: %w", number, err)
	}
	return &collector.LineError{Reason: bad.Reason, Field: bad.Field, Err: fmt.Errorf("record %d: %w", number, bad.Err)}
}

// parse parses one record. It refuses the record if an event is too far in the future, which a wrong time zone
// causes.
func (r *reader) parse(record []byte) error {
	if p, ok := r.parser.(collector.Dated); ok {
		p.After(r.newest)
	}
	var late error
	r.events = r.events[:0]
	err := r.parser.Parse(record, func(ev job.Event) {
		if at := ev.Latest(); at.Sub(r.cfg.Now) > futureTolerance {
			late = collector.Bad(collector.ReasonFuture, "time",
				"%s is later than now: is the time zone right, which is %s?", at.UTC().Format(time.RFC3339),
				r.cfg.zone())
			return
		}
		ev.EachText(job.Printable)
		r.events = append(r.events, ev)
	})
	if late != nil {
		return late
	}
	for _, ev := range r.events {
		at := ev.Time
		if r.bySubmit { // no other time is in the order of the records
			at = ev.Times.Submit
		}
		if at.After(r.newest) {
			r.newest = at
		}
		ev.Live = false
		r.file.Events++
		failed := r.emit(ev, r.line)
		var refused *collector.LineError
		switch {
		case failed == nil:
		case errors.As(failed, &refused):
			return failed
		default:
			r.failed = failed
			return nil
		}
	}
	return err
}

// broken reports that the rest of a file cannot be read.
func (r *reader) broken(err error) {
	advice := "what stands before was read; is the file whole?"
	if errors.Is(err, io.ErrUnexpectedEOF) {
		advice = "it is cut off; what stands before was read: copy it again, or wait until it is written"
	}
	r.refuse(nil, &collector.LineError{Reason: collector.ReasonFormat,
		Err: fmt.Errorf("cannot be read further: %w; %s", err, advice)})
}

// unfinished returns the error of a record without its end. A record that ends, but cannot be used, is not cut off.
func unfinished(err error) error {
	var bad *collector.LineError
	if errors.As(err, &bad) && bad.Reason != collector.ReasonFormat {
		return err
	}
	return cutOff(err)
}

// cutOff adds to the error of the last line that the file seems to be truncated. The line has no line end.
func cutOff(err error) error {
	var bad *collector.LineError
	const advice = "the file ends in the middle of a record: copy it again, or wait until it is written"
	if errors.As(err, &bad) {
		return &collector.LineError{Reason: bad.Reason, Field: bad.Field, Err: fmt.Errorf("%w; %s", bad.Err, advice)}
	}
	return fmt.Errorf("%w; %s", err, advice)
}

func (r *reader) refuse(record []byte, err error) {
	r.file.Bad++
	if r.cfg.OnBad != nil {
		r.cfg.OnBad(source.Refused(r.file.Path, r.line, record, err))
	}
}

// notice reports a field that was ignored in a record that was used.
func (r *reader) notice(odd *collector.LineError) {
	err := odd.Err
	if odd.Field != "" {
		err = fmt.Errorf("field %s is passed over: %w", odd.Field, odd.Err)
	}
	r.mention(odd.Reason, err)
}

func (r *reader) mention(reason string, err error) {
	if r.cfg.OnNotice != nil {
		r.cfg.OnNotice(source.BadLine{Path: r.file.Path, Number: r.line, Reason: reason, Err: err})
	}
}

// openFile opens a file on disk.
func openFile(path string) (io.ReadCloser, error) {
	file, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(err, file.Close())
	case info.IsDir():
		return nil, errors.Join(fmt.Errorf("%s is a folder: name its files", path), file.Close())
	}
	return file, nil
}
