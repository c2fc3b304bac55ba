package slurm

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// SqueueName is the name of the snapshot of squeue in the configuration.
const SqueueName = "slurm-squeue"

// Squeue returns the format of the snapshot of squeue. It has no parser: a command is run, no file is read. See
// Snapshot.
func Squeue() collector.Format {
	return collector.Format{Name: SqueueName, Order: collector.Live, Lists: true, Private: true}
}

// squeueSeparator separates fields. No name in Slurm can contain it.
const squeueSeparator = "\x1f"

// squeueFields are the requested columns, by their names in squeue(1) under --Format. The form "name:suffix" makes
// squeue write a field in full, with the suffix after it. Job names are left out because squeue does not escape them.
// Since 26.05 OverSubscribe is NO for ordinary jobs too, and the column Exclusive takes its place.
var squeueFields = [...]string{
	"JobArrayID", "JobID", "State", "Partition", "UserName", "Account", "QOS", "NumCPUs", "NumNodes", "TimeLimit",
	"SubmitTime", "EligibleTime", "StartTime", "EndTime", "Reason",
	"PriorityLong", "OverSubscribe", "tres-alloc", "tres-per-job", "tres-per-node", "tres-per-task", "NumTasks",
	"Dependency", "Nice",
}

// SqueueCommand returns the command of a squeue of the given version, "" if unknown. program is squeue, or a wrapper
// with its arguments. One call returns all jobs in slurmctld's memory, including those that ended within the last
// MinJobAge. The waiting tasks of an array are one row.
func SqueueCommand(program []string, version string) []string {
	fields := slices.Clone(squeueFields[:])
	if hasExclusive(version) {
		fields[slices.Index(fields, "OverSubscribe")] = "Exclusive"
	}
	return append(slices.Clone(program), "--noheader", "--all", "--states=all",
		"--Format="+strings.Join(fields, ":"+squeueSeparator+",")+":"+squeueSeparator)
}

// hasExclusive reports whether squeue has the column Exclusive.
func hasExclusive(version string) bool { return atLeast(version, 26, 5) }

// SqueueCalls polls by calls of squeue. It is not safe for concurrent use.
type SqueueCalls struct {
	program  []string
	run      func(ctx context.Context, args []string) ([]byte, error)
	snapshot *Snapshot
	version  string
	asked    time.Time // time of the last question for the version
}

// NewSqueueCalls returns a SqueueCalls. program is squeue, or a wrapper with its arguments; run runs a command.
func NewSqueueCalls(
	program []string, run func(ctx context.Context, args []string) ([]byte, error), snapshot *Snapshot,
) *SqueueCalls {
	return &SqueueCalls{program: program, run: run, snapshot: snapshot}
}

// Ask polls once. squeue's version determines the columns. It is requested, without a call of slurmctld, every
// factsEvery and after failures.
func (c *SqueueCalls) Ask(ctx context.Context, asked time.Time) source.Answer {
	if asked.Sub(c.asked) >= factsEvery {
		output, err := c.run(ctx, append(slices.Clone(c.program), "--version"))
		if ctx.Err() != nil {
			return source.Answer{Err: ctx.Err()}
		}
		c.asked = asked
		c.version = ""
		if version, ok := bytes.CutPrefix(bytes.TrimSpace(output), []byte("slurm ")); ok && err == nil {
			c.version = string(shorten(version))
		}
	}
	output, err := c.run(ctx, SqueueCommand(c.program, c.version))
	var a source.Answer
	if err != nil {
		a = source.Answer{Err: err}
	} else {
		c.snapshot.parser.exclusive = hasExclusive(c.version)
		a = c.snapshot.Read(output, asked)
	}
	if a.Err != nil {
		c.asked = time.Time{}
	}
	return a
}

// SqueueEnv returns the environment variables of the command. They request times in Unix seconds, and full lists of
// array tasks (squeue(1)). If a wrapper drops the variables, local times can be read too, but the task counts of arrays
// with many waiting tasks are too small.
func SqueueEnv() []string { return []string{"SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0"} }

// phase classifies the states of Slurm.
type phase uint8

const (
	waiting phase = iota + 1
	holding       // it has processors
	leaving       // completing: it has ended, or will wait again
	over
)

