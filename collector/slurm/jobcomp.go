package slurm

import (
	"bytes"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// JobcompName is the name of the format of the job completion log in the configuration.
const JobcompName = "slurm-jobcomp"

// Jobcomp returns the format of the file that the plugin jobcomp/filetxt writes (JobCompLoc in slurm.conf): one line
// for each ended job, or ended attempt of a job.
func Jobcomp() collector.Format {
	return collector.Format{Name: JobcompName, Order: collector.Live, AtEnd: true,
		New: func(o collector.Options) collector.Parser {
			return &jobcompParser{common: newCommon(o)}
		}}
}

// maxRecord is the maximum length, in bytes, of a record of several lines. Slurm's own limit for a name is far below.
const maxRecord = 64 << 10

// jobcompParser reads one source. From earlier lines it keeps only an unfinished record: the plugin does not escape
// line ends in a job's name or directory, so a record may span several lines. The plugin writes each record at once, so
// no other record comes between these lines.
type jobcompParser struct {
	common
	record  jobcompRecord
	pending []byte
	// now is the time at which the line was written, if it is known. newest is the newest end in earlier lines. Both
	// resolve an end at a local time that occurs twice (endTime).
	now, newest time.Time
}

// ReadAt implements collector.Dated.
func (p *jobcompParser) ReadAt(now time.Time) { p.now = now }

// After implements collector.Dated.
func (p *jobcompParser) After(newest time.Time) { p.newest = newest }

// Parse implements collector.Parser.
func (p *jobcompParser) Parse(line []byte, emit func(job.Event)) error {
	line = logtext.Trim(line)
	if len(line) == 0 {
		return nil
	}
	begins, ends := beginsRecord(line), endsRecord(line)
	switch {
	case begins && ends:
		cut := p.drop()
		if err := p.parseRecord(line, emit); err != nil {
			return err
		}
		return cut
	case begins:
		cut := p.drop()
		p.keep(line)
		return cut
	case len(p.pending) == 0:
		return collector.Bad(collector.ReasonFormat, "JobId",
			"want a line that begins with \"JobId=\": this is not a jobcomp/filetxt record")
	case len(p.pending)+len(line) > maxRecord:
		return p.drop()
	}
	p.pending = append(p.pending, '\n')
	p.keep(line)
	if !ends {
		return nil
	}
	whole := p.pending
	p.pending = p.pending[:0]
	return p.parseRecord(whole, emit)
}

func (p *jobcompParser) keep(line []byte) {
	p.pending = append(p.pending, line[:min(len(line), maxRecord)]...)
}

// drop discards an unfinished record and returns an error about it, nil if there is none.
func (p *jobcompParser) drop() error {
	if len(p.pending) == 0 {
		return nil
	}
	pending := p.pending
	p.pending = p.pending[:0]
	if isOldRecord(pending) {
		return collector.Bad(collector.ReasonField, "SubmitTime", "a record without it, as Slurm wrote up to "+
			"version 16, has no wait; read a dump of sacct instead: %q", shorten(pending))
	}
	return collector.Bad(collector.ReasonFormat, "ExitCode", "the record before this line has no end: %q",
		shorten(pending))
}

// Flush implements collector.Flusher.
func (p *jobcompParser) Flush() error { return p.drop() }

// isOldRecord reports whether a record ends with the directory, as that of Slurm 16 does.
func isOldRecord(text []byte) bool {
	i := bytes.LastIndex(text, []byte(" WorkDir="))
	return i >= 0 && bytes.IndexByte(text[i+1:], ' ') < 0 && bytes.Contains(text[:i], []byte(" EndTime="))
}

// beginsRecord reports whether a line is the beginning of a record. endsRecord reports whether it is the end.
func beginsRecord(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("JobId="))
	if !ok {
		return false
	}
	_, rest, ok = leadingNumber(rest)
	return ok && bytes.HasPrefix(rest, []byte(" UserId="))
}

