package slurm

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// SacctName is the name of the format of accounting dumps in the configuration.
const SacctName = "slurm-sacct"

// Sacct returns the format of the output of sacct -P. There is one line for each job or attempt of a job. The lines
// must be sorted by Submit.
func Sacct() collector.Format {
	return collector.Format{Name: SacctName, Order: collector.BySubmit,
		New: func(o collector.Options) collector.Parser {
			p := &sacctParser{common: newCommon(o), known: wellKnownForms()}
			p.zone = p.clock.loc
			if o.Columns == "" {
				p.use(&p.known[0])
				return p
			}
			_ = p.setColumns(o.Columns, ",") // an error in the columns is reported with the rows
			return p
		}}
}

// ReadAt implements collector.Dated. It does nothing, because a dump has the same meaning whenever it is read.
func (p *sacctParser) ReadAt(time.Time) {}

// After implements collector.Dated. Rows are in the order of submission. If a row's other times allow both instants of
// its submission, the one that is nearer to newest counts.
func (p *sacctParser) After(newest time.Time) { p.newest = newest }

// sacctParser reads one dump. From earlier lines it keeps the header, the name of the first cluster, and an unfinished
// row: sacct does not escape line ends in job names, so a row may span several lines.
type sacctParser struct {
	common
	zone  *time.Location // zone of dumps whose form defines none
	form  *sacctForm
	fixed bool  // the columns come from a header or the configuration
	wrong error // the reason why form cannot be used, nil if it can
	// known are the possible forms of a dump without a header.
	known   []sacctForm
	fields  [columns][]byte
	pending []byte
	first   string // the cluster of the first row, if all rows must have the same
	newest  time.Time
	local   bool // the row has local times
}

var (
	_ collector.HeaderParser = (*sacctParser)(nil)
	_ collector.Flusher      = (*sacctParser)(nil)
)

// use sets the form of the following rows.
func (p *sacctParser) use(form *sacctForm) {
	loc := p.zone
	if form.utc {
		loc = time.UTC
	}
	if p.form = form; p.clock.loc != loc {
		p.clock.loc, p.clock.known = loc, false
	}
}

// setColumns sets the names of the columns.
func (p *sacctParser) setColumns(names, separator string) error {
	form, err := newSacctForm(names, separator)
	p.fixed, p.wrong = true, err
	p.use(&form)
	return err
}

// header uses the names in a header line, if the line is one.
func (p *sacctParser) header(line []byte) (isHeader bool, err error) {
	separator := headerSeparator(line)
	if separator == "" {
		return false, nil
	}
	err = p.setColumns(string(line), separator)
	p.form.separator = []byte(separator)
	return true, err
}

// recognize uses the form that fits a row of a dump without a header. If none fits, it keeps the present form.
func (p *sacctParser) recognize(line []byte) {
	for i := range p.known {
		if p.known[i].fits(line) {
			p.use(&p.known[i])
			return
		}
	}
	if bytes.IndexByte(line, '|') >= 0 || p.form.fits(line) {
		return
	}
	for i := range p.known {
		for _, separator := range [...]string{";", ",", "\t", "^", "~", "#", ":"} {
			form := p.known[i]
			if form.separator = []byte(separator); form.fits(line) {
				p.use(&form)
				return
			}
		}
	}
}

// Header implements collector.HeaderParser.
func (p *sacctParser) Header(line []byte) bool {
	ok, _ := p.header(logtext.Trim(line)) // Parse reports an unusable header
	return ok
}

// Parse implements collector.Parser. A row emits the events of one attempt of a job, as far as they have happened:
// submission, start, and end, requeue or cancellation.
func (p *sacctParser) Parse(line []byte, emit func(job.Event)) error {
	line = logtext.Trim(line)
	if len(line) == 0 {
		return nil
	}
	if ok, err := p.header(line); ok {
		p.pending = p.pending[:0]
		return err
	}
	if !p.fixed && len(p.pending) == 0 {
		p.recognize(line)
	}
	missing := len(p.form.layout) - 1 - bytes.Count(line, p.form.separator)
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
		return p.badCount(len(p.form.layout) - missing)
	}
	p.pending = append(p.pending, line...)
	return nil
}

// badCount returns the error of a row that has too few fields.
func (p *sacctParser) badCount(got int) error {
	if p.fixed {
		return collector.Bad(collector.ReasonFormat, "row", "want %d fields between %q, got %d", len(p.form.layout),
			p.form.separator, got)
	}
	return collector.Bad(collector.ReasonFormat, "row", "want %d fields between \"|\", got %d; if the dump has no "+
		"header and other columns, put them in front as a header line, or name them by --columns of the command",
		len(p.form.layout), got)
}

