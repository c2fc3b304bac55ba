package engine

import (
	"math"
	"sync"

	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// View is what can be known of the cluster at one instant, frozen: it answers any request as the engine would have then. It does not change and is safe for use by
// many goroutines.
type View struct {
	at       float64
	levels   []float64
	median   int // the level nearest .5
	capacity int
	learnt   int

	waiting              *tally
	running              amount
	oldest               float64
	workLeft, limitsLeft float64
	recent               recent
	lastStart            float64
	lastSubmit           float64
	rate                 rate
	bounds               []float64 // QBETS's of all queues

	queues queueTable
	users  *userTable
	pools  map[string]*poolFacts // by queue
	whole  *poolFacts            // the whole machine, for queues whose pool is not known
	models []*boost.Model
	laws   map[class]uniformlog.Model // Downey's; nil where they are not asked

	errors  []float64 // of the simulation at the levels, nil where too few are known
	drifts  []Drift
	council *council
	memo    *memo // nil where nobody else asks
}

// queueTable is every queue's facts.
type queueTable struct {
	all   []*queueFacts // in the order in which they were first seen
	index map[string]int
	codes int
}

// asked is a request as it is looked at.
type asked struct {
	Request
	size, limit int
	expected    float64
	queue       *queueFacts
	user        *userFacts
}

// At returns the view's instant.
func (v *View) At() float64 { return v.at }

// asked looks a request up.
func (v *View) asked(r *Request) *asked {
	j := &asked{Request: *r, size: sizeClass(r.Procs), limit: limitClass(r.Limit)}
	if i, ok := v.queues.index[r.Queue]; ok {
		j.queue = v.queues.all[i]
	} else {
		j.queue = &queueFacts{name: r.Queue, code: v.queues.codes, oldest: math.NaN(), tally: &tally{}}
	}
	if j.user = v.users.find(r.User); j.user == nil {
		u := newUserFacts(0)
		j.user = &u
	}
	j.expected = expected(r, j.queue, j.user)
	return j
}

// poolOf returns the pool of a queue.
func (v *View) poolOf(queue string) *poolFacts {
	if f := v.pools[queue]; f != nil {
		return f
	}
	return v.whole
}

// look returns the engine's state at an instant, without pools and council.
func (e *Engine) look(now float64) *View {
	v := &View{
		at: now, levels: e.cfg.Levels, median: e.median, capacity: e.capacity, learnt: e.learner.seen,
		running: e.running, oldest: e.line.oldest(), recent: e.recent, lastStart: e.lastStart, lastSubmit: e.lastSubmit, rate: e.rate,
		bounds: e.bounds.at(e.cfg.Levels), queues: e.queueTable(), users: e.userTable(), models: e.learner.models,
	}
	if e.frozen.waiting == nil {
		t := e.waiting
		e.frozen.waiting = &t
	}
	v.waiting = e.frozen.waiting
	v.workLeft, v.limitsLeft = e.workLeft(now)
	v.errors = e.errors.quantiles(now, e.cfg.Levels)
	if e.heads != nil {
		v.laws = e.heads.fitted
	}
	return v
}

// queueTable returns every queue's facts as they are.
func (e *Engine) queueTable() queueTable {
	f := &e.frozen
	if f.index == nil {
		f.queues, f.index = nil, map[string]int{}
		for i, q := range e.inOrder {
			f.index[q.name] = i
		}
	}
	t := queueTable{all: f.queues, index: f.index, codes: e.codes}
	same := len(f.queues) == len(e.inOrder)
	for i := 0; same && i < len(e.inOrder); i++ {
		same = e.inOrder[i].frozen != nil
	}
	if !same {
		t.all = make([]*queueFacts, len(e.inOrder))
		for i, q := range e.inOrder {
			t.all[i] = q.freeze(e.cfg.Levels)
		}
		f.queues = t.all
	}
	return t
}

// View returns the engine's state at an instant, at the earliest that of what it was told last.
func (e *Engine) View(now float64) *View {
	if !(now > e.clock) {
		now = math.Max(e.clock, -farthest)
	}
	v := e.look(math.Min(now, farthest))
	v.pools = make(map[string]*poolFacts, len(e.pools.of))
	for _, p := range e.pools.all {
		f := e.freezePool(p)
		for _, name := range p.queues {
			v.pools[name] = f
		}
	}
	v.whole = e.freezePool(nil)
	v.council, v.memo, v.drifts = e.council(v.at), &memo{}, e.watch.drifts()
	return v
}

// lookFor is look with the pool of a queue.
func (e *Engine) lookFor(now float64, queue string) *View {
	v := e.look(now)
	if p := e.pools.of[queue]; p != nil {
		v.pools = map[string]*poolFacts{queue: e.freezePool(p)}
	} else {
		v.whole = e.freezePool(nil)
	}
	return v
}

// Forecast forecasts a request that is submitted at the view's instant. It is the zero Forecast where the view is damaged.
func (v *View) Forecast(r *Request) Forecast {
	clean := r.clean()
	return v.given(&clean).Forecast
}

// bench is what a forecast works with.
type bench struct {
	voices
	scratch
}

func (v *View) given(r *Request) *given {
	b := v.council.bench()
	if b == nil {
		return &given{}
	}
	defer v.council.benches.Put(b)
	return v.forecast(r, &b.scratch, &b.voices)
}

// council is the experts of a view as they are saved: each goroutine works with a copy of its own, since they keep scratch memory.
type council struct {
	linear, blend, calibrator []byte
	advance                   float64 // instant to which the calibrator is brought; NaN for none
	benches                   sync.Pool
}

// bench returns a copy of the experts; nil where they are damaged, which UnmarshalView has looked at.
func (c *council) bench() *bench {
	if c == nil {
		return nil
	}
	if b, ok := c.benches.Get().(*bench); ok {
		return b
	}
	b := &bench{}
	var err error
	if b.voices, err = c.voices(); err != nil {
		return nil
	}
	return b
}
