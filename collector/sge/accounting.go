package sge

import (
	"bytes"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// accounting parses the accounting file.
type accounting struct{ *reader }

// Parse implements collector.Parser.
func (p *accounting) Parse(line []byte, emit func(job.Event)) error {
	line, err := content(line)
	if err != nil || line == nil {
		return err
	}
	if isReporting(line) {
		return collector.Bad(collector.ReasonFormat, "", "a record of the reporting file: use format %s", ReportingName)
	}
	rec, err := p.record(line)
	if err != nil {
		return err
	}
	if rec.usageOnly || rec.running {
		return nil
	}
	return p.outcome(&rec, time.Time{}, emit)
}

// isReporting reports whether a line begins with a time and the type acct. An accounting record follows, so that the
// fields before it would seem to be part of a job's name with colons.
func isReporting(line []byte) bool {
	at, rest, _ := bytes.Cut(line, colon())
	_, isTime := logtext.Digits(at)
	return isTime && bytes.HasPrefix(rest, []byte("acct:"))
}

// These are the fields of an accounting record up to the category, by their index from 0 (accounting(5)).
const (
	fieldQueue      = 0
	fieldOwner      = 3
	fieldName       = 4
	fieldNumber     = 5
	fieldAccount    = 6
	fieldSubmit     = 8
	fieldStart      = 9
	fieldEnd        = 10
	fieldFailed     = 11
	fieldExitStatus = 12
	fieldProject    = 31
	fieldSlots      = 34
	fieldTask       = 35
	beforeCategory  = 39
)

// record has the used fields of an accounting record.
type record struct {
	id                 string
	attributes         job.Attributes
	submit, start, end time.Time
	failed             int64
	usageOnly          bool // the record has the usage of one task of a parallel job
	running            bool // the record is an intermediate one of a running job
}

// record parses an accounting record.
func (r *reader) record(line []byte) (rec record, err error) {
	f, rest, ok := r.cut(line, beforeCategory)
	if ok && !isRecord(f) {
		f, rest = r.joined(f, rest)
	}
	if !ok {
		return rec, collector.Bad(collector.ReasonFormat, "",
			"want at least %d fields between colons: this is not an accounting record", beforeCategory+1)
	}
	if rec.id, err = jobID(f[fieldNumber], f[fieldTask]); err != nil {
		return rec, err
	}
	if err = rec.times(f); err != nil {
		return rec, err
	}
	status, okStatus := logtext.Integer(f[fieldExitStatus])
	if rec.failed, ok = logtext.Integer(f[fieldFailed]); !ok || !okStatus {
		return rec,
			collector.Bad(collector.ReasonField, "failed", "want numbers for failed and exit_status, got %q and %q",
				shorten(f[fieldFailed]), shorten(f[fieldExitStatus]))
	}
	slots, ok := logtext.Integer(f[fieldSlots])
	if !ok {
		return rec, collector.Bad(collector.ReasonField, "slots", "not a number of slots: %q", shorten(f[fieldSlots]))
	}
	if err = r.checkProcs(slots); err != nil {
		return rec, err
	}
	category, tail := splitCategory(rest)
	rec.usageOnly = !isNone(parallelTask(tail))
	rec.running = status == stillRunning || status == stillRunningUnsigned
	rec.attributes = job.Attributes{
		Queue: r.names.Of(f[fieldQueue]), User: r.names.Of(f[fieldOwner]),
		Account: r.charged(f[fieldProject], f[fieldAccount]),
		Name:    string(f[fieldName]), Procs: int(slots), TimeLimit: timeLimit(category),
	}
	return rec, nil
}

// isRecord reports whether the fields that are numbers in every version are numbers.
func isRecord(f [][]byte) bool {
	for _, i := range [...]int{fieldNumber, fieldSubmit, fieldStart, fieldEnd, fieldFailed, fieldExitStatus, fieldSlots,
		fieldTask} {
		if _, ok := logtext.Integer(f[i]); !ok {
			return false
		}
	}
	return true
}

// maxColons is the maximum number of colons in a job's name and account for which a record can be read.
const maxColons = 32

// joined returns the fields of a record with colons in the job's name or in its account, which Grid Engine does not
// escape. It takes the first way to join fields that makes numbers of the fields that are numbers. If there is none, it
// returns f and rest.
func (r *reader) joined(f [][]byte, rest []byte) ([][]byte, []byte) {
	more := append([][]byte(nil), f...)
	after := rest
	for colons := 1; colons <= maxColons; colons++ {
		field, left, ok := bytes.Cut(after, colon())
		if !ok {
			break
		}
		more, after = append(more, field), left
		for inName := colons; inName >= 0; inName-- {
			g := joinFields(more, fieldName, inName)
			g = joinFields(g, fieldAccount, colons-inName)
			if isRecord(g) {
				return g, after
			}
		}
	}
	return f, rest
}

// joinFields returns the fields with one of them joined with the next colons fields.
func joinFields(f [][]byte, at, colons int) [][]byte {
	if colons == 0 {
		return f
	}
	whole := bytes.Join(f[at:at+colons+1], colon())
	return append(append(append([][]byte(nil), f[:at]...), whole), f[at+colons+1:]...)
}

// These are the values of exit_status in an intermediate record, which is written after midnight for a job that is
// still running. Some versions write -1 as an unsigned number (sge_write_rusage). The start in such a record is the
// beginning of the day.
const (
	stillRunning         = -1
	stillRunningUnsigned = 1<<32 - 1
)

// skew is the maximum time by which a start may lie before the submission. The time of the submission comes from the
// master's clock, and that of the start from the execution host's clock.
const skew = time.Minute

func (rec *record) times(f [][]byte) (err error) {
	if rec.submit, err = instant("submission_time", f[fieldSubmit]); err != nil {
		return err
	}
	if rec.start, err = instant("start_time", f[fieldStart]); err != nil {
		return err
	}
	if rec.end, err = instant("end_time", f[fieldEnd]); err != nil {
		return err
	}
	if rec.start.IsZero() {
		return nil
	}
	if rec.submit, err = submitBefore(rec.submit, rec.start); err != nil {
		return err
	}
	if rec.end.Before(rec.start) {
		return collector.Bad(collector.ReasonTime, "end_time", "%s is before the start_time %s", f[fieldEnd],
			f[fieldStart])
	}
	return nil
}

// submitBefore returns the submission time. If the submission lies after the start because of a small difference of
// clocks, it returns the start.
func submitBefore(submit, start time.Time) (time.Time, error) {
	if !start.Before(submit) {
		return submit, nil
	}
	if submit.Sub(start) > skew {
		return submit,
			collector.Bad(collector.ReasonTime, "start_time", "%d is more than %v before the submission_time %d",
				start.Unix(), skew, submit.Unix())
	}
	return start, nil
}

// ended reports, by the field "failed", whether the job has left the cluster. If not, it waits again: it ran and was
// rescheduled or migrated, or it could not be started. The codes are those of SSTATE_ and ESSTATE_ in Grid Engine's
// execution_states.h. sge_status(5) and the N1 Grid Engine 6 Administration Guide describe their effects.
func ended(failed int64) bool {
	switch {
	case failed == 24, failed == 25, failed == 30: // migrating, rescheduling, rescheduling on application error
		return false
	case failed >= 1 && failed <= 11:
		// These are failures before the start. The queue is put into error state, and the job is tried again.
		return false
	case failed == 21, failed >= 26 && failed <= 36, failed == 38: // could not be started: the job waits in error state
		return false
	}
	return true // 0; 12-18 after the job; 37 over a limit; 100 ended by a signal
}

// outcome emits the events of a record. The event time is the end of the job in the record. If the record has no end,
// it is the parameter at, the time at which the record was written; zero if unknown. If both are zero, there are no
// events. An update precedes an end, because only an update replaces the queue and the size of an earlier attempt.
func (r *reader) outcome(rec *record, at time.Time, emit func(job.Event)) error {
	ran := !rec.start.IsZero()
	if !rec.end.IsZero() {
		at = rec.end
	}
	kind := job.End
	switch {
	case !ended(rec.failed):
		kind = job.Requeue
	case !ran: // deleted between its dispatch and its start
		kind = job.Cancel
	case rec.attributes.Procs == 0:
		return collector.Bad(collector.ReasonProcs, "slots", "a job that ran on 0 slots")
	}
	if at.IsZero() {
		return nil
	}
	ev := r.event(kind, rec.id, at)
	ev.Attributes = rec.attributes
	if kind == job.End {
		update := ev
		update.Kind, update.Times.Submit = job.Update, rec.submit
		emit(update)
		ev.Times.End = at
	}
	ev.Times.Submit, ev.Times.Start = rec.submit, rec.start
	emit(ev)
	return nil
}
