// Package pbs reads and writes the accounting log of the PBS family of batch servers: Torque, OpenPBS and PBS
// Professional.
//
// A log is one file per day, server_priv/accounting/YYYYMMDD. Every line is a record
//
//	MM/DD/YYYY HH:MM:SS;TYPE;ID;MESSAGE
//
// in the server's local time, where the message of most types is a list of key=value pairs. docs/formats/pbs.md
// explains which fields are read, and why.
//
// Sources: src/include/acct.h has the record types, and src/server/accounting.c the keys and their order, both in
// OpenPBS (github.com/openpbs/openpbs, 2021) and in Torque (github.com/adaptivecomputing/torque). The page "Accounting
// Records" of the Torque administrator guide (docs.adaptivecomputing.com) has Torque's subset.
package pbs

import (
	"bytes"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// Name is the name of the format in the configuration.
const Name = "pbs"

// Format returns the accounting log format of PBS.
func Format() collector.Format {
	return collector.Format{Name: Name, Order: collector.Live, New: newParser}
}

func newParser(o collector.Options) collector.Parser {
	loc := o.Location
	if loc == nil {
		loc = time.Local
	}
	return &parser{options: o, clock: clock{loc: loc}}
}

// parser reads one source. It keeps nothing of earlier lines except caches and the difference of zones.
type parser struct {
	options collector.Options
	clock   clock
	names   logtext.Names
	fields  fields
	shift   shift
	ahead   shift // what Survey has measured
}

var _ collector.Zoned = (*parser)(nil)

// record is one line, split into its fields.
type record struct {
	at   int64 // the record's own time, Unix seconds
	kind byte
	id   []byte
	body []byte
}

// Parse implements collector.Parser. It emits at most one event a line.
func (p *parser) Parse(line []byte, emit func(job.Event)) error {
	rec, err := p.split(line)
	if err != nil || rec.kind == 0 {
		return err
	}
	kind, known := kindOf(rec)
	if !known {
		return collector.Bad(collector.ReasonUnknown, "type",
			"record type %q is in no PBS documentation: report it, with the version of the server", rec.kind)
	}
	whole := isArrayParent(rec.id)
	if whole {
		kind = kindOfArray(rec.kind)
	}
	if kind == 0 {
		return nil
	}
	f := &p.fields
	f.reset(rec.kind)
	if err := f.scan(rec.body); err != nil {
		return err
	}
	p.shift.measure(&rec, f, p.clock.loc)
	p.correct(&rec)
	ev, err := p.event(kind, rec, f)
	if err != nil {
		return err
	}
	if whole {
		if ev, ok := arrayEvent(ev, f); ok {
			emit(ev)
		}
		return nil
	}
	if ev.Kind == job.Update && ev.Attributes == (job.Attributes{}) {
		return nil
	}
	emit(ev)
	return nil
}

// split splits a line at its first three semicolons; a message may contain more. An empty line has no kind.
func (p *parser) split(line []byte) (record, error) {
	line = logtext.Trim(line)
	if len(line) == 0 {
		return record{}, nil
	}
	at, rest, err := p.clock.read(line)
	if err != nil {
		return record{}, err
	}
	if len(rest) < 3 || rest[0] != ';' || rest[2] != ';' {
		return record{},
			collector.Bad(collector.ReasonFormat, "type", "want \";TYPE;\" with a type of one letter after the time")
	}
	rec := record{at: at, kind: rest[1]}
	end := bytes.IndexByte(rest[3:], ';')
	if end < 0 {
		return record{}, collector.Bad(collector.ReasonFormat, "id", "want a job id that ends with \";\"")
	}
	if end == 0 {
		return record{}, collector.Bad(collector.ReasonField, "id", "the job id is empty")
	}
	rec.id, rec.body = rest[3:3+end], rest[3+end+1:]
	return rec, nil
}

// kindOf returns the kind of event of a record type, 0 if there is none. The letters and their meanings are those of
// acct.h (see the package comment). The record types below the blank line (usage, reservations, licenses) do not
// concern the life of a job.
func kindOf(rec record) (kind job.Kind, known bool) {
	switch rec.kind {
	case 'Q': // queued
		return job.Submit, true
	case 'S', 'T': // started; restarted from a checkpoint
		return job.Start, true
	case 'E': // ended
		return job.End, true
	case 'R': // rerun
		return job.Requeue, true
	case 'D', 'A', 'M': // deleted by request, aborted by the server, moved to another server
		return job.Cancel, true
	case 'a', 's', 'c':
		// altered; started with fewer nodes than allocated; next phase, with some nodes released
		return job.Update, true
	case 'z':
		return job.Suspend, true
	case 'r':
		return job.Resume, true
	case 'C': // checkpointed
		if keepsRunning(rec.body) {
			return 0, true
		}
		return job.Requeue, true

	case 'u', 'e': // usage in a phase that has ended; a record of type c or E follows
		return 0, true
	case 'U', 'Y', 'B', 'F', 'K', 'k':
		// reservations: asked for, confirmed, begun, finished, removed by server or client
		return 0, true
	case 'L', 'P', 'p': // licenses, provisioning started and ended
		return 0, true
	}
	return 0, false
}

// keepsRunning reports whether a job continues to run after a checkpoint, as Torque's message shows
// (src/server/req_holdjob.c). Without that message the record type means "checkpointed and held" (acct.h).
func keepsRunning(body []byte) bool { return string(body) == "Checkpointed" }

// isArrayParent reports whether an id is that of an array as a whole, "123[].server". An array itself never has
// processors. It represents the waiting members, and its S and E records enclose those of the members.
func isArrayParent(id []byte) bool { return bytes.Contains(id, []byte("[]")) }

// kindOfArray returns the kind of event of a record type for the waiting members of an array, 0 if there is none.
func kindOfArray(letter byte) job.Kind {
	switch letter {
	case 'Q':
		return job.Submit
	case 'a':
		return job.Update
	case 'D', 'A', 'M', 'E': // running members have records of their own
		return job.Cancel
	}
	return 0
}

// arrayEvent converts an event to an event of an array. It returns false if the record is no event of the array. This
// is so for a Q record without array_indices, because in Torque each member of an array has its own Q record.
func arrayEvent(ev job.Event, f *fields) (job.Event, bool) {
	switch ev.Kind {
	case job.Submit:
		ev.Tasks = countIndices(f.indices)
		return ev, ev.Tasks > 0
	case job.Update:
		return ev, ev.Attributes != job.Attributes{}
	}
	// The cancellation keeps neither attributes nor the time of the submission. If the log does not have the array's
	// submission, adding it now would not help.
	return job.Event{Kind: job.Cancel, Cluster: ev.Cluster, ID: ev.ID, Time: ev.Time}, true
}

// maxTasks bounds the count of an array's members, so that sums cannot overflow.
const maxTasks = 1 << 24

// countIndices counts the members of array_indices: "1-10:2,20" (qsub -J X-Y[:Z]). The text may end with a throttle
// ("%5"). It returns 0 if the text cannot be parsed.
func countIndices(text []byte) int {
	text, _, _ = bytes.Cut(text, []byte("%"))
	var total int64
	for len(text) > 0 {
		var part []byte
		part, text, _ = bytes.Cut(text, []byte(","))
		span, by, stepped := bytes.Cut(part, []byte(":"))
		from, to, isRange := bytes.Cut(span, []byte("-"))
		if !isRange {
			to = from
		}
		step, okStep := logtext.Digits(by)
		first, okFirst := logtext.Digits(from)
		last, okLast := logtext.Digits(to)
		if !stepped {
			step, okStep = 1, true
		}
		if !okFirst || !okLast || !okStep || step < 1 || last < first {
			return 0
		}
		total = min(total+(last-first)/step+1, maxTasks)
	}
	return int(total)
}

// event returns the event of a record whose fields have been read.
func (p *parser) event(kind job.Kind, rec record, f *fields) (job.Event, error) {
	ev := job.Event{
		Kind: kind, Cluster: p.options.Cluster, ID: string(rec.id),
		Attributes: job.Attributes{
			Queue: p.queue(f.queue), User: p.names.Of(f.user), Account: p.names.Of(f.accountOrProject()),
			Group: p.names.Of(f.group), QOS: p.names.Of(f.resources.qos),
			Name: string(f.name), Nodes: f.nodeCount(), TimeLimit: f.walltime,
		},
	}
	procs := f.size()
	if f.odd != nil && procs == 0 {
		return ev, f.odd
	}
	if err := p.checkSize(kind, rec.kind, procs, f); err != nil {
		return ev, err
	}
	if f.odd != nil && p.options.Notice != nil {
		p.options.Notice(f.odd)
	}
	ev.Procs = int(procs)
	f.resources.copyTo(&ev.Attributes)
	at, err := f.times(&ev, rec)
	if err != nil {
		return ev, err
	}
	ev.Time = instant(at)
	return ev, nil
}

// queue returns the queue of a job. All queues of reservations count as one, unless they are configured by name.
func (p *parser) queue(name []byte) string {
	queue := p.names.Of(name)
	if collector.IsReservationQueue(queue) && !slices.Contains(p.options.Queues, queue) {
		return collector.ReservationQueue
	}
	return queue
}

// checkSize refuses impossible sizes. Records without a size are fine, except S records, and E records of jobs that
// have started: these always have one.
func (p *parser) checkSize(kind job.Kind, letter byte, procs int64, f *fields) error {
	limit := int64(p.options.MaxProcs)
	switch {
	case limit > 0 && procs > limit:
		return collector.Bad(collector.ReasonProcs, "size",
			"%d processors, but the cluster has %d: raise its procs if it has grown", procs, limit)
	case procs > maxProcs:
		return collector.Bad(collector.ReasonProcs, "size", "more than %d processors", int64(maxProcs))
	case procs > 0:
		return nil
	case f.sized:
		return collector.Bad(collector.ReasonProcs, "size", "0 processors")
	case letter == 'S', kind == job.End && f.start > 0:
		return collector.Bad(collector.ReasonProcs, "size", "neither Resource_List nor exec_host has the size")
	}
	return nil
}

func instant(unix int64) time.Time { return time.Unix(unix, 0).UTC() }
