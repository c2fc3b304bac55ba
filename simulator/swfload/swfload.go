// Package swfload converts records of the Standard Workload Format to jobs for simulation. It follows one of two sets
// of rules, and reports its changes.
package swfload

import (
	"errors"
	"io"
	"slices"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
)

// Rules define how a record becomes a job.
type Rules uint8

const (
	// Plain uses the values of the log. The number of processors is the allocated number, or else the requested one.
	// A job that never ran (see swf.Record.Ran) or has no processors is left out. The time limit is the estimate. If
	// the limit is missing or below the runtime, the estimate is the runtime (schedulers allow some time beyond the
	// limit). A negative submit time becomes 0. A job larger than the machine is left out; with Options.Clamp it is
	// cut to the size of the machine.
	Plain Rules = iota

	// Pyss reads logs in the same way as pyss, the Python simulator of the Hebrew University's parallel systems group
	// (dinesh121991/pyss on GitHub). A job with runtime <= 0, allocated processors <= 0 or submit time < 0 becomes a
	// job of 1 s with the estimate 1 s and max(1, allocated) processors, submitted at 1 s at the earliest. For any
	// other job the estimate is max(limit, runtime, 1), the runtime is max(min(limit, runtime), 1), and the number of
	// processors is the allocated number. All jobs larger than the machine are cut to its size. If the log has no
	// limit (-1), the runtime is therefore 1 s, which is probably a mistake. Report.NoEstimate counts such jobs.
	Pyss
)

// Options define how a log is read.
type Options struct {
	Rules Rules
	Procs int  // processors of the machine; 0 means the header's MaxProcs
	Clamp bool // cut jobs that are larger than the machine, instead of leaving them out
	Keep  bool // keep the records
	Queue bool // set Job.Queue to the name of the record's queue in the header, or else to its number
}

// Trace has the jobs in order of submission. Jobs with the same submit time are in the order of the file.
type Trace struct {
	Procs   int
	Jobs    []simulator.Job
	Records []swf.Record // the record of each job; only with Options.Keep
	Report  Report
}

// Report counts irregular records. Their jobs are in the trace, unless a field's comment says otherwise.
type Report struct {
	Records    int   // all records that were read
	TooLarge   Tally // jobs larger than the machine; left out, or cut if requested
	NeverRan   Tally // runtime below 0, or 0 and cancelled; left out by Plain, 1 s by Pyss
	NoProcs    Tally // no number of processors; left out by Plain, 1 by Pyss
	NoEstimate Tally // no time limit
	Raised     Tally // time limit below the runtime; Plain raises the estimate, Pyss cuts the runtime
	Early      Tally // submit time below 0
	Unordered  Tally // submitted before the job of the previous line; put in order
	Duplicates Tally // the job number occurred before; kept
}

// Tally counts jobs. It has the numbers of the first of them.
type Tally struct {
	N     int
	First []int64 // numbers of the first ten
}

func (t *Tally) add(id int64) {
	if t.N++; len(t.First) < 10 {
		t.First = append(t.First, id)
	}
}

// ErrNoProcs means that the size of a workload's machine is unknown.
var ErrNoProcs = errors.New("the workload's header has no MaxProcs: say how many processors the machine has")

// ErrEmpty means that a file has neither jobs nor the size of a machine.
var ErrEmpty = errors.New("it has no jobs and no number of processors; is it in the Standard Workload Format?")

// Open reads a trace from a file, plain or compressed with gzip.
func Open(path string, o Options) (t *Trace, err error) {
	f, err := swf.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return Read(f.Reader, o)
}

