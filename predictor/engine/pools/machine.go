// Package pools divides a cluster into pools, learns their policies from the starts, and simulates them for the
// forecasting engine. A pool is a set of queues that compete for the same processors.
package pools

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/forward/learn"
)

// Config has the settings of the simulation of a machine's pools.
type Config struct {
	// Policy is the policy of pools without a configured one. It is used only if PolicyKnown is set. Order lists the
	// queues, most preferred first. For the whole machine, in place of unknown pools, only FCFS is used; any other
	// policy is replaced by EASY.
	Policy      forward.Policy
	PolicyKnown bool
	Order       []string
	// Levels are the quantile levels of simulations.
	Levels []float64
	// If Synchronous is true, tables are made and priorities are fitted while the caller waits, otherwise in the
	// background. Cores is the number of processors for this work and the caller.
	Synchronous bool
	Cores       int
	// WithoutGates and WithoutPriority disable gates and fitted priorities, for experiments.
	WithoutGates, WithoutPriority bool
}

// Machine is the division of a cluster into pools, configured or learned from the starts, and the simulations of large
// pools. It is not safe for concurrent use.
type Machine struct {
	cfg           Config
	tracker       *track.Tracker
	PolicyLearner policyLearner
	Starts        int
	Surfaces      map[string]*waitSurface // tables of large pools, by queue; the map is replaced, never changed
	Refresh       *refresh
	// Gates and Priorities learn the rules of starts.
	Gates      rules.GateLearner
	Priorities *rules.Learners
	projection projection

	Simulations    int           // how often tables were made since the engine was made or restored
	SimulationTook time.Duration // how long the newest tables took

	configuredPools map[string]PoolConfig // by queue
	outages         map[string][]Outage
	nodes           map[string]*Nodes // nodes of pools, as the scheduler reports them, by name of the pool
	Learnt          []learn.Pool
	highest         map[string]int // the highest number of processors in use, by name of a configured pool
	All             []*Pool
	Of              map[string]*Pool // by queue
	version         int
}

// Pool is a set of queues that compete for the same processors.
type Pool struct {
	Name    string // empty for a learnt pool
	learnt  bool   // not configured
	Queues  []string
	Procs   int
	policy  forward.Policy
	source  PolicySource
	order   []string
	Outages []Outage
	surfaceAge
	frozen *Facts
}

// regroup makes the pools again, from the configured and the learnt ones.
func (m *Machine) regroup() {
	old, before := m.All, m.Of
	m.All, m.Of = nil, map[string]*Pool{}
	byName := map[string]*Pool{}
	for _, queue := range slices.Sorted(maps.Keys(m.configuredPools)) {
		t := m.configuredPools[queue]
		b := byName[t.Name]
		if b == nil {
			b = &Pool{Name: t.Name, Procs: t.Procs, policy: forward.EASY, Outages: m.outages[t.Name]}
			m.choosePolicy(b, &t, m.finding(queue))
			byName[t.Name] = b
			m.All = append(m.All, b)
		}
		b.Queues = append(b.Queues, queue)
		m.Of[queue] = b
	}
	for _, l := range m.Learnt {
		b := &Pool{Procs: l.Procs, learnt: true}
		m.choosePolicy(b, &PoolConfig{}, &l.Finding)
		for _, queue := range l.Queues {
			if m.Of[queue] == nil {
				b.Queues = append(b.Queues, queue)
				m.Of[queue] = b
			}
		}
		if len(b.Queues) > 0 {
			m.All = append(m.All, b)
		}
	}
	for _, b := range m.All {
		for _, o := range old {
			if o.Name == b.Name && slices.Equal(o.Queues, b.Queues) {
				b.surfaceAge = o.surfaceAge
			}
		}
	}
	for _, q := range m.tracker.InOrder {
		q.Pool = m.NumberOf(q.Name)
	}
	m.inherit(before)
	m.version++
}