// Flush implements collector.Flusher. A truncated dump may end in the middle of a row.
func (p *sacctParser) Flush() error { return p.drop() }

// lacking returns the number of fields that the unfinished row lacks.
func (p *sacctParser) lacking() int {
	return len(p.form.layout) - 1 - bytes.Count(p.pending, p.form.separator)
}

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
	if p.wrong != nil {
		return p.wrong
	}
	p.split(line)
	return p.record(emit)
}

// otherCluster reports whether a row belongs to a cluster that is not read. It returns an error for a row of another
// cluster of the daemon. If no cluster was chosen and a dump that is read once has several, it also returns an error,
// because job numbers are not unique across clusters.
func (p *sacctParser) otherCluster() (bool, error) {
	name := p.fields[clusterName]
	switch only := p.options.Only; {
	case len(name) == 0:
	case slices.Contains(p.options.Others, string(name)):
		return true, collector.Bad(collector.ReasonField, "Cluster", "a job of cluster %q, not of %q: import it into "+
			"that one", shorten(name), p.options.Cluster)
	case only != "":
		return string(name) != only, nil
	case !p.options.Recorded:
	case p.first == "":
		p.first = string(name)
	case p.first != string(name):
		return true, collector.Bad(collector.ReasonField, "Cluster", "a job of cluster %q among those of %q, which "+
			"may have the same numbers: choose one by --cluster", shorten(name), p.first)
	}
	return false, nil
}

// record emits the events of the parsed row.
func (p *sacctParser) record(emit func(job.Event)) error {
	if other, err := p.otherCluster(); other || err != nil {
		return err
	}
	id, list, ok := p.id()
	if !ok {
		return collector.Bad(collector.ReasonField, "JobID", "want a job's id, got %q, %q",
			shorten(p.fields[jobIDRaw]), shorten(p.fields[jobID]))
	}
	if id == "" {
		return nil // the row is about a step
	}
	times, err := p.times()
	if err != nil {
		return err
	}
	ran := !times.Start.IsZero()
	asked, given, err := p.attributes(ran)
	if err != nil {
		return err
	}
	how, unknown := p.kinds(times)
	tell := func(id string) {
		ev := job.Event{Cluster: p.options.Cluster, ID: id, Attributes: asked}
		for _, kind := range how {
			if kind != job.Submit && ran {
				ev.Attributes = given
			}
			setKind(&ev, kind, times)
			emit(ev)
		}
	}
	switch {
	case list.list == nil:
		tell(id)
	case ran: // sacct writes no such row; other programs that use its columns sum up tasks in one row
		if err := list.each(tell); err != nil {
			return err
		}
	default:
		set, err := list.parse()
		if err != nil {
			return err
		}
		asked.Tasks = set.count()
		tell(id)
	}
	return unknown
}

// maxExtra is the maximum number of separators in texts of users for which the ways to share them are tried.
const maxExtra = 64

// split splits a row into fields. Separators in the texts of users make additional fields. If several columns have such
// texts, split takes the first way to share them by which all fields look like their columns.
func (p *sacctParser) split(line []byte) {
	free := p.form.free
	extra := bytes.Count(line, p.form.separator) - (len(p.form.layout) - 1)
	if len(free) < 2 || extra <= 0 || extra > maxExtra {
		p.splitBy(line, extra, 0)
		return
	}
	for _, strict := range [...]bool{true, false} {
		for inFirst := extra; inFirst >= 0; inFirst-- {
			if p.splitBy(line, inFirst, extra-inFirst) && (!strict || isCommand(p.fields[submitLine])) {
				return
			}
		}
	}
	p.splitBy(line, extra, 0)
}

// splitBy splits a row of which the first column of a user's text has inFirst separators and the next one inNext. It
// reports whether all fields look like their columns.
func (p *sacctParser) splitBy(line []byte, inFirst, inNext int) (fits bool) {
	width := len(p.form.separator)
	p.fields = [columns][]byte{}
	fits = true
	for i, c := range p.form.layout {
		length, joined := p.form.fieldLength(line), 0
		if len(p.form.free) > 0 && i == p.form.free[0] {
			joined = inFirst
		} else if len(p.form.free) > 1 && i == p.form.free[1] {
			joined = inNext
		}
		for ; joined > 0; joined-- {
			length += width + p.form.fieldLength(line[length+width:])
		}
		value := line[:length]
		fits = fits && c.mayBe(value)
		if c != other && (len(p.fields[c]) == 0 || c != nNodes) {
			p.fields[c] = value
		}
		if length == len(line) {
			return fits
		}
		line = line[length+width:]
	}
	return fits
}

