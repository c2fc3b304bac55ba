package engine

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/predictor/forward"
)

// simulated is what a simulation says of a request: its quantiles in seconds, what the features take from it, and the plan from the limits, NaN for none.
type simulated struct {
	quantiles []float64
	hint      [6]float64
	plan      float64
}

// summarize turns the waits of all replicas, sorted, into what is taken from them.
func summarize(waits []float64, plan float64, levels []float64) *simulated {
	s := &simulated{quantiles: make([]float64, len(levels)), plan: plan}
	for i, level := range levels {
		s.quantiles[i] = quantile(waits, level)
	}
	atOnce, sum, n := 0.0, 0.0, float64(len(waits))
	for _, w := range waits {
		if w < Shift {
			atOnce++
		}
		sum += Log(w)
	}
	s.hint = [6]float64{
		Log(quantile(waits, .1)), Log(quantile(waits, .35)), Log(quantile(waits, .5)), Log(quantile(waits, .75)), sum / n, atOnce / n,
	}
	return s
}

// table is the simulation of a large pool as it was at an instant, for requests of every size and limit. It is immutable.
type table struct {
	at     float64
	most   int // processors that the pool ever has
	levels int
	sizes  []int
	limits []float64
	cells  []float32 // by limit, then size: quantiles, hint, plan; NaN where there is no answer
	causes
}

// width is the number of values of a cell.
func (t *table) width() int { return t.levels + 7 }

// find returns what is said of a request: that of the next larger size and limit of the table. It is nil where there is nothing.
func (t *table) find(r *Request) *simulated {
	i, ok := t.index(r)
	if !ok {
		return nil
	}
	w := t.width()
	cell := t.cells[i*w:][:w]
	if cell[0] != cell[0] {
		return nil
	}
	s := &simulated{quantiles: make([]float64, t.levels), plan: float64(cell[w-1])}
	for l := range s.quantiles {
		s.quantiles[l] = float64(cell[l])
	}
	for l := range s.hint {
		s.hint[l] = float64(cell[t.levels+l])
	}
	return s
}

// index returns the number of the cell of the next larger size and limit; false where there is none.
func (t *table) index(r *Request) (int, bool) {
	if t == nil || r.Procs > t.most {
		return 0, false
	}
	limit := r.Limit
	if limit <= 0 {
		limit = math.Inf(1)
	}
	i, _ := slices.BinarySearch(t.sizes, r.Procs)
	k, _ := slices.BinarySearch(t.limits, limit)
	return k*len(t.sizes) + i, i < len(t.sizes) && k < len(t.limits)
}

// newTable looks a surface and the plan through.
func newTable(at float64, waits, plan *forward.Surface, levels []float64) *table {
	const minute, hour, day = 60, 3600, 86400
	t := &table{at: at, most: waits.Capacity(), levels: len(levels), limits: []float64{
		minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, math.Inf(1),
	}}
	for n := 1; n < t.most; n *= 2 {
		t.sizes = append(t.sizes, n)
		if half := n + n/2; n > 1 && half < t.most {
			t.sizes = append(t.sizes, half)
		}
	}
	t.sizes = append(t.sizes, t.most)
	var one, all []float64
	for _, limit := range t.limits {
		if math.IsInf(limit, 1) {
			limit = 0
		}
		for _, size := range t.sizes {
			var err error
			if all, err = waits.Waits(size, limit, all); err != nil {
				for range t.width() {
					t.cells = append(t.cells, float32(math.NaN()))
				}
				continue
			}
			planned := math.NaN()
			if plan != nil {
				if one, err = plan.Waits(size, limit, one); err == nil {
					planned = one[0]
				}
			}
			s := summarize(all, planned, levels)
			for _, values := range [][]float64{s.quantiles, s.hint[:], {s.plan}} {
				for _, v := range values {
					t.cells = append(t.cells, float32(v))
				}
			}
		}
	}
	return t
}

// making is when the tables of a pool were made.
type making struct {
	made  bool
	at    float64
	since int // events
}