func (m *Machine) finding(queue string) *learn.Finding {
	for i := range m.Learnt {
		if slices.Contains(m.Learnt[i].Queues, queue) {
			return &m.Learnt[i].Finding
		}
	}
	return nil
}

// MostPools is the maximum number of queues with a configured pool, of pools with outages, and of pools with nodes.
// Further ones are ignored.
const (
	MostPools   = 4096
	mostOutages = 64 // maximum for a pool; further ones are ignored
)

// SetPool sets the pool of a queue from now on. With the zero PoolConfig the pool is learnt. If the number of
// processors or the policy is invalid, both count as unknown. A further queue after MostPools is ignored.
func (m *Machine) SetPool(queue string, p PoolConfig) {
	if p.Procs < 0 || p.Procs > math.MaxInt32 || p.Policy > forward.PriorityEASY {
		p.Procs, p.PolicyKnown = 0, false
	}
	p.Order = slices.Clone(p.Order)
	if p.Name == "" && p.Procs == 0 && !p.PolicyKnown {
		if _, ok := m.configuredPools[queue]; !ok {
			return
		}
		delete(m.configuredPools, queue)
	} else {
		if was, ok := m.configuredPools[queue]; ok && was.equal(p) || !ok && len(m.configuredPools) >= MostPools {
			return
		}
		m.configuredPools[queue] = p
	}
	m.regroup()
}

func (p PoolConfig) equal(o PoolConfig) bool {
	return p.Name == o.Name && p.Procs == o.Procs && p.Policy == o.Policy && p.PolicyKnown == o.PolicyKnown &&
		slices.Equal(p.Order, o.Order)
}

// SetOutages replaces all outages of a pool, by the name in PoolConfig. It leaves out invalid ones, and all after the
// first mostOutages in the order of their beginnings.
func (m *Machine) SetOutages(name string, outages []Outage) {
	var all []Outage
	for _, o := range outages {
		if o.From < o.Until && o.Procs > 0 && !math.IsInf(o.From, 0) {
			o.Procs = min(o.Procs, math.MaxInt32)
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b Outage) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Until, b.Until))
	})
	all = all[:min(len(all), mostOutages)]
	if slices.Equal(all, m.outages[name]) {
		return
	}
	delete(m.outages, name)
	if len(all) > 0 && len(m.outages) < MostPools {
		m.outages[name] = all
	}
	m.regroup()
}

// uses returns the sums over the running jobs of a pool and over its competing jobs. A nil pool means the whole
// machine.
func (m *Machine) uses(p *Pool) (running, waiting track.Amount) {
	if p == nil {
		return m.tracker.Running, m.tracker.Waiting.Total
	}
	for _, name := range p.Queues {
		if q := m.tracker.Queues[name]; q != nil {
			running.Plus(q.Running)
			waiting.Plus(q.Waiting.Total)
		}
	}
	return running, waiting
}

// capacityOf returns the number of processors of a pool; nil means the whole machine. A pool that is configured without
// a number has the highest use so far. A learnt pool has at most as many processors as the machine.
func (m *Machine) capacityOf(p *Pool) int {
	switch {
	case p == nil:
		return m.tracker.Capacity
	case p.Procs == 0:
		return m.highest[p.Name]
	case p.learnt:
		return min(p.Procs, m.tracker.Capacity)
	}
	return p.Procs
}

// rank returns the place of a queue in the pool's order.
func (p *Pool) rank(queue string) int { return rankOfQueue(p.policy, p.order, queue) }

// rankOfQueue returns the place of a queue in the order of a policy; 0 if the policy does not order jobs by rank.
func rankOfQueue(policy forward.Policy, order []string, queue string) int {
	if !policy.ByRank() {
		return 0
	}
	if i := slices.Index(order, queue); i >= 0 {
		return i
	}
	return len(order)
}

// NumberOf returns the number of a queue's pool in the list All, counted from 1; 0 if the pool is unknown.
func (m *Machine) NumberOf(queue string) int {
	if b := m.Of[queue]; b != nil {
		return slices.Index(m.All, b) + 1
	}
	return 0
}

