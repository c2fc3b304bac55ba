package policytest

import (
	"math"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/simulator"
)

// ledger has the state of a run as it follows from the events alone.
type ledger struct {
	t       *rapid.T
	s       scenario
	busy    map[string]int // by pool: processors
	inUse   map[string]int // by queue: processors
	waiting map[string]int // by pool: number of jobs
	state   map[int64]simulator.Kind
	queues  map[string]simulator.Queue
	pools   map[string]simulator.PoolConfig
	last    float64
	work    float64
}

// sound runs a scenario and checks every event.
func sound(t *rapid.T, s scenario) {
	l := &ledger{
		t: t, s: s, busy: map[string]int{}, inUse: map[string]int{}, waiting: map[string]int{},
		state: map[int64]simulator.Kind{}, queues: map[string]simulator.Queue{},
		pools: map[string]simulator.PoolConfig{},
	}
	for _, q := range s.cfg.Queues {
		l.queues[q.Name] = q
	}
	for _, p := range s.cfg.Pools {
		l.pools[p.Name] = p
	}
	m := s.machine(t)
	if err := m.Advance(math.Inf(1), func(e simulator.Event) { l.observe(e, m) }); err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, j := range s.jobs {
		if l.state[j.ID] != simulator.Ended {
			t.Fatalf("job %d never ended: %v", j.ID, l.state[j.ID])
		}
		want += float64(l.held(&j)) * l.runtime(&j)
	}
	if l.work != want {
		t.Fatalf("work %v, want %v", l.work, want)
	}
}

// held returns the number of processors that a job uses, which is a multiple of the processors of a node.
func (l *ledger) held(j *simulator.Job) int {
	unit := max(1, l.s.cfg.NodeProcs)
	return (j.Procs + unit - 1) / unit * unit
}

func (l *ledger) runtime(j *simulator.Job) float64 {
	if l.s.cfg.Kill && j.Limit > 0 {
		return min(j.Runtime, j.Limit)
	}
	return j.Runtime
}

func (l *ledger) observe(e simulator.Event, m *simulator.Simulator) {
	t, j := l.t, e.Job
	if e.Time < l.last {
		t.Fatalf("%v after %v", e.Time, l.last)
	}
	if e.Time > l.last {
		l.settled()
		for _, busy := range l.busy {
			l.work += float64(busy) * (e.Time - l.last)
		}
	}
	l.last = e.Time
	q := l.queues[j.Queue]
	given := l.s.jobs[j.ID]
	if before := l.state[j.ID]; before+1 != e.Kind || e.Held != l.held(&given) || e.Time < given.Submit {
		t.Fatalf("%v of job %d at %v after %v, holding %d: %+v", e.Kind, j.ID, e.Time, before, e.Held, given)
	}
	l.state[j.ID] = e.Kind
	switch e.Kind {
	case simulator.Submitted:
		l.waiting[q.Pool]++
		if e.Time != given.Submit {
			t.Fatalf("job %d submitted at %v: %+v", j.ID, e.Time, given)
		}
	case simulator.Started:
		l.waiting[q.Pool]--
		l.busy[q.Pool] += e.Held
		l.inUse[q.Name] += e.Held
		if j.Start != e.Time || j.End != e.Time+l.runtime(&given) || j.Killed != (l.runtime(&given) < given.Runtime) {
			t.Fatalf("job %d started at %v: %+v", j.ID, e.Time, *j)
		}
	case simulator.Ended:
		l.busy[q.Pool] -= e.Held
		l.inUse[q.Name] -= e.Held
		if j.End != e.Time {
			t.Fatalf("job %d ended at %v: %+v", j.ID, e.Time, *j)
		}
	}
	l.check(q, e, m)
}

// check compares the ledger with the machine's state after an event.
func (l *ledger) check(q simulator.Queue, e simulator.Event, m *simulator.Simulator) {
	pool := l.pools[q.Pool]
	if l.busy[q.Pool] > pool.Procs || q.Procs > 0 && l.inUse[q.Name] > q.Procs {
		l.t.Fatalf("at %v %d of %d processors of %s are busy, %d by %s, which may use %d",
			e.Time, l.busy[q.Pool], pool.Procs, q.Pool, l.inUse[q.Name], q.Name, q.Procs)
	}
	if there := capacity(pool, e.Time); e.Kind == simulator.Started && l.busy[q.Pool] > there {
		l.t.Fatalf("at %v job %d started on %s: %d busy of %d that are there", e.Time, e.Job.ID, q.Pool,
			l.busy[q.Pool], there)
	}
	waiting := 0
	for _, n := range l.waiting {
		waiting += n
	}
	if m.Queued() != waiting {
		l.t.Fatalf("at %v %d wait, Queued says %d", e.Time, waiting, m.Queued())
	}
}

// settled checks the state at the end of an instant.
func (l *ledger) settled() {
	for name, pool := range l.pools {
		if l.waiting[name] > 0 && l.busy[name] == 0 && len(pool.Outages) == 0 {
			l.t.Fatalf("after %v %d jobs wait for %s, which is idle", l.last, l.waiting[name], name)
		}
		if there := capacity(pool, l.last); l.s.upper && l.busy[name] > there {
			l.t.Fatalf("after %v %d processors of %s are busy, %d are there", l.last, l.busy[name], name, there)
		}
	}
}

func capacity(p simulator.PoolConfig, at float64) int {
	n := p.Procs
	for _, o := range p.Outages {
		if o.From <= at && at < o.Until {
			n -= o.Procs
		}
	}
	return n
}
