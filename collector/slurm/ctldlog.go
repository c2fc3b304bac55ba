package slurm

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// LogName is the name of the format of the controller's log in the configuration.
const LogName = "slurm-log"

// Log returns the format of slurmctld's log at level info (SlurmctldLogFile in slurm.conf). It reads every
// LogTimeFormat that has the time of day. It also reads the same messages in syslog and in journalctl's output. A time
// without a year (short, thread_id, RFC 3164) gets the latest year in which it is at most a day after now(). If now is
// nil, the wall clock is used.
func Log(now func() time.Time) collector.Format {
	if now == nil {
		now = time.Now
	}
	return collector.Format{Name: LogName, Order: collector.Live, InTurn: true,
		New: func(o collector.Options) collector.Parser { return &logParser{common: newCommon(o), now: now} }}
}

// logParser reads one source. From earlier lines it keeps the version of slurmctld, and the job that _job_complete has
// just requeued or that its user gave up: the "done" that follows in the same call ends that attempt, not the job, or
// ends a job that may have waited.
type logParser struct {
	common
	now      func() time.Time
	requeued string
	givenUp  string
	version  string // version of the slurmctld that writes the log
	header   int    // number of lines read to find the version
	emit     func(job.Event)
}

// ReadAt implements collector.Dated.
func (p *logParser) ReadAt(now time.Time) { p.clock.day.Near(now) }

// After implements collector.Dated.
func (p *logParser) After(newest time.Time) { p.clock.day.After(newest) }

// Parse implements collector.Parser.
func (p *logParser) Parse(line []byte, emit func(job.Event)) error {
	line = logtext.Trim(line)
	if len(line) == 0 {
		return nil
	}
	at, msg, err := p.stamp(line)
	if err != nil {
		return err
	}
	p.emit = emit
	if rest, ok := bytes.CutPrefix(msg, []byte("_slurm_rpc_suspend(")); ok {
		p.suspended(at, rest)
	} else if bytes.Contains(msg, []byte("JobId=")) {
		err = p.message(at, msg)
	} else {
		p.daemonStarted(msg)
	}
	p.emit = nil
	return err
}

// suspended reads the rest of a message such as "suspend) for 9_1 usec=384". The id of the job has the form in which
// the user typed it. If the command failed, the reason replaces the duration. If the user typed only the number of an
// array, the command suspends all running tasks of the array. But the message has only that number, so only the task
// whose own id is that number gets an event.
func (p *logParser) suspended(at time.Time, rest []byte) {
	what, rest, _ := bytes.Cut(rest, []byte(") for "))
	if !bytes.HasPrefix(rest, []byte("JobId=")) {
		rest = append([]byte("JobId="), rest...)
	}
	id, rest, ok := cutJob(rest)
	if !ok || !bytes.HasPrefix(rest, []byte(" usec=")) {
		return
	}
	switch string(what) {
	case "suspend":
		p.emit(p.event(job.Suspend, at, id))
	case "resume":
		p.emit(p.event(job.Resume, at, id))
	}
}

// daemonStarted reads "slurmctld version 22.05.8 started on cluster test".
func (p *logParser) daemonStarted(msg []byte) {
	if rest, ok := bytes.CutPrefix(msg, []byte(daemon+" version ")); ok {
		version, rest, _ := bytes.Cut(rest, []byte(" "))
		if bytes.HasPrefix(rest, []byte("started on cluster")) {
			p.version = string(shorten(version))
		}
	}
}

// Version returns the version of the slurmctld that wrote the lines so far, "" if unknown.
func (p *logParser) Version() string { return p.version }

// headerLines is the number of lines at the beginning of a file that are searched for the version of slurmctld.
const headerLines = 20

// Header implements collector.HeaderParser. A file that begins with the start of slurmctld contains its version.
func (p *logParser) Header(line []byte) bool {
	if p.header++; p.header > headerLines || p.version != "" {
		return false
	}
	if line = logtext.Trim(line); len(line) > 0 {
		if _, msg, err := p.stamp(line); err == nil {
			p.daemonStarted(msg)
		}
	}
	return p.version == ""
}

