package head

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/waitcast/waitcast/predictor/residual"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
)

// Job is a job of the trace. Times are in seconds since the beginning of the trace.
type Job struct {
	ID              int64 // job number in the log
	Submit, Runtime float64
	// Start and End are the times under strict first come, first served. Run sets them in the jobs that it passes to
	// Options.Forecast.
	Start, End float64
	residual.Job
}

// Trace has the jobs of a log, for a machine that is one pool.
type Trace struct {
	Procs int
	Jobs  []Job
}

// ErrNoProcs means that the size of the machine is unknown.
var ErrNoProcs = errors.New("head: the log does not tell MaxProcs: give the number of processors")

// Read reads the jobs of a log that ran. procs is the number of processors of the machine; 0 means MaxProcs in the
// header. Jobs that request more get that number. A runtime of 0 counts as 1 s. Invalid lines are left out.
func Read(r *swf.Reader, procs int) (*Trace, error) {
	if err := r.ReadHeader(); err != nil {
		return nil, fmt.Errorf("head: read header: %w", err)
	}
	if procs <= 0 {
		procs = int(r.Header().MaxProcs)
	}
	if procs <= 0 {
		return nil, ErrNoProcs
	}
	t := &Trace{Procs: procs}
	var rec swf.Record
	for {
		err := r.Next(&rec)
		var line *swf.LineError
		switch {
		case errors.Is(err, io.EOF):
			return t, nil
		case errors.As(err, &line):
			continue
		case err != nil:
			return nil, fmt.Errorf("head: %w", err)
		}
		if !rec.Ran() || rec.Procs() < 1 || rec.Submit < 0 {
			continue
		}
		j := Job{ID: rec.ID, Submit: float64(rec.Submit), Runtime: math.Max(1, float64(rec.Runtime))}
		j.Job = residual.Job{
			Queue: r.Header().QueueName(&rec), User: name(rec.User), App: name(rec.Executable),
			Procs: min(procs, int(rec.Procs())), Limit: max(0, float64(rec.TimeLimit)),
		}
		t.Jobs = append(t.Jobs, j)
	}
}

// name returns a number in the log, for example of a user, as text; "" if it is unknown (negative).
func name(n int64) string {
	if n < 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// schedule schedules the jobs strictly first come, first served. It returns copies with their times, in order of start.
func (t *Trace) schedule() ([]Job, error) {
	sim, err := simulator.New(simulator.Config{Procs: t.Procs})
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	for i, j := range t.Jobs {
		in := simulator.Job{ID: int64(i), Submit: j.Submit, Procs: j.Procs, Runtime: j.Runtime}
		if err := sim.Submit(in); err != nil {
			return nil, fmt.Errorf("head: job %d: %w", j.ID, err)
		}
	}
	out := make([]Job, 0, len(t.Jobs))
	err = sim.Advance(math.Inf(1), func(e simulator.Event) {
		if e.Kind == simulator.Started {
			j := t.Jobs[e.Job.ID]
			j.Start, j.End = e.Job.Start, e.Job.End
			out = append(out, j)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	return out, nil
}