// phaseOf returns the phase of a state, 0 for an unknown state (job_state_string and the flags of
// job_state_string_complete in src/common/slurm_protocol_defs.c; squeue(1), JOB STATE CODES).
func phaseOf(state string) phase {
	switch state {
	case "PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "EXPEDITING":
		return waiting
	case "RUNNING", "SUSPENDED", "CONFIGURING", "POWER_UP_NODE", "RESIZING", "SIGNALING", "STOPPED":
		return holding
	case "COMPLETING", "STAGE_OUT", "REVOKED":
		return leaving
	case "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
		"OUT_OF_MEMORY", "RECONFIG_FAIL", "LAUNCH_FAILED":
		return over
	}
	return 0
}

// blocked reports whether a waiting job waits for something other than processors, by its state and its reason. An
// unknown reason counts as waiting for processors.
func blocked(state, reason string) bool {
	if strings.HasSuffix(state, "HOLD") || state == "SPECIAL_EXIT" || state == "EXPEDITING" {
		return true
	}
	switch job.CauseOf(reason) {
	case job.OnHold, job.LimitReached:
		return true
	case job.Unavailable: // to wait for nodes to return is like waiting for busy nodes
		return reason != "NodeDown" && !strings.HasPrefix(reason, "ReqNodeNotAvail")
	}
	return false
}

// row is one line of squeue.
type row struct {
	id      string
	number  int64 // job number, which orders rows with equal submission times
	phase   phase
	stopped bool // the job is suspended
	blocked bool
	reason  string   // reason for the wait
	settled string   // settled reason, see comparison.settles
	queues  []string // requested queues of a waiting job
	array   bool     // the row stands for Tasks waiting tasks of an array
	tasks   taskSet
	job.Attributes
	job.Times
}

// squeueParser reads the output of the call.
type squeueParser struct {
	common
	exclusive bool // the rows have the column Exclusive in the place of OverSubscribe
}

// rows parses an output. Bad lines are left out, and passed to the function bad with their numbers. The rows are sorted
// by submission.
func (p *squeueParser) rows(output []byte, bad func(number int64, line []byte, err error)) (rows []row, lines int) {
	for line := range bytes.Lines(output) {
		lines++
		line = bytes.TrimSuffix(line, []byte("\n"))
		r, err := p.row(line)
		if err != nil {
			bad(int64(lines), line, err)
			continue
		}
		rows = append(rows, r)
	}
	sortRows(rows)
	return rows, lines
}

// sortRows sorts rows by submission time, and rows with equal times by job number.
func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(a.Submit.Compare(b.Submit), cmp.Compare(a.number, b.number))
	})
}

// row reads one line.
func (p *squeueParser) row(line []byte) (row, error) {
	fields := bytes.Split(line, []byte(squeueSeparator))
	if len(fields) != len(squeueFields)+1 || len(fields[len(squeueFields)]) > 0 {
		return row{},
			collector.Bad(collector.ReasonFormat, "", "want %d fields, each with a separator (US, 0x1f) after it, "+
				"got %d: does the command pass --Format on to squeue?",
				len(squeueFields), len(fields)-1)
	}
	return p.job(fields)
}

// job reads the fields of one job.
func (p *squeueParser) job(fields [][]byte) (row, error) {
	for i := range fields {
		fields[i] = printable(bytes.TrimSpace(fields[i]))
	}
	state, reason := string(fields[2]), string(fields[14])
	r := row{phase: phaseOf(state), stopped: state == "SUSPENDED", blocked: blocked(state, reason)}
	if r.phase == 0 {
		return row{},
			collector.Bad(collector.ReasonUnknown, "State",
				"%q is not a known state of a job: report it, with the version of Slurm", shorten(fields[2]))
	}
	if err := p.name(&r, fields[0], fields[1]); err != nil {
		return row{}, err
	}
	for name := range bytes.SplitSeq(fields[3], []byte(",")) {
		r.queues = append(r.queues, p.names.Of(name))
	}
	if r.phase == waiting && len(r.queues) > 1 {
		r.Queues = strings.Join(r.queues, ",")
	}
	qos, _, _ := bytes.Cut(fields[6], []byte(",")) // since 24.11 a waiting job may name several
	r.Queue, r.User, r.Account, r.QOS = r.queues[0], p.known(fields[4]), p.known(fields[5]), p.known(qos)
	r.reason = p.known(fields[14])
	if err := p.sizes(&r, fields[7], fields[8], fields[9]); err != nil {
		return row{}, err
	}
	if err := p.resources(&r, fields[15:22]); err != nil {
		return row{}, err
	}
	if r.phase == waiting {
		r.After = after(fields[22], fields[0])
	}
	if err := r.readNice(fields[23]); err != nil {
		return row{}, err
	}
	return r, p.instants(&r, state, fields[10:14])
}