func endsRecord(line []byte) bool {
	i := bytes.LastIndexByte(line, ' ')
	if i < 0 || !bytes.HasPrefix(line[i+1:], []byte("ExitCode=")) {
		return false
	}
	before := line[:i]
	return bytes.HasPrefix(before[bytes.LastIndexByte(before, ' ')+1:], []byte("DerivedExitCode="))
}

// ending classifies the job state of a record.
type ending uint8

const (
	forGood  ending = iota // the job or this attempt of it has ended
	waits                  // the job was put back into the queue
	runsOn                 // the job was resized
	unheard                // an undocumented state
	notEnded               // a state of a job that has not ended, which cannot be in this log
)

// endingOf classifies the states of job_state_string in src/common/slurm_protocol_defs.c. For a requeue the record has
// PENDING (22.05) or REQUEUED. NODE_FAIL and PREEMPTED look the same with and without a requeue: they end the attempt,
// and a later record of the job is its next attempt.
func endingOf(state []byte) ending {
	switch string(state) {
	case "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
		"OUT_OF_MEMORY", "LAUNCH_FAILED", "RECONFIG_FAIL", "REVOKED":
		return forGood
	case "PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT":
		return waits
	case "RESIZING":
		return runsOn
	case "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING", "STOPPED", "POWER_UP_NODE":
		return notEnded
	}
	return unheard
}

// parseRecord reads a whole record and emits its events.
func (p *jobcompParser) parseRecord(text []byte, emit func(job.Event)) error {
	r := &p.record
	if err := r.split(text); err != nil {
		return err
	}
	ev, err := p.event(r)
	if err != nil {
		return err
	}
	if ev.Times.Start.IsZero() {
		return p.neverRan(&ev, r, emit)
	}
	switch how := endingOf(r.state); how {
	case waits, runsOn:
		end := ev.Times.End
		ev.Times.End = time.Time{}
		ev.Kind, ev.Time = job.Start, ev.Times.Start
		emit(ev) // no other record in this log reports this start
		if how == waits {
			ev.Kind, ev.Time = job.Requeue, end
			emit(ev)
		}
	case notEnded:
		return errState(r.state, "a job that has not ended")
	case forGood, unheard:
		ev.Kind, ev.Time = job.End, ev.Times.End
		emit(ev)
		if how == unheard {
			return errState(r.state, "taken for an end: report it, with the version of Slurm")
		}
	}
	return nil
}

func errState(state []byte, meaning string) error {
	return collector.Bad(collector.ReasonUnknown, "JobState", "%q: %s", shorten(state), meaning)
}

// neverRan emits the cancellation of a job that got no nodes, unless the job keeps waiting. It returns an error for a
// state that such a job cannot have, and, after the cancellation, for an unknown state. The event includes the
// submission time, from which the fold derives a missing submission.
func (p *jobcompParser) neverRan(ev *job.Event, r *jobcompRecord, emit func(job.Event)) error {
	how := endingOf(r.state)
	switch how {
	case waits, runsOn:
		return nil // the job keeps waiting
	case notEnded:
		return errState(r.state, "a job that has not ended")
	}
	end := ev.Times.End
	ev.Times.End = time.Time{}
	ev.Kind, ev.Time = job.Cancel, end
	emit(*ev)
	if how == unheard {
		return errState(r.state, "taken for a cancel: report it, with the version of Slurm")
	}
	return nil
}

// event converts a record to an event without kind and time. Its Times.Start is zero if the job never ran.
func (p *jobcompParser) event(r *jobcompRecord) (job.Event, error) {
	ev := job.Event{Cluster: p.options.Cluster, ID: r.id}
	limit, err := minutes("TimeLimit", r.timeLimit)
	if err != nil {
		return ev, err
	}
	if ev.Times, err = p.times(r); err != nil {
		return ev, err
	}
	ran := !ev.Times.Start.IsZero()
	procs, nodes := r.procs, r.nodes
	if !ran { // nothing was allocated, so that Tres has the request
		procs, nodes = max(procs, tresCount(r.tres, "cpu")), max(nodes, tresCount(r.tres, "node"))
	}
	if err := p.checkProcs("ProcCnt", procs, ran); err != nil {
		return ev, err
	}
	queue, _, _ := bytes.Cut(r.partition, []byte(",")) // Slurm tries the first of several requested partitions first
	ev.Attributes = job.Attributes{
		Queue: p.names.Of(queue), User: p.names.Of(r.user), Account: p.names.Of(r.account), QOS: p.names.Of(r.qos),
		Name: string(r.name), Procs: int(procs), Nodes: int(min(nodes, maxNodes)), TimeLimit: limit,
	}
	return ev, nil
}

