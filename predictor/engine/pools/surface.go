package pools

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/background"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Simulated is the result of a simulation of a request: its quantiles in seconds, what the features take from it, and
// the plan from the limits, NaN for none.
type Simulated struct {
	Quantiles []float64
	Features  [6]float64
	Plan      float64
	// Orders is ln(wait + 60 s) under each order of the portfolio, see Facts.PlayOrders; nil where it was not played.
	Orders []float64
	// Blocked has the quantiles of the part of the wait for which limits keep the request from starting; nil where none
	// holds for it.
	Blocked []float64
}

// summarize turns the waits of all replicas, sorted, into what is taken from them.
func summarize(waits []float64, plan float64, levels []float64) *Simulated {
	s := &Simulated{Quantiles: make([]float64, len(levels)), Plan: plan}
	for i, level := range levels {
		s.Quantiles[i] = QuantileOf(waits, level)
	}
	atOnce, sum, n := 0.0, 0.0, float64(len(waits))
	for _, w := range waits {
		if w < waittime.Shift {
			atOnce++
		}
		sum += waittime.Log(w)
	}
	s.Features = [6]float64{
		waittime.Log(QuantileOf(waits, .1)), waittime.Log(QuantileOf(waits, .35)), waittime.Log(QuantileOf(waits, .5)),
		waittime.Log(QuantileOf(waits, .75)), sum / n, atOnce / n,
	}
	return s
}

// waitSurface is the simulation of a large pool as it was at an instant, for requests of every size and limit. It is
// immutable.
type waitSurface struct {
	At      float64
	most    int // processors that the pool ever has
	levels  int
	replays int // futures that were played
	sizes   []int
	limits  []float64
	cells   []float32 // by limit, then size: quantiles, hint, plan; NaN where there is no answer
	waits   []float32 // by limit, then size, then future; NaN where there is no answer
	pivotCounts
	census *census
}

// width is the number of values of a cell.
func (t *waitSurface) width() int { return t.levels + 7 }

// find returns the entry for a request: that of the next larger size and limit of the table, nil if there is none.
func (t *waitSurface) find(r *track.Request) *Simulated {
	i, ok := t.index(r)
	if !ok {
		return nil
	}
	w := t.width()
	cell := t.cells[i*w:][:w]
	if cell[0] != cell[0] {
		return nil
	}
	s := &Simulated{Quantiles: make([]float64, t.levels), Plan: float64(cell[w-1])}
	for l := range s.Quantiles {
		s.Quantiles[l] = float64(cell[l])
	}
	for l := range s.Features {
		s.Features[l] = float64(cell[t.levels+l])
	}
	return s
}

// waitsByFuture returns the waits of a request in the futures of the table, at the next larger size and limit; nil if
// there is none.
func (t *waitSurface) waitsByFuture(r *track.Request) []float64 {
	i, ok := t.index(r)
	if !ok {
		return nil
	}
	out := make([]float64, t.replays)
	for k, w := range t.waits[i*t.replays:][:t.replays] {
		if out[k] = float64(w); w != w {
			return nil
		}
	}
	return out
}

