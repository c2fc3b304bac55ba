// Package source reads one log of a scheduler. It follows the files, parses their lines, and delivers the events
// together with the checkpoint after them.
package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/journal"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// futureTolerance is the maximum time by which an event may be ahead of the wall clock in a log that is read once. A
// wrong time zone can cause errors of up to 26 hours, but more than 13 hours are not plausible. In a followed log,
// package pipeline decides about events that are ahead.
const futureTolerance = 24 * time.Hour

// AheadTolerance is the time by which an event may be ahead of the clock without being reported. It is not 0, because
// the clocks of hosts differ.
const AheadTolerance = 5 * time.Minute

// Config describes one source.
type Config struct {
	// Name is unique in the daemon. The checkpoint is stored under it.
	Name    string
	Format  collector.Format
	Options collector.Options
	Files   tail.Config
	// Polled is true if the source polls a scheduler, so that there are no files. NewPoller sets it.
	Polled bool
	// Journal is set for a log in systemd's journal. Files then only defines how the log is read.
	Journal *journal.Config
	// Others are the formats that are tried if the log cannot be read in Format, to name the right one.
	Others []collector.Format
	// ClockOffset is the time by which the clock of the log's times is ahead of the daemon's. nil means that it is
	// measured.
	ClockOffset *time.Duration
}

// BadLine is a line that could not be used.
type BadLine struct {
	Path   string
	Number int64
	Reason string
	Err    error
	Text   []byte
}

// Delivery is the result of one batch of lines.
type Delivery struct {
	Source *Config
	Events []job.Event
	Bad    []BadLine
	// Problems are about files rather than lines.
	Problems []tail.Problem
	// Standing lists the problems that keep the source from being read at the time of this delivery.
	Standing []tail.Problem
	// Lines is the number of lines read.
	Lines int
	// Checkpoint is the position after the last line of this delivery.
	Checkpoint []byte
	// Answered is true if a scheduler was polled and gave a useful answer.
	Answered bool
	// Gap is what the answer of a scheduler lacks, nil if nothing.
	Gap *Gap
	// Unlogged and Outage have the same meaning as in Answer.
	Unlogged bool
	Outage   string
	// CaughtUp is true if there was nothing more to read.
	CaughtUp bool
	// LagBytes is the number of bytes that were written to the logs but not read.
	LagBytes int64
	// Read is the time of reading, by the daemon's clock. No event can have happened later (see Ahead). It is zero for
	// a log that is read once, because that clock does not matter there.
	Read time.Time
	// Since is the last time before these lines at which the reader was at the end of the log, so they were written
	// after it. It is zero for lines that were written before the reader started, or while the log could not be read.
	Since time.Time
	// Ahead has the lines of the events that are ahead of Read by more than AheadTolerance, by the index of the
	// event.
	Ahead map[int]BadLine
}

// promptFor is the maximum time from writing to reading for which lines count as prompt. Only the times of prompt lines
// show the offset between the log's clock and the daemon's.
const promptFor = time.Minute

// Prompt reports whether the lines were written shortly before they were read.
func (d *Delivery) Prompt() bool { return !d.Since.IsZero() && d.Read.Sub(d.Since) <= promptFor }

// follower returns the lines of a log.
type follower interface {
	Next(ctx context.Context) (tail.Batch, error)
	Close() error
}

// Reader reads one source. It is not safe for concurrent use.
type Reader struct {
	cfg    Config
	tailer follower
	parser collector.Parser
	now    func() time.Time
	detect detector
	ahead  bool                   // a record from the future has been reported
	odd    []*collector.LineError // unreadable optional fields of the current line
	// metrics may be nil.
	metrics *tail.Metrics
	// live is true once the end of the log has been reached. Later lines are read as they are written.
	live bool
	// batch is the batch that is being delivered. delivery has the results that concern all its lines; it is nil if no
	// batch is in work. parsed is the number of lines of batch that were parsed. readAt is when batch was read.
	batch    tail.Batch
	delivery *Delivery
	parsed   int
	readAt   time.Time
	perLine  int // events per line in the last delivery, rounded up; the next one is allocated for as many
	// newest is the newest instant of all lines, by the clock of the log; only for parsers of local times.
	newest time.Time
	// atEnd is the last time at which the reader was at the end of the log; zero while the log cannot be read.
	atEnd  time.Time
	hidden bool
}

