package lsf

import (
	"cmp"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
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
	statStarted  = 0x04 | 0x08 | 0x10 // RUN, SSUSP, USUSP
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
	base, elements := splitName(s.str("jobName"))
	a.Name = string(base)
	sound := s.err == nil
	s.skip("command", "s")
	if sound && s.cut && elements == nil { // a line break in the command; what a single job needs stands before it
		s.err = nil
	}
	index, killed := p.finishTail(&a)
	several := index == wholeArray
	if several {
		index = 0
	}
	if several && start > 0 {
		return collector.Bad(collector.ReasonField, "idx", "%d stands for elements that never started, "+
			"but the record has the startTime %d", wholeArray, start)
	}
	id, err := p.id(number, index)
	if err != nil {
		return err
	}
	// A job never starts with fewer processors than it requested. But some launchers of parallel jobs leave a shorter
	// list of hosts, whose length is then not the number of processors.
	if given < asked || start <= 0 {
		given = asked
	}
	if err := p.checkProcs("numProcessors", given); err != nil {
		return err
	}
	a.Procs, a.Nodes = int(given), nodes
	if !several {
		return p.finished(id, a, submit, start)
	}
	each(number, killed, func(id string) { err = cmp.Or(err, p.finished(id, a, submit, 0)) })
	return err
}

// wholeArray is the idx of a record about several elements of an array, which its index ranges name.
const wholeArray = -1

// finishTail reads the fields after the command. It returns idx, and the index ranges of a record about several
// elements.
func (p *parser) finishTail(a *job.Attributes) (index int64, killed []indexRange) {
	s := &p.scan
	if s.cut {
		return 0, nil
	}
	s.skip("lsfRusage", "nnnnnnnnnnnnnnnnnnn")
	s.skip("mailUser", "s")
	a.Account = p.project(s.str("projectName"))
	s.skip("maxNumProcessors", "nn") // exitStatus maxNumProcessors
	s.skipStrings("loginShell")      // loginShell timeEvent
	index = s.int("idx")
	if s.err == nil {
		a.TimeLimit, killed = p.newerFields()
		s.err = nil // older versions lack some or all of them
	}
	return index, killed
}

// newerFields reads the fields after idx up to the last that is used. Each version adds some.
func (p *parser) newerFields() (run time.Duration, killed []indexRange) {
	s := &p.scan
	// Skipped: maxRMem maxRSwap inFileSpool commandSpool rsvId sla exceptMask additionalInfo exitInfo
	// warningAction warningTimePeriod chargedSAAP licenseProject app postExecCmd runtimeEstimation jobGroupName
	// requeueEvalues options2 resizeNotifyCmd lastResizeTime rsvId jobDescription
	s.skip("", "nnssssnsnsnssssnssnsnss")
	s.skipLists("", "ns") // submitEXT: key value
	run = limit(s.runLimit())
	// Skipped: effectiveResReq srcCluster srcJobId dstCluster dstJobId forwardTime flow_id acJobWaitTime
	// totalProvisionTime outdir runTime subcwd
	s.skip("", "ssnsnnsnnsns")
	s.skipLists("", "sn")    // network: networkID num_window
	s.skip("", "snnnnn")     // affinity serial_job_energy cpi gips gbs gflops
	s.skipLists("", "s")     // allocSlots
	s.skip("", "n")          // ineligiblePendTime
	killed = s.indexRanges() // those of a single job are empty
	if s.err != nil {
		return run, nil
	}
	return run, killed
}

// runLimit reads the usage of the execution hosts and the fields runLimit, options3 and avgMem, up to the string after
// them. IBM's page of lsb.acct has four numbers a host, the names in quotes, and options3 before runLimit. LSF 9.1 to
// 10.1 write five numbers and names without quotes, so that only the end of this part is sure.
func (s *scanner) runLimit() int64 {
	names := s.int("numHostRusage")
	if !s.isString() {
		names = 0
	}
	var last [3][]byte
	for s.err == nil && (names > 0 || !s.isString()) {
		if s.isString() {
			s.skip("hostRusage", "s")
			names--
			continue
		}
		last = [3][]byte{last[1], last[2], s.word("avgMem", "a number")}
	}
	seconds, _ := logtext.Integer(last[0])
	if s.err != nil {
		return 0
	}
	return seconds
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
