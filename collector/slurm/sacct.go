package slurm

import (
	"bytes"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// SacctName is how the configuration names the format of accounting dumps.
const SacctName = "slurm-sacct"

// SacctColumns is what to ask sacct for (--format). A dump without a header line is taken to have these columns. The
// name comes last, since sacct does not escape what stands in it.
const SacctColumns = "Submit,JobIDRaw,JobID,User,Account,Partition,QOS,State,Eligible,Start,End,TimelimitRaw,ReqCPUS," +
	"AllocCPUS,ReqNodes,NNodes,NodeList,JobName"

// Sacct returns the format of what sacct -P prints, one line for each job or try of a job, in the order of submission
// if it was sorted by Submit.
func Sacct() collector.Format {
	return collector.Format{Name: SacctName, Order: collector.BySubmit,
		New: func(o collector.Options) collector.Parser {
			p := &sacctParser{common: newCommon(o)}
			_ = p.setColumns([]byte(strings.ReplaceAll(SacctColumns, ",", "|"))) // it is complete
			return p
		}}
}

// ReadAt implements collector.Dated: a dump has the same meaning whenever it is read.
func (p *sacctParser) ReadAt(time.Time) {}

// After implements collector.Dated. Rows are in the order of submission, and nothing happens to a job before that.
func (p *sacctParser) After(newest time.Time) { p.clock.day.After(newest) }

// column is one of the columns that are used.
type column uint8

const (
	other column = iota
	jobIDRaw
	jobID
	jobName
	user
	account
	partition
	qos
	state
	submit
	eligible
	start
	end
	timelimitRaw
	timelimit
	reqCPUs
	allocCPUs
	nCPUs
	reqNodes
	nNodes
	nodeList
	columns // how many there are
)

// columnOf knows the columns by their names in a header line, sacct(1).
func columnOf(name []byte) column {
	switch strings.ToLower(string(name)) {
	case "jobidraw":
		return jobIDRaw
	case "jobid":
		return jobID
	case "jobname":
		return jobName
	case "user":
		return user
	case "account":
		return account
	case "partition":
		return partition
	case "qos":
		return qos
	case "state":
		return state
	case "submit":
		return submit
	case "eligible":
		return eligible
	case "start":
		return start
	case "end":
		return end
	case "timelimitraw":
		return timelimitRaw
	case "timelimit":
		return timelimit
	case "reqcpus":
		return reqCPUs
	case "alloccpus":
		return allocCPUs
	case "ncpus":
		return nCPUs
	case "reqnodes":
		return reqNodes
	case "nnodes", "allocnodes":
		return nNodes
	case "nodelist":
		return nodeList
	}
	return other
}

// sacctParser reads one dump. Of earlier lines it keeps the header, and a row of which the end is still to come: sacct
// does not escape a line end in a job's name.
type sacctParser struct {
	common
	layout  []column
	nameAt  int // the place of the job's name in the layout, -1 for none
	fields  [columns][]byte
	pending []byte
}

var _ collector.HeaderParser = (*sacctParser)(nil)

// Header implements collector.HeaderParser.
func (p *sacctParser) Header(line []byte) bool {
	line = logtext.TrimEnd(line)
	if !isHeader(line) {
		return false
	}
	_ = p.setColumns(line) // Parse reports a header that is of no use
	return true
}

// isHeader recognizes a header line: most of its words are names of columns. A row mostly begins with a digit.
func isHeader(line []byte) bool {
	if len(line) == 0 || isDigit(line[0]) {
		return false
	}
	known := 0
	for word := range bytes.SplitSeq(line, []byte("|")) {
		if columnOf(word) != other {
			known++
		}
	}
	return known >= 2 && 2*known > bytes.Count(line, []byte("|"))
}

// setColumns takes over the header's columns. Where each line ends with a "|" (sacct -p), the last one is empty.
func (p *sacctParser) setColumns(line []byte) error {
	var seen [columns]bool
	p.layout, p.nameAt = p.layout[:0], -1
	for word := range bytes.SplitSeq(line, []byte("|")) {
		c := columnOf(word)
		if c == jobName {
			p.nameAt = len(p.layout)
		}
		seen[c] = true
		p.layout = append(p.layout, c)
	}
	needed := [...]struct {
		name string
		ok   bool
	}{
		{"JobID or JobIDRaw", seen[jobID] || seen[jobIDRaw]}, {"State", seen[state]}, {"Submit", seen[submit]},
		{"Start", seen[start]}, {"End", seen[end]},
		{"AllocCPUS, NCPUS or ReqCPUS", seen[allocCPUs] || seen[nCPUs] || seen[reqCPUs]},
	}
	for _, need := range needed {
		if !need.ok {
			return collector.Bad(collector.ReasonFormat, "header", "no column %s: dump again with --format=%s",
				need.name, SacctColumns)
		}
	}
	return nil
}

// Parse implements collector.Parser. A row emits the events of one try of a job: submit, start, end; as far as it came.
func (p *sacctParser) Parse(line []byte, emit func(job.Event)) error {
	line = logtext.TrimEnd(line)
	if len(line) == 0 {
		return nil
	}
	if isHeader(line) {
		p.pending = p.pending[:0]
		return p.setColumns(line)
	}
	missing := len(p.layout) - 1 - bytes.Count(line, []byte("|"))
	switch {
	case len(p.pending) > 0 && (missing > 0 || missing+p.lacking() == 0):
		if len(p.pending)+len(line) > maxRecord {
			return p.drop()
		}
		p.pending = append(append(p.pending, '\n'), line...)
		if p.lacking() > 0 {
			return nil
		}
		line = p.pending
		p.pending = p.pending[:0]
		return p.row(line, emit)
	case missing <= 0:
		cut := p.drop()
		if err := p.row(line, emit); err != nil {
			return err
		}
		return cut
	case len(line) > maxRecord || !isDigit(line[0]):
		return collector.Bad(collector.ReasonFormat, "row", "want %d fields between \"|\", got %d", len(p.layout),
			len(p.layout)-missing)
	}
	p.pending = append(p.pending, line...)
	return nil
}

// lacking returns how many fields the row that was begun still lacks.
func (p *sacctParser) lacking() int { return len(p.layout) - 1 - bytes.Count(p.pending, []byte("|")) }

func (p *sacctParser) drop() error {
	if len(p.pending) == 0 {
		return nil
	}
	err := collector.Bad(collector.ReasonFormat, "row", "the row before this line has no end: %q", shorten(p.pending))
	p.pending = p.pending[:0]
	return err
}

// row reads one whole row.
func (p *sacctParser) row(line []byte, emit func(job.Event)) error {
	p.split(line)
	f := &p.fields
	id, ok := p.id()
	if !ok {
		return collector.Bad(collector.ReasonField, "JobID", "want a job's id, got %q, %q", shorten(f[jobIDRaw]),
			shorten(f[jobID]))
	}
	if id == "" {
		return nil // a step
	}
	ev := job.Event{Cluster: p.options.Cluster, ID: id}
	times, err := p.times()
	if err != nil {
		return err
	}
	if err := p.attributes(&ev, !times.Start.IsZero()); err != nil {
		return err
	}
	how, err := p.kinds(times)
	for _, kind := range how {
		setKind(&ev, kind, times)
		emit(ev)
	}
	return err
}

// split takes a row apart. Fields too many belong to the name.
func (p *sacctParser) split(line []byte) {
	extra := bytes.Count(line, []byte("|")) - (len(p.layout) - 1)
	p.fields = [columns][]byte{}
	for i, c := range p.layout {
		length := fieldLength(line)
		if i == p.nameAt {
			for ; extra > 0; extra-- {
				length += 1 + fieldLength(line[length+1:])
			}
		}
		value := line[:length]
		if c != other && (len(p.fields[c]) == 0 || c != nNodes) {
			p.fields[c] = value
		}
		if length == len(line) {
			return
		}
		line = line[length+1:]
	}
}

func fieldLength(line []byte) int {
	if i := bytes.IndexByte(line, '|'); i >= 0 {
		return i
	}
	return len(line)
}

// id returns the job's id, "" for a step ("15.batch"). An array's waiting tasks are one row, "11_[3-6%2]", under the
// array's number.
func (p *sacctParser) id() (string, bool) {
	text, rawText := p.fields[jobID], p.fields[jobIDRaw]
	if bytes.IndexByte(text, '.') >= 0 || bytes.IndexByte(rawText, '.') >= 0 {
		return "", true
	}
	raw, okRaw := logtext.Digits(rawText)
	if len(text) == 0 {
		return string(rawText), okRaw && raw > 0
	}
	if len(rawText) > 0 && !okRaw {
		return "", false
	}
	whole, rest, ok := leadingNumber(text)
	switch {
	case !ok || whole == 0:
		return "", false
	case len(rest) == 0 || bytes.HasPrefix(rest, []byte("_[")) || string(rest) == "_*":
		return string(text[:len(text)-len(rest)]), true
	case rest[0] != '_' && rest[0] != '+':
		return "", false
	}
	index, ok := logtext.Digits(rest[1:])
	return TaskID(raw, whole, rest[0], index), ok
}

func (p *sacctParser) times() (t job.Times, err error) {
	for _, one := range [...]struct {
		name string
		c    column
		to   *time.Time
	}{
		{"Submit", submit, &t.Submit}, {"Eligible", eligible, &t.Eligible}, {"Start", start, &t.Start},
		{"End", end, &t.End},
	} {
		if *one.to, err = p.time(one.name, p.fields[one.c]); err != nil {
			return t, err
		}
	}
	if t.Submit.IsZero() {
		return t, collector.Bad(collector.ReasonField, "Submit", "every job has a submit, got %q",
			shorten(p.fields[submit]))
	}
	switch {
	case string(p.fields[state]) == "PENDING":
		t.Start, t.End = time.Time{}, time.Time{} // a guess of the scheduler's, if anything
	case string(p.fields[nodeList]) == "None assigned" && !t.End.IsZero():
		t.Start = time.Time{} // older versions tell the instant of the cancel
	}
	p.inOrder(&t)
	return t, checkOrder(&t)
}

// time reads local time, or Unix seconds (SLURM_TIME_FORMAT=%s).
func (p *sacctParser) time(field string, text []byte) (time.Time, error) {
	switch string(text) {
	case "", "Unknown", "None", "N/A", "0":
		return time.Time{}, nil
	}
	if unix, ok := logtext.Digits(text); ok {
		if unix > maxUnix {
			return time.Time{}, collector.Bad(collector.ReasonTime, field, "no instant of a log: %q", text)
		}
		return instant(unix), nil
	}
	unix, err := p.clock.local(text)
	if err != nil {
		return time.Time{}, inField(err, field)
	}
	return instant(unix), nil
}

func (p *sacctParser) attributes(ev *job.Event, ran bool) (err error) {
	f := &p.fields
	var limit time.Duration
	if len(f[timelimitRaw]) > 0 {
		limit, err = minutes("TimelimitRaw", f[timelimitRaw])
	} else {
		limit, err = clockLimit("Timelimit", f[timelimit])
	}
	if err != nil {
		return err
	}
	procs, err := firstCount("CPUS", f[reqCPUs], f[nCPUs], f[allocCPUs])
	if ran {
		procs, err = firstCount("CPUS", f[allocCPUs], f[nCPUs], f[reqCPUs])
	}
	if err != nil {
		return err
	}
	if err := p.checkProcs("CPUS", procs, ran); err != nil {
		return err
	}
	nodes, err := firstCount("NNodes", f[reqNodes], f[nNodes])
	if ran {
		nodes, err = firstCount("NNodes", f[nNodes], f[reqNodes])
	}
	if err != nil {
		return err
	}
	queue, _, _ := bytes.Cut(f[partition], []byte(","))
	ev.Attributes = job.Attributes{
		Queue: p.names.Of(queue), User: p.names.Of(f[user]), Account: p.names.Of(f[account]), QOS: p.names.Of(f[qos]),
		Name: string(f[jobName]), Procs: int(procs), Nodes: int(min(nodes, maxNodes)), TimeLimit: limit,
	}
	// slurmdbd has the job but not its QOS: it started just now (slurmdb_qos_str in src/common/slurmdb_defs.c)
	if ev.QOS == "Unknown" {
		ev.QOS = ""
	}
	return nil
}

// firstCount returns the first count that is present and not 0.
func firstCount(field string, texts ...[]byte) (int64, error) {
	for _, text := range texts {
		if len(text) == 0 {
			continue
		}
		n, ok := logtext.Digits(text)
		if !ok {
			return 0, badNumber(field, text)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, nil
}

// clockLimit reads "[DD-]HH:MM:SS".
func clockLimit(field string, text []byte) (time.Duration, error) {
	if len(text) == 0 || !isDigit(text[0]) {
		return 0, noLimit(field, text)
	}
	days, rest, dash := int64(0), text, bytes.IndexByte(text, '-')
	ok := true
	if dash >= 0 {
		days, ok = logtext.Digits(text[:dash])
		rest = text[dash+1:]
	}
	seconds, err := timeOfDay(rest)
	if !ok || err != nil || days > maxMinutes/(24*60) {
		return 0, collector.Bad(collector.ReasonField, field, "want [DD-]HH:MM:SS, got %q", shorten(text))
	}
	return time.Duration(days*daySeconds+seconds) * time.Second, nil
}

// kinds returns the kinds of events that the row's state stands for, which may have a reason after it ("CANCELLED by
// 0") or be cut off ("CANCELLED+").
func (p *sacctParser) kinds(t job.Times) ([]job.Kind, error) {
	word, _, _ := bytes.Cut(p.fields[state], []byte(" "))
	word = bytes.TrimSuffix(word, []byte("+"))
	how := endingOf(word)
	ran, over := !t.Start.IsZero(), !t.End.IsZero()
	var err error
	if how == unheard {
		err = errState(word, "taken by its start and end: report it, with the version of Slurm")
	}
	kinds := []job.Kind{job.Submit}
	if ran {
		kinds = append(kinds, job.Start)
	}
	switch {
	case !over, how == notEnded, how == runsOn, how == waits && !ran:
	case how == waits:
		kinds = append(kinds, job.Requeue)
	case ran:
		kinds = append(kinds, job.End)
	default:
		kinds = append(kinds, job.Cancel)
	}
	return kinds, err
}

// setKind makes ev an event of this kind, and drops the instants that lie after it.
func setKind(ev *job.Event, kind job.Kind, t job.Times) {
	ev.Kind = kind
	switch kind {
	case job.Submit:
		ev.Time, t.Start, t.End = t.Submit, time.Time{}, time.Time{}
	case job.Start:
		ev.Time, t.End = t.Start, time.Time{}
	case job.End:
		ev.Time = t.End
	default:
		ev.Time, t.End = t.End, time.Time{}
	}
	ev.Times = t
}
