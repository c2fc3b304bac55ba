package pbs

import (
	"strconv"
	"time"
)

// Record has the values of one job for the Append functions. They leave out empty strings, and Procs, Nodes and
// TimeLimit if these are 0. Like OpenPBS, they write a zero time, and a Session or ExitStatus of 0, as 0.
type Record struct {
	ID       string // with the server's name: "123.server"
	User     string
	Group    string
	Account  string
	Name     string
	Queue    string
	Created  time.Time // ctime
	Queued   time.Time // qtime
	Eligible time.Time // etime
	Start    time.Time
	End      time.Time
	ExecHost string // the allocated processors: "n1/0*4+n2/0*4"
	Procs    int    // Resource_List.ncpus
	Nodes    int    // Resource_List.nodect
	// TimeLimit is Resource_List.walltime, written in whole seconds.
	TimeLimit  time.Duration
	Session    int
	ExitStatus int
}

// AppendQueued appends the line of a Q record with the whole request, in the form of newer versions of OpenPBS. The
// date of the line is Queued, as local time in Queued's location. The dates of the other records are written in the
// same way.
func AppendQueued(dst []byte, rec Record) []byte {
	dst = rec.appendHead(dst, rec.Queued, 'Q')
	dst = rec.appendWho(dst)
	dst = rec.appendRequest(dst)
	return append(dst, '\n')
}

// AppendStarted appends the line of an S record, dated Start.
func AppendStarted(dst []byte, rec Record) []byte {
	dst = rec.appendHead(dst, rec.Start, 'S')
	dst = rec.appendWho(dst)
	dst = appendUnix(dst, "start", rec.Start)
	dst = appendPair(dst, "exec_host", rec.ExecHost)
	dst = rec.appendRequest(dst)
	return append(dst, '\n')
}

// AppendEnded appends the line of an E record, dated End.
func AppendEnded(dst []byte, rec Record) []byte {
	dst = rec.appendHead(dst, rec.End, 'E')
	dst = rec.appendWho(dst)
	dst = appendUnix(dst, "start", rec.Start)
	dst = appendPair(dst, "exec_host", rec.ExecHost)
	dst = rec.appendRequest(dst)
	dst = appendInt(dst, "session", int64(rec.Session))
	dst = appendUnix(dst, "end", rec.End)
	dst = appendInt(dst, "Exit_status", int64(rec.ExitStatus))
	dst = appendDuration(dst, "resources_used.walltime", rec.End.Sub(rec.Start))
	dst = appendInt(dst, "run_count", 1)
	return append(dst, '\n')
}

// AppendDeleted appends the line of a D record, dated End. Its job is deleted by its user from the server's host.
func AppendDeleted(dst []byte, rec Record) []byte {
	dst = rec.appendHead(dst, rec.End, 'D')
	dst = appendPair(dst, "requestor", rec.User+"@"+serverOf(rec.ID))
	return append(dst, '\n')
}

func (r *Record) appendHead(dst []byte, at time.Time, kind byte) []byte {
	dst = at.AppendFormat(dst, "01/02/2006 15:04:05")
	dst = append(dst, ';', kind, ';')
	dst = appendClean(dst, r.ID)
	return append(dst, ';')
}

// appendWho appends the first fields of every full record, in the order of acct_job in accounting.c.
func (r *Record) appendWho(dst []byte) []byte {
	dst = appendPair(dst, "user", r.User)
	dst = appendPair(dst, "group", r.Group)
	if r.Account != "" { // only this value is always quoted
		dst = appendKey(dst, "account")
		dst = append(dst, '"')
		dst = appendClean(dst, r.Account)
		dst = append(dst, '"')
	}
	dst = appendPair(dst, "jobname", r.Name)
	dst = appendPair(dst, "queue", r.Queue)
	dst = appendUnix(dst, "ctime", r.Created)
	dst = appendUnix(dst, "qtime", r.Queued)
	return appendUnix(dst, "etime", r.Eligible)
}

func (r *Record) appendRequest(dst []byte) []byte {
	if r.Procs > 0 {
		dst = appendInt(dst, "Resource_List.ncpus", int64(r.Procs))
	}
	if r.Nodes > 0 {
		dst = appendInt(dst, "Resource_List.nodect", int64(r.Nodes))
	}
	if r.TimeLimit > 0 {
		dst = appendDuration(dst, "Resource_List.walltime", r.TimeLimit)
	}
	return dst
}

// appendKey appends "key=". It puts a space before the key, unless the key is the first of the message.
func appendKey(dst []byte, key string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != ';' {
		dst = append(dst, ' ')
	}
	dst = append(dst, key...)
	return append(dst, '=')
}

// appendPair appends a key with its value, unless the value is empty. Like cpy_quote_value in accounting.c it quotes a
// value that has a space.
func appendPair(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	dst = appendKey(dst, key)
	space, double := false, false
	for i := range len(value) {
		space = space || value[i] == ' '
		double = double || value[i] == '"'
	}
	quote := byte('"')
	if double {
		quote = '\''
	}
	if !space {
		return appendClean(dst, value)
	}
	dst = append(dst, quote)
	dst = appendClean(dst, value)
	return append(dst, quote)
}

// appendClean appends value. Control characters and semicolons become "_", because they would end the record or the
// id.
func appendClean(dst []byte, value string) []byte {
	for i := range len(value) {
		c := value[i]
		if c < ' ' || c == 0x7f || c == ';' {
			c = '_'
		}
		dst = append(dst, c)
	}
	return dst
}

func appendInt(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(appendKey(dst, key), n, 10)
}

// appendUnix appends a time in Unix seconds; servers write 0 for a time that is not set.
func appendUnix(dst []byte, key string, t time.Time) []byte {
	if t.IsZero() {
		return appendInt(dst, key, 0)
	}
	return appendInt(dst, key, t.Unix())
}

// appendDuration appends HH:MM:SS. Hours have as many digits as they need.
func appendDuration(dst []byte, key string, d time.Duration) []byte {
	s := max(int64(d/time.Second), 0)
	dst = appendKey(dst, key)
	dst = appendTwo(dst, s/3600)
	dst = append(dst, ':')
	dst = appendTwo(dst, s/60%60)
	dst = append(dst, ':')
	return appendTwo(dst, s%60)
}

func appendTwo(dst []byte, n int64) []byte {
	if n < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, n, 10)
}

// serverOf returns the server's name in a job id: the text after the first dot, "localhost" if there is none.
func serverOf(id string) string {
	for i := range len(id) {
		if id[i] == '.' {
			return id[i+1:]
		}
	}
	return "localhost"
}
