// Package workloadfile writes the lives of a log's jobs as a file in the Standard Workload Format, version 2.2. The
// file has numbers instead of names, so that a site can share it.
//
// The format is defined by the Parallel Workloads Archive
// (https://www.cs.huji.ac.il/labs/parallel/workload/swf.html). Users, groups, applications and queues are numbered
// from 1 in the order in which they occur, as the archive requests.
package workloadfile

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/swf"
)

// Options define the contents of the header.
type Options struct {
	// Procs is the number of processors of the machine; 0 means the highest number that was in use at once.
	Procs int
	// Location is the time zone of the cluster in the header; nil leaves it out.
	Location *time.Location
	// QueueNames writes the names of the queues into the header. Names of users, accounts and jobs are never written.
	QueueNames bool
	// Program is the name and version of the program that converts.
	Program string
}

// Write writes the lives to a file. It writes a record for each attempt of a job, in order of submission.
func Write(to io.Writer, l *lives.Lives, o Options) error {
	w := swf.NewWriter(to)
	c := converter{queues: numbers{}, users: numbers{}, groups: numbers{}, applications: numbers{}}
	if len(l.Jobs) > 0 {
		c.base = l.Jobs[0].Submit.Unix() / week * week
	}
	records := make([]swf.Record, 0, len(l.Jobs))
	for i := range l.Jobs {
		records = append(records, c.record(&l.Jobs[i]))
	}
	slices.SortStableFunc(records, func(a, b swf.Record) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range records {
		records[i].ID = int64(i + 1)
	}
	if err := w.WriteHeader(c.header(l, o)); err != nil {
		return err
	}
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			return err
		}
	}
	return w.Flush()
}

// week is the length of a week in seconds. Weeks are counted from 1970. Time 0 of the file is the beginning of the
// week of the first submission. So the times of day and the days of the week are right even in a replay that ignores
// UnixStartTime.
const week = 7 * 24 * 60 * 60

// converter replaces names by numbers.
type converter struct {
	base                                int64 // the instant of the submit time 0, in Unix seconds
	queues, users, groups, applications numbers
	newest                              int64
}

// numbers maps names to numbers from 1.
type numbers map[string]int64

// of returns the number of a name. A new name gets the next number. The empty name has the number swf.Unknown.
func (n numbers) of(name string) int64 {
	if name == "" {
		return swf.Unknown
	}
	number, ok := n[name]
	if !ok {
		number = int64(len(n) + 1)
		n[name] = number
	}
	return number
}

// record converts a job's life to a record. It first cuts instants to whole seconds and then computes differences, so
// that the differences add up.
func (c *converter) record(l *lives.Life) swf.Record {
	r := swf.Record{
		Submit: l.Submit.Unix() - c.base, Wait: swf.Unknown, Runtime: swf.Unknown, Allocated: swf.Unknown,
		CPUTime: swf.Unknown, Memory: swf.Unknown, RequestedProcs: known(int64(l.Asked.Procs)),
		TimeLimit: known(int64(math.Round(l.Asked.TimeLimit.Seconds()))), RequestedMem: swf.Unknown,
		Status: swf.Unknown, User: c.users.of(l.Asked.User), Group: c.groups.of(l.Asked.Account),
		Executable: c.applications.of(l.Asked.Name), Queue: c.queues.of(l.Asked.Queue), Partition: swf.Unknown,
		Preceding: swf.Unknown, ThinkTime: swf.Unknown,
	}
	if l.Asked.Memory > 0 && l.Asked.Procs > 0 {
		r.RequestedMem = l.Asked.Memory / 1024 / int64(l.Asked.Procs)
	}
	c.newest = max(c.newest, l.Submit.Unix(), l.End.Unix())
	switch l.Fate {
	case lives.Waiting:
		return r
	case lives.Cancelled:
		r.Status, r.Wait = swf.StatusCancelled, l.End.Unix()-l.Submit.Unix()
		return r
	}
	r.Allocated = known(int64(l.Given.Procs))
	if !l.Guessed {
		r.Wait = l.Start.Unix() - l.Submit.Unix()
	} else {
		r.Submit = l.Start.Unix() - c.base
	}
	if !l.End.IsZero() {
		r.Runtime = l.End.Unix() - l.Start.Unix()
	}
	return r
}

func known(n int64) int64 {
	if n <= 0 {
		return swf.Unknown
	}
	return n
}

// header returns the header. It has the standard fields, and notes on the origin of each field.
func (c *converter) header(l *lives.Lives, o Options) *swf.Header {
	h := &swf.Header{UnixStartTime: c.base, MaxProcs: int64(o.Procs)}
	note := func(format string, args ...any) { h.Lines = append(h.Lines, "; "+fmt.Sprintf(format, args...)) }
	note("Version: 2.2")
	note("Conversion: %s", o.Program)
	note("MaxJobs: %d", len(l.Jobs))
	note("MaxRecords: %d", len(l.Jobs))
	zone := time.UTC
	if o.Location != nil {
		zone = o.Location
		h.TimeZoneString = zone.String()
	}
	if len(l.Jobs) > 0 {
		note("StartTime: %s", l.Jobs[0].Submit.In(zone).Format(time.UnixDate))
		note("EndTime: %s", time.Unix(c.newest, 0).In(zone).Format(time.UnixDate))
	}
	note("MaxQueues: %d", len(c.queues))
	if h.MaxProcs <= 0 {
		h.MaxProcs = int64(l.Procs)
		note("Note: MaxProcs is the highest number of processors that jobs held at once, not a configured number")
	}
	note("Note: numbers stand for names, from 1 in the order in which they occur: users, groups (accounts), " +
		"applications (job names), queues")
	note("Note: each try of a requeued job is a record; the job number is the place in this file")
	note("Note: field 8 is what a job asked for at its submission, field 5 what it held at its end")
	note("Note: field 10 is in kilobytes per processor asked for; fields 6, 7 and 16 to 18 are not known")
	note("Note: field 11 is 5 for a job that left the queue before its start, after a wait of field 3, else -1")
	note("Note: field 3 is -1 where no record has the submission; then field 2 is the start. Both field 3 and " +
		"field 4 are -1 for a job that waited when the log ended, field 4 alone for one that ran")
	if o.QueueNames {
		h.Queues = map[int64]string{}
		for name, number := range c.queues {
			h.Queues[number] = name
		}
	}
	return h
}