// isCommand reports whether a text may be a command line that submits a job; so may no text.
func isCommand(text []byte) bool {
	word, _, _ := bytes.Cut(text, []byte(" "))
	word = word[bytes.LastIndexByte(word, '/')+1:]
	return len(text) == 0 || string(word) == "sbatch" || string(word) == "srun" || string(word) == "salloc"
}

// id returns the job's id, "" for a step ("15.batch"). The waiting tasks of an array share one row, "11_[3-6%2]": the
// array's number and a list of task numbers.
func (p *sacctParser) id() (id string, list tasks, ok bool) {
	text, rawText := p.fields[jobID], p.fields[jobIDRaw]
	if bytes.IndexByte(text, '.') >= 0 || bytes.IndexByte(rawText, '.') >= 0 {
		return "", list, true
	}
	raw, okRaw := logtext.Digits(rawText)
	if len(text) == 0 {
		return string(rawText), list, okRaw && raw > 0
	}
	if len(rawText) > 0 && !okRaw {
		return "", list, false
	}
	whole, rest, ok := leadingNumber(text)
	if !ok || whole == 0 {
		return "", list, false
	}
	id = string(text[:len(text)-len(rest)])
	switch {
	case len(rest) == 0 || string(rest) == "_*":
		return id, list, true
	case bytes.HasPrefix(rest, []byte("_[")):
		numbers, _, closed := bytes.Cut(rest[2:], []byte("]"))
		return id, tasks{whole: whole, list: numbers}, closed
	case rest[0] != '_' && rest[0] != '+':
		return "", list, false
	}
	index, ok := logtext.Digits(rest[1:])
	return TaskID(raw, whole, rest[0], index), list, ok
}

func (p *sacctParser) times() (t job.Times, err error) {
	p.local = false
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
		t.Start, t.End = time.Time{}, time.Time{} // at best a guess by the scheduler, which is not used
	case string(p.fields[nodeList]) == "None assigned" && !t.End.IsZero():
		t.Start = time.Time{} // older versions write the time of the cancellation here
	}
	p.resolve(&t)
	return t, checkOrder(&t)
}

// resolve chooses among the instants of local times that occur twice because clocks were set back. The times of a row
// are in order, and start and end are as far apart as the row's Elapsed says, unless the job was suspended. Of the
// choices that are left, the submission by the order of the rows counts, then the earliest start and end.
func (p *sacctParser) resolve(t *job.Times) {
	submit, start, end := p.passes(t.Submit), p.passes(t.Start), p.passes(t.End)
	if len(submit)+len(start)+len(end) == 3 && len(p.passes(t.Eligible)) == 1 {
		return
	}
	if len(submit) == 2 && !p.newest.After(submit[1].Add(time.Minute)) &&
		submit[1].Sub(p.newest).Abs() < p.newest.Sub(submit[0]).Abs() {
		slices.Reverse(submit)
	}
	elapsed := p.elapsed()
	best, found := job.Times{}, -1
	for _, s := range submit {
		for _, b := range start {
			for _, e := range end {
				one := job.Times{Submit: s, Eligible: t.Eligible, Start: b, End: e}
				fit := 0
				if checkOrder(&one) == nil {
					fit = 1
					if elapsed >= 0 && e.Sub(b) == elapsed {
						fit = 2
					}
				}
				if fit > found {
					best, found = one, fit
				}
			}
		}
	}
	for _, at := range p.passes(t.Eligible) {
		if best.Eligible = at; !at.Before(best.Submit) {
			break
		}
	}
	*t = best
}

// passes returns the instants at which local clocks show the time of t, the first instant of them.
func (p *sacctParser) passes(t time.Time) []time.Time {
	if !t.IsZero() && p.local {
		if second := instant(logtext.SecondPass(p.clock.loc, t.Unix())); second.After(t) {
			return []time.Time{t, second}
		}
	}
	return []time.Time{t}
}