// Read reads a trace to its end. It stops at an error of the reader; an option of the reader can skip bad lines. A
// trace without jobs is not an error. A machine without a size is an error.
func Read(r *swf.Reader, o Options) (*Trace, error) {
	if err := r.ReadHeader(); err != nil {
		return nil, err
	}
	t := &Trace{Procs: o.Procs}
	if t.Procs == 0 {
		t.Procs = int(r.Header().MaxProcs)
	}
	var rec swf.Record
	if t.Procs < 1 {
		if err := r.Next(&rec); errors.Is(err, io.EOF) {
			return nil, ErrEmpty
		}
		return nil, ErrNoProcs
	}
	sorted := true
	for {
		if err := r.Next(&rec); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		t.Report.Records++
		job, ok := t.job(&rec, o)
		if !ok {
			continue
		}
		if o.Queue {
			job.Queue = r.Header().QueueName(&rec)
		}
		if n := len(t.Jobs); n > 0 {
			if job.Submit < t.Jobs[n-1].Submit {
				t.Report.Unordered.add(rec.ID)
				sorted = false
			}
		}
		if o.Keep {
			t.Records = append(t.Records, rec)
		}
		if len(t.Jobs) == cap(t.Jobs) {
			t.Jobs = slices.Grow(t.Jobs, max(4096, len(t.Jobs))) // append alone would copy the jobs twice as often
		}
		t.Jobs = append(t.Jobs, job)
	}
	t.findDuplicates()
	if !sorted {
		t.sort()
	}
	return t, nil
}

// job converts a record to a job. It returns false if the record is left out.
func (t *Trace) job(rec *swf.Record, o Options) (simulator.Job, bool) {
	j := simulator.Job{ID: rec.ID, User: rec.User, Submit: float64(max(0, rec.Submit)),
		Limit: float64(max(0, rec.TimeLimit))}
	p := &t.Report
	if rec.TimeLimit <= 0 {
		p.NoEstimate.add(rec.ID)
	} else if rec.TimeLimit < rec.Runtime {
		p.Raised.add(rec.ID)
	}
	if rec.Submit < 0 {
		p.Early.add(rec.ID)
	}
	if !rec.Ran() {
		p.NeverRan.add(rec.ID)
	}
	procs := rec.Procs()
	if o.Rules == Pyss {
		procs = rec.Allocated
	}
	if procs <= 0 {
		p.NoProcs.add(rec.ID)
	}
	switch {
	case o.Rules == Pyss && (rec.Runtime <= 0 || rec.Allocated <= 0 || rec.Submit < 0):
		j.Estimate, j.Runtime, j.Submit = 1, 1, max(1, j.Submit)
	case o.Rules == Pyss:
		j.Estimate = float64(max(rec.TimeLimit, rec.Runtime, 1))
		j.Runtime = float64(max(min(rec.TimeLimit, rec.Runtime), 1))
	case procs <= 0 || !rec.Ran():
		return j, false
	default:
		j.Runtime = float64(rec.Runtime)
		j.Estimate = float64(max(rec.TimeLimit, rec.Runtime, 1))
	}
	if procs = max(1, procs); procs > int64(t.Procs) {
		p.TooLarge.add(rec.ID)
		if o.Rules != Pyss && !o.Clamp {
			return j, false
		}
		procs = int64(t.Procs)
	}
	j.Procs = int(procs)
	return j, true
}

// findDuplicates counts the jobs that have the number of an earlier job.
func (t *Trace) findDuplicates() {
	increasing := true
	for i := 1; i < len(t.Jobs) && increasing; i++ {
		increasing = t.Jobs[i-1].ID < t.Jobs[i].ID
	}
	if increasing {
		return
	}
	seen := make(map[int64]struct{}, len(t.Jobs))
	for i := range t.Jobs {
		id := t.Jobs[i].ID
		if _, ok := seen[id]; ok {
			t.Report.Duplicates.add(id)
		}
		seen[id] = struct{}{}
	}
}

// sort sorts the jobs, and the records with them, by submission.
func (t *Trace) sort() {
	order := make([]int, len(t.Jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := t.Jobs[a].Submit, t.Jobs[b].Submit; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	jobs := make([]simulator.Job, len(order))
	for i, k := range order {
		jobs[i] = t.Jobs[k]
	}
	if t.Records != nil {
		records := make([]swf.Record, len(order))
		for i, k := range order {
			records[i] = t.Records[k]
		}
		t.Records = records
	}
	t.Jobs = jobs
}

// Source returns the jobs one by one, from the first.
func (t *Trace) Source() simulator.Source { return simulator.FromSlice(t.Jobs) }
