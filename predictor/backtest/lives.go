package backtest

import (
	"fmt"
	"time"

	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// FromLives returns the lives of a log's jobs as a trace. Each attempt of a job is a separate job, as in the daemon's
// engine. Times are Unix seconds, as in the daemon, because forecasts use the time of day and of the week.
func FromLives(name string, l *lives.Lives) (*Trace, error) {
	if len(l.Jobs) == 0 {
		return nil, fmt.Errorf("%s: no job to replay", name)
	}
	t := &Trace{Name: name, Procs: l.Procs, Dated: true, Jobs: make([]Job, 0, len(l.Jobs))}
	for i := range l.Jobs {
		t.Jobs = append(t.Jobs, jobOfLife(&l.Jobs[i], int64(i+1)))
	}
	return t, nil
}

// clock returns an instant in Unix seconds.
func clock(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// jobOfLife returns the job of a life, with the given Number.
func jobOfLife(l *lives.Life, number int64) Job {
	var key uint64
	if l.Seq > 0 { // the same number as readmodel.EngineID, because the draws of simulations depend on it
		key = l.Seq<<12 | uint64(l.Attempt&0x7ff)<<1
	}
	j := Job{Number: number, Name: l.ID, Key: key, Submit: clock(l.Submit), Request: requestOf(&l.Asked),
		Recorded: !l.Guessed}
	switch l.Fate {
	case lives.Waiting:
		j.Recorded = false
	case lives.Cancelled:
		j.Cancelled, j.End = true, clock(l.End)
	default:
		j.Starts, j.Start = true, clock(l.Start)
		j.Ends, j.Lost = l.Fate != lives.Running, l.Fate == lives.Lost
		if j.Ends {
			j.End = clock(l.End)
		}
	}
	for _, c := range l.Changes {
		j.Changes = append(j.Changes, Change{At: clock(c.At), Held: c.Held, Request: requestOf(&c.Asked)})
	}
	return j
}

// requestOf returns the request of a job as the daemon passes it to the engine (readmodel.EngineRequest).
func requestOf(a *job.Attributes) engine.Request {
	return engine.Request{Queue: a.Queue, User: a.User, App: a.Name, Procs: max(1, a.Procs),
		Limit: a.TimeLimit.Seconds(), Priority: float64(a.Priority)}
}
