package cluster

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/job"
)

// pressureMemory is the time constant of the average use of a pool, from which the binding dimension follows.
// pressureLead is how much fuller, as a part of its capacity, another dimension must be to become the binding one. So
// two dimensions that fill up together do not alternate.
const (
	pressureMemory = 24 * time.Hour
	pressureLead   = .02
)

// pool is a Pool with further state of the fold.
type pool struct {
	Pool
	fixed   bool      // the binding dimension is configured
	given   Vector    // configured or reported capacity; 0 means the highest use seen
	seen    Vector    // the highest use
	waiting int       // jobs that compete
	since   time.Time // Pressure is up to date until this time
}

// SetPools sets the configured pools of a new State. If there are none, the scheduler's pools are used, or one pool
// for everything.
func (s *State) SetPools(pools []PoolConfig) {
	s.byHand = pools
	s.pools = s.makePools()
	s.indexPools()
}

// makePools returns the pools by the best source: the configuration, the scheduler's facts, or one pool of the
// cluster's size.
func (s *State) makePools() []*pool {
	switch {
	case len(s.byHand) > 0:
		pools := make([]*pool, len(s.byHand))
		for i, c := range s.byHand {
			pools[i] = configured(c)
		}
		return pools
	case s.facts != nil && len(s.facts.Nodes) > 0:
		return poolsOfNodes(s.facts, s.now)
	}
	p := &pool{given: Vector{Procs: int64(s.configured)}}
	p.Total = p.given
	p.Source = FromHighestUse
	if s.configured > 0 {
		p.Source = FromConfig
	}
	return []*pool{p}
}

func configured(c PoolConfig) *pool {
	p := &pool{given: c.Has, fixed: c.Binds != nil}
	p.Name, p.Queues, p.Source = c.Name, slices.Sorted(slices.Values(c.Queues)), FromConfig
	p.Total = c.Has
	if c.Has[Procs] == 0 {
		p.Source = FromHighestUse
	}
	if c.Binds != nil {
		p.Binds = *c.Binds
	}
	return p
}

// poolsOfNodes returns the pools of a machine whose nodes are known. Queues that share a node, directly or through
// other queues, share a pool.
func poolsOfNodes(facts *job.Facts, now time.Time) []*pool {
	root := map[string]string{} // union-find over queues
	var find func(q string) string
	find = func(q string) string {
		if r, ok := root[q]; ok && r != q {
			return find(r)
		}
		return q
	}
	for _, g := range facts.Nodes {
		for _, q := range g.Queues {
			a, b := find(g.Queues[0]), find(q)
			root[max(a, b)], root[min(a, b)] = min(a, b), min(a, b)
		}
	}
	byRoot := map[string]*pool{}
	for _, q := range slices.Sorted(maps.Keys(root)) {
		r := find(q)
		p := byRoot[r]
		if p == nil {
			p = &pool{}
			p.Source, p.Own, p.OwnTotal = FromScheduler, map[string]Vector{}, map[string]Vector{}
			byRoot[r] = p
		}
		p.Queues = append(p.Queues, q)
	}
	for _, g := range facts.Nodes {
		if len(g.Queues) > 0 {
			byRoot[find(g.Queues[0])].addNodes(g)
		}
	}
	var pools []*pool
	for _, p := range byRoot {
		p.Name = strings.Join(p.Queues, "+")
		p.takeOut(facts.Outages, now)
		for q, own := range p.Own {
			if own == p.given {
				delete(p.Own, q)
			}
		}
		pools = append(pools, p)
	}
	slices.SortFunc(pools, func(a, b *pool) int {
		return cmp.Or(cmp.Compare(b.given[Procs], a.given[Procs]), cmp.Compare(a.Name, b.Name))
	})
	return pools
}

func (p *pool) addNodes(g job.NodeGroup) {
	node := Vector{Procs: int64(g.Node.Procs), Nodes: 1, GPUs: int64(g.Node.GPUs), Memory: g.Node.Memory}
	up := int64(max(0, g.Count-g.Down))
	p.Node = p.Node.highest(node)
	p.given = p.given.plus(up, node)
	p.Total = p.Total.plus(int64(g.Count), node)
	for _, q := range g.Queues {
		p.Own[q] = p.Own[q].plus(up, node)
		p.OwnTotal[q] = p.OwnTotal[q].plus(int64(g.Count), node)
	}
}

// takeOut records the outages of the pool's nodes, and subtracts the capacity of the current ones.
func (p *pool) takeOut(outages []job.Outage, now time.Time) {
	for _, o := range outages {
		if !slices.ContainsFunc(o.Queues, func(q string) bool { return slices.Contains(p.Queues, q) }) {
			continue
		}
		p.Outages = append(p.Outages, o)
		if !o.InForce(now) {
			continue
		}
		gone := Vector{Procs: int64(o.Procs), Nodes: int64(o.Nodes), GPUs: int64(o.GPUs), Memory: o.Memory}
		p.given = p.given.plus(-1, gone).highest(Vector{})
		for q := range p.Own {
			p.Own[q] = p.Own[q].plus(-1, gone).highest(Vector{})
		}
	}
	slices.SortStableFunc(p.Outages, func(a, b job.Outage) int { return a.From.Compare(b.From) })
}

