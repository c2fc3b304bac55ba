package soak

import (
	"bytes"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
)

// record has the data of a job for its lines in a log.
type record struct {
	ID                 int64
	User, Queue        string
	Procs              int
	Limit              time.Duration
	Submit, Start, End time.Time
}

// format writes the lines of one scheduler's log. Every method appends whole lines to dst, or nothing if such a log has
// no such line.
type format interface {
	submitted(dst []byte, r *record) []byte
	started(dst []byte, r *record) []byte
	ended(dst []byte, r *record) []byte
	requeued(dst []byte, r *record) []byte  // at End
	cancelled(dst []byte, r *record) []byte // at End
	// array appends the submission, at Submit, of an array with the given number of tasks. arrayCancelled appends the
	// cancellation of the array, at End.
	array(dst []byte, r *record, tasks int) []byte
	arrayCancelled(dst []byte, r *record) []byte
	// repeats reports whether such a scheduler is known to write some lines twice.
	repeats() bool
	// reasons returns the reasons for which a line of the format can be bad.
	reasons() []string
	// bad appends a line that is bad for the given reason. n makes the line unique.
	bad(dst []byte, reason string, n int64, at time.Time) []byte
}

// Formats returns the formats of logs that a soak can write: the values of Options.Format.
func Formats() []string { return []string{"pbs", "slurm-log", "slurm-jobcomp"} }

func newFormat(name string) (format, error) {
	switch name {
	case "pbs":
		return pbsFormat{}, nil
	case "slurm-log":
		return slurmLog{}, nil
	case "slurm-jobcomp":
		return jobcomp{}, nil
	}
	return nil, fmt.Errorf("format %q: want one of %q", name, Formats())
}

const (
	// longLine is the length in bytes of a line that is too long to be read.
	longLine = 1<<20 + 4096
	// mostLongLines is the maximum number of too long lines in a log.
	mostLongLines = 12
)

// blemish writes a bad line into the log. The lines are bad for each reason in turn. After mostLongLines too long
// lines, lines of another bad format replace them.
func (m *machine) blemish(at float64) error {
	all := m.format.reasons()
	n := m.tally.Lines / m.badEvery
	reason := all[int(n)%len(all)]
	if reason == collector.ReasonLongLine {
		if m.long--; m.long < 0 {
			reason = collector.ReasonFormat
		}
	}
	m.tally.Bad[reason]++
	m.tally.Lines++
	t := m.epoch.Add(time.Duration(at) * time.Second)
	if reason == collector.ReasonLongLine {
		m.buf = append(append(m.buf[:0], bytes.Repeat([]byte{'x'}, longLine)...), '\n')
		defer func() { m.buf = nil }()
	} else {
		m.buf = m.format.bad(m.buf[:0], reason, n, t)
	}
	return m.emit(m.buf)
}

// pbsFormat writes accounting records of PBS.
type pbsFormat struct{}

func (pbsFormat) repeats() bool { return true }

func (pbsFormat) record(r *record) pbs.Record {
	return pbs.Record{
		ID: fmt.Sprintf("%d.soak", r.ID), User: r.User, Group: "users", Name: "job", Queue: r.Queue, Created: r.Submit,
		Queued: r.Submit, Eligible: r.Submit, Start: r.Start, End: r.End, Procs: r.Procs, Nodes: r.Procs,
		TimeLimit: r.Limit,
	}
}

func (f pbsFormat) submitted(dst []byte, r *record) []byte { return pbs.AppendQueued(dst, f.record(r)) }
func (f pbsFormat) started(dst []byte, r *record) []byte   { return pbs.AppendStarted(dst, f.record(r)) }
func (f pbsFormat) ended(dst []byte, r *record) []byte     { return pbs.AppendEnded(dst, f.record(r)) }
func (f pbsFormat) cancelled(dst []byte, r *record) []byte {
	return pbs.AppendDeleted(dst, f.record(r))
}

func (f pbsFormat) arrayRecord(r *record) pbs.Record {
	rec := f.record(r)
	rec.ID = fmt.Sprintf("%d[].soak", r.ID)
	return rec
}

func (f pbsFormat) array(dst []byte, r *record, tasks int) []byte {
	dst = bytes.TrimSuffix(pbs.AppendQueued(dst, f.arrayRecord(r)), []byte("\n"))
	return fmt.Appendf(dst, " array_indices=1-%d\n", tasks)
}

func (f pbsFormat) arrayCancelled(dst []byte, r *record) []byte {
	return pbs.AppendDeleted(dst, f.arrayRecord(r))
}

func (pbsFormat) requeued(dst []byte, r *record) []byte {
	return fmt.Appendf(dst, "%s;R;%d.soak;\n", r.End.Format(pbsTime), r.ID)
}

const pbsTime = "01/02/2006 15:04:05"

func (pbsFormat) reasons() []string {
	return []string{
		collector.ReasonFormat, collector.ReasonField, collector.ReasonTime, collector.ReasonProcs,
		collector.ReasonUnknown, collector.ReasonFuture, collector.ReasonLongLine,
	}
}

func (f pbsFormat) bad(dst []byte, reason string, n int64, at time.Time) []byte {
	stamp := at.Format(pbsTime)
	switch reason {
	case collector.ReasonField:
		return fmt.Appendf(dst, "%s;Q;b%d.soak;user=u1 queue=short Resource_List.ncpus=many\n", stamp, n)
	case collector.ReasonTime:
		return fmt.Appendf(dst, "%s;E;b%d.soak;user=u1 queue=short ctime=%d start=%d end=%d Resource_List.ncpus=2\n",
			stamp, n, at.Unix(), at.Unix(), at.Unix()-5)
	case collector.ReasonProcs:
		return fmt.Appendf(dst, "%s;S;b%d.soak;user=u1 queue=short start=%d Resource_List.ncpus=0\n", stamp,
			n, at.Unix())
	case collector.ReasonUnknown:
		return fmt.Appendf(dst, "%s;?;b%d.soak;user=u1\n", stamp, n)
	case collector.ReasonFuture:
		at = at.AddDate(80, 0, 0)
		return pbs.AppendQueued(dst,
			f.record(&record{ID: 1_000_000_000 + n, User: "u1", Queue: "short", Procs: 1, Submit: at}))
	}
	return fmt.Appendf(dst, "torn line %d of no record\n", n)
}