// message reads the text after the time. It returns an error for a message that begins like one about a job but
// continues in an unknown way, and for an unknown message of the scheduler ("sched: "). Other unknown messages are
// ignored.
func (p *logParser) message(at time.Time, msg []byte) error {
	msg, scheduler := bytes.CutPrefix(msg, []byte("sched: "))
	if !scheduler {
		msg, _ = bytes.CutPrefix(msg, []byte("sched/backfill: "))
	}
	if known, err := p.cannotStart(at, msg); known {
		return err
	}
	word, rest, _ := bytes.Cut(msg, []byte(" "))
	switch string(word) {
	case "_slurm_rpc_submit_batch_job:", "_slurm_rpc_submit_batch_het_job:", "_slurm_rpc_submit_batch_job":
		return p.submitted(at, msg, rest)
	case "_slurm_rpc_allocate_resources", "_slurm_rpc_allocate_resources:", "_slurm_rpc_allocate_het_job",
		"_slurm_rpc_allocate_het_job:":
		return p.allocatedAtOnce(at, msg, rest)
	case "Allocate":
		return p.allocated(at, msg, rest)
	case "_start_job:", "backfill:", "Started":
		return p.backfilled(at, msg)
	case "_job_complete:", "job_complete:":
		return p.completed(at, msg, rest)
	case "Requeuing":
		return p.simple(job.Requeue, at, msg, rest)
	case "requeue": // "requeue job JobId=1 due to failure of node n01"; "Requeuing" follows
		rest, _ = bytes.CutPrefix(rest, []byte("job "))
		return p.simple(job.Requeue, at, msg, rest)
	case "Killing":
		return p.killing(at, msg, rest)
	case "Time", "Reservation", "job_time_limit:", "error:", "Aborting":
		// "error: Aborting JobId=1 due to change in socket/core configuration of allocated nodes", at slurmctld's start
		if hasAnyPrefix(msg, "Time limit exhausted for ", "Reservation ended for ",
			"job_time_limit: inactivity time limit reached for ", "job_time_limit: Preemption GraceTime reached ",
			"error: Aborting JobId=", "Aborting JobId=") {
			return p.ended(at, msg, fromJob(msg))
		}
		return nil
	case "_slurm_rpc_kill_job:":
		return p.killed(at, msg, rest)
	case "_kill_dependent:":
		return p.simple(job.Cancel, at, msg, fromJob(rest))
	case "preempted":
		return p.preempted(at, msg, rest)
	case "slurm_job_preempt:", "_preempt_job_dequeue:": // the job could not be requeued
		if rest, ok := bytes.CutPrefix(rest, []byte("preempted ")); ok {
			return p.preempted(at, msg, rest)
		}
		return nil
	case "_release_job_rec:":
		return p.simple(job.Release, at, msg, fromJob(rest))
	case "_hold_job_rec:":
		return p.simple(job.Hold, at, msg, fromJob(rest))
	case "_update_job:", "update_job:":
		return p.updated(at, rest)
	}
	switch {
	case bytes.HasPrefix(word, []byte("JobId=")) && bytes.HasPrefix(rest, []byte("timed out, ")):
		// The job exceeds a limit of its QOS or association.
		return p.ended(at, msg, msg)
	case scheduler && !bytes.HasPrefix(word, []byte("_slurm_rpc_")):
		return p.errMessage(msg)
	}
	return nil
}

// UnknownError reports a line that begins like one about a job, but continues in an unknown way.
type UnknownError struct {
	// Version is the version of slurmctld that wrote the line, "" if unknown.
	Version string
	// Message is the beginning of the message.
	Message string
}

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("begins like a message about a job, but is not a known one: %q; report it, with the "+
		"version of Slurm (%s)",
		e.Message, cmp.Or(e.Version, "unknown from its log"))
}

