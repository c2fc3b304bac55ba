// Command genlogs writes the jobs of a workload file as the accounting log of a scheduler, for benchmarks.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/swf"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "genlogs:", err)
		os.Exit(1)
	}
}

// run writes so many copies of a trace, each with the next job numbers and times.
func run(args []string, out io.Writer) error {
	if len(args) != 3 || args[0] != "pbs" && args[0] != "jobcomp" {
		return fmt.Errorf("usage: genlogs pbs|jobcomp COPIES TRACE.swf.gz")
	}
	copies, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	jobs, err := read(args[2])
	if err != nil {
		return err
	}
	write := pbsLines
	if args[0] == "jobcomp" {
		write = jobcompLines
	}
	w := bufio.NewWriterSize(out, 1<<20)
	var span int64
	for i := range jobs {
		span = max(span, jobs[i].Submit+1-jobs[0].Submit)
	}
	for c := range int64(copies) {
		for _, l := range write(jobs, c*int64(len(jobs)), c*span) {
			if _, err := w.Write(l.text); err != nil {
				return err
			}
		}
	}
	return w.Flush()
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

// line is one record, and when it is written.
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

// jobcompLines writes what jobcomp/filetxt of Slurm 22.05 writes (JOB_FORMAT in
// src/plugins/jobcomp/filetxt/jobcomp_filetxt.c).
func jobcompLines(jobs []swf.Record, ids, shift int64) []line {
	const clock = "2006-01-02T15:04:05"
	var out []line
	for i := range jobs {
		j := &jobs[i]
		submit := j.Submit + shift
		start := submit + max(j.Wait, 0)
		end := start + max(j.Runtime, 0)
		at := func(unix int64) string { return instant(unix).Format(clock) }
		out = append(out,
			line{end,
				fmt.Appendf(nil, "JobId=%d UserId=u%d(%d) GroupId=users(100) Name=job JobState=COMPLETED "+
					"Partition=batch TimeLimit=%d StartTime=%s "+
					"EndTime=%s NodeList=n[1-%d] NodeCnt=%d ProcCnt=%d WorkDir=/home/u%d ReservationName= "+
					"Tres=cpu=%d,node=%d,billing=%d Account=a QOS=normal "+
					"WcKey= Cluster=c SubmitTime=%s EligibleTime=%s DerivedExitCode=0:0 ExitCode=0:0 \n",
					j.ID+ids, j.User, j.User, max(j.TimeLimit, 0)/60, at(start), at(end), j.Procs(), j.Procs(),
					j.Procs(), j.User, j.Procs(), j.Procs(), j.Procs(), at(submit), at(submit))})
	}
	return inOrder(out)
}