// index returns the number of the cell of the next larger size and limit; false where there is none.
func (t *waitSurface) index(r *track.Request) (int, bool) {
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

// newSurface looks a surface and the plan through.
func newSurface(at float64, waits, plan *forward.Surface, levels []float64) *waitSurface {
	const minute, hour, day = 60, 3600, 86400
	t := &waitSurface{At: at, most: waits.Capacity(), levels: len(levels), replays: waits.Replicas(), limits: []float64{
		minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour, 12 * hour, day,
		2 * day, 4 * day, 7 * day, math.Inf(1),
	}}
	for n := 1; n < t.most; n *= 2 {
		t.sizes = append(t.sizes, n)
		if half := n + n/2; n > 1 && half < t.most {
			t.sizes = append(t.sizes, half)
		}
	}
	t.sizes = append(t.sizes, t.most)
	var one, all []float64
	none := []float32{float32(math.NaN())}
	for _, limit := range t.limits {
		if math.IsInf(limit, 1) {
			limit = 0
		}
		for _, size := range t.sizes {
			var err error
			if all, err = waits.WaitsByReplica(size, limit, all); err != nil {
				t.cells = append(t.cells, slices.Repeat(none, t.width())...)
				t.waits = append(t.waits, slices.Repeat(none, t.replays)...)
				continue
			}
			for _, w := range all {
				t.waits = append(t.waits, float32(w))
			}
			slices.Sort(all)
			planned := math.NaN()
			if plan != nil {
				if one, err = plan.Waits(size, limit, one); err == nil {
					planned = one[0]
				}
			}
			s := summarize(all, planned, levels)
			for _, values := range [][]float64{s.Quantiles, s.Features[:], {s.Plan}} {
				for _, v := range values {
					t.cells = append(t.cells, float32(v))
				}
			}
		}
	}
	return t
}

// surfaceAge is when the tables of a pool were made.
type surfaceAge struct {
	made  bool
	at    float64
	since int // events
}

// refresh is tables in the making.
type refresh struct {
	due    uint64 // the event from which they are in force
	job    *background.Task
	tables map[string]*waitSurface // once done
	took   time.Duration           // once done
}

// A pool's tables are rebuilt after a number of events that is a part of its jobs, or after some seconds and fewer
// events: their cost grows with the jobs. They take effect a fixed number of events later, however long the work took.
const (
	leastEvents  = 32
	eventsPart   = 32
	leastSoon    = 8
	soonPart     = 512
	soonSeconds  = 60
	refreshDelay = 256 // a part of the jobs, in events
)

// RecordEvent notes an event of a pool, and begins to rebuild its tables if they are due and asked for.
func (m *Machine) RecordEvent(p *Pool, events uint64, asked bool) {
	if p == nil {
		return
	}
	p.since++
	if m.Refresh != nil {
		return
	}
	n, due := m.tablesDue(p)
	if !due || !asked {
		return
	}
	delay := uint64(1 + n/refreshDelay)
	if !p.made {
		delay = 0
	}
	m.rebuild(p, events, delay)
}

// RefreshTables rebuilds the tables of a pool at once if they are due: for those whose events did not ask for them.
func (m *Machine) RefreshTables(p *Pool, events uint64) {
	if p == nil || m.Refresh != nil {
		return
	}
	if _, due := m.tablesDue(p); due {
		m.rebuild(p, events, 0)
	}
}

// tablesDue returns the number of jobs of a pool, and whether it is so large that it has tables, and they are due.
func (m *Machine) tablesDue(p *Pool) (int, bool) {
	running, waiting := m.uses(p)
	n := int(running.Jobs + waiting.Jobs)
	if n <= played {
		p.made = false
		return n, false
	}
	fast := m.tracker.Clock-p.at >= soonSeconds && p.since >= max(leastSoon, n/soonPart)
	return n, !p.made || fast || p.since >= max(leastEvents, n/eventsPart)
}

// rebuild begins to make the tables of a pool, which take effect after so many events.
func (m *Machine) rebuild(p *Pool, events, delay uint64) {
	p.surfaceAge = surfaceAge{made: true, at: m.tracker.Clock}
	m.beginSimulation(p, events, delay)
	if delay == 0 {
		m.ApplyDueSurfaces(events)
	}
}

// beginSimulation begins to make the tables of a pool as it is now.
func (m *Machine) beginSimulation(p *Pool, events, delay uint64) {
	f := &Facts{Procs: m.capacityOf(p), policy: p.policy, source: p.source, order: p.order, outages: p.Outages}
	f.inUse, f.ahead = m.uses(p)
	f.later, f.gates, f.Large = m.comersOf(p, f), m.Gates.Gates(), true
	m.gather(p, f)
	queues := map[int][]string{}
	for _, name := range p.Queues {
		queues[p.rank(name)] = append(queues[p.rank(name)], name)
	}
	r := &refresh{due: events + delay, job: background.New()}
	m.Refresh = r
	at, levels, cores := m.tracker.Clock, m.cfg.Levels, m.cfg.Cores
	r.job.Run(m.cfg.Synchronous, func() {
		begun := time.Now()
		r.tables = makeTables(f, at, queues, levels, cores, r.job.Hurry)
		r.took = time.Since(begun)
	})
}

func makeTables(f *Facts, at float64, queues map[int][]string, levels []float64, cores int,
	hurry <-chan struct{}) map[string]*waitSurface {
	var state, planned forward.State
	f.state(&state, at)
	state.Gates = f.gates.Coarse(at)
	planned = state
	planned.Arrivals = nil
	planned.Running, planned.Waiting = slices.Clone(state.Running), slices.Clone(state.Waiting)
	for i := range planned.Running {
		planned.Running[i].Law = nil
	}
	for i := range planned.Waiting {
		planned.Waiting[i].Law = nil
	}
	out, counted := map[string]*waitSurface{}, newCensus(at, f)
	for _, rank := range slices.Sorted(maps.Keys(queues)) {
		o := forward.SurfaceOptions{
			Replicas: min(replicas, max(8, 2*replicas/len(queues))), Workers: max(1, cores-1), Hurry: hurry, Seed: 1,
			Rank: rank, Behind: state.Behind(rank), Plain: true, Starts: PivotStarts,
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
		t := newSurface(at, waits, plan, levels)
		t.pivotCounts, t.census = causesOf(t, f, waits), counted
		for _, name := range queues[rank] {
			out[name] = t
		}
	}
	return out
}

// ApplyDueSurfaces brings tables into force that are due.
func (m *Machine) ApplyDueSurfaces(events uint64) {
	r := m.Refresh
	if r == nil || events < r.due {
		return
	}
	r.job.Wait()
	m.Refresh = nil
	m.Simulations++
	m.SimulationTook = r.took
	tables := maps.Clone(m.Surfaces)
	if tables == nil {
		tables = map[string]*waitSurface{}
	}
	maps.Copy(tables, r.tables)
	maps.DeleteFunc(tables, func(name string, _ *waitSurface) bool { return m.Of[name] == nil })
	m.Surfaces = tables
	for _, p := range m.All {
		p.frozen = nil
	}
}