func (p *logParser) errMessage(msg []byte) error {
	return &collector.LineError{Reason: collector.ReasonUnknown, Field: "message",
		Err: &UnknownError{Version: p.version, Message: string(msg[:min(len(msg), 120)])}}
}

// fromJob returns the part of the message from its first job on, nil if it names none.
func fromJob(msg []byte) []byte {
	if i := bytes.Index(msg, []byte("JobId=")); i >= 0 {
		return msg[i:]
	}
	return nil
}

// event returns an event of the job with the given kind and time.
func (p *logParser) event(kind job.Kind, at time.Time, id string) job.Event {
	ev := job.Event{Kind: kind, Cluster: p.options.Cluster, ID: id, Time: at}
	switch kind {
	case job.Submit:
		ev.Times.Submit = at
	case job.Start:
		ev.Times.Start = at
	case job.End:
		ev.Times.End = at
	}
	return ev
}

// simple emits an event without attributes for the job at the beginning of rest.
func (p *logParser) simple(kind job.Kind, at time.Time, msg, rest []byte) error {
	id, _, ok := cutJob(rest)
	if !ok {
		return p.errMessage(msg)
	}
	p.emit(p.event(kind, at, id))
	return nil
}

// ended emits the end of the job at the beginning of rest, which must have started before.
func (p *logParser) ended(at time.Time, msg, rest []byte) error {
	id, _, ok := cutJob(rest)
	if !ok {
		return p.errMessage(msg)
	}
	ev := p.event(job.End, at, id)
	ev.Ran = true
	p.emit(ev)
	return nil
}

// submitted reads "JobId=2 InitPrio=3019 usec=350". An array has one such line. So has a heterogeneous job, but without
// InitPrio. A job submitted held has priority 0.
func (p *logParser) submitted(at time.Time, msg, rest []byte) error {
	if !bytes.HasPrefix(rest, []byte("JobId=")) {
		return nil // the submission was refused, and its line has the job's name in quotes
	}
	id, rest, ok := cutJob(rest)
	if !ok {
		return p.errMessage(msg)
	}
	ev := p.event(job.Submit, at, id)
	value, told := valueOf(rest, "InitPrio=")
	if priority, ok := logtext.Digits(value); told && ok {
		ev.Priority = priority
	}
	p.emit(ev)
	if told && string(value) == "0" {
		p.emit(p.event(job.Hold, at, id))
	}
	return nil
}

// allocatedAtOnce reads "JobId=50 NodeList=n[01-02] usec=372": srun or salloc. Without nodes the job waits.
func (p *logParser) allocatedAtOnce(at time.Time, msg, rest []byte) error {
	if !bytes.HasPrefix(rest, []byte("JobId=")) {
		return nil
	}
	id, rest, ok := cutJob(rest)
	nodes, okNodes := valueOf(rest, "NodeList=")
	if !ok || !okNodes {
		return p.errMessage(msg)
	}
	p.emit(p.event(job.Submit, at, id))
	if n := countNodes(nodes); n > 0 {
		ev := p.event(job.Start, at, id)
		ev.Times.Submit, ev.Nodes, ev.NodeNames = at, n, namesOf(nodes, n)
		p.emit(ev)
	}
	return nil
}

// allocated reads "JobId=15 NodeList=n[03-04] #CPUs=4 Partition=short".
func (p *logParser) allocated(at time.Time, msg, rest []byte) error {
	id, rest, ok := cutJob(rest)
	nodes, okNodes := valueOf(rest, "NodeList=")
	procs, okProcs := valueOf(rest, "#CPUs=")
	queue, okQueue := valueOf(rest, "Partition=")
	if !ok || !okNodes || !okProcs || !okQueue {
		return p.errMessage(msg)
	}
	n, ok := logtext.Digits(procs)
	if !ok {
		return badNumber("#CPUs", procs)
	}
	if err := p.checkProcs("#CPUs", n, true); err != nil {
		return err
	}
	ev := p.event(job.Start, at, id)
	ev.Queue, ev.Procs, ev.Nodes = p.names.Of(queue), int(n), countNodes(nodes)
	ev.NodeNames = namesOf(nodes, ev.Nodes)
	p.emit(ev)
	return nil
}