// Open starts reading after the checkpoint. Without one, cfg.Files defines where it starts.
func Open(cfg Config, checkpoint []byte, now func() time.Time, opts tail.Options) (*Reader, error) {
	r := &Reader{cfg: cfg, now: now, metrics: opts.Metrics, perLine: 1}
	options := cfg.Options
	options.Notice = func(odd *collector.LineError) { r.odd = append(r.odd, odd) }
	r.parser = cfg.Format.New(options)
	r.restoreTimes(checkpoint)
	r.detect = newDetector(&r.cfg)
	opts.Header = r.header
	opts.Idle = func() {
		if !r.hidden {
			r.atEnd = r.now()
		}
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	var err error
	if r.tailer, err = follow(&cfg, checkpoint, opts); err != nil {
		return nil, fmt.Errorf("source %s: %w", cfg.Name, err)
	}
	return r, nil
}

// follow opens the files or the journal of a source.
func follow(cfg *Config, checkpoint []byte, opts tail.Options) (follower, error) {
	if cfg.Journal == nil {
		return tail.New(cfg.Files, checkpoint, opts)
	}
	j := *cfg.Journal
	j.Source, j.FromEnd, j.OneShot = cfg.Name, cfg.Files.FromEnd, cfg.Files.OneShot
	j.Poll, j.BatchLines = cfg.Files.Poll, cfg.Files.BatchLines
	return journal.New(j, checkpoint, opts)
}

// Close releases the files.
func (r *Reader) Close() error { return r.tailer.Close() }

// header passes the header of a file to the parser, before reading continues in the middle of the file.
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

// maxEvents is the maximum number of events in a delivery; the events of its last line may exceed it. Further events of
// a batch follow in the next deliveries. The last of these has the checkpoint.
const maxEvents = 10_000

// mostPerLine is the maximum number of events per line for which room is allocated. An ended job has three: submission,
// start and end.
const mostPerLine = 3

// Next waits for new lines and returns their events. In one-shot mode it returns io.EOF after the last line.
func (r *Reader) Next(ctx context.Context) (*Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.delivery == nil {
		batch, d, err := r.next(ctx)
		if err != nil {
			return nil, err
		}
		r.batch, r.delivery, r.parsed, r.readAt = batch, d, 0, r.now()
		r.survey(batch.Lines)
	}
	last, begin := r.delivery, r.parsed
	d := &Delivery{
		Source: &r.cfg, Standing: slices.Clip(last.Standing), LagBytes: last.LagBytes,
		Events: make([]job.Event, 0, min((len(r.batch.Lines)-begin)*r.perLine, maxEvents+r.perLine)),
	}
	if !r.cfg.Files.OneShot {
		d.Read, d.Since = r.readAt, r.atEnd
	}
	r.date(d)
	for ; r.parsed < len(r.batch.Lines) && len(d.Events) < maxEvents; r.parsed++ {
		r.parse(&r.batch.Lines[r.parsed], d, r.readAt)
	}
	d.Lines = r.parsed - begin
	r.perLine = min(max(1, (len(d.Events)+d.Lines-1)/max(1, d.Lines)), mostPerLine)
	if r.parsed < len(r.batch.Lines) {
		return d, nil
	}
	d.Lines += last.Lines - len(r.batch.Lines) // lines that the tailer skipped
	d.Bad, d.Problems = append(last.Bad, d.Bad...), append(last.Problems, d.Problems...)
	d.Checkpoint, d.CaughtUp = r.withTimes(last.Checkpoint), last.CaughtUp
	r.finish(&r.batch, d)
	r.caughtUp()
	r.batch, r.delivery = tail.Batch{}, nil
	return d, nil
}

// caughtUp updates hidden, live and atEnd after a batch was delivered.
func (r *Reader) caughtUp() {
	r.hidden = hidden(r.batch.Problems) || r.hidden && len(r.batch.Lines) == 0
	r.live = r.live || r.batch.CaughtUp && !r.hidden
	switch {
	case r.hidden:
		r.atEnd = time.Time{}
	case r.batch.CaughtUp:
		r.atEnd = r.readAt
	}
}

// date calls ReadAt of a parser of local times. If the lines of the delivery were written shortly before they were read
// (Prompt), it passes the time of reading by the log's clock, otherwise the zero time.
func (r *Reader) date(d *Delivery) {
	p, ok := r.parser.(collector.Dated)
	switch {
	case !ok:
	case d.Prompt():
		at := d.Read
		if r.cfg.ClockOffset != nil {
			at = at.Add(*r.cfg.ClockOffset)
		}
		p.ReadAt(at)
	default:
		p.ReadAt(time.Time{})
	}
}

// hidden reports whether a problem keeps the log from being read. When it can be read again, the time at which its
// first lines were written is unknown (see Reader.atEnd).
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
	d := &Delivery{Source: &r.cfg, Checkpoint: batch.Checkpoint, CaughtUp: batch.CaughtUp, Lines: len(batch.Lines),
		LagBytes: batch.LagBytes, Standing: batch.Standing}
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

// skipped returns the reason of a bad line that the tailer skipped, "" for any other problem.
func skipped(r tail.Reason) string {
	switch r {
	case tail.LineTooLong:
		return collector.ReasonLongLine
	case tail.NulBytes:
		return collector.ReasonFormat
	}
	return ""
}

// finish sorts the bad lines of a delivery, and adds the problem of a wrong format to it.
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
		d.Problems = append(d.Problems, *p)
		d.Standing = append(d.Standing, *p)
	}
}

// TellsWhole reports whether the parser can parse whole jobs, so that NextWhole may be used.
func (r *Reader) TellsWhole() bool {
	_, ok := r.parser.(collector.WholeParser)
	return ok
}

