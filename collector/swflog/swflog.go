// Package swflog reads Standard Workload Format files as accounting logs. It converts the one record of a job to the
// job's events.
//
// Package swf reads the format itself. A workload file has one line for each job, in the order of submission. So the
// start and the end in a line may be later than the submission in the next line. Therefore the format is declared
// collector.BySubmit.
//
// docs/formats/swf.md explains which fields are read, and why.
package swflog

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/swf"
)

// Name is the name of the format in the configuration.
const Name = "swf"

// Format returns the Standard Workload Format as a log format.
func Format() collector.Format {
	return collector.Format{Name: Name, Order: collector.BySubmit, New: newParser}
}

func newParser(o collector.Options) collector.Parser {
	return &parser{options: o, users: make(map[int64]string), queues: make(map[queueKey]string)}
}

type queueKey struct{ queue, partition int64 }

// parser reads one file. Of earlier lines it keeps the header, which has the instant of submit time 0 and the names
// of the queues.
type parser struct {
	options collector.Options
	header  swf.Header
	record  swf.Record
	users   map[int64]string
	queues  map[queueKey]string
	// mentioned is true once extra columns have been reported.
	mentioned bool
	odd       [swf.Fields]bool // fields that have been reported
}

var (
	_ collector.HeaderParser = (*parser)(nil)
	_ collector.WholeParser  = (*parser)(nil)
)

// Header implements collector.HeaderParser. The header consists of comments and blank lines. A malformed comment
// belongs to it too: Parse reported it when the file was first read.
func (p *parser) Header(line []byte) bool {
	line = trim(line)
	if len(line) == 0 {
		return true
	}
	if line[0] != ';' {
		return false
	}
	_ = p.comment(line)
	return true
}

// Parse implements collector.Parser. It emits Submit, Start and End for a job that ran, and Submit and Cancel for one
// that did not.
func (p *parser) Parse(line []byte, emit func(job.Event)) error {
	w, ok, err := p.ParseWhole(line)
	if err != nil || !ok {
		return err
	}
	r := &p.record
	times := job.Times{Submit: instant(w.Submit), Start: instant(w.Start), End: instant(w.End)}
	ev := job.Event{
		Cluster: p.options.Cluster,
		ID:      strconv.FormatInt(r.ID, 10),
		Attributes: job.Attributes{
			Queue: w.Queue, User: p.userName(r.User), Procs: w.Procs, TimeLimit: limitOf(r.TimeLimit),
		},
	}
	for _, kind := range [...]job.Kind{job.Submit, job.Start, job.End, job.Cancel} {
		if isOf(kind, w.Ran) {
			tell(&ev, kind, times)
			emit(ev)
		}
	}
	return nil
}

// ParseWhole implements collector.WholeParser.
func (p *parser) ParseWhole(line []byte) (w collector.Whole, ok bool, err error) {
	line = trim(line)
	switch {
	case len(line) == 0:
		return w, false, nil
	case line[0] == ';':
		return w, false, p.comment(line)
	}
	r := &p.record
	rest, odd, err := swf.ParseFields(line, r)
	if err != nil {
		return w, false, badRecord(err)
	}
	p.mentionExtra(rest)
	p.mentionOdd(odd)
	if isPart(r.Status) {
		return w, false, nil
	}
	if err := p.times(r, &w); err != nil {
		return w, false, err
	}
	if err := p.check(r); err != nil {
		return w, false, err
	}
	w.Queue, w.Procs, w.Ran = p.queueName(r), int(r.Procs()), r.Ran()
	return w, true, nil
}

// mentionExtra reports, once per file, that lines have more columns than the format.
func (p *parser) mentionExtra(rest []byte) {
	if len(rest) == 0 || p.mentioned || p.options.Notice == nil {
		return
	}
	p.mentioned = true
	p.options.Notice(collector.Bad(collector.ReasonField, "19",
		"columns after the %dth are not part of the format and not read, here and in all other lines: %q", swf.Fields,
		rest[:min(len(rest), 60)]))
}

// mentionOdd reports, once per file and field, that a field cannot be read and counts as unknown.
func (p *parser) mentionOdd(odd *swf.FieldError) {
	if odd == nil || p.odd[odd.Field-1] || p.options.Notice == nil {
		return
	}
	p.odd[odd.Field-1] = true
	p.options.Notice(&collector.LineError{Reason: collector.ReasonField, Field: strconv.Itoa(odd.Field),
		Err: fmt.Errorf("unknown here, and wherever it has such a text: %w", odd)})
}

// isPart reports whether a record is one burst of a job that was swapped out. By the archive's definition such records
// follow a record of the whole job. Using them would count the job twice.
func isPart(status int64) bool {
	return status == swf.StatusPartial || status == swf.StatusLastCompleted || status == swf.StatusLastFailed
}