// backfilled reads "_start_job: Started JobId=16 in short on n03", which older versions write as "backfill: Started
// JobId=..." and 26.05 only with DebugFlags=HetJob, as "_start_job: HETJOB: Started JobId=...". The message has no
// size.
func (p *logParser) backfilled(at time.Time, msg []byte) error {
	i := bytes.Index(msg, []byte("Started JobId="))
	if i < 0 {
		return p.errMessage(msg)
	}
	id, rest, ok := cutJob(msg[i+len("Started "):])
	rest, okIn := bytes.CutPrefix(rest, []byte(" in "))
	queue, nodes, okOn := bytes.Cut(rest, []byte(" on "))
	if !ok || !okIn || !okOn || len(queue) == 0 {
		return p.errMessage(msg)
	}
	ev := p.event(job.Start, at, id)
	ev.Queue, ev.Nodes = p.names.Of(queue), countNodes(nodes)
	ev.NodeNames = namesOf(nodes, ev.Nodes)
	p.emit(ev)
	return nil
}

// completed reads the lines of one call of _job_complete (job_mgr.c): how the job exited, perhaps that it was requeued,
// then "done". If the job had been requeued before the call, "done" is missing.
func (p *logParser) completed(at time.Time, msg, rest []byte) error {
	rest, requeue := bytes.CutPrefix(rest, []byte("requeue "))
	id, how, ok := cutJob(rest)
	if !ok {
		if bytes.HasPrefix(rest, []byte("invalid ")) { // slurmctld no longer knows the job
			return nil
		}
		return p.errMessage(msg)
	}
	switch {
	case requeue: // "per user/system request", "due to node failure"
		p.requeued = id
		p.emit(p.event(job.Requeue, at, id))
	case string(how) == " done":
		if p.requeued == id {
			p.requeued = ""
			return nil
		}
		ev := p.event(job.End, at, id)
		ev.Ran = p.givenUp != id
		p.givenUp = ""
		p.emit(ev)
	case hasAnyPrefix(how, " cancelled by interactive user"): // srun or salloc, which may have waited
		p.givenUp = id
	case hasAnyPrefix(how, " WEXITSTATUS ", " WTERMSIG ", " OOM failure", " cancelled by "):
	default:
		return p.errMessage(msg)
	}
	return nil
}

// cannotStart reads messages about waiting jobs that cannot start; known is false for other messages.
func (p *logParser) cannotStart(at time.Time, msg []byte) (known bool, err error) {
	switch {
	case bytes.HasSuffix(msg, []byte(" and cancelled")) && bytes.Contains(msg, []byte(" exceeded deadline ")):
		return true, p.simple(job.Cancel, at, msg, fromJob(msg)) // the function name before it differs by version
	case bytes.HasPrefix(msg, []byte("schedule: ")) && bytes.Contains(msg, []byte(" non-runnable: ")):
		return true, p.simple(job.Hold, at, msg, fromJob(msg)) // slurmctld keeps the job with priority 0
	case hasAnySuffix(msg, " current node constraints not satisfied", " has invalid account"):
		return true, nil
	case bytes.HasSuffix(msg, []byte(" as no epilogs failed")): // "Requeuing" follows
		return true, nil
	case bytes.HasPrefix(msg, []byte("_start_job: Failed to start JobId=")): // at verbose; the job goes on waiting
		return true, nil
	}
	return false, nil
}

// killing reads "JobId=17 on failed node n16", "on DOWN node", "on defunct partition". If only a step is killed in this
// way ("JobId=17 StepId=0 on failed node"), its job need not end, so there is no event. After "interactive JobId=17",
// "non-startable batch" and "orphan batch", slurmctld completes the job and logs that in another line.
func (p *logParser) killing(at time.Time, msg, rest []byte) error {
	if hasAnyPrefix(rest, "interactive JobId=", "non-startable batch JobId=", "orphan batch JobId=") {
		return nil
	}
	if _, after, ok := cutJob(rest); ok && bytes.HasPrefix(after, []byte(" StepId=")) {
		return nil
	}
	return p.ended(at, msg, rest)
}

