// Package backtest replays recorded logs through the predictors as if they had happened live, and scores every method
// on the same jobs. A forecast uses only data known at the submission: at one instant ends come first, then submissions
// in the order of the file, then starts.
package backtest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/swf"
)

// Job is one job of a trace. Instants are in seconds: since the start of the log for a workload file, otherwise since
// 1970.
type Job struct {
	// Number is the job's number in the log, or its index if a Name identifies the job.
	Number int64
	Name   string
	// Key is the engine's id of the job; 0 means that the id is the job's index in the trace.
	Key    uint64
	Submit float64
	engine.Request
	// Starts and Ends are true if the job started and ended. Start and End are the instants, which may be assumed (see
	// Recorded and Lost). If the job was Cancelled while it waited, End is the instant of that, and Ends is false. A
	// job that does not start, and is not Cancelled, waits until the log's end.
	Starts, Ends, Cancelled bool
	Start, End              float64
	// Lost is true if the job started, and its end is not in the log but assumed. In a workload file it is assumed a
	// day after the time limit.
	Lost bool
	// NeverRan is true if the log's status shows that the job never ran. Such a job is not scored.
	NeverRan bool
	// Recorded is true if the log has the wait, so that the wait is learnt and scored. A cancelled job has a wait
	// until its cancellation.
	Recorded bool
	// Changes are the changes of the job while it waited, in order.
	Changes []Change
}

// Change is one change of a waiting job: it stops or resumes competing, or its request changes.
type Change struct {
	At   float64
	Held bool
	engine.Request
}

// ID returns the job's id in the form of the log.
func (j *Job) ID() string {
	if j.Name != "" {
		return j.Name
	}
	return strconv.FormatInt(j.Number, 10)
}

// Wait returns the time from the submission to the start or, if the job was cancelled, to the cancellation.
func (j *Job) Wait() float64 {
	if j.Cancelled {
		return j.End - j.Submit
	}
	return j.Start - j.Submit
}

// Scored reports whether the job's wait can be scored: the job ran, and the log has its start.
func (j *Job) Scored() bool { return j.Starts && j.Recorded && !j.NeverRan }

// Trace is a log in the form for a replay.
type Trace struct {
	Name  string
	Procs int // the header's MaxProcs, 0 if it is missing
	Jobs  []Job
	// Dated is true if Epoch is known: the Unix time, in seconds, from which instants count. Otherwise their origin is
	// unknown.
	Dated bool
	Epoch float64
	// Bad is the number of records that were left out. In a workload file these are lines that cannot be read, and
	// records without a size.
	Bad int
}

// Open reads a trace from a file in the Standard Workload Format, plain or compressed with gzip.
func Open(path, name string) (t *Trace, err error) {
	bad := 0
	f, err := swf.Open(path, swf.OnBadLine(func(*swf.LineError) { bad++ }))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err = Read(f.Reader, name)
	if t != nil {
		t.Bad += bad
	}
	return t, err
}

// Read reads a trace to its end, and sorts its jobs by submission. A log without jobs is an error.
func Read(r *swf.Reader, name string) (*Trace, error) {
	if err := r.ReadHeader(); err != nil {
		return nil, err
	}
	h := r.Header()
	t := &Trace{Name: name, Procs: int(h.MaxProcs), Dated: h.UnixStartTime > 0, Epoch: float64(h.UnixStartTime)}
	var rec swf.Record
	for {
		if err := r.Next(&rec); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if j, ok := jobOf(&rec, h); ok {
			t.Jobs = append(t.Jobs, j)
		} else {
			t.Bad++
		}
	}
	if len(t.Jobs) == 0 {
		return nil, fmt.Errorf("%s: no job to replay", name)
	}
	slices.SortStableFunc(t.Jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return t, nil
}

// jobOf converts a record to a job. It returns false if the record has no size. The size is the requested one if the
// log has it, because the allocated one is known only at the start.
func jobOf(rec *swf.Record, h *swf.Header) (Job, bool) {
	procs := rec.RequestedProcs
	if procs < 1 {
		procs = rec.Allocated
	}
	if procs < 1 {
		return Job{}, false
	}
	if len(h.Queues) == 0 && rec.Partition >= 0 {
		named := *rec
		named.Queue = swf.Unknown // the partition is the queue, as in Slurm
		rec = &named
	}
	j := Job{Number: rec.ID, Submit: float64(rec.Submit),
		Request: engine.Request{Queue: h.QueueName(rec), Procs: int(procs)}}
	if len(h.Queues) > 0 && rec.Partition >= 0 {
		j.Partition = strconv.FormatInt(rec.Partition, 10)
	}
	if rec.User >= 0 {
		j.User = strconv.FormatInt(rec.User, 10)
	}
	if rec.Executable >= 0 {
		j.App = strconv.FormatInt(rec.Executable, 10)
	}
	j.Limit = max(0, float64(rec.TimeLimit))
	fate(&j, rec)
	return j, true
}

// grace is the number of seconds after its time limit for which a job without a recorded end counts as running.
const grace = 86400

// fate sets the outcome of a job. A job with status 5 and no runtime never ran. But the status is the one at the end
// of the log. So a job with processors and a wait but no runtime may still have been running then. It counts as
// started, and is not scored.
func fate(j *Job, rec *swf.Record) {
	wait := float64(rec.Wait)
	j.NeverRan = rec.Status == swf.StatusCancelled && rec.Runtime <= 0
	running := rec.Runtime < 0 && rec.Allocated > 0 && rec.Wait >= 0
	switch {
	case j.NeverRan && !running:
		if rec.Wait >= 0 {
			j.Cancelled, j.Recorded, j.End = true, true, j.Submit+wait
		}
		return
	case rec.Wait >= 0:
		j.Starts, j.Recorded, j.Start = true, true, j.Submit+wait
	case rec.Runtime >= 0:
		j.Starts, j.Start = true, j.Submit
	}
	switch {
	case !j.Starts:
	case rec.Runtime >= 0:
		j.Ends, j.End = true, j.Start+float64(rec.Runtime)
	case j.Limit > 0:
		j.Ends, j.Lost, j.End = true, true, j.Start+j.Limit+grace
	}
}

// Runtime returns the runtime in seconds of the job with the given engine id. It is NaN if the job has no end, or if
// the id is not the job's index. For a Lost job it is the assumed runtime. It is for engines with an oracle, which know
// the runtimes of running jobs.
func (t *Trace) Runtime(id uint64) float64 {
	if id >= uint64(len(t.Jobs)) || t.Jobs[id].Key != 0 {
		return math.NaN()
	}
	j := &t.Jobs[id]
	if !j.Starts || !j.Ends {
		return math.NaN()
	}
	return j.End - j.Start
}
