package pbs

import (
	"bytes"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// absent marks a time that a record does not have. Servers write 0 for a time that has not been reached.
const absent = -1

// fields are the used fields of a record's message. The slices point into the line.
type fields struct {
	letter                               byte
	user, queue, account, project, name  []byte
	group                                []byte
	indices                              []byte // indexes of an array's members
	ctime, qtime, etime, start, end      int64
	ncpus, procs, nodes, sel, width      int64 // requested processors, by resource
	depth, plain                         int64
	slots, hosts                         int64 // allocated processors
	nodect, nodesCount, selCount, nHosts int64
	sized                                bool                 // the record has a size, perhaps 0
	odd                                  *collector.LineError // the error of the key nodect, nil if there is none
	walltime                             time.Duration
	resources                            resources
}

func (f *fields) reset(letter byte) {
	*f = fields{letter: letter, ctime: absent, qtime: absent, etime: absent, start: absent, end: absent}
}

// scan reads the pairs of a message: "key=value", separated by spaces. It skips words without "=", which belong to a
// value with spaces that the server did not quote (Torque never quotes).
//
// If a key occurs several times, the last pair counts; for user and group, the first one counts. So an account or job
// name that contains "queue=..." or "user=..." changes nothing: the servers write user and group before these names,
// and all other fields after them.
func (f *fields) scan(msg []byte) error {
	for {
		begin, eq := 0, 0
		for eq < len(msg) && msg[eq] != '=' {
			if msg[eq] == ' ' {
				begin = eq + 1
			}
			eq++
		}
		if eq == len(msg) {
			return nil
		}
		key := msg[begin:eq]
		var value []byte
		value, msg = cutValue(msg[eq+1:])
		if len(value) == 0 || f.letter == 'a' && string(value) == "UNSET" { // UNSET, in alter records
			continue
		}
		if err := f.set(key, value); err != nil {
			return err
		}
	}
}

// cutValue cuts a value off the front of a message. A quoted value may contain spaces. The quote is ' if the value
// contains a " (cpy_quote_value in accounting.c). Quotes are never escaped, so only a quote before a space or at the
// end closes the value.
func cutValue(msg []byte) (value, rest []byte) {
	if len(msg) > 0 && (msg[0] == '"' || msg[0] == '\'') {
		for i := 1; i < len(msg); i++ {
			if msg[i] == msg[0] && (i+1 == len(msg) || msg[i+1] == ' ') {
				return msg[1:i], msg[i+1:]
			}
		}
	}
	if i := bytes.IndexByte(msg, ' '); i >= 0 {
		return msg[:i], msg[i+1:]
	}
	return msg, nil
}

// set stores one pair if its key is used.
func (f *fields) set(key, value []byte) error {
	switch string(key) {
	case "user":
		if f.user == nil {
			f.user = value
		}
	case "queue":
		f.queue = value
	case "group":
		if f.group == nil {
			f.group = value
		}
	case "account", "Account_Name": // alter records have the second key, because they use attribute names
		f.account = value
	case "project":
		f.project = value
	case "jobname", "Job_Name":
		f.name = value
	case "ctime":
		return setUnix(&f.ctime, key, value)
	case "qtime":
		return setUnix(&f.qtime, key, value)
	case "etime":
		return setUnix(&f.etime, key, value)
	case "start":
		return setUnix(&f.start, key, value)
	case "end":
		return setUnix(&f.end, key, value)
	case "array_indices", "array_indices_submitted": // alter records have the second key
		f.indices = value
	case "exec_host":
		f.hosts, f.nHosts = countHosts(value)
	case "total_execution_slots": // Torque 4.2 and later, in records of ends
		return f.setCount(&f.slots, key, value)
	default:
		if name, ok := bytes.CutPrefix(key, []byte("Resource_List.")); ok {
			return f.setResource(name, key, value)
		}
	}
	return nil
}

// setResource stores one requested resource.
func (f *fields) setResource(name, key, value []byte) error {
	var ok bool
	switch string(name) {
	case "ncpus":
		return f.setCount(&f.ncpus, key, value)
	case "procs":
		return f.setCount(&f.procs, key, value)
	case "mppwidth":
		return f.setCount(&f.width, key, value)
	case "mppdepth":
		n, ok := logtext.Digits(value)
		if !ok {
			return badNumber(key, value)
		}
		f.depth = n
	case "size": // processors on Cray's Torque; a site may use the name for something else
		if n, ok := logtext.Digits(value); ok {
			f.plain, f.sized = n, true
		}
	case "nodes":
		f.resources.chunks(value)
		if f.nodes, f.nodesCount, ok = parseNodes(value); !ok {
			return badNumber(key, value)
		}
		f.sized = true
	case "select":
		f.resources.chunks(value)
		if f.sel, f.selCount, ok = parseSelect(value); !ok {
			return badNumber(key, value)
		}
		f.sized = true
	case "nodect":
		n, ok := logtext.Digits(value)
		if !ok { // it is only the number of nodes: the record is usable if another field has the processors
			f.odd = badNumber(key, value)
		}
		f.nodect = n
	case "walltime":
		if f.walltime, ok = parseWalltime(value); !ok {
			return collector.Bad(collector.ReasonField, string(key), "want [[[DD:]HH:]MM:]SS, got %q", value)
		}
	default:
		f.resources.set(name, value)
	}
	return nil
}

func (f *fields) setCount(to *int64, key, value []byte) error {
	n, ok := logtext.Digits(value)
	if !ok {
		return badNumber(key, value)
	}
	*to, f.sized = n, true
	return nil
}

func badNumber(key, value []byte) *collector.LineError {
	return collector.Bad(collector.ReasonField, string(key), "not a number of processors or nodes: %q", shorten(value))
}

// maxUnix is the end of the year 9999, the last year that RFC 3339 can represent.
const maxUnix = 253402300799

func setUnix(to *int64, key, value []byte) error {
	digits := value
	if len(digits) > 1 && digits[0] == '-' {
		digits = digits[1:]
	}
	n, ok := logtext.Digits(digits)
	if !ok {
		return collector.Bad(collector.ReasonField, string(key), "want seconds since 1970, got %q", shorten(value))
	}
	if value[0] == '-' || n > maxUnix {
		return collector.Bad(collector.ReasonTime, string(key), "not a plausible time of a log: %q", value)
	}
	*to = n
	return nil
}

func shorten(b []byte) []byte {
	const most = 40
	return b[:min(len(b), most)]
}

// defaultProject is what PBS writes for a job without a project (PBS_DEFAULT_PROJECT in OpenPBS).
const defaultProject = "_pbs_project_default"

func (f *fields) accountOrProject() []byte {
	if f.account != nil || string(f.project) == defaultProject {
		return f.account
	}
	return f.project
}

// times sets the event's instants and returns its event time. It makes an end whose start is 0 a cancellation. It
// returns an error for an end without a start, and for instants out of order. It prefers times in Unix seconds to the
// record's own time, which is a local time and sometimes a second late.
//
// A job's submission is its ctime. qtime is the time at which the job entered its present queue; it changes with each
// move (svr_dequejob and svr_enquejob in svr_jobfunc.c), but the user has waited since ctime. Torque's Q record has
// neither time.
func (f *fields) times(ev *job.Event, rec record) (int64, error) {
	at := rec.at
	t := &ev.Times
	switch {
	case f.ctime > 0:
		t.Submit = instant(f.ctime)
	case f.qtime > 0:
		t.Submit = instant(f.qtime)
	}
	if f.etime > 0 {
		t.Eligible = instant(f.etime)
	}
	switch ev.Kind {
	case job.Submit:
		at = firstOf(f.qtime, rec.at)
		if t.Submit.IsZero() {
			t.Submit = instant(at)
		}
		return at, nil
	case job.Start:
		at = firstOf(f.start, rec.at)
		t.Start = instant(at)
	case job.End:
		if f.start == absent {
			return 0, collector.Bad(collector.ReasonField, "start", "an end record without start=")
		}
		at = firstOf(f.end, rec.at)
		if f.start == 0 { // some servers write an E record for a job that was deleted while it waited
			ev.Kind = job.Cancel
			break
		}
		t.Start, t.End = instant(f.start), instant(at)
	case job.Requeue:
		at = firstOf(f.end, rec.at)
		fallthrough
	default:
		if f.start > 0 {
			t.Start = instant(f.start)
		}
	}
	return at, checkOrder(t)
}

// firstOf returns unix if it is positive, that is, if the record has this time. If not, it returns the parameter
// otherwise.
func firstOf(unix, otherwise int64) int64 {
	if unix > 0 {
		return unix
	}
	return otherwise
}

func checkOrder(t *job.Times) error {
	if !t.Start.IsZero() && t.Start.Before(t.Submit) {
		return collector.Bad(collector.ReasonTime, "start", "%d is before the submit at %d", t.Start.Unix(),
			t.Submit.Unix())
	}
	if !t.End.IsZero() && t.End.Before(t.Start) {
		return collector.Bad(collector.ReasonTime, "end", "%d is before the start at %d", t.End.Unix(), t.Start.Unix())
	}
	return nil
}
