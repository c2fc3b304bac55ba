package lsf

import (
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// eventsHandler returns the handler of a record type of lsb.events. It returns nil for a known type without events.
// lsb.stream has most of these types too.
func eventsHandler(kind []byte) (read func(*parser) error, known bool, err error) {
	switch string(kind) {
	case "JOB_NEW":
		return (*parser).jobNew, true, nil
	case "JOB_MODIFY": // written by old versions, laid out as JOB_NEW
		return (*parser).jobModify, true, nil
	case "JOB_MODIFY2":
		return (*parser).jobModify2, true, nil
	case "JOB_START", "PRE_EXEC_START":
		return (*parser).jobStart, true, nil
	case "JOB_STATUS":
		return (*parser).jobStatus, true, nil
	case "JOB_REQUEUE":
		return (*parser).jobRequeue, true, nil
	case "JOB_SWITCH":
		return (*parser).jobSwitch, true, nil
	case "JOB_SWITCH2":
		return (*parser).jobSwitch2, true, nil
	case "JOB_FORWARD":
		return (*parser).jobForward, true, nil
	case "JOB_FINISH":
		return (*parser).jobFinish, true, nil
	case "JOB_FINISH2":
		return (*parser).jobFinish2, true, nil
	case "JOB_STATUS2":
		return (*parser).jobStatus2, true, nil
	}
	return nil, silent(kind), nil
}

// silent reports whether a type of record is ignored, because its records are not about jobs, or because other records
// report the same.
func silent(kind []byte) bool {
	switch string(kind) {
	// JOB_START reports the start.
	case "JOB_START_ACCEPT", "JOB_EXECUTE", "JOB_FORCE", "JOB_CHUNK", "JOB_PROV_HOST",
		// JOB_STATUS reports the result.
		"JOB_SIGNAL", "JOB_SIGACT", "MIG", "CHKPNT", "JOB_CHKPNT", "UNFULFILL", "SBD_JOB_STATUS",
		"SBD_UNREPORTED_STATUS",
		"JOB_MOVE", "JOB_CLEAN", "JOB_EXCEPTION", "JOB_EXT_MSG", "JOB_ATTA_DATA", "JOB_ATTR_SET", "JOB_MSG",
		"JOB_MSG_ACK", "JOB_ACCEPT", "JOB_ACCEPTACK", "JOB_OCCUPY_REQ", "JOB_VACATED", "JOB_RUN_RUSAGE",
		"JOB_STARTLIMIT", "JOB_PENDING_REASONS", "JOB_FANOUT_INFO", "JOB_PROVISION_START", "JOB_PROVISION_END",
		"JOB_RESIZE_NOTIFY_START", "JOB_RESIZE_NOTIFY_ACCEPT", "JOB_RESIZE_NOTIFY_DONE", "JOB_RESIZE_RELEASE",
		"JOB_RESIZE_CANCEL", "JOB_RESIZE",
		"QUEUE_CTRL", "HOST_CTRL", "HGHOST_CTRL", "MBD_START", "MBD_DIE", "LOAD_INDEX", "LOG_SWITCH", "GRP_ADD",
		"GRP_MOD", "HOST_POWER_STATUS",
		"CAL_NEW", "CAL_MODIFY", "CAL_DELETE", "CAL_UNDELETE", "EVENT_ADRSV_FINISH", "ADRSV_FINISH", "SLA_RECOMPUTE",
		"METRIC_LOG", "PERFMON", "EOS":
		return true
	}
	return false
}

// submission has the fields of JOB_NEW.
type submission struct {
	attributes    job.Attributes
	number        int64
	submit, begin int64
	ranges        []indexRange
	held          bool
}

// runLimit is the index of the run limit among the 11 or 12 limits of JOB_NEW and JOB_MODIFY2 (LSF_RLIMIT_RUN of
// lsf.h). The run limit is in seconds.
const runLimit = 9

// rLimits reads the limits: all numbers up to the next string. It returns the run limit.
func (p *parser) rLimits() time.Duration {
	s := &p.scan
	var run int64
	n := 0
	for ; s.err == nil && !s.isString(); n++ {
		if value := s.int("rLimits"); n == runLimit {
			run = value
		}
	}
	if n <= runLimit {
		s.fail("rLimits", "11 limits")
	}
	return limit(run)
}

// These are flags of a submission (SUB_* and SUB2_* of lsbatch.h), and a bound for numProcessors in JOB_MODIFY2.
const (
	subJobName  = 0x01
	subQueue    = 0x02
	subHost     = 0x04
	subResReq   = 0x40000
	sub2Hold    = 0x01
	defaultProc = 1<<31 - 2 // no size from here on: INFINIT_INT - 1 means "unchanged", INFINIT_INT "the default"
)

// submission reads a record laid out as JOB_NEW.
func (p *parser) submission() (sub submission, err error) {
	s := &p.scan
	sub.number = s.int("jobId")
	s.skip("options", "nn") // userId options
	procs := s.int("numProcessors")
	sub.submit = s.int("submitTime")
	sub.begin = s.int("beginTime")
	s.skip("restartPid", "nnnn") // termTime sigValue chkpntPeriod restartPid
	a := &sub.attributes
	a.User = p.names.Of(s.str("userName"))
	a.TimeLimit = p.rLimits()
	s.skip("umask", "snn") // hostSpec hostFactor umask
	a.Queue = p.names.Of(s.str("queue"))
	s.skip("jobFile", "sssssssss") // resReq fromHost cwd chkpntDir inFile outFile errFile subHomeDir jobFile
	s.skipLists("numAskedHosts", "s")
	s.skip("preExecCmd", "ss") // dependCond preExecCmd
	base, ranges := splitName(s.str("jobName"))
	if s.err != nil {
		return sub, s.err
	}
	a.Name, sub.ranges = string(base), ranges
	if sub.number <= 0 {
		return sub, collector.Bad(collector.ReasonField, "jobId", "not a job number: %d", sub.number)
	}
	if err := p.checkProcs("numProcessors", procs); err != nil {
		return sub, err
	}
	a.Procs = int(procs)
	if err := checkTime("submitTime", sub.submit); err != nil {
		return sub, err
	}
	p.submissionTail(&sub)
	if s.cut { // a command with line breaks cut the record off; all used fields stand before it
		return sub, nil
	}
	return sub, s.err
}

// submissionTail reads the fields after the job's name.
func (p *parser) submissionTail(sub *submission) {
	s := &p.scan
	s.skip("command", "s")
	s.skipLists("nxf", "ssn")
	s.skip("mailUser", "s")
	sub.attributes.Account = p.project(s.str("projectName"))
	for s.err == nil && !s.isString() { // niosPort, which only interactive jobs have, and maxNumProcessors
		s.int("maxNumProcessors")
	}
	s.skipStrings("loginShell") // schedHostType loginShell, and from LSF 6 on timeEvent userGroup exceptList
	sub.held = s.int("options2")&sub2Hold != 0
	s.int("idx")
}

// jobNew reads a JOB_NEW record. The elements of an array wait as one job with a count.
func (p *parser) jobNew() error {
	sub, err := p.submission()
	if err != nil {
		return err
	}
	id := jobID(sub.number, 0)
	ev := p.event(job.Submit, id)
	ev.Attributes, ev.Tasks = sub.attributes, count(sub.ranges)
	ev.Times.Submit = optionalTime(sub.submit)
	if sub.begin > sub.submit { // -b of bsub: the earliest start
		ev.Times.Eligible = optionalTime(sub.begin)
	}
	p.emit(ev)
	if sub.held {
		hold := p.event(job.Hold, id)
		hold.Times = ev.Times
		p.emit(hold)
	}
	return nil
}

// jobModify reads a JOB_MODIFY record.
func (p *parser) jobModify() error {
	sub, err := p.submission()
	if err != nil {
		return err
	}
	ev := p.event(job.Update, jobID(sub.number, 0))
	ev.Attributes = sub.attributes
	p.emit(ev)
	return nil
}

// jobModify2 reads a JOB_MODIFY2 record. Many of its fields are there only if a flag is set.
func (p *parser) jobModify2() error {
	s := &p.scan
	id := s.str("jobIdStr")
	options := s.int("options")
	for s.err == nil && !s.isString() { // options2 delOptions [delOptions2] userId
		s.int("userId")
	}
	s.skip("userName", "s")
	s.skip("umask", "nn") // submitTime umask
	procs := s.int("numProcessors")
	s.skip("restartPid", "nnnn") // beginTime termTime sigValue restartPid
	ev := p.event(job.Update, "")
	a := &ev.Attributes
	if options&subJobName != 0 {
		base, _ := splitName(s.str("jobName"))
		a.Name = string(base)
	}
	if options&subQueue != 0 {
		a.Queue = p.names.Of(s.str("queue"))
	}
	if options&subHost != 0 {
		s.skipLists("numAskedHosts", "s")
	}
	if options&subResReq != 0 {
		s.skip("resReq", "s")
	}
	a.TimeLimit = p.rLimits()
	if s.err != nil {
		return s.err
	}
	if procs > 0 && procs < defaultProc {
		if err := p.checkProcs("numProcessors", procs); err != nil {
			return err
		}
		a.Procs = int(procs)
	}
	base, ranges := splitName(id)
	number, ok := logtext.Integer(base)
	if !ok || number <= 0 {
		return collector.Bad(collector.ReasonField, "jobIdStr", "not a job number: %q", shorten(id))
	}
	if *a == (job.Attributes{}) {
		return nil
	}
	each(number, ranges, func(id string) {
		ev.ID = id
		p.emit(ev)
	})
	return nil
}

// jobStart reads a JOB_START record, which is written when the job is dispatched. A PRE_EXEC_START record has the
// same fields.
func (p *parser) jobStart() error {
	s := &p.scan
	number := s.int("jobId")
	s.skip("hostFactor", "nnnn") // jStatus jobPid jobPGid hostFactor
	procs, nodes := p.hostList("numExHosts")
	s.skip("queuePostCmd", "ss") // queuePreCmd queuePostCmd
	s.int("jFlags")
	s.skipStrings("userGroup")
	id, err := p.id(number, s.int("idx"))
	if err != nil {
		return err
	}
	if err := p.checkProcs("numExHosts", procs); err != nil {
		return err
	}
	ev := p.event(job.Start, id)
	ev.Procs, ev.Nodes = int(procs), nodes
	ev.Times.Start = ev.Time
	p.emit(ev)
	return nil
}

// jobStatus reads a JOB_STATUS record. It uses only states in which the job has no processors, because the job may
// have just given them back.
func (p *parser) jobStatus() error {
	s := &p.scan
	number := s.int("jobId")
	status := s.int("jStatus")
	s.skip("cpuTime", "nnn") // reason subreasons cpuTime
	end := s.int("endTime")
	if usage := s.int("ru"); usage != 0 {
		s.skip("lsfRusage", "nnnnnnnnnnnnnnnnnnn")
	}
	s.int("exitStatus")
	index := s.int("idx")
	if index == wholeArray { // a kill of elements that wait
		index = 0
	}
	id, err := p.id(number, index)
	if err != nil {
		return err
	}
	switch {
	case status > 0 && status&statFinished != 0:
		if end > 0 {
			if err := checkTime("endTime", end); err != nil {
				return err
			}
			p.at = end
		}
		ev := p.event(job.End, id) // the fold takes the end of a job that never started as a cancellation
		ev.Times.End = ev.Time
		p.emit(ev)
	case status == statPend:
		p.emit(p.event(job.Requeue, id))
		p.emit(p.event(job.Release, id))
	case status == statPsusp:
		p.emit(p.event(job.Requeue, id))
		p.emit(p.event(job.Hold, id))
	}
	return nil
}

// jobRequeue reads a JOB_REQUEUE record.
func (p *parser) jobRequeue() error {
	s := &p.scan
	number := s.int("jobId")
	id, err := p.id(number, s.int("idx"))
	if err != nil {
		return err
	}
	p.emit(p.event(job.Requeue, id))
	return nil
}

// jobSwitch reads a JOB_SWITCH record.
func (p *parser) jobSwitch() error {
	s := &p.scan
	s.int("userId")
	number := s.int("jobId")
	queue := p.names.Of(s.str("queue"))
	id, err := p.id(number, s.int("idx"))
	if err != nil {
		return err
	}
	ev := p.event(job.Update, id)
	ev.Queue = queue
	p.emit(ev)
	return nil
}

// jobSwitch2 reads a JOB_SWITCH2 record, which moves a job or elements of an array to another queue.
func (p *parser) jobSwitch2() error {
	s := &p.scan
	s.int("userId")
	number := s.int("jobId")
	ev := p.event(job.Update, "")
	ev.Queue = p.names.Of(s.str("queue"))
	s.skip("userName", "s")
	ranges := s.indexRanges()
	if _, err := p.id(number, 0); err != nil {
		return err
	}
	each(number, ranges, func(id string) {
		ev.ID = id
		p.emit(ev)
	})
	return nil
}

// jobForward reads a JOB_FORWARD record: the job now waits in the queue of another cluster, so here it counts as held.
func (p *parser) jobForward() error {
	s := &p.scan
	number := s.int("jobId")
	s.int("numReserHosts")
	s.skipStrings("cluster") // cluster and reserHosts
	id, err := p.id(number, s.int("idx"))
	if err != nil {
		return err
	}
	p.emit(p.event(job.Hold, id))
	return nil
}
