package sge

import (
	"bytes"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// reporting parses the reporting file.
type reporting struct{ *reader }

// Parse implements collector.Parser.
func (p *reporting) Parse(line []byte, emit func(job.Event)) error {
	line, err := content(line)
	if err != nil || line == nil {
		return err
	}
	head, rest, ok := p.cut(line, 2)
	if !ok {
		return collector.Bad(collector.ReasonFormat, "", "want \"time:type:...\": this is not a reporting record")
	}
	kind := head[1]
	at, err := instant("time", head[0])
	if err != nil || at.IsZero() {
		return collector.Bad(collector.ReasonFormat, "time",
			"want a line that begins with \"time:type:\", time in seconds since 1970: "+
				"this is not a reporting record (the accounting file is format %s)", AccountingName)
	}
	switch string(kind) {
	case "new_job":
		return p.newJob(rest, emit)
	case "job_log":
		return p.jobLog(rest, emit)
	case "acct":
		return p.acct(rest, at, emit)
	case "queue", "queue_consumable", "host", "host_consumable", "sharelog", // about machines, and usage by shares
		"new_ar", "ar_attribute", "ar_log", "ar_acct": // advance reservations
		return nil
	}
	return collector.Bad(collector.ReasonUnknown, "type",
		"record type %q is not in reporting(5): report it, with the version of Grid Engine", shorten(kind))
}

// newJob reads a new_job record:
// submission_time:job_number:task_number:pe_taskid:job_name:owner:group:project:department:account:priority. The
// record lacks the queue, the size, the limit, and whether the job is an array.
func (p *reporting) newJob(rest []byte, emit func(job.Event)) error {
	f, last, ok := p.cut(rest, 10)
	if !ok {
		return tooShort("new_job")
	}
	if colons := bytes.Count(last, colon()); colons > 0 && colons <= maxColons { // of the job's name
		f = joinFields(append(append([][]byte(nil), f...), bytes.Split(last, colon())...), 4, colons)
	}
	at, err := instant("submission_time", f[0])
	if err != nil {
		return err
	}
	if at.IsZero() {
		return collector.Bad(collector.ReasonTime, "submission_time", "0")
	}
	id, err := jobID(f[1], f[2])
	if err != nil {
		return err
	}
	ev := p.event(job.Submit, id, at)
	ev.Attributes = job.Attributes{User: p.names.Of(f[5]), Account: p.charged(f[7], f[9]), Name: string(f[4])}
	ev.Times.Submit = at
	emit(ev)
	return nil
}

func tooShort(kind string) error {
	return collector.Bad(collector.ReasonField, kind, "the record has too few fields")
}

// jobLog reads a job_log record:
// event_time:event:job_number:task_number:pe_taskid:state:user:host:state_time:priority:
// submission_time:job_name:owner:group:project:department:account:message. Version 8.1.9 writes 0 as state_time.
// Unlike in the manual page, priority precedes submission_time.
func (p *reporting) jobLog(rest []byte, emit func(job.Event)) error {
	f, message, ok := p.cut(rest, 17)
	if !ok {
		return tooShort("job_log")
	}
	f = splitMessage(f, message)
	at, err := instant("event_time", f[0])
	if err != nil {
		return err
	}
	if at.IsZero() {
		return collector.Bad(collector.ReasonTime, "event_time", "0")
	}
	submit, err := instant("submission_time", f[10])
	if err != nil {
		return err
	}
	kinds, known := eventsOf(f[1])
	if !known {
		return collector.Bad(collector.ReasonUnknown, "event",
			"job_log event %q is not known: report it, with the version of Grid Engine", shorten(f[1]))
	}
	id, err := jobID(f[2], f[3])
	// An entry with a pe_taskid is about a task of a parallel job, which is not a job.
	if err != nil || kinds[0] == 0 || !isNone(f[4]) {
		return err
	}
	if submit, err = submitBefore(submit, at); err != nil {
		return err
	}
	if kinds[0] == job.Cancel && bytes.ContainsAny(f[5], runningStates) {
		submit = time.Time{} // unknown, because the job had started and its wait did not last until now
	}
	p.emitAll(kinds, id, at, submit, f, emit)
	return nil
}

// splitMessage returns the fields of a job_log record whose job name may contain colons. The message at its end may
// contain colons too. So it joins fields to the name only if a department or project then has the name that most have.
func splitMessage(f [][]byte, message []byte) [][]byte {
	if isUsual(f) || bytes.IndexByte(message, ':') < 0 {
		return f
	}
	parts := bytes.SplitN(message, colon(), maxColons+1)
	more := append(append([][]byte(nil), f...), parts[:len(parts)-1]...)
	for colons := 1; colons < len(parts); colons++ {
		if g := joinFields(more, 11, colons); isUsual(g) {
			return g
		}
	}
	return f
}

// isUsual reports whether the fields of a job_log record have no project and the default department.
func isUsual(f [][]byte) bool { return isNone(f[14]) && string(f[15]) == "defaultdepartment" }

func (p *reporting) emitAll(kinds [2]job.Kind, id string, at, submit time.Time, f [][]byte, emit func(job.Event)) {
	attributes := job.Attributes{User: p.names.Of(f[12]), Account: p.charged(f[14], f[16]), Name: string(f[11])}
	for _, kind := range kinds {
		if kind == 0 {
			break
		}
		ev := p.event(kind, id, at)
		ev.Attributes = attributes
		ev.Times.Submit = submit
		if kind == job.Start {
			ev.Times.Start = at
		}
		emit(ev)
	}
}

// eventsOf returns the kinds of event of a job_log event; 0 stands for none. The names are those of
// reporting_get_job_log_name.
func eventsOf(name []byte) (kinds [2]job.Kind, known bool) {
	switch string(name) {
	case "sent": // the scheduler allocated the slots; qstat shows this time as the start
		kinds[0] = job.Start
	case "restart":
		kinds[0] = job.Requeue
	case "error": // the job could not be started, and waits until somebody clears the error
		kinds = [2]job.Kind{job.Requeue, job.Hold}
	case "held":
		kinds[0] = job.Hold
	case "released":
		kinds[0] = job.Release
	case "deleted", "finished":
		// The event removes a waiting job. For a running job it is a request, and the job's acct record has the end.
		kinds[0] = job.Cancel
	case "pending": // new_job reports it
	case "resent", "delivered", "running": // sent reports it
	case "suspended", "unsuspended": // the job keeps its slots
	case "migrate", "unknown": // a restart follows
	default:
		return kinds, false
	}
	return kinds, true
}

// runningStates are the letters of the states of a job that is no longer waiting: running, transferring, and suspended
// by a threshold, by a user or by a queue (qstat(1)). A waiting job has none of them; in version 8.1.9 its state is
// empty.
const runningStates = "rtTsS"

// acct reads an accounting record inside the reporting file. Queue, size and limit become known only here.
func (p *reporting) acct(rest []byte, at time.Time, emit func(job.Event)) error {
	rec, err := p.record(rest)
	if err != nil || rec.usageOnly {
		return err
	}
	if rec.running {
		ev := p.event(job.Update, rec.id, at)
		ev.Attributes = rec.attributes
		emit(ev)
		return nil
	}
	return p.outcome(&rec, at, emit)
}