// printable applies job.Printable. Names that are compared with the picture, or with earlier facts, need it before.
func printable(text []byte) []byte {
	if bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }) {
		return []byte(job.Printable(string(text)))
	}
	return text
}

// readNice reads the amount by which the priority of a job was lowered. It ignores the amount of a job that completes
// or has ended.
func (r *row) readNice(field []byte) error {
	n, err := strconv.ParseInt(string(field), 10, 32)
	if err != nil {
		return badNumber("Nice", field)
	}
	if r.phase == waiting || r.phase == holding {
		r.Nice = n
	}
	return nil
}

// resources reads attributes other than processors: PriorityLong, OverSubscribe or Exclusive, and tres-alloc, which for
// a waiting job is its request. If Slurm does not account for GPUs (AccountingStorageTRES), the GPUs requested per job,
// node or task are read instead.
func (p *squeueParser) resources(r *row, f [][]byte) error {
	if priority, ok := logtext.Digits(f[0]); !ok {
		return badNumber("PriorityLong", f[0])
	} else if r.phase == waiting {
		r.Priority = priority
	}
	r.Whole = string(f[1]) == "NO"
	if p.exclusive {
		r.Whole = string(f[1]) == "NODE"
	}
	all, err := parseTRES("tres-alloc", f[2])
	if err != nil {
		return err
	}
	r.Memory, r.GPUs, r.GPUType = all.memory, all.gpus, all.gpuType
	tasks, _, _ := leadingNumber(f[6])
	for i, times := range [...]int64{1, int64(r.Nodes), tasks} {
		if r.GPUs == 0 {
			r.GPUs, r.GPUType = gres(f[3+i]).times(times)
		}
	}
	return nil
}

// known returns a name. It returns "" for the words by which Slurm means none.
func (p *squeueParser) known(name []byte) string {
	switch string(name) {
	case "(null)", "N/A", "None":
		return ""
	}
	return p.names.Of(name)
}

// name reads the job's id in the form of squeue ("5", "9_1", "9_[3-6%2]", "21+1") and the job's own number. The own
// number of the waiting tasks of an array, and of its last waiting task, is the array's number (see TaskID).
func (p *squeueParser) name(r *row, shown, number []byte) error {
	raw, rest, ok := leadingNumber(number)
	if !ok || len(rest) > 0 || raw == 0 {
		return badNumber("JobID", number)
	}
	r.number = raw
	msg := append([]byte("JobId="), shown...)
	if list, ok := cutTasks(msg); ok {
		var err error
		if r.tasks, err = list.parse(); err != nil {
			return err
		}
		n := r.tasks.count()
		if n == 0 && !r.tasks.cut {
			return collector.Bad(collector.ReasonField, "JobArrayID", "no tasks in %q", shorten(shown))
		}
		r.id = TaskID(0, list.whole, '+', 0)
		if r.phase == waiting {
			r.array, r.Tasks = true, n
			r.Throttle = r.tasks.throttle
		}
		return nil
	}
	id, rest, ok := cutJob(msg)
	if !ok || len(rest) > 0 {
		return collector.Bad(collector.ReasonField, "JobArrayID", "want a job like 5, 9_1, 9_[3-6] or 21+1, got %q",
			shorten(shown))
	}
	r.id = id
	whole := TaskID(raw, raw, '_', 0)
	switch {
	case strings.HasPrefix(id, whole+"_"): // the last task
		r.id = whole
		if r.phase == waiting {
			r.array, r.Tasks = true, 1
		}
	case strings.HasPrefix(id, whole+"+"): // the first component
		r.id = whole
	}
	return nil
}

