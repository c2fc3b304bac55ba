package backtest

import (
	"fmt"
	"time"

	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// FromLives returns the lives of a log's jobs as a trace: each try of a job is a job of its own, as it is to the
// daemon's engine. The instants count from the first submission.
func FromLives(name string, l *lives.Lives) (*Trace, error) {
	if len(l.Jobs) == 0 {
		return nil, fmt.Errorf("%s: no job to replay", name)
	}
	t := &Trace{Name: name, Procs: l.Procs, Jobs: make([]Job, 0, len(l.Jobs))}
	origin := l.Jobs[0].Submit
	since := func(at time.Time) float64 { return at.Sub(origin).Seconds() }
	for i := range l.Jobs {
		t.Jobs = append(t.Jobs, jobOfLife(&l.Jobs[i], int64(i+1), since))
	}
	return t, nil
}

// jobOfLife turns a life into a job.
func jobOfLife(l *lives.Life, number int64, since func(time.Time) float64) Job {
	j := Job{Number: number, Name: l.ID, Submit: since(l.Submit), Request: requestOf(&l.Asked), Recorded: !l.Guessed}
	switch l.Fate {
	case lives.Waiting:
		j.Recorded = false
	case lives.Cancelled:
		j.Cancelled, j.End = true, since(l.End)
	default:
		j.Starts, j.Start = true, since(l.Start)
		j.Ends, j.Lost = l.Fate != lives.Running, l.Fate == lives.Lost
		if j.Ends {
			j.End = since(l.End)
		}
	}
	for _, c := range l.Changes {
		j.Changes = append(j.Changes, Change{At: since(c.At), Held: c.Held, Request: requestOf(&c.Asked)})
	}
	return j
}

// requestOf returns what a job asks for as the daemon passes it to the engine (readmodel.EngineRequest).
func requestOf(a *job.Attributes) engine.Request {
	return engine.Request{Queue: a.Queue, User: a.User, App: a.Name, Procs: max(1, a.Procs),
		Limit: a.TimeLimit.Seconds(), Priority: float64(a.Priority)}
}
