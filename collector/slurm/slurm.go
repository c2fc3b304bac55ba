// Package slurm reads Slurm's logs of jobs: the job completion log (jobcomp/filetxt), the controller's own log
// (slurmctld.log) and dumps of the accounting data base (sacct). It also reads the answers of Slurm's commands and of
// slurmrestd: about the present jobs (Snapshot), and about the machine and its rules (Facts).
//
// All sources use the same job ids, so that their events can be combined: see TaskID. docs/formats/slurm.md explains
// which fields are read, and why.
//
// The sources are the logs of a real Slurm 22.05.8, and these files of github.com/SchedMD/slurm:
// src/plugins/jobcomp/filetxt/jobcomp_filetxt.c (JOB_FORMAT, jobcomp_p_record_job_end), src/common/log.c (the times
// and ids of log lines), src/slurmctld/job_mgr.c, src/slurmctld/proc_req.c and src/slurmctld/preempt.c (the
// messages). They are also the manual pages slurm.conf(5) (LogTimeFormat) and sacct(1).
package slurm

import (
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// maxProcs is the maximum of sizes, so that later sums cannot overflow. Slurm's own counts have 32 bits.
const maxProcs = 1<<31 - 1

// TaskID returns the id that all sources use for a task of a job array (sep '_') or a component of a heterogeneous job
// (sep '+'): "9_1", "21+1". Each task and component also has a job number of its own (raw; 0 if unknown). For the last
// task of an array and the first component of a heterogeneous job, raw equals the number of the whole. The id is then
// that number alone, because the whole was submitted and waited under it.
func TaskID(raw, whole int64, sep byte, index int64) string {
	if raw == whole || raw == 0 && sep == '+' && index == 0 {
		return strconv.FormatInt(whole, 10)
	}
	var buffer [48]byte
	b := strconv.AppendInt(buffer[:0], whole, 10)
	b = append(b, sep)
	return string(strconv.AppendInt(b, index, 10))
}

// common is the common part of the parsers of this package.
type common struct {
	options collector.Options
	clock   clock
	names   logtext.Names
}

func newCommon(o collector.Options) common {
	loc := o.Location
	if loc == nil {
		loc = time.Local
	}
	return common{options: o, clock: clock{loc: loc}}
}

// inOrder resolves times that occur twice because clocks were set back. If the start would lie before the submission,
// or the end before the start, it takes the second instant of the start or the end, unless that is too early as well.
func (c *common) inOrder(t *job.Times) {
	second := func(t *time.Time, before time.Time) {
		if !t.IsZero() && t.Before(before) {
			if at := instant(logtext.SecondPass(c.clock.loc, t.Unix())); !at.Before(before) {
				*t = at
			}
		}
	}
	second(&t.Start, t.Submit)
	begun := t.Start
	if begun.IsZero() {
		begun = t.Submit
	}
	second(&t.End, begun)
}

// checkProcs refuses an impossible size. A job that ran must have processors. For a job that did not run, 0 means
// unknown.
func (c *common) checkProcs(field string, procs int64, ran bool) error {
	limit := int64(c.options.MaxProcs)
	switch {
	case limit > 0 && procs > limit:
		return collector.Bad(collector.ReasonProcs, field,
			"%d processors, but the cluster has %d: raise its procs if it has grown", procs, limit)
	case procs > maxProcs:
		return collector.Bad(collector.ReasonProcs, field, "more than %d processors", int64(maxProcs))
	case procs == 0 && ran:
		return collector.Bad(collector.ReasonProcs, field, "0 processors for a job that ran")
	}
	return nil
}

// checkOrder refuses times that run backwards. Unknown times are zero.
func checkOrder(t *job.Times) error {
	if !t.Start.IsZero() && t.Start.Before(t.Submit) {
		return collector.Bad(collector.ReasonTime, "start", "%d is before the submit at %d", t.Start.Unix(),
			t.Submit.Unix())
	}
	begun := t.Start
	if begun.IsZero() {
		begun = t.Submit
	}
	if !t.End.IsZero() && t.End.Before(begun) {
		return collector.Bad(collector.ReasonTime, "end", "%d is before the submit or start at %d", t.End.Unix(),
			begun.Unix())
	}
	return nil
}

// maxMinutes is the longest accepted time limit. Larger numbers are Slurm's codes for no limit.
const maxMinutes = 100 * 365 * 24 * 60

// minutes parses a time limit in minutes. It returns 0, no limit, for words (UNLIMITED, Partition_Limit) and for
// numbers above maxMinutes.
func minutes(field string, b []byte) (time.Duration, error) {
	if len(b) == 0 || !isDigit(b[0]) {
		return 0, noLimit(field, b)
	}
	n, ok := logtext.Digits(b)
	if !ok {
		return 0, badNumber(field, b)
	}
	if n > maxMinutes {
		return 0, nil
	}
	return time.Duration(n) * time.Minute, nil
}

// noLimit returns nil for the words for no limit (time_unset2str and secs2time_str in src/common/parse_time.c), and an
// error for other texts.
func noLimit(field string, b []byte) error {
	switch string(b) {
	case "", "UNLIMITED", "INFINITE", "Partition_Limit", "NONE", "INVALID":
		return nil
	}
	return collector.Bad(collector.ReasonField, field, "want a time limit or UNLIMITED, got %q", shorten(b))
}

func badNumber(field string, b []byte) error {
	return collector.Bad(collector.ReasonField, field, "want a number, got %q", shorten(b))
}

func shorten(b []byte) []byte {
	const most = 60
	return b[:min(len(b), most)]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// leadingNumber cuts up to 18 digits off the front. ok is false if there is none.
func leadingNumber(text []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(text) && i < 18 && isDigit(text[i]) {
		n = n*10 + int64(text[i]-'0')
		i++
	}
	return n, text[i:], i > 0
}

func instant(unix int64) time.Time { return time.Unix(unix, 0).UTC() }
