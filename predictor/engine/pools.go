package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/forward/learn"
)

// pools is how the machine is divided: as it is told, else as it is learnt from the starts.
type pools struct {
	told    map[string]Pool // by queue
	outages map[string][]Outage
	learnt  []learn.Pool
	highest map[string]int // use of the pools that are told, by name
	all     []*pool
	of      map[string]*pool // by queue
	version int
}

// pool is queues that compete for the same processors.
type pool struct {
	name    string // empty where it is learnt
	queues  []string
	procs   int
	policy  forward.Policy
	source  PolicySource
	order   []string
	outages []Outage
	making
	frozen *poolFacts
}

// regroup works out the pools anew.
func (e *Engine) regroup() {
	p := &e.pools
	old := p.all
	p.all, p.of = nil, map[string]*pool{}
	byName := map[string]*pool{}
	for _, queue := range slices.Sorted(maps.Keys(p.told)) {
		t := p.told[queue]
		b := byName[t.Name]
		if b == nil {
			b = &pool{name: t.Name, procs: t.Procs, policy: forward.EASY, outages: p.outages[t.Name]}
			e.decide(b, &t, p.finding(queue))
			byName[t.Name] = b
			p.all = append(p.all, b)
		}
		b.queues = append(b.queues, queue)
		p.of[queue] = b
	}
	for _, l := range p.learnt {
		b := &pool{procs: l.Procs}
		e.decide(b, &Pool{}, &l.Finding)
		for _, queue := range l.Queues {
			if p.of[queue] == nil {
				b.queues = append(b.queues, queue)
				p.of[queue] = b
			}
		}
		if len(b.queues) > 0 {
			p.all = append(p.all, b)
		}
	}
	for _, b := range p.all {
		for _, o := range old {
			if o.name == b.name && slices.Equal(o.queues, b.queues) {
				b.making = o.making
			}
		}
	}
	for _, q := range e.inOrder {
		q.pool = p.of[q.name]
	}
	p.version++
}

func (p *pools) finding(queue string) *learn.Finding {
	for i := range p.learnt {
		if slices.Contains(p.learnt[i].Queues, queue) {
			return &p.learnt[i].Finding
		}
	}
	return nil
}

// Bounds of what is told.
const (
	mostPools   = 4096
	mostOutages = 64 // of a pool; those that come first are taken
)

// SetPool tells the pool of a queue from now on; the zero Pool lets it be learnt.
func (e *Engine) SetPool(queue string, p Pool) {
	if p.Procs < 0 || p.Procs > math.MaxInt32 || p.Policy > forward.PriorityEASY {
		p.Procs, p.PolicyKnown = 0, false
	}
	p.Order = slices.Clone(p.Order)
	if p.Name == "" && p.Procs == 0 && !p.PolicyKnown {
		if _, ok := e.pools.told[queue]; !ok {
			return
		}
		delete(e.pools.told, queue)
	} else {
		if was, ok := e.pools.told[queue]; ok && was.equal(p) || !ok && len(e.pools.told) >= mostPools {
			return
		}
		e.pools.told[queue] = p
	}
	e.regroup()
}

func (p Pool) equal(o Pool) bool {
	return p.Name == o.Name && p.Procs == o.Procs && p.Policy == o.Policy && p.PolicyKnown == o.PolicyKnown && slices.Equal(p.Order, o.Order)
}

// SetOutages tells all outages of a pool, by the name in Pool, in place of what was told before. What makes no sense is left out.
func (e *Engine) SetOutages(name string, outages []Outage) {
	var all []Outage
	for _, o := range outages {
		if o.From < o.Until && o.Procs > 0 && !math.IsInf(o.From, 0) {
			o.Procs = min(o.Procs, math.MaxInt32)
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b Outage) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Until, b.Until)) })
	all = all[:min(len(all), mostOutages)]
	if slices.Equal(all, e.pools.outages[name]) {
		return
	}
	delete(e.pools.outages, name)
	if len(all) > 0 && len(e.pools.outages) < mostPools {
		e.pools.outages[name] = all
	}
	e.regroup()
}

// uses returns what the jobs of a pool hold and wait for; nil is the whole machine.
func (e *Engine) uses(p *pool) (running, waiting amount) {
	if p == nil {
		return e.running, e.waiting.total
	}
	for _, name := range p.queues {
		if q := e.queues[name]; q != nil {
			running.plus(q.running)
			waiting.plus(q.waiting.total)
		}
	}
	return running, waiting
}

// capacity returns the processors of a pool.
func (e *Engine) capacityOf(p *pool) int {
	switch {
	case p == nil:
		return e.capacity
	case p.procs == 0:
		return e.pools.highest[p.name]
	}
	return p.procs
}

// rank returns the place of a queue in the pool's order.
func (p *pool) rank(queue string) int {
	if p == nil || p.policy != forward.PriorityEASY && p.policy != forward.PriorityFCFS {
		return 0
	}
	if i := slices.Index(p.order, queue); i >= 0 {
		return i
	}
	return len(p.order)
}