// indexPools recomputes the queues, the capacity, the used amounts and the waiting jobs of every pool.
func (s *State) indexPools() {
	s.poolOf = map[string]int{}
	for i, p := range s.pools {
		for _, q := range p.Queues {
			s.poolOf[q] = i
		}
		p.Used, p.waiting = Vector{}, 0
		p.measure()
	}
	for _, j := range s.running {
		s.hold(j, 1)
	}
	for _, j := range s.queued {
		s.hold(j, 1)
	}
}

// poolFor returns the pool of a queue.
func (s *State) poolFor(queue string) *pool { return s.pools[s.poolOf[queue]] }

// hold adds a job to the numbers of its pool if n is 1, and subtracts it if n is -1.
func (s *State) hold(j *Job, n int) {
	p := s.poolFor(j.Queue)
	switch {
	case j.Holds():
		p.Used = p.Used.plus(int64(n), p.takes(&j.Attributes))
	case !j.Running() && !j.Held:
		p.waiting += n
	}
}

// measure computes the capacity of the pool: in each dimension the given one, or the highest use if none is given
// (except for pools of the scheduler).
func (p *pool) measure() {
	p.Has = p.given
	for d := range p.Has {
		if p.given[d] == 0 && p.Source != FromScheduler {
			p.Has[d] = p.seen[d]
		}
	}
}

// raise raises the highest use seen, in the cluster and in the job's pool, to at least the present use. If past is set,
// the job's record came after its end. Then only the job's own amounts count, because it did not run beside the jobs
// that run now.
func (s *State) raise(j *Job, past bool) {
	if !j.Holds() {
		return
	}
	p := s.poolFor(j.Queue)
	used, all := p.Used, s.used
	if past {
		used, all = p.takes(&j.Attributes), j.Procs
	}
	s.highest = max(s.highest, all)
	p.seen = p.seen.highest(used)
	p.measure()
}

// press updates the pressure of all pools: the average use over the time in which jobs wait.
func (s *State) press(at time.Time) {
	for _, p := range s.pools {
		dt := at.Sub(p.since)
		if dt <= 0 {
			continue
		}
		if p.waiting > 0 && !p.since.IsZero() {
			weight := -math.Expm1(-float64(dt) / float64(pressureMemory))
			for d := range p.Pressure {
				if p.Has[d] > 0 {
					p.Pressure[d] += weight * (float64(p.Used[d])/float64(p.Has[d]) - p.Pressure[d])
				}
			}
			p.choose()
		}
		p.since = at
	}
}

// choose selects the binding dimension. Nodes are no candidate. If jobs share nodes, the number of nodes has no
// meaning. If they do not, processors give the same result.
func (p *pool) choose() {
	if p.fixed {
		return
	}
	for _, d := range [...]Dimension{Procs, GPUs, Memory} {
		if p.given[d] > 0 && p.Pressure[d] > p.Pressure[p.Binds]+pressureLead {
			p.Binds = d
		}
	}
}

// learnMachine applies facts that the scheduler reported about the machine.
func (f fold) learnMachine(ev job.Event) Verdict {
	if ev.Facts == nil || f.facts != nil && f.facts.Equal(ev.Facts) {
		return Duplicate
	}
	f.before(&ev)
	f.facts = ev.Facts
	f.rules = NewRules(f.facts)
	f.remakePools()
	f.emit(Change{Event: ev})
	return Applied
}

// remakePools rebuilds the pools. A pool keeps the measured values of the previous pool of its name.
func (s *State) remakePools() {
	old := map[string]*pool{}
	for _, p := range s.pools {
		old[p.Name] = p
	}
	s.pools = s.makePools()
	for _, p := range s.pools {
		if o := old[p.Name]; o != nil {
			p.seen, p.Pressure, p.since = o.seen, o.Pressure, o.since
			if !p.fixed {
				p.Binds = o.Binds
			}
		}
	}
	s.indexPools()
	s.outagesUntil = s.nextOutage()
}

// nextOutage returns the next time at which an outage begins or ends; zero if there is none, or if the pools are
// configured.
func (s *State) nextOutage() time.Time {
	var next time.Time
	if s.facts == nil || len(s.byHand) > 0 {
		return next
	}
	for _, o := range s.facts.Outages {
		for _, t := range [...]time.Time{o.From, o.Until} {
			if t.After(s.now) && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	return next
}

// Pool returns the pool that a queue's jobs compete for. The Pool belongs to the State and is valid until the next
// event.
func (s *State) Pool(queue string) *Pool { return &s.poolFor(queue).Pool }

// OnePool reports whether all jobs compete for one pool.
func (s *State) OnePool() bool { return len(s.pools) == 1 }

// Pools returns immutable copies of all pools: in the order of the configuration, or pools of the scheduler with the
// largest first.
func (s *State) Pools() []*Pool {
	out := make([]*Pool, len(s.pools))
	for i, p := range s.pools {
		c := p.Pool // c shares the maps and slices, which are never changed after their creation
		out[i] = &c
	}
	return out
}

// Rules returns the rules that order waiting jobs, nil if jobs are ordered by submission.
func (s *State) Rules() *Rules { return s.rules }

// Facts returns the scheduler's facts about the machine, nil if there are none.
func (s *State) Facts() *job.Facts { return s.facts }
