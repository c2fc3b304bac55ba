// Command genlogs writes the jobs of a workload file as the accounting log of a scheduler, for benchmarks.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/research/internal/checkout"
	"github.com/waitcast/waitcast/swf"
)

func main() {
	checkout.Enter()
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "genlogs:", err)
		os.Exit(1)
	}
}

// run writes a number of copies of a trace. Each has the next job numbers and later times.
func run(args []string, out io.Writer) error {
	all := writers()
	if len(args) != 3 || all[args[0]].lines == nil {
		return fmt.Errorf("usage: genlogs FORMAT COPIES TRACE.swf.gz; formats: %s",
			strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	copies, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	jobs, err := read(args[2])
	if err != nil {
		return err
	}
	write := all[args[0]]
	w := bufio.NewWriterSize(out, 1<<20)
	if _, err := w.WriteString(write.header); err != nil {
		return err
	}
	var span int64
	for i := range jobs {
		span = max(span, jobs[i].Submit+1-jobs[0].Submit)
	}
	for c := range int64(copies) {
		for _, l := range write.lines(jobs, c*int64(len(jobs)), c*span) {
			if _, err := w.Write(l.text); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// writer writes the log of one scheduler.
type writer struct {
	header string
	lines  func(jobs []swf.Record, ids, shift int64) []line
}

func writers() map[string]writer {
	return map[string]writer{
		"pbs":     {lines: pbsLines},
		"jobcomp": {lines: each(jobcompLine)},
		"sacct":   {header: strings.ReplaceAll(slurm.SacctColumns, ",", "|") + "\n", lines: each(sacctLine)},
		"ctld":    {lines: controllerLines},
		"sge":     {lines: each(sgeLine)},
		"lsf":     {lines: each(lsfLine)},
		"swf":     {header: "; UnixStartTime: 0\n", lines: each(swfLine)},
	}
}

// read returns the jobs that ran, with instants since 1970 and numbers from 1.
func read(path string) ([]swf.Record, error) {
	r, err := swf.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	var jobs []swf.Record
	var rec swf.Record
	for err = r.Next(&rec); err == nil; err = r.Next(&rec) {
		if rec.Ran() && rec.Procs() > 0 {
			rec.ID, rec.Submit = int64(len(jobs)+1), rec.Submit+r.Header().UnixStartTime
			jobs = append(jobs, rec)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return jobs, err
}

// line is one record, with the time at which it is written.
type line struct {
	at   int64
	text []byte
}

func inOrder(lines []line) []line {
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	return lines
}

func instant(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

func pbsLines(jobs []swf.Record, ids, shift int64) []line {
	var out []line
	for i := range jobs {
		j := &jobs[i]
		submit := j.Submit + shift
		start := submit + max(j.Wait, 0)
		end := start + max(j.Runtime, 0)
		rec := pbs.Record{
			ID: strconv.FormatInt(j.ID+ids, 10) + ".server", User: fmt.Sprintf("u%d", j.User), Group: "users",
			Name: "job", Queue: "batch",
			Created: instant(submit), Queued: instant(submit), Eligible: instant(submit), Start: instant(start),
			End:      instant(end),
			ExecHost: fmt.Sprintf("n1/0*%d", j.Procs()), Procs: int(j.Procs()),
			TimeLimit: time.Duration(max(j.TimeLimit, 0)) * time.Second,
		}
		out = append(out, line{submit, pbs.AppendQueued(nil, rec)}, line{start, pbs.AppendStarted(nil, rec)},
			line{end, pbs.AppendEnded(nil, rec)})
	}
	return inOrder(out)
}

// lived is a job of a copy of the trace.
type lived struct {
	*swf.Record
	id, submit, start, end int64
	limit                  int64 // seconds
}

// each returns a writer of logs that have one line for each job, written at its end.
func each(write func(*lived) []byte) func(jobs []swf.Record, ids, shift int64) []line {
	return func(jobs []swf.Record, ids, shift int64) []line {
		out := make([]line, 0, len(jobs))
		for i := range jobs {
			j := liveOf(&jobs[i], ids, shift)
			out = append(out, line{j.end, write(&j)})
		}
		return inOrder(out)
	}
}

func liveOf(r *swf.Record, ids, shift int64) lived {
	j := lived{Record: r, id: r.ID + ids, submit: r.Submit + shift, limit: max(r.TimeLimit, 0)}
	j.start = j.submit + max(r.Wait, 0)
	j.end = j.start + max(r.Runtime, 0)
	return j
}

func local(unix int64) string { return instant(unix).Format("2006-01-02T15:04:05") }

// jobcompLine returns a line of jobcomp/filetxt of Slurm 22.05 (JOB_FORMAT in
// src/plugins/jobcomp/filetxt/jobcomp_filetxt.c).
func jobcompLine(j *lived) []byte {
	n := j.Procs()
	return fmt.Appendf(nil, "JobId=%d UserId=u%d(%d) GroupId=users(100) Name=job JobState=COMPLETED "+
		"Partition=batch TimeLimit=%d StartTime=%s EndTime=%s NodeList=n[1-%d] NodeCnt=%d ProcCnt=%d "+
		"WorkDir=/home/u%d ReservationName= Tres=cpu=%d,node=%d,billing=%d Account=a QOS=normal "+
		"WcKey= Cluster=c SubmitTime=%s EligibleTime=%s DerivedExitCode=0:0 ExitCode=0:0 \n",
		j.id, j.User, j.User, j.limit/60, local(j.start), local(j.end), n, n, n, j.User, n, n, n, local(j.submit),
		local(j.submit))
}

// sacctLine returns a line of sacct -P with the columns that docs/formats/slurm-sacct.md recommends.
func sacctLine(j *lived) []byte {
	n := j.Procs()
	return fmt.Appendf(nil, "%s|%d|%d|u%d|a|batch|normal|COMPLETED|%s|%s|%s|%d|%d|%d|%d|%d|1000|n[1-%d]|job\n",
		local(j.submit), j.id, j.id, j.User, local(j.submit), local(j.start), local(j.end), j.limit/60, n, n, n, n, n)
}

// sgeLine returns a record of Grid Engine's accounting(5).
func sgeLine(j *lived) []byte {
	n := j.Procs()
	return fmt.Appendf(nil, "batch:n1:users:u%d:job:%d:sge:0:%d:%d:%d:0:0:%d:0.1:0.1:4560.000000:0:0:0:0:552:1:0:"+
		"328.000000:16:0:0:0:15:20:a:defaultdepartment:mpi:%d:0:0.2:0.000000:0.000038:-l h_rt=%d -pe mpi %d:0.000000:"+
		"NONE:3723264.000000:0:0\n", j.User, j.id, j.submit, j.start, j.end, j.end-j.start, n, j.limit, n)
}

// lsfLine returns a JOB_FINISH record of LSF 10's lsb.acct(5), with compressed hosts.
func lsfLine(j *lived) []byte {
	return fmt.Appendf(nil, `"JOB_FINISH" "10.1" %d %d 506 2 %d %d 0 0 %d "u%d" "batch" "" "" "" "login" "/home/u" "" `+
		`"" "" "x" 0 1 "%[3]d*n1" 64 116.1 "job" "run" 0.06 0.27 1480 0 -1 0 0 1477 0 0 0 0 -1 0 0 0 13 8 -1 "" "a" 0 `+
		`1 "" "" 0 2048 0 "" "" "" "" 0 "" 0 "" -1 "/u" "" "" "" -1 "" "" 5136 "" 0 "" "" 1 1032 "0" 1 n1 1 2 3 4 5 `+
		`%[7]d 64 2048 "select[x]"`+"\n", j.end, j.id, j.Procs(), j.submit, j.start, j.User, j.limit)
}

// swfLine returns a line of the Standard Workload Format whose times count from 1970.
func swfLine(j *lived) []byte {
	return fmt.Appendf(nil, "%d %d %d %d %d -1 -1 %d %d -1 1 %d 1 -1 1 -1 -1 -1\n", j.id, j.submit, j.start-j.submit,
		j.end-j.start, j.Procs(), j.Procs(), j.limit, j.User)
}

// controllerLines returns the lines that slurmctld of Slurm 22.05 writes at level info.
func controllerLines(jobs []swf.Record, ids, shift int64) []line {
	var out []line
	for i := range jobs {
		j := liveOf(&jobs[i], ids, shift)
		write := func(at int64, text string, args ...any) {
			out = append(out, line{at, fmt.Appendf(nil, "[%s.000] "+text+"\n", append([]any{local(at)}, args...)...)})
		}
		write(j.submit, "_slurm_rpc_submit_batch_job: JobId=%d InitPrio=1000 usec=350", j.id)
		write(j.start, "sched: Allocate JobId=%d NodeList=n[1-%d] #CPUs=%[2]d Partition=batch", j.id, j.Procs())
		write(j.end, "_job_complete: JobId=%d WEXITSTATUS 0", j.id)
		write(j.end, "_job_complete: JobId=%d done", j.id)
	}
	return inOrder(out)
}