// At returns a queue's pool, nil if unknown.
func (m *Machine) At(q *track.Queue) *Pool {
	if q.Pool == 0 {
		return nil
	}
	return m.All[q.Pool-1]
}

// Touch invalidates the frozen facts of a queue's pool. While jobs wait for the ends of others, it invalidates the
// facts of all pools, because these jobs may be in different pools.
func (m *Machine) Touch(q *track.Queue) {
	if m.tracker.Dependent() {
		m.TouchAll()
		return
	}
	if b := m.At(q); b != nil {
		b.frozen = nil
	}
}

// TouchLimited invalidates frozen facts when a job starts or ends. It invalidates those of all pools if the job counts
// in limits or if usage counts for fair share, because both may span pools. It also does so while jobs wait for the
// ends of others. Otherwise it does nothing.
func (m *Machine) TouchLimited(j *track.Job) {
	if len(j.Bounds) > 0 || m.projection.usage != nil || m.tracker.Dependent() {
		m.TouchAll()
	}
}

// TouchUser invalidates the frozen facts of pools in which jobs of j's user wait. These facts include the user's recent
// use in all pools, which has changed.
func (m *Machine) TouchUser(j *track.Job) {
	for _, p := range m.All {
		if p.frozen != nil && p.frozen.waits(j.UserState.Number) {
			p.frozen = nil
		}
	}
}

// waits reports whether jobs of a user wait in the pool. For a large pool it returns false.
func (f *Facts) waits(user uint64) bool {
	return slices.ContainsFunc(f.queued, func(w Member) bool { return w.group == user })
}

// TouchAll invalidates the frozen facts of all pools.
func (m *Machine) TouchAll() {
	for _, p := range m.All {
		p.frozen = nil
	}
}

// New returns a machine without pools.
func New(cfg Config, t *track.Tracker) *Machine {
	return &Machine{
		cfg: cfg, tracker: t, PolicyLearner: policyLearner{Old: newPolicyHistory()},
		configuredPools: map[string]PoolConfig{}, outages: map[string][]Outage{}, nodes: map[string]*Nodes{},
		highest: map[string]int{},
		Of:      map[string]*Pool{}, Priorities: rules.NewLearners(cfg.Synchronous, cfg.Cores),
	}
}

// Started records the start of a job of a queue, for the highest use of a configured pool, and invalidates frozen facts
// (see Touch). After every 250 starts (relearn) it takes over the newest learnt pools and policies.
func (m *Machine) Started(q *track.Queue) {
	if p := m.At(q); p != nil && p.Name != "" {
		in, _ := m.uses(p)
		if m.highest[p.Name] < int(in.Procs) {
			m.highest[p.Name] = int(in.Procs)
		}
	}
	m.relearn()
	m.Touch(q)
}

// Close waits until the simulation of tables has ended, and closes the learners of priorities.
func (m *Machine) Close() {
	if m.Refresh != nil {
		<-m.Refresh.job.Done
	}
	m.Priorities.Close()
}

// PoolConfig is the configuration of a pool: a part of the machine whose processors some queues share.
type PoolConfig struct {
	// Name is the name of the pool. Queues with the same name compete for the same processors.
	Name string
	// Procs is the number of processors of the pool; 0 means the highest use so far.
	Procs int
	// Policy is the scheduling policy of the pool. It is used only if PolicyKnown is set. Otherwise Config.Policy is
	// used, if it is known, or the policy is learnt.
	Policy      forward.Policy
	PolicyKnown bool
	// Order lists the queues, most preferred first, for the policies by priority. Queues that it does not name come
	// last.
	Order []string
}

// Outage is a time during which processors of a pool are unavailable. From and Until are instants; Until may be +Inf.
// Nodes are the names of the affected nodes, separated by commas; empty if unknown.
type Outage struct {
	From, Until float64
	Procs       int
	Nodes       string
	Access
}
