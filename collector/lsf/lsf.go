// Package lsf reads the logs of IBM Spectrum LSF and its relatives (Platform LSF, OpenLava): lsb.events, with the
// events of jobs as they happen, and lsb.acct, with one record per ended job.
//
// Both have one record per line, with fields separated by blanks and strings in double quotes. docs/formats/lsf.md
// explains which fields are read, and why.
//
// Sources: the pages lsb.events and lsb.acct of IBM's configuration reference of LSF 10.1 and 9.1 (ibm.com/docs,
// Spectrum LSF, "Configuration files"), which list the fields of every record in their order; the structures jobNewLog,
// jobStartLog, jobStatusLog, jobModLog and similar ones of the LSF API reference; and the reading functions of OpenLava
// (lsbatch/lib/lsb.log.c and lsbatch.h, Platform Computing 2007), which descends from LSF; and public records of LSF
// 5.1 to 10.1 (testdata/README.md). The parsers were not tested against a real LSF.
package lsf

import (
	"math"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// Names of the formats in the configuration.
const (
	EventsName = "lsf-events"
	AcctName   = "lsf-acct"
)

// Events returns lsb.events as a log format.
func Events() collector.Format {
	return collector.Format{Name: EventsName, Order: collector.Live, New: func(o collector.Options) collector.Parser {
		return newParser(o, eventsHandler)
	}}
}

// Acct returns lsb.acct as a log format: a record for each job at its end.
func Acct() collector.Format {
	return collector.Format{Name: AcctName, Order: collector.Live, AtEnd: true,
		New: func(o collector.Options) collector.Parser {
			return newParser(o, acctHandler)
		}}
}

// handler returns the function that reads a type of record; nil for a type that is ignored. known is false for an
// unknown type. err is set for a type that only the other log has.
type handler func(kind []byte) (read func(*parser) error, known bool, err error)

// parser reads one source. It keeps nothing of earlier lines except caches.
type parser struct {
	options collector.Options
	handler handler
	names   logtext.Names
	hosts   map[string]struct{}
	scan    scanner
	at      int64 // the record's event time, Unix seconds
	emit    func(job.Event)
}

func newParser(o collector.Options, h handler) *parser {
	return &parser{options: o, handler: h, hosts: make(map[string]struct{})}
}

// Parse implements collector.Parser.
func (p *parser) Parse(line []byte, emit func(job.Event)) error {
	line = logtext.Trim(line)
	if len(line) == 0 || line[0] == '#' { // "#1234" in the first line is a position, or the time of the newest event
		return nil
	}
	if line[0] != '"' {
		return collector.Bad(collector.ReasonFormat, "type",
			"want a line that begins with a record type in double quotes: this is not an LSF log, "+
				"or the rest of a record that a line break in a command has cut in two")
	}
	p.scan.reset(line)
	kind := p.scan.str("type")
	version := p.scan.str("version")
	p.at = p.scan.int("event time")
	if p.scan.err != nil {
		return p.scan.err
	}
	if !isVersion(version) {
		return collector.Bad(collector.ReasonFormat, "version",
			"want a version such as 10.1 after the record type, got %q: this is not an LSF log", shorten(version))
	}
	read, known, err := p.handler(kind)
	if err != nil {
		return err
	}
	if !known {
		return collector.Bad(collector.ReasonUnknown, "type",
			"record type %q of version %s is in no LSF documentation: report it", shorten(kind), version)
	}
	if read == nil {
		return nil
	}
	if err := checkTime("event time", p.at); err != nil {
		return err
	}
	p.emit = emit
	err = read(p)
	p.emit = nil
	return err
}

func isVersion(b []byte) bool {
	for _, c := range b {
		if c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return len(b) > 0
}

// maxUnix is the end of the year 9999, the last year that RFC 3339 can represent.
const maxUnix = 253402300799

func checkTime(name string, unix int64) error {
	if unix <= 0 || unix > maxUnix {
		return collector.Bad(collector.ReasonTime, name, "not a plausible time of a log: %d", unix)
	}
	return nil
}

// optionalTime returns the instant. It returns the zero time for 0 and less, by which LSF means that there is none, and
// for times after maxUnix.
func optionalTime(unix int64) time.Time {
	if unix <= 0 || unix > maxUnix {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// event returns an event of the job at the record's time.
func (p *parser) event(kind job.Kind, id string) job.Event {
	return job.Event{Kind: kind, Cluster: p.options.Cluster, ID: id, Time: time.Unix(p.at, 0).UTC()}
}

// jobID returns the id in the form of LSF: the job's number, and for an element of an array its index in brackets.
func jobID(number, index int64) string {
	var buffer [48]byte
	b := strconv.AppendInt(buffer[:0], number, 10)
	if index > 0 {
		b = strconv.AppendInt(append(b, '['), index, 10)
		b = append(b, ']')
	}
	return string(b)
}

// id returns the id of the job with this number or, if index is not 0, of the array's element with this index. It
// returns an error if one of them is impossible, or if an earlier field is bad.
func (p *parser) id(number, index int64) (string, error) {
	if p.scan.err != nil {
		return "", p.scan.err
	}
	if number <= 0 {
		return "", collector.Bad(collector.ReasonField, "jobId", "not a job number: %d", number)
	}
	if index < 0 {
		return "", collector.Bad(collector.ReasonField, "idx", "not an index of an array: %d", index)
	}
	return jobID(number, index), nil
}

// checkProcs refuses impossible sizes.
func (p *parser) checkProcs(field string, n int64) error {
	switch most := int64(p.options.MaxProcs); {
	case n <= 0:
		return collector.Bad(collector.ReasonProcs, field, "%d processors", n)
	case most > 0 && n > most:
		return collector.Bad(collector.ReasonProcs, field,
			"%d processors, but the cluster has %d: raise its procs if it has grown", n, most)
	case n > math.MaxInt32:
		return collector.Bad(collector.ReasonProcs, field, "more than %d processors", math.MaxInt32)
	}
	return nil
}

// limit converts seconds to a time limit. 0, negative values and values above 31 years mean no limit.
func limit(seconds int64) time.Duration {
	const most = 1_000_000_000 // 31 years; LSF writes 2147483647 for some infinities
	if seconds <= 0 || seconds > most {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// defaultProject is the project of a job that names none.
const defaultProject = "default"

func (p *parser) project(b []byte) string {
	if string(b) == defaultProject {
		return ""
	}
	return p.names.Of(b)
}

func shorten(b []byte) []byte {
	const most = 40
	return b[:min(len(b), most)]
}
