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

// Simulated is the result of a simulation of a request: the quantiles of its wait in seconds, features of the waits
// (see summarize), and Plan, the wait in seconds if all jobs run to their time limits (NaN if unknown).
type Simulated struct {
	Quantiles []float64
	Features  [6]float64
	Plan      float64
	// Orders has ln(wait + 60 s) under different orders of starts, see Facts.PlayOrders; nil if they were not
	// simulated.
	Orders []float64
	// Blocked has the quantiles of the part of the wait for which limits keep the request from starting; nil if no
	// limit applies. Kept is the limit that keeps it now, nil for none.
	Blocked []float64
	// Shares has the blocked share of the wait in each future, in the order of the waits; nil if Blocked is nil.
	Shares []float64
	// KeptSoon is true if limits keep the request from starting soon after its submission.
	KeptSoon bool
	Kept     *Kept
	// Nodes is true if the nodes are known. Their resources other than processors were then simulated if they may run
	// short.
	Nodes bool
	// NoRoom is true if jobs are placed on nodes, and the request would not start now by the plan.
	NoRoom bool
	// Waits are the waits in seconds by future; nil if unknown. Two results for one instant, with the same number of
	// futures, are of the same futures.
	Waits []float64
}

// WithWaits returns the result with the quantiles and features of other waits.
func (s *Simulated) WithWaits(waits, levels []float64) *Simulated {
	out := *s
	of := summarize(slices.Sorted(slices.Values(waits)), s.Plan, levels)
	out.Quantiles, out.Features, out.Waits = of.Quantiles, of.Features, waits
	return &out
}

// summarize computes the result from the sorted waits of all futures. The features are quantiles at 0.1, 0.35, 0.5 and
// 0.75 and the mean of ln(wait + 60 s), and the share of waits below 60 s.
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

// waitSurface is the simulation of a large pool at an instant, for requests of all sizes and limits. It is immutable.
type waitSurface struct {
	At      float64
	most    int // maximum number of processors that the pool ever has
	levels  int
	replays int // the number of simulated futures
	sizes   []int
	limits  []float64
	cells   []float32 // by limit, then size: quantiles, features, plan; NaN without an answer
	waits   []float32 // by limit, then size, then future; NaN without an answer
	pivotCounts
	census *census
	// If the jobs have priorities, a table is for requests with ranks up to upTo. ahead has the jobs that go before
	// these requests. next is the table for later ranks, nil in the last table.
	upTo  int
	ahead track.Amount
	next  *waitSurface
}

// forRank returns the table for requests of a rank.
func (t *waitSurface) forRank(rank int) *waitSurface {
	for t != nil && t.next != nil && rank > t.upTo {
		t = t.next
	}
	return t
}

// table returns the table for a request to a large pool, nil if there is none.
func (f *Facts) table(r *track.Request) *waitSurface {
	t := f.Surfaces[r.Queue]
	if t == nil || t.next == nil {
		return t
	}
	return t.forRank(f.rankOf(r))
}

// width is the number of values of a cell.
func (t *waitSurface) width() int { return t.levels + 7 }

// find returns the entry for a request, at the next larger size and limit of the table; nil if there is none.
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
	s.Waits = t.waitsByFuture(r, nil)
	return s
}

// waitsByFuture appends the waits of a request in the futures of the table, at the next larger size and limit, to out.
// It returns nil if there are none.
func (t *waitSurface) waitsByFuture(r *track.Request, out []float64) []float64 {
	i, ok := t.index(r)
	if !ok {
		return nil
	}
	out = slices.Grow(out, t.replays)
	for _, w := range t.waits[i*t.replays:][:t.replays] {
		if w != w {
			return nil
		}
		out = append(out, float64(w))
	}
	return out
}

// index returns the number of the cell of the next larger size and limit. It returns false if there is none.
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

// surfaceLimits returns the time limits of a surface in seconds, rising.
func surfaceLimits() []float64 {
	const minute, hour, day = 60, 3600, 86400
	return []float64{
		minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour, 12 * hour, day,
		2 * day, 4 * day, 7 * day, math.Inf(1),
	}
}

// newSurface makes a table from a surface and the plan. It also returns the starts of all cells, by limit.
func newSurface(at float64, waits, plan *forward.Surface, levels []float64) (*waitSurface, [][]forward.Start) {
	t := &waitSurface{At: at, most: waits.Capacity(), levels: len(levels), replays: waits.Replicas(),
		limits: surfaceLimits(), sizes: forward.CoarseSizes(waits.Capacity())}
	var planned []forward.Start
	var read [][]forward.Start
	all := make([]float64, t.replays)
	none := []float32{float32(math.NaN())}
	cells := len(t.limits) * len(t.sizes)
	t.cells, t.waits = make([]float32, 0, cells*t.width()), make([]float32, 0, cells*t.replays)
	for _, limit := range t.limits {
		if math.IsInf(limit, 1) {
			limit = 0
		}
		starts := waits.Starts(t.sizes, limit, nil)
		read = append(read, starts)
		if plan != nil {
			planned = plan.Starts(t.sizes, limit, planned)
		}
		for i := range t.sizes {
			of := starts[i*t.replays:][:t.replays]
			if math.IsNaN(of[0].Wait) { // NaN in all futures
				t.cells = append(t.cells, slices.Repeat(none, t.width())...)
				t.waits = append(t.waits, slices.Repeat(none, t.replays)...)
				continue
			}
			for k := range of {
				all[k] = of[k].Wait
				t.waits = append(t.waits, float32(of[k].Wait))
			}
			slices.Sort(all)
			wait := math.NaN()
			if plan != nil {
				wait = planned[i].Wait
			}
			s := summarize(all, wait, levels)
			for _, values := range [][]float64{s.Quantiles, s.Features[:], {s.Plan}} {
				for _, v := range values {
					t.cells = append(t.cells, float32(v))
				}
			}
		}
	}
	return t, read
}

