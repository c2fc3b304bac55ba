// Package sge reads the logs of the Grid Engine family: the accounting file, with one record per ended job, and the
// reporting file, with the events of jobs as they happen.
//
// Both are lines of fields between colons. docs/formats/sge.md explains which fields are read, and why.
//
// Sources: the manual pages accounting(5) and reporting(5) of Grid Engine 8.1.9 (Debian, gridengine-common), of Sun
// Grid Engine 6.2u5 and of the Gridware Cluster Scheduler (github.com/hpc-gridware/clusterscheduler,
// doc/markdown/man/man5); the order of the fields from sge_write_rusage (source/daemons/qmaster/sge_rusage.c) and from
// reporting_create_new_job_record and reporting_create_job_log (source/daemons/qmaster/sge_reporting_qmaster.c) of
// github.com/gridengine/gridengine.
package sge

import (
	"bytes"
	"errors"
	"math"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// Names of the formats in the configuration.
const (
	AccountingName = "sge-accounting"
	ReportingName  = "sge-reporting"
)

// Accounting returns the accounting file as a log format: a record for each job, or attempt of a job, at its end.
func Accounting() collector.Format {
	return collector.Format{Name: AccountingName, Order: collector.Live, AtEnd: true,
		New: func(o collector.Options) collector.Parser {
			return &accounting{newReader(o)}
		}}
}

// Reporting returns the reporting file as a log format: submissions, starts and ends as they happen.
func Reporting() collector.Format {
	return collector.Format{Name: ReportingName, Order: collector.Live,
		New: func(o collector.Options) collector.Parser {
			return &reporting{newReader(o)}
		}}
}

// reader is the common part of both parsers. It keeps nothing of earlier lines except caches.
type reader struct {
	options collector.Options
	names   logtext.Names
	fields  [][]byte
}

func newReader(o collector.Options) *reader {
	return &reader{options: o}
}

// event returns an event of the job, without attributes.
func (r *reader) event(kind job.Kind, id string, at time.Time) job.Event {
	return job.Event{Kind: kind, Cluster: r.options.Cluster, ID: id, Time: at}
}

// ErrJSON means that the accounting has the form of a newer program.
var ErrJSON = errors.New("a line of JSON, as Gridware Cluster Scheduler 9 writes by default: this is not read; ask " +
	"for the old format in its reporting_params (old_accounting=true)")

// IsJSON reports whether a text begins with a record of ErrJSON.
func IsJSON(text []byte) bool {
	first, _, _ := bytes.Cut(logtext.Trim(text), []byte("\n"))
	return len(first) > 0 && first[0] == '{' && bytes.Contains(first, []byte(`"job_number"`))
}

// content returns the part of a line that must be parsed. It is empty for a comment, and for a line of one character,
// which qacct skips too.
func content(line []byte) ([]byte, error) {
	line = logtext.Trim(line)
	switch {
	case len(line) <= 1 || line[0] == '#':
		return nil, nil
	case line[0] == '{':
		return nil, collector.Bad(collector.ReasonFormat, "", "%w", ErrJSON)
	}
	return line, nil
}

// cut removes the first n fields, with the colon after each, from the line, and returns the fields. They are valid
// until the next call.
func (r *reader) cut(line []byte, n int) (fields [][]byte, rest []byte, ok bool) {
	r.fields = r.fields[:0]
	for range n {
		i := bytes.IndexByte(line, ':')
		if i < 0 {
			return nil, nil, false
		}
		r.fields = append(r.fields, line[:i])
		line = line[i+1:]
	}
	return r.fields, line, true
}

// jobID returns the id in the form of Grid Engine: the job's number; for a task of an array followed by a point and the
// number of the task.
func jobID(number, task []byte) (string, error) {
	n, ok := logtext.Integer(number)
	if !ok || n <= 0 {
		return "", collector.Bad(collector.ReasonField, "job_number", "not a job number: %q", shorten(number))
	}
	k, ok := logtext.Integer(task)
	if !ok {
		return "", collector.Bad(collector.ReasonField, "task_number", "not a task number: %q", shorten(task))
	}
	if k <= 0 { // 0: no array; -1: the whole job
		return string(number), nil
	}
	b := make([]byte, 0, 40)
	return string(append(append(append(b, number...), '.'), task...)), nil
}

// Instants are seconds since 1970. Univa's and Altair's Grid Engine write milliseconds from version 8.2 on, and
// Gridware's uses microseconds internally. The ranges do not overlap: 1e11 s is the year 5138, 1e11 ms is 1973.
const (
	maxSeconds = 1e11
	maxMillis  = 1e14
	maxMicros  = 1e17
)

// instant reads a time of a record; 0 is the zero time.
func instant(name string, text []byte) (time.Time, error) {
	n, ok := logtext.Integer(text)
	if !ok {
		return time.Time{}, collector.Bad(collector.ReasonField, name, "want seconds since 1970, got %q", shorten(text))
	}
	switch {
	case n == 0:
		return time.Time{}, nil
	case n < 0 || n >= maxMicros:
		return time.Time{}, collector.Bad(collector.ReasonTime, name, "not a plausible time of a log: %s", text)
	case n < maxSeconds:
		return time.Unix(n, 0).UTC(), nil
	case n < maxMillis:
		return time.UnixMilli(n).UTC(), nil
	}
	return time.UnixMicro(n).UTC(), nil
}

// checkProcs refuses impossible sizes.
func (r *reader) checkProcs(slots int64) error {
	if most := int64(r.options.MaxProcs); most > 0 && slots > most {
		return collector.Bad(collector.ReasonProcs, "slots",
			"%d slots, but the cluster has %d: raise its procs if it has grown", slots, most)
	}
	if slots < 0 || slots > math.MaxInt32 {
		return collector.Bad(collector.ReasonProcs, "slots", "no number of slots: %d", slots)
	}
	return nil
}

// defaultAccount is the account of a job that names none (-A in qsub(1)).
const defaultAccount = "sge"

// charged returns the account that the job is charged to: its project, or without one its account string. It returns ""
// if the job names neither.
func (r *reader) charged(project, account []byte) string {
	if !isNone(project) {
		return r.names.Of(project)
	}
	if string(account) == defaultAccount || isNone(account) {
		return ""
	}
	return r.names.Of(account)
}

func isNone(b []byte) bool {
	return len(b) == 0 || string(b) == "NONE" || string(b) == "none"
}

func shorten(b []byte) []byte {
	const most = 40
	return b[:min(len(b), most)]
}