// NextWhole is Next for a log that is read once. It appends whole jobs to the slice `into` and returns the longer
// slice. Its delivery has no events.
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
		w.Queue = job.Printable(w.Queue)
		if offset := r.cfg.ClockOffset; offset != nil {
			seconds := int64(*offset / time.Second)
			w.Submit, w.Start, w.End = w.Submit-seconds, w.Start-seconds, w.End-seconds
		}
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

// checkAhead returns an error if the log is read once and the time at is ahead of now by more than futureTolerance. Any
// other time that is ahead by more than AheadTolerance may be used. The first one is reported in the delivery, because
// forecasts suffer.
func (r *Reader) checkAhead(line *tail.Line, d *Delivery, at, now time.Time) error {
	ahead := at.Sub(now)
	if ahead <= AheadTolerance {
		return nil
	}
	advice := fmt.Sprintf("%s is later than now, by %s: is the cluster's time_zone right, which is %s, and the clock "+
		"of the log's host?",
		at.UTC().Format(time.RFC3339), ahead.Round(time.Second), r.zone())
	if ahead > futureTolerance && r.cfg.Files.OneShot {
		return collector.Bad(collector.ReasonFuture, "time", "%s", advice)
	}
	if !r.ahead {
		r.ahead = true
		r.metrics.Count(r.cfg.Name, tail.Future)
		d.Problems = append(d.Problems,
			tail.Problem{Path: line.Path, Number: line.Number, Reason: tail.Future, Err: errors.New(advice)})
	}
	return nil
}

// zone returns the name of the zone of the log's local times.
func (r *Reader) zone() string {
	if loc := r.cfg.Options.Location; loc != nil {
		return loc.String()
	}
	return time.Local.String()
}

func (r *Reader) parse(line *tail.Line, d *Delivery, now time.Time) {
	first := len(d.Events)
	if p, ok := r.parser.(collector.Dated); ok {
		p.After(r.newest)
	}
	err := r.parser.Parse(line.Text, func(ev job.Event) {
		ev.Live = r.live
		ev.EachText(job.Printable)
		r.note(&ev)
		if r.cfg.ClockOffset != nil {
			ev.Shift(-*r.cfg.ClockOffset)
		}
		d.Events = append(d.Events, ev)
	})
	if err == nil {
		err = r.checkEvents(line, d, first, now)
	}
	switch {
	case len(d.Events) > first:
		r.detect.good()
		r.mentionOdd(line, d)
	case err == nil:
		r.detect.fruitless(line, "")
	}
	if err != nil {
		r.refuse(d, line, err)
	}
	r.odd = r.odd[:0]
}

// mentionOdd counts and reports the fields that were ignored in a good line.
func (r *Reader) mentionOdd(line *tail.Line, d *Delivery) {
	for _, odd := range r.odd {
		r.metrics.Count(r.cfg.Name, tail.OddField)
		err := odd.Err
		if odd.Field != "" {
			err = fmt.Errorf("field %s is ignored: %w", odd.Field, odd.Err)
		}
		d.Problems = append(d.Problems,
			tail.Problem{Path: line.Path, Number: line.Number, Reason: tail.OddField, Err: err})
	}
}

// checkEvents adds the events of a line, from index first on, to d.Ahead if they are ahead of the clock by more than
// AheadTolerance. If one is too far ahead, it removes all these events and returns an error.
func (r *Reader) checkEvents(line *tail.Line, d *Delivery, first int, now time.Time) error {
	for i := first; i < len(d.Events); i++ {
		at := d.Events[i].Latest()
		if at.Sub(now) <= AheadTolerance {
			continue
		}
		if err := r.checkAhead(line, d, at, now); err != nil {
			d.Events = d.Events[:first]
			return err
		}
		if d.Ahead == nil {
			d.Ahead = map[int]BadLine{}
		}
		d.Ahead[i] = BadLine{Path: line.Path, Number: line.Number, Reason: collector.ReasonFuture,
			Text: bytes.Clone(line.Text)}
	}
	return nil
}

// refuse adds a line that cannot be used to the delivery.
func (r *Reader) refuse(d *Delivery, line *tail.Line, err error) {
	bad := Refused(line.Path, line.Number, line.Text, err)
	r.detect.fruitless(line, bad.Reason)
	d.Bad = append(d.Bad, bad)
}

// ErrUTF16 means that a log is in an encoding that no scheduler writes.
var ErrUTF16 = errors.New("the text is in UTF-16: convert the file to UTF-8 first, for example by " +
	"iconv -f UTF-16 -t UTF-8")

// Refused returns a BadLine with a copy of the line. Its reason is that of err, or ReasonFormat if err is no LineError.
func Refused(path string, number int64, text []byte, err error) BadLine {
	bad := BadLine{Path: path, Number: number, Reason: collector.ReasonFormat, Err: err,
		Text: append([]byte(nil), text...)}
	var le *collector.LineError
	if errors.As(err, &le) {
		bad.Reason = le.Reason
	}
	if logtext.IsUTF16(text) {
		bad.Reason, bad.Err = collector.ReasonFormat, ErrUTF16
	}
	return bad
}
