package lsf

import (
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// streamRecord has the used fields of JOB_FINISH2 and JOB_STATUS2, two records that only lsb.stream has. After the
// job's number they are pairs of a name and a value; a list repeats its name. Source: records of LSF 10.1 in comments
// of a public program that reads lsb.stream (PlatformLog.java, 2019), and the structures jobFinish2Log and
// jobStatus2Log of lsbatch.h, which IBM's Python API declares.
type streamRecord struct {
	attributes         job.Attributes
	number, index      int64
	submit, start, end int64
	status             int64
	asked, slots       int64
	wholeName          bool // the name is that of an array
}

// elementShift is the position of an element's index in a job number of 64 bits (LSB_JOBID of lsbatch.h).
const elementShift = 32

func (p *parser) streamRecord() (r streamRecord, err error) {
	s := &p.scan
	defer p.forgetHosts()
	if r.number = s.int("jobId"); r.number > 0 {
		r.number, r.index = r.number&(1<<elementShift-1), r.number>>elementShift
	}
	for s.err == nil && len(s.rest) > 0 && !s.isString() {
		s.int("number of pairs")
	}
	for s.isString() {
		p.pair(&r)
	}
	if s.err != nil && !s.cut { // of a record that a line break has cut in two, the pairs before it count
		return r, s.err
	}
	s.err = nil
	r.attributes.Procs, r.attributes.Nodes = int(min(max(r.asked, r.slots), maxCount)), len(p.hosts)
	return r, nil
}

// pair reads a name and its value.
func (p *parser) pair(r *streamRecord) {
	s := &p.scan
	key := s.str("pair")
	value := s.value("pair")
	if s.err != nil {
		return
	}
	a := &r.attributes
	switch string(key) {
	case "userName":
		a.User = p.names.Of(value)
	case "queue":
		a.Queue = p.names.Of(value)
	case "projectName":
		a.Account = p.project(value)
	case "jobName":
		base, elements := splitName(value)
		a.Name, r.wholeName = string(base), elements != nil
	case "execHosts":
		p.addHost(value)
	case "idx", "numProcessors", "runLimit", "jStatus", "submitTime", "startTime", "endTime", "slotUsages":
		n, ok := logtext.Integer(value)
		if !ok {
			s.err = collector.Bad(collector.ReasonField, string(key), "want a whole number, got %q", shorten(value))
			return
		}
		r.setNumber(string(key), n)
	}
}

func (r *streamRecord) setNumber(key string, n int64) {
	switch key {
	case "idx":
		r.index = n
	case "numProcessors":
		r.asked = n
	case "runLimit":
		r.attributes.TimeLimit = limit(n)
	case "jStatus":
		r.status = n
	case "submitTime":
		r.submit = n
	case "startTime":
		r.start = n
	case "endTime":
		r.end = n
	case "slotUsages":
		r.slots = min(r.slots+max(0, n), maxCount)
	}
}

// jobFinish2 reads a JOB_FINISH2 record, which repeats JOB_FINISH in another form.
func (p *parser) jobFinish2() error {
	r, err := p.streamRecord()
	if err != nil {
		return err
	}
	if r.wholeName && r.index <= 0 && r.start > 0 {
		return collector.Bad(collector.ReasonField, "idx", "missing: the record names an array, not its element")
	}
	id, err := p.id(r.number, max(r.index, 0))
	if err != nil {
		return err
	}
	if r.end > 0 {
		if err := checkTime("endTime", r.end); err != nil {
			return err
		}
		p.at = r.end
	}
	if err := p.checkProcs("numProcessors", int64(r.attributes.Procs)); err != nil {
		return err
	}
	return p.finished(id, r.attributes, r.submit, r.start)
}

// jobStatus2 reads a JOB_STATUS2 record, a sample of a job's state. Of a cluster whose lsb.stream has no JOB_START it
// is the first to report a start. Samples that count the waiting jobs of a queue have no job number.
func (p *parser) jobStatus2() error {
	r, err := p.streamRecord()
	if err != nil {
		return err
	}
	if r.number <= 0 || r.start <= 0 || r.status <= 0 || r.status&statStarted == 0 || r.wholeName && r.index <= 0 {
		return nil
	}
	id, err := p.id(r.number, max(r.index, 0))
	if err != nil {
		return err
	}
	if err := checkTime("startTime", r.start); err != nil {
		return err
	}
	p.at = r.start
	ev := p.event(job.Start, id)
	ev.Times.Submit, ev.Times.Start = optionalTime(r.submit), ev.Time
	if r.attributes.Procs > 0 {
		if err := p.checkProcs("numProcessors", int64(r.attributes.Procs)); err != nil {
			return err
		}
		ev.Procs, ev.Nodes = r.attributes.Procs, r.attributes.Nodes
	}
	p.emit(ev)
	return nil
}
