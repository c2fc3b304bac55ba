package lsf

import (
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// acctHandler returns the handler of a record type of lsb.acct.
func acctHandler(kind []byte) (read func(*parser) error, known bool, err error) {
	switch string(kind) {
	case "JOB_FINISH":
		return (*parser).jobFinish, true, nil
	case "EVENT_ADRSV_FINISH", "JOB_RESIZE": // the end of a reservation; a new size, which JOB_FINISH has too
		return nil, true, nil
	}
	if _, known, _ := eventsHandler(kind); known {
		return nil, false, collector.Bad(collector.ReasonFormat, "type", "%s is a record of lsb.events: use format %s",
			kind, EventsName)
	}
	return nil, false, nil
}

// These are job states (JOB_STAT_* of lsbatch.h). A finished job has DONE or EXIT, possibly combined with a state of
// its post-execution.
const (
	statPend     = 0x01
	statPsusp    = 0x02
	statExit     = 0x20
	statDone     = 0x40
	statFinished = statExit | statDone
)

// jobFinish reads a JOB_FINISH record.
func (p *parser) jobFinish() error {
	s := &p.scan
	number := s.int("jobId")
	s.skip("options", "nn") // userId options
	asked := s.int("numProcessors")
	submit := s.int("submitTime")
	s.skip("termTime", "nn") // beginTime termTime
	start := s.int("startTime")
	a := job.Attributes{User: p.names.Of(s.str("userName")), Queue: p.names.Of(s.str("queue"))}
	s.skip("jobFile", "sssssssss") // resReq dependCond preExecCmd fromHost cwd inFile outFile errFile jobFile
	s.skipLists("numAskedHosts", "s")
	given, nodes := p.hostList("numExHosts")
	s.int("jStatus")
	s.skip("hostFactor", "n")
	name := s.str("jobName")
	s.skip("command", "s")
	s.skip("lsfRusage", "nnnnnnnnnnnnnnnnnnn")
	s.skip("mailUser", "s")
	a.Account = p.project(s.str("projectName"))
	s.skip("maxNumProcessors", "nn") // exitStatus maxNumProcessors
	s.skipStrings("loginShell")      // loginShell timeEvent
	index := s.int("idx")
	id, err := p.id(number, index)
	if err != nil {
		return err
	}
	base, _ := splitName(name)
	a.Name, a.Nodes, a.TimeLimit = string(base), nodes, p.finishLimit()
	ran := start > 0
	// A job never starts with fewer processors than it requested. But some launchers of parallel jobs leave a shorter
	// list of hosts, whose length is then not the number of processors.
	if given < asked || !ran {
		given = asked
	}
	if err := p.checkProcs("numProcessors", given); err != nil {
		return err
	}
	a.Procs = int(given)
	return p.finished(id, a, submit, start)
}

// finishLimit reads the run limit, which versions from 9.1 on write after the older fields; 0 if it is missing.
func (p *parser) finishLimit() time.Duration {
	s := &p.scan
	// Skipped: maxRMem maxRSwap inFileSpool commandSpool rsvId sla exceptMask additionalInfo exitInfo
	s.skip("", "nnssssnsnsnssssnssnsnss")
	// Skipped: warningAction warningTimePeriod chargedSAAP licenseProject app postExecCmd runtimeEstimation
	// jobGroupName requeueEvalues options2 resizeNotifyCmd lastResizeTime rsvId jobDescription
	s.skipLists("", "ns")    // submitEXT: key value
	s.skipLists("", "snnnn") // hostRusage: hostname mem swap utime stime
	s.skip("", "n")          // options3
	seconds := s.int("runLimit")
	if s.err != nil {
		return 0
	}
	return limit(seconds)
}

func (p *parser) finished(id string, a job.Attributes, submit, start int64) error {
	if err := checkTime("submitTime", submit); err != nil {
		return err
	}
	ev := p.event(job.End, id)
	ev.Attributes = a
	ev.Times.Submit = optionalTime(submit)
	if start <= 0 { // the job left the queue without a start
		ev.Kind = job.Cancel
		p.emit(ev)
		return nil
	}
	if err := checkTime("startTime", start); err != nil {
		return err
	}
	if start < submit {
		return collector.Bad(collector.ReasonTime, "startTime", "%d is before the submitTime %d", start, submit)
	}
	if p.at < start {
		return collector.Bad(collector.ReasonTime, "event time", "%d is before the startTime %d", p.at, start)
	}
	ev.Times.Start, ev.Times.End = optionalTime(start), ev.Time
	p.emit(ev)
	return nil
}
