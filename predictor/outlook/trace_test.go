package outlook

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

// replay passes a recorded trace to a Forecaster and a Picture, in the project's order of events (package backtest),
// and stops at instants. At each of them it calls at with the picture just before. The recorded starts and ends are
// used unchanged.
type replay struct {
	trace    *backtest.Trace
	local    func(float64) float64
	picture  *Picture
	learner  listener
	instants []float64 // in rising order
	at       func(now float64)
}

// openTrace reads a trace of the shared data, with its local time.
func openTrace(t testing.TB, name string) *replay {
	t.Helper()
	path := refdata.Shared(t, "traces/"+name)
	trace, err := backtest.Open(path, name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := swf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := f.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	h := f.Header()
	zone := time.FixedZone("log", int(h.TimeZone))
	if z, err := time.LoadLocation(h.TimeZoneString); err == nil && h.TimeZoneString != "" {
		zone = z
	}
	return &replay{trace: trace, local: func(at float64) float64 {
		return hypergamma.LocalSeconds(time.Unix(h.UnixStartTime+int64(at), 0).In(zone))
	}}
}

// run replays the trace to the last instant.
func (r *replay) run() {
	r.picture = NewPicture(Pool{Name: "all", Procs: r.trace.Procs})
	r.trace.Replay(r, func(int, engine.Forecast) {})
	for len(r.instants) > 0 {
		r.before(r.instants[0] + 1)
	}
}

// before stops at the remaining instants up to now. It is called before an event at now is applied.
func (r *replay) before(now float64) {
	for len(r.instants) > 0 && r.instants[0] <= now {
		r.at(r.instants[0])
		r.instants = r.instants[1:]
	}
}

func (r *replay) Submit(now float64, id uint64, q engine.Request) engine.Forecast {
	r.before(now)
	j := Job{ID: id + 1, Queue: q.Queue, User: q.User, App: q.App, Procs: q.Procs, Limit: q.Limit, Submit: now}
	r.picture.Submitted(j)
	r.learner.Submitted(j)
	return engine.Forecast{}
}

func (r *replay) Start(now float64, id uint64, _ bool) {
	r.before(now)
	r.picture.Started(id+1, now)
	r.learner.Started(id+1, now)
}

func (r *replay) End(now float64, id uint64) {
	r.before(now)
	r.picture.Gone(id + 1)
	r.learner.Ended(id+1, now)
}

func (r *replay) Lost(now float64, id uint64) {
	r.before(now)
	r.picture.Gone(id + 1)
	r.learner.Lost(id + 1)
}

func (r *replay) Gone(now float64, id uint64) {
	r.before(now)
	r.picture.Gone(id + 1)
	r.learner.Gone(id + 1)
}

// Traces in the Standard Workload Format have no such changes.
func (r *replay) Hold(float64, uint64, engine.Hold)      {}
func (r *replay) Release(float64, uint64)                {}
func (r *replay) Update(float64, uint64, engine.Request) {}