// surfaceAge has the event time at which the newest tables of a pool were begun, and the number of events since then.
// made is true if there are any.
type surfaceAge struct {
	made  bool
	at    float64
	since int
}

// refresh is a rebuild of tables that is in progress.
type refresh struct {
	due    uint64 // the event from which the tables are in force
	job    *background.Task
	tables map[string]*waitSurface // set when the work is done
	took   time.Duration           // set when the work is done
}

// The tables of a pool with n jobs are rebuilt after max(leastEvents, n/eventsPart) events, because their cost grows
// with the jobs. After soonSeconds, max(leastSoon, n/soonPart) events are enough. The first tables of a pool take
// effect at once. Later ones take effect after 1 + n/refreshDelay further events, however long the work takes.
const (
	leastEvents  = 32
	eventsPart   = 32
	leastSoon    = 8
	soonPart     = 512
	soonSeconds  = 60
	refreshDelay = 256
)

// RecordEvent records an event of a pool. If the pool's tables are due and asked is true, it begins to rebuild them.
// events is the number of all events so far.
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

// RefreshTables rebuilds the tables of a pool at once if they are due. It is for a caller that passes false as asked to
// RecordEvent.
func (m *Machine) RefreshTables(p *Pool, events uint64) {
	if p == nil || m.Refresh != nil {
		return
	}
	if _, due := m.tablesDue(p); due {
		m.rebuild(p, events, 0)
	}
}

// tablesDue returns the number of jobs of a pool. It also reports whether the pool is large enough to have tables and
// these are due.
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

// rebuild begins to make the tables of a pool. They take effect after the given number of events.
func (m *Machine) rebuild(p *Pool, events, delay uint64) {
	p.surfaceAge = surfaceAge{made: true, at: m.tracker.Clock}
	m.beginSimulation(p, events, delay)
	if delay == 0 {
		m.ApplyDueSurfaces(events)
	}
}

// beginSimulation begins to make the tables of a pool in its present state.
func (m *Machine) beginSimulation(p *Pool, events, delay uint64) {
	f := m.factsOf(p)
	f.Large = true
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
	out, counted, enough := map[string]*waitSurface{}, newCensus(at, f), &precision{facts: f, levels: levels}
	tableAt := func(rank, tables int) *waitSurface {
		o := forward.SurfaceOptions{
			Replicas: min(replicas, max(8, 2*replicas/tables)), Workers: max(1, cores-1), Hurry: hurry, Seed: 1,
			Ranked: forward.Ranked{Rank: rank}, Behind: state.Behind(rank), Plain: true, Coarse: true,
			Starts: PivotStarts,
		}
		if tables == 1 { // otherwise all tables have the same futures, so that waits in two of them can be compared
			o.Enough = enough.isEnough
		}
		waits, err := forward.NewSurface(context.Background(), &state, o)
		if err != nil {
			return nil
		}
		o.Replicas, o.Starts, o.Enough = 1, 0, nil
		plan, err := forward.NewSurface(context.Background(), &planned, o)
		if err != nil {
			plan = nil
		}
		t, starts := newSurface(at, waits, plan, levels)
		t.pivotCounts, t.census = causesOf(f, waits, starts), counted
		return t
	}
	if f.prioritized {
		t := tablesByRank(state.Waiting, tableAt)
		for _, name := range slices.Concat(slices.Collect(maps.Values(queues))...) {
			if t != nil {
				out[name] = t
			}
		}
		return out
	}
	for _, rank := range slices.Sorted(maps.Keys(queues)) {
		if t := tableAt(rank, len(queues)); t != nil {
			for _, name := range queues[rank] {
				out[name] = t
			}
		}
	}
	return out
}

// frontPart determines for which places tables are made in a pool with priorities. The first table is for requests
// ahead of all waiting jobs, the second for requests behind one in frontPart of them. Each further table has twice as
// many jobs ahead.
const frontPart = 16

// tablesByRank makes tables for requests at several places among the waiting jobs, which are sorted by rank: before all
// jobs, at places in between, and behind all jobs. The border between two neighboring tables is in the middle of the
// jobs between their places. The function returns the first table, which leads to the others by next. It returns nil if
// there is none.
func tablesByRank(waiting []forward.Waiting, tableAt func(rank, tables int) *waitSurface) *waitSurface {
	ahead := []int{0}
	for part := frontPart; part > 0; part /= 2 {
		n := len(waiting) / part
		// The request goes behind jobs of equal rank, too.
		for n > 0 && n < len(waiting) && waiting[n].Rank == waiting[n-1].Rank {
			n++
		}
		if n > ahead[len(ahead)-1] {
			ahead = append(ahead, n)
		}
	}
	var first, last *waitSurface
	jobs := track.Amount{}
	for i, n := range ahead {
		for k := int(jobs.Jobs); k < n; k++ {
			jobs.Plus(track.Amount{Jobs: 1, Procs: float64(waiting[k].Procs)})
		}
		rank := -1 // the rank before all jobs
		if n > 0 {
			rank = waiting[n-1].Rank
		}
		t := tableAt(rank, len(ahead))
		if t == nil {
			continue
		}
		if t.ahead = jobs; last == nil {
			first = t
		} else {
			last.next = t
		}
		if last = t; i+1 < len(ahead) {
			t.upTo = waiting[(n+ahead[i+1])/2].Rank - 1
		}
	}
	return first
}

// ApplyDueSurfaces puts finished tables into force if they are due at this number of events. If necessary it waits for
// them.
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
	m.TouchAll()
}