// refresh is tables in the making.
type refresh struct {
	due    uint64 // the event from which they are in force
	job    *background
	tables map[string]*table // once done
	took   time.Duration     // once done
}

// Tables are made anew after so many of a pool's events as are a part of its jobs, or after some seconds and fewer events: the cost of one grows with its jobs. They come into
// force some events later, however long they took.
const (
	leastEvents  = 32
	eventsPart   = 32
	leastSoon    = 8
	soonPart     = 512
	soonSeconds  = 60
	refreshDelay = 256 // a part of the jobs, in events
)

// stir notes an event of a pool, and begins to make its tables anew where they are due.
func (e *Engine) stir(p *pool) {
	if p == nil {
		return
	}
	p.since++
	if e.refresh != nil {
		return
	}
	running, waiting := e.uses(p)
	n := int(running.jobs + waiting.jobs)
	if n <= played {
		p.made = false
		return
	}
	fast := e.clock-p.at >= soonSeconds && p.since >= max(leastSoon, n/soonPart)
	if p.made && !fast && p.since < max(leastEvents, n/eventsPart) {
		return
	}
	delay := uint64(1 + n/refreshDelay)
	if !p.made {
		delay = 0
	}
	p.making = making{made: true, at: e.clock}
	e.begin(p, delay)
	if delay == 0 {
		e.settle()
	}
}

// begin begins to make the tables of a pool as it is now.
func (e *Engine) begin(p *pool, delay uint64) {
	f := &poolFacts{procs: e.capacityOf(p), policy: p.policy, source: p.source, order: p.order, outages: p.outages}
	f.inUse, f.ahead = e.uses(p)
	e.gather(p, f)
	queues := map[int][]string{}
	for _, name := range p.queues {
		queues[p.rank(name)] = append(queues[p.rank(name)], name)
	}
	r := &refresh{due: e.events + delay, job: newBackground()}
	e.refresh = r
	at, levels, cores := e.clock, e.cfg.Levels, e.cfg.Cores
	r.job.run(e.cfg.Synchronous, func() {
		begun := time.Now()
		r.tables = makeTables(f, at, queues, levels, cores, r.job.hurry)
		r.took = time.Since(begun)
	})
}

func makeTables(f *poolFacts, at float64, queues map[int][]string, levels []float64, cores int, hurry <-chan struct{}) map[string]*table {
	var state, planned forward.State
	f.state(&state, at)
	planned = state
	planned.Running, planned.Waiting = slices.Clone(state.Running), slices.Clone(state.Waiting)
	for i := range planned.Running {
		planned.Running[i].Law = nil
	}
	for i := range planned.Waiting {
		planned.Waiting[i].Law = nil
	}
	out := map[string]*table{}
	for _, rank := range slices.Sorted(maps.Keys(queues)) {
		o := forward.SurfaceOptions{
			Replicas: min(replicas, max(8, 2*replicas/len(queues))), Workers: max(1, cores-1), Hurry: hurry, Seed: 1, Rank: rank, Behind: state.Behind(rank), Plain: true, Starts: pivotStarts,
		}
		waits, err := forward.NewSurface(context.Background(), &state, o)
		if err != nil {
			continue
		}
		o.Replicas, o.Starts = 1, 0
		plan, err := forward.NewSurface(context.Background(), &planned, o)
		if err != nil {
			plan = nil
		}
		t := newTable(at, waits, plan, levels)
		t.causes = causesOf(t, f, waits)
		for _, name := range queues[rank] {
			out[name] = t
		}
	}
	return out
}

// settle brings tables into force that are due.
func (e *Engine) settle() {
	r := e.refresh
	if r == nil || e.events < r.due {
		return
	}
	r.job.wait()
	e.refresh = nil
	e.learner.book.simulated(r)
	tables := maps.Clone(e.tables)
	if tables == nil {
		tables = map[string]*table{}
	}
	maps.Copy(tables, r.tables)
	maps.DeleteFunc(tables, func(name string, _ *table) bool { return e.pools.of[name] == nil })
	e.tables = tables
	for _, p := range e.pools.all {
		p.frozen = nil
	}
}
