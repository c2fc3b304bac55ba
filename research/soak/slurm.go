package soak

import (
	"fmt"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
)

const slurmTime = "2006-01-02T15:04:05"

// slurmLog writes a slurmctld.log at level info, as Slurm 22.05 does.
type slurmLog struct{}

func (slurmLog) repeats() bool { return false }

func slurmLine(dst []byte, at time.Time, text string, args ...any) []byte {
	dst = append(dst, '[')
	dst = at.AppendFormat(dst, slurmTime+".000")
	dst = append(dst, "] "...)
	return append(fmt.Appendf(dst, text, args...), '\n')
}

func (slurmLog) submitted(dst []byte, r *record) []byte {
	return slurmLine(dst, r.Submit, "_slurm_rpc_submit_batch_job: JobId=%d InitPrio=1000 usec=350", r.ID)
}

func (slurmLog) started(dst []byte, r *record) []byte {
	return slurmLine(dst, r.Start, "sched: Allocate JobId=%d NodeList=n[1-%d] #CPUs=%d Partition=%s", r.ID, r.Procs,
		r.Procs, r.Queue)
}

func (slurmLog) ended(dst []byte, r *record) []byte {
	dst = slurmLine(dst, r.End, "_job_complete: JobId=%d WEXITSTATUS 0", r.ID)
	return slurmLine(dst, r.End, "_job_complete: JobId=%d done", r.ID)
}

func (slurmLog) requeued(dst []byte, r *record) []byte {
	return slurmLine(dst, r.End, "Requeuing JobId=%d", r.ID)
}

func (slurmLog) cancelled(dst []byte, r *record) []byte {
	return slurmLine(dst, r.End, "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=%d uid 1000", r.ID)
}

// array appends nothing, because such a log does not show that a job is an array.
func (slurmLog) array(dst []byte, _ *record, _ int) []byte   { return dst }
func (slurmLog) arrayCancelled(dst []byte, _ *record) []byte { return dst }

func (slurmLog) reasons() []string {
	return []string{
		collector.ReasonFormat, collector.ReasonField, collector.ReasonTime, collector.ReasonProcs,
		collector.ReasonUnknown, collector.ReasonFuture, collector.ReasonLongLine,
	}
}

func (slurmLog) bad(dst []byte, reason string, n int64, at time.Time) []byte {
	id := 1_000_000_000 + n
	switch reason {
	case collector.ReasonField:
		return slurmLine(dst, at, "sched: Allocate JobId=%d NodeList=n03 #CPUs=all Partition=short", id)
	case collector.ReasonTime:
		return fmt.Appendf(dst, "[%s-02-31T12:00:00.000] _job_complete: JobId=%d done\n", at.Format("2006"), id)
	case collector.ReasonProcs:
		return slurmLine(dst, at, "sched: Allocate JobId=%d NodeList=n03 #CPUs=0 Partition=short", id)
	case collector.ReasonUnknown:
		return slurmLine(dst, at, "sched: Allocate JobId=%d on n03", id)
	case collector.ReasonFuture:
		return slurmLine(dst, at.AddDate(80, 0, 0), "_slurm_rpc_submit_batch_job: JobId=%d InitPrio=1000 usec=350", id)
	}
	return fmt.Appendf(dst, "torn line %d of no record\n", n)
}

// jobcomp writes records of Slurm's jobcomp/filetxt: one for each attempt of a job, when the attempt ends.
type jobcomp struct{}

func (jobcomp) repeats() bool                          { return true }
func (jobcomp) submitted(dst []byte, _ *record) []byte { return dst }
func (jobcomp) started(dst []byte, _ *record) []byte   { return dst }

func (jobcomp) line(dst []byte, r *record, state string, start time.Time, nodes string) []byte {
	return fmt.Appendf(dst, "JobId=%d UserId=%s(1001) GroupId=users(100) Name=job JobState=%s Partition=%s "+
		"TimeLimit=%d StartTime=%s EndTime=%s NodeList=%s NodeCnt=%d "+
		"ProcCnt=%d WorkDir=/tmp ReservationName= Tres=cpu=%d,node=%d,billing=1 Account=physics QOS=normal WcKey= "+
		"Cluster=soak SubmitTime=%s EligibleTime=%s "+
		"DerivedExitCode=0:0 ExitCode=0:0 \n", r.ID, r.User, state, r.Queue, int(r.Limit.Minutes()),
		start.Format(slurmTime), r.End.Format(slurmTime), nodes, r.Procs, r.Procs, r.Procs, r.Procs,
		r.Submit.Format(slurmTime), r.Submit.Format(slurmTime))
}

func (f jobcomp) ended(dst []byte, r *record) []byte {
	return f.line(dst, r, "COMPLETED", r.Start, fmt.Sprintf("n[1-%d]", r.Procs))
}

func (f jobcomp) requeued(dst []byte, r *record) []byte {
	return f.line(dst, r, "REQUEUED", r.Start, fmt.Sprintf("n[1-%d]", r.Procs))
}

func (f jobcomp) cancelled(dst []byte, r *record) []byte {
	return f.line(dst, r, "CANCELLED", r.End, "(null)")
}

func (jobcomp) array(dst []byte, _ *record, _ int) []byte   { return dst }
func (jobcomp) arrayCancelled(dst []byte, _ *record) []byte { return dst }

func (jobcomp) reasons() []string {
	return []string{collector.ReasonFormat, collector.ReasonField, collector.ReasonFuture, collector.ReasonLongLine}
}

func (f jobcomp) bad(dst []byte, reason string, n int64, at time.Time) []byte {
	r := record{ID: 1_000_000_000 + n, User: "u1", Queue: "short", Procs: 1, Limit: time.Hour, Submit: at,
		Start: at, End: at}
	switch reason {
	case collector.ReasonField:
		return append(dst,
			strings.Replace(string(f.ended(nil, &r)), "EndTime="+at.Format(slurmTime), "EndTime=soon", 1)...)
	case collector.ReasonFuture:
		r.Submit, r.Start, r.End = at.AddDate(80, 0, 0), at.AddDate(80, 0, 0), at.AddDate(80, 0, 0)
		return f.ended(dst, &r)
	}
	return fmt.Appendf(dst, "torn line %d of no record\n", n)
}