func (p *squeueParser) sizes(r *row, procs, nodes, limit []byte) error {
	n, ok := logtext.Digits(procs)
	if !ok {
		return badNumber("NumCPUs", procs)
	}
	if err := p.checkProcs("NumCPUs", n, r.phase == holding); err != nil && r.phase == holding {
		return err // a job larger than the machine waits forever, and then the line is not wrong
	}
	r.Procs = int(min(n, maxProcs))
	low, _, ok := leadingNumber(nodes) // "2-4" while the job waits
	if !ok {
		return badNumber("NumNodes", nodes)
	}
	r.Nodes = int(min(low, maxProcs))
	var err error
	r.TimeLimit, err = squeueLimit("TimeLimit", limit)
	return err
}

// squeueLimit parses a limit of squeue (secs2time_str in src/common/parse_time.c): "2:00" (minutes and seconds),
// "1:00:00", "1-00:00:00". Words mean that there is none.
func squeueLimit(field string, text []byte) (time.Duration, error) {
	if len(text) == 0 || !isDigit(text[0]) {
		if string(text) == "NOT_SET" {
			return 0, nil
		}
		return 0, noLimit(field, text)
	}
	var days int64
	rest := text
	if head, tail, ok := bytes.Cut(text, []byte("-")); ok {
		if days, ok = logtext.Digits(head); !ok {
			return 0, badNumber(field, text)
		}
		rest = tail
	}
	var seconds int64
	parts := bytes.Split(rest, []byte(":"))
	for _, part := range parts {
		n, ok := logtext.Digits(part)
		if !ok || len(parts) < 2 || len(parts) > 3 || n > maxMinutes {
			return 0, badNumber(field, text)
		}
		seconds = seconds*60 + n
	}
	if days > maxMinutes/(24*60) || seconds > maxMinutes*60 {
		return 0, nil
	}
	return time.Duration(days*daySeconds+seconds) * time.Second, nil
}

// plannedWithin is how long after a submission Slurm's own forecast counts as its first. Its backfill scheduler, which
// makes the forecast, runs every half minute by default.
const plannedWithin = time.Minute

// instants reads the times of a row. A waiting job's StartTime is Slurm's own forecast.
func (p *squeueParser) instants(r *row, state string, f [][]byte) (err error) {
	if r.Submit, err = p.when("SubmitTime", f[0]); err != nil {
		return err
	}
	if r.Submit.IsZero() {
		return collector.Bad(collector.ReasonTime, "SubmitTime", "is not known")
	}
	if r.Eligible, err = p.when("EligibleTime", f[1]); err != nil {
		return err
	}
	if r.phase == waiting {
		r.Planned, err = p.when("StartTime", f[2])
		return err
	}
	if r.phase == leaving {
		return nil
	}
	if r.Times.Start, err = p.when("StartTime", f[2]); err != nil {
		return err
	}
	if r.phase == over {
		return p.ended(r, state, f[3])
	}
	if r.Times.Start.IsZero() {
		return collector.Bad(collector.ReasonTime, "StartTime", "is not known of a job that runs")
	}
	return nil
}

// ended reads the end of a job. For a job that was cancelled before it ran, squeue shows the end as the start, too; the
// start then stays unknown.
func (p *squeueParser) ended(r *row, state string, end []byte) (err error) {
	if r.Times.End, err = p.when("EndTime", end); err != nil {
		return err
	}
	if (state == "CANCELLED" || state == "DEADLINE") && r.Times.Start.Equal(r.Times.End) {
		r.Times.Start = time.Time{}
	}
	return checkOrder(&r.Times)
}

// when reads Unix seconds, or a local time. It returns the zero time if there is none.
func (p *squeueParser) when(field string, text []byte) (time.Time, error) {
	if unix, ok := logtext.Digits(text); ok && unix > 0 && unix <= maxUnix {
		return time.Unix(unix, 0).UTC(), nil
	}
	switch string(text) {
	case "N/A", "Unknown", "None", "0":
		return time.Time{}, nil
	}
	unix, err := p.clock.local(text)
	if err != nil {
		return time.Time{},
			collector.Bad(collector.ReasonTime, field, "want Unix seconds or a time like 2006-01-02T15:04:05, got %q",
				shorten(text))
	}
	return time.Unix(unix, 0).UTC(), nil
}