// elapsed returns the time for which a row says that the job ran, -1 if it does not say so.
func (p *sacctParser) elapsed() time.Duration {
	if seconds, ok := logtext.Digits(p.fields[elapsedRaw]); ok {
		return time.Duration(seconds) * time.Second
	}
	if d, err := clockLimit("Elapsed", p.fields[elapsed]); err == nil && len(p.fields[elapsed]) > 0 {
		return d
	}
	return -1
}

// time reads local time, or Unix seconds (SLURM_TIME_FORMAT=%s).
func (p *sacctParser) time(field string, text []byte) (time.Time, error) {
	switch string(text) {
	case "", "Unknown", "None", "N/A", "0":
		return time.Time{}, nil
	}
	if unix, ok := logtext.Digits(text); ok {
		if unix > maxUnix {
			return time.Time{}, collector.Bad(collector.ReasonTime, field, "not a plausible time of a log: %q", text)
		}
		return instant(unix), nil
	}
	unix, err := p.clock.local(text)
	if err != nil {
		return time.Time{}, inField(err, field)
	}
	p.local = true
	return instant(unix), nil
}

// attributes returns the attributes of the request, and those of the allocation if the job ran.
func (p *sacctParser) attributes(ran bool) (asked, given job.Attributes, err error) {
	f := &p.fields
	var limit time.Duration
	if len(f[timelimitRaw]) > 0 {
		limit, err = minutes("TimelimitRaw", f[timelimitRaw])
	} else {
		limit, err = clockLimit("Timelimit", f[timelimit])
	}
	if err != nil {
		return asked, given, err
	}
	queue, _, _ := bytes.Cut(f[partition], []byte(","))
	asked = job.Attributes{
		Queue: p.names.Of(queue), User: p.names.Of(f[user]), Account: p.names.Of(f[account]), QOS: p.names.Of(f[qos]),
		Name: string(f[jobName]), TimeLimit: limit,
	}
	// slurmdbd writes Unknown if it has just started and does not know the QOS yet (slurmdb_qos_str in
	// src/common/slurmdb_defs.c).
	if asked.QOS == "Unknown" {
		asked.QOS = ""
	}
	given = asked
	if asked.Priority, err = p.priority(); err != nil {
		return asked, given, err
	}
	err = p.size(&asked, false, [...]column{reqCPUs, nCPUs, allocCPUs}, [...]column{reqNodes, nNodes},
		[...]column{reqTRES, allocTRES})
	if ran && err == nil {
		err = p.size(&given, true, [...]column{allocCPUs, nCPUs, reqCPUs}, [...]column{nNodes, reqNodes},
			[...]column{allocTRES, reqTRES})
	}
	return asked, given, err
}

// priority returns the scheduler's priority. For a job that ran it is the priority at the start, since slurmdbd keeps
// the newest one that slurmctld reports. A held job has the priority 0.
func (p *sacctParser) priority() (int64, error) {
	text := p.fields[priority]
	if len(text) == 0 {
		return 0, nil
	}
	n, ok := logtext.Digits(text)
	if !ok {
		return 0, badNumber("Priority", text)
	}
	if n >= noValue {
		return 0, nil
	}
	return n, nil
}

// size sets the processors, nodes, memory and GPUs of the attributes a. It reads each amount from the first of the
// given columns that has a value.
func (p *sacctParser) size(a *job.Attributes, ran bool, cpus [3]column, nodes, tres [2]column) error {
	f := &p.fields
	n, err := firstCount("CPUS", f[cpus[0]], f[cpus[1]], f[cpus[2]])
	if err == nil {
		err = p.checkProcs("CPUS", n, ran)
	}
	if err != nil {
		return err
	}
	a.Procs = int(n)
	if n, err = firstCount("NNodes", f[nodes[0]], f[nodes[1]]); err != nil {
		return err
	}
	a.Nodes = int(min(n, maxNodes))
	for _, c := range tres {
		text := f[c]
		if bytes.IndexByte(text, '=') < 0 {
			continue
		}
		r, err := parseTRES("TRES", text)
		var odd *collector.LineError
		if errors.As(err, &odd) && p.options.Notice != nil {
			p.options.Notice(odd)
		}
		a.Memory, a.GPUs, a.GPUType = r.memory, r.gpus, r.gpuType
		break
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

// clockLimit reads "[DD-]HH:MM:SS", or a word for no limit (noLimit).
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

// kinds returns the kinds of events for the row's state. The text of a state may end with a reason ("CANCELLED by 0"),
// or be truncated ("CANCELLED+").
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

// setKind sets the kind and the time of ev, and its job times: those of t up to the time of ev.
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