// isOf reports whether a job has an event of this kind.
func isOf(kind job.Kind, ran bool) bool {
	switch kind {
	case job.Submit:
		return true
	case job.Cancel:
		return !ran
	}
	return ran
}

// tell sets the kind and the time of ev, and its job times: those of t up to that event. A start has the end, too: the
// record shows that the job is not overdue.
func tell(ev *job.Event, kind job.Kind, t job.Times) {
	ev.Kind = kind
	switch kind {
	case job.Submit:
		ev.Time, ev.Times = t.Submit, job.Times{Submit: t.Submit}
	case job.Start:
		ev.Time, ev.Times = t.Start, t
	case job.End:
		ev.Time, ev.Times = t.End, t
	case job.Cancel: // the job never started: Start is the time at which it left the queue
		ev.Time, ev.Times = t.Start, job.Times{Submit: t.Submit}
	}
}

// check refuses a record that cannot be a job of this cluster.
func (p *parser) check(r *swf.Record) error {
	if r.ID < 0 {
		return collector.Bad(collector.ReasonField, "job number", "%d is not a job number", r.ID)
	}
	procs := r.Procs()
	limit := int64(p.options.MaxProcs)
	switch {
	case procs <= 0:
		return collector.Bad(collector.ReasonProcs, "size", "neither field 5 nor field 8 has the processors")
	case limit > 0 && procs > limit:
		return collector.Bad(collector.ReasonProcs, "size",
			"%d processors, but the cluster has %d: raise its procs if the file is right", procs, limit)
	case procs > math.MaxInt32:
		return collector.Bad(collector.ReasonProcs, "size", "more than %d processors", math.MaxInt32)
	}
	return nil
}

// limitOf returns the time limit, 0 if it is missing or above 2^31 - 1 s (68 years).
func limitOf(seconds int64) time.Duration {
	if seconds <= 0 || seconds > math.MaxInt32 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// maxUnix is the last second of the year 9999, the last year that RFC 3339 can represent.
const maxUnix = 253402300799

// times sets the times of a record. An unknown wait counts as 0. For a job that never ran, Start is the time at which
// it left the queue. Without a positive start time in the header, the log begins in 1970.
func (p *parser) times(r *swf.Record, w *collector.Whole) error {
	base, wait, runtime := max(p.header.UnixStartTime, 0), max(r.Wait, 0), max(r.Runtime, 0)
	switch {
	case r.Submit < 0:
		return collector.Bad(collector.ReasonTime, "submit time", "%d: unknown, or before the log began", r.Submit)
	case base > maxUnix, r.Submit > maxUnix, wait > maxUnix, runtime > maxUnix, base+r.Submit+wait+runtime > maxUnix:
		return collector.Bad(collector.ReasonTime, "submit time", "the job would end after the year 9999")
	}
	submit := base + r.Submit
	w.Submit, w.Start, w.End = submit, submit+wait, submit+wait+runtime
	return nil
}

func instant(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

// maxNames is the maximum number of names in a table. A full table is emptied.
const maxNames = 1 << 14

// userName returns "u12" for user 12, "" if the user is missing.
func (p *parser) userName(user int64) string {
	if user < 0 {
		return ""
	}
	name, ok := p.users[user]
	if !ok {
		if len(p.users) >= maxNames {
			clear(p.users)
		}
		name = "u" + strconv.FormatInt(user, 10)
		p.users[user] = name
	}
	return name
}

func (p *parser) queueName(r *swf.Record) string {
	key := queueKey{queue: r.Queue, partition: r.Partition}
	name, ok := p.queues[key]
	if !ok {
		if len(p.queues) >= maxNames {
			clear(p.queues)
		}
		name = p.header.QueueName(r)
		p.queues[key] = name
	}
	return name
}

// comment reads a line that starts with ";".
func (p *parser) comment(line []byte) error {
	err := p.header.ParseLine(line)
	p.header.Lines = nil // they are not used, and a file may consist only of comments
	clear(p.queues)      // the names may have changed
	var bad *swf.HeaderError
	if errors.As(err, &bad) {
		return &collector.LineError{Reason: collector.ReasonField, Field: "header " + bad.Key, Err: err}
	}
	return nil
}

// badRecord converts an error of package swf to a LineError. If a line does not begin with a number, it is not a
// record.
func badRecord(err error) error {
	var bad *swf.FieldError
	if errors.As(err, &bad) && bad.Field > 1 {
		return &collector.LineError{Reason: collector.ReasonField, Field: "field " + strconv.Itoa(bad.Field), Err: err}
	}
	return &collector.LineError{Reason: collector.ReasonFormat, Err: err}
}

func trim(line []byte) []byte { return bytes.TrimLeft(logtext.Trim(line), " \t\r\n") }