func hasAnySuffix(b []byte, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if len(b) >= len(suffix) && string(b[len(b)-len(suffix):]) == suffix {
			return true
		}
	}
	return false
}

func hasAnyPrefix(b []byte, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix {
			return true
		}
	}
	return false
}

// killed reads "REQUEST_KILL_JOB JobId=5 uid 0". The id of the job has the form in which the user typed it: "5", "9_1",
// "9_[3-6]", "21+1". A number alone means the whole array or heterogeneous job.
func (p *logParser) killed(at time.Time, msg, rest []byte) error {
	rest, ok := bytes.CutPrefix(rest, []byte("REQUEST_KILL_JOB "))
	if !ok {
		if bytes.HasPrefix(rest, []byte("job_str_signal")) { // the reason of a refusal
			return nil
		}
		return p.errMessage(msg)
	}
	if tasks, ok := cutTasks(rest); ok {
		return tasks.each(func(id string) { p.emit(p.event(job.End, at, id)) })
	}
	id, after, ok := cutJob(rest)
	if !ok {
		return p.errMessage(msg)
	}
	ev := p.event(job.End, at, id)
	ev.All = string(rest[:len(rest)-len(after)]) == "JobId="+id
	p.emit(ev)
	return nil
}

// preempted reads "JobId=1 has been requeued to reclaim resources for JobId=2", "JobId=1 had to be killed".
func (p *logParser) preempted(at time.Time, msg, rest []byte) error {
	_, how, _ := cutJob(rest)
	switch {
	case bytes.HasPrefix(how, []byte(" has been requeued")):
		return p.simple(job.Requeue, at, msg, rest)
	case hasAnyPrefix(how, " has been killed", " had to be killed"):
		return p.ended(at, msg, rest)
	}
	return nil // suspended, checkpointed, or not preempted after all
}

// updated reads "setting time_limit to 2 for JobId=20". It uses only settings for which an event has a field, and the
// priority: 0 holds the job, another priority releases it.
func (p *logParser) updated(at time.Time, rest []byte) error {
	rest, ok := bytes.CutPrefix(rest, []byte("setting "))
	what, rest, okTo := bytes.Cut(rest, []byte(" to "))
	value, rest, okFor := bytes.Cut(rest, []byte(" for "))
	if !ok || !okTo || !okFor {
		return nil
	}
	id, _, ok := cutJob(rest)
	if !ok {
		return nil
	}
	ev := p.event(job.Update, at, id)
	switch string(what) {
	case "time_limit":
		limit, err := minutes("time_limit", value)
		if err != nil {
			return err
		}
		ev.TimeLimit = limit
	case "partition":
		queue, _, _ := bytes.Cut(value, []byte(","))
		ev.Queue = p.names.Of(queue)
	case "QOS":
		ev.QOS = p.names.Of(value)
	case "account":
		ev.Account = p.names.Of(value)
	case "priority":
		ev.Kind = job.Release
		if string(value) == "0" {
			ev.Kind = job.Hold
		}
		p.emit(ev)
		return nil
	}
	if ev.Attributes != (job.Attributes{}) {
		p.emit(ev)
	}
	return nil
}

// valueOf returns the rest of the word that begins with a key such as "NodeList=". It returns false if the message
// lacks the key, if the first place of the key is inside a word, or if the value is empty.
func valueOf(msg []byte, key string) ([]byte, bool) {
	i := bytes.Index(msg, []byte(key))
	if i < 0 || i > 0 && msg[i-1] != ' ' {
		return nil, false
	}
	value := msg[i+len(key):]
	if end := bytes.IndexByte(value, ' '); end >= 0 {
		value = value[:end]
	}
	return value, len(value) > 0
}