func (p *jobcompParser) times(r *jobcompRecord) (t job.Times, err error) {
	if t.Submit, err = p.time("SubmitTime", r.submit); err != nil {
		return t, err
	}
	if t.Eligible, err = p.time("EligibleTime", r.eligible); err != nil {
		return t, err
	}
	if t.Start, err = p.time("StartTime", r.start); err != nil {
		return t, err
	}
	if t.End, err = p.endTime(r.end); err != nil {
		return t, err
	}
	if t.End.IsZero() {
		return t, collector.Bad(collector.ReasonField, "EndTime", "a job that ended has an end, got %q", shorten(r.end))
	}
	noNodes := string(r.nodeList) == "(null)" || len(r.nodeList) == 0
	switch {
	case noNodes:
		t.Start = time.Time{}
	case t.Start.IsZero():
		return t, collector.Bad(collector.ReasonField, "StartTime", "a job with nodes has a start, got %q",
			shorten(r.start))
	}
	p.inOrder(&t)
	p.before(&t)
	return t, checkOrder(&t)
}

// endTime parses the end. If local clocks show the end twice, it takes the instant close to the time at which the
// record was written.
func (p *jobcompParser) endTime(text []byte) (time.Time, error) {
	p.clock.day.Near(p.now)
	p.clock.day.After(p.newest)
	at, err := p.time("EndTime", text)
	p.clock.day.Near(time.Time{})
	p.clock.day.After(time.Time{})
	return at, err
}

// before resolves times that occur twice because clocks were set back. It takes the second of the two instants unless
// that is after the end (for the eligible and the submission time: after the start), because short jobs are more
// frequent than long ones. So the result depends only on the end, not on the time at which the record is read.
func (p *jobcompParser) before(t *job.Times) {
	latest := func(t *time.Time, end time.Time) {
		if at := instant(logtext.SecondPass(p.clock.loc, t.Unix())); !t.IsZero() && !at.After(end) {
			*t = at
		}
	}
	last := t.End
	latest(&t.Start, last)
	if !t.Start.IsZero() {
		last = t.Start
	}
	latest(&t.Eligible, last)
	latest(&t.Submit, last)
}

// time parses a time. Unknown times become the zero time.
func (p *jobcompParser) time(field string, text []byte) (time.Time, error) {
	switch string(text) {
	case "unknown", "Unknown":
		return time.Time{}, nil
	}
	unix, err := p.clock.local(text)
	if err != nil {
		return time.Time{}, inField(err, field)
	}
	return instant(unix), nil
}

// inField sets the name of the field with the bad time in an error.
func inField(err error, field string) error {
	bad, ok := err.(*collector.LineError) //nolint:errorlint // the clock returns it unwrapped
	if !ok {
		return err
	}
	reason := bad.Reason
	if reason == collector.ReasonFormat {
		reason = collector.ReasonField
	}
	return &collector.LineError{Reason: reason, Field: field, Err: bad.Err}
}

// tresCount returns the number of one kind in a list like "cpu=4,mem=2000M,node=2,billing=4"; 0 if the list lacks it.
func tresCount(tres []byte, kind string) int64 {
	for len(tres) > 0 {
		var one []byte
		one, tres, _ = bytes.Cut(tres, []byte(","))
		name, value, _ := bytes.Cut(one, []byte("="))
		if string(name) != kind {
			continue
		}
		if n, ok := logtext.Digits(value); ok {
			return n
		}
		n, err := strconv.ParseFloat(string(value), 64) // fails for a count that Slurm shortened, such as 100K
		if err == nil && n >= 1 && n < maxProcs {
			return int64(n)
		}
	}
	return 0
}
