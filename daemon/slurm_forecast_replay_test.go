package daemon_test

import (
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
)

// replay passes the events to the predictor alone, as a backtest does, and records its forecast at each submission.
// Like the daemon, the predictor knows the partitions and that they share all nodes. Unlike the daemon, which must wait
// for a snapshot, it has all data of a job at the submission.
func replay(t *testing.T, out []outcome) {
	t.Helper()
	e, err := engine.New(engine.Config{Levels: waittime.ScoredLevels(), Downey: true, Synchronous: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, queue := range []string{"short", "medium", "long"} {
		e.SetPool(queue, engine.PoolConfig{Name: "nodes", Procs: forecastNodes * forecastCPUs})
	}
	traceOf(out).Replay(e, func(i int, f engine.Forecast) { out[i].replayed = f.Quantiles })
}

// traceOf converts the outcomes to a trace, in the same order.
func traceOf(out []outcome) *backtest.Trace {
	trace := &backtest.Trace{Name: "slurm", Procs: forecastNodes * forecastCPUs}
	for i := range out {
		o := &out[i]
		trace.Jobs = append(trace.Jobs, backtest.Job{
			Number: int64(o.number), Submit: o.submit.Sub(out[0].submit).Seconds(),
			Start:  o.start.Sub(out[0].submit).Seconds(),
			End:    o.end.Sub(out[0].submit).Seconds(),
			Starts: true, Ends: true, Recorded: true,
			Request: engine.Request{Queue: o.queue, User: o.user, Procs: o.cpus, Limit: float64(60 * o.minutes),
				Priority: float64(o.priority)},
		})
	}
	return trace
}
