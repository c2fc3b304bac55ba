package forward

import (
	"math"
	"sync/atomic"
)

// Lifetimes caches the random lifetimes of the jobs of a state in the replicas of one seed. Several simulations from
// one instant may share it (State.Lifetimes): they need not draw the lifetimes again, and their results stay the same
// to the last bit. The laws of the jobs must be comparable by ==. A cache is safe for concurrent use.
type Lifetimes struct {
	seed     uint64
	replicas int
	slots    map[uint64]int32 // by key: the index of the job
	inputs   []lifetimeInputs // by index
	// drawn has the remaining lifetimes in seconds, as the bits of a float64, by replica and then index; 0 if unknown.
	drawn []atomic.Uint64
}

// lifetimeInputs are the inputs, other than key, replica and seed, on which a random lifetime depends.
type lifetimeInputs struct {
	law      Law
	group    uint64
	age, rho float64
}

// NewLifetimes returns an empty cache for the jobs of a state that have a key and a law.
func NewLifetimes(s *State, replicas int, seed uint64) *Lifetimes {
	l := &Lifetimes{seed: seed, replicas: replicas, slots: make(map[uint64]int32, len(s.Running)+len(s.Waiting))}
	add := func(key, group uint64, age float64, law Law) {
		if _, known := l.slots[key]; known || key == 0 || law == nil {
			return
		}
		l.slots[key] = int32(len(l.inputs)) //nolint:gosec // at most the jobs
		l.inputs = append(l.inputs, lifetimeInputs{law, group, age, s.Rho})
	}
	for i := range s.Running {
		add(s.Running[i].Key, s.Running[i].Group, s.Running[i].Age, s.Running[i].Law)
	}
	for i := range s.Waiting {
		add(s.Waiting[i].Key, s.Waiting[i].Group, 0, s.Waiting[i].Law)
	}
	l.drawn = make([]atomic.Uint64, replicas*len(l.inputs))
	return l
}

// slot returns the index of a job, none if the cache does not have exactly this job.
func (l *Lifetimes) slot(key uint64, in lifetimeInputs) int32 {
	if i, ok := l.slots[key]; ok && l.inputs[i] == in {
		return i
	}
	return none
}

// of returns the cached lifetimes of a replica, by index; nil if the cache is not for it.
func (l *Lifetimes) of(replica int, seed uint64) []atomic.Uint64 {
	if l == nil || seed != l.seed || replica >= l.replicas {
		return nil
	}
	n := len(l.inputs)
	return l.drawn[replica*n:][:n]
}

// prepareSlots finds the jobs of a state in its cache.
func (l *luck) prepareSlots(s *State) {
	c := s.Lifetimes
	if c == nil {
		return
	}
	for i := range s.Running {
		r := &s.Running[i]
		l.slots = append(l.slots, c.slot(r.Key, lifetimeInputs{r.Law, r.Group, r.Age, s.Rho}))
	}
	for i := range s.Waiting {
		w := &s.Waiting[i]
		l.slots = append(l.slots, c.slot(w.Key, lifetimeInputs{w.Law, w.Group, 0, s.Rho}))
	}
}

// cached returns the place of a job's lifetime in the cache, nil if it has none.
func (m *machine) cached(id int32) *atomic.Uint64 {
	if m.drawn == nil || int(id) >= len(m.luck.slots) || m.luck.slots[id] == none {
		return nil
	}
	return &m.drawn[m.luck.slots[id]]
}

// lifetime returns the remaining seconds of a job of the state. It draws them unless they are cached.
func (m *machine) lifetime(id int32) float64 {
	at := m.cached(id)
	if at == nil {
		return m.drawLifetime(id)
	}
	if bits := at.Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	x := m.drawLifetime(id)
	at.Store(math.Float64bits(x)) // no effect if x is 0, as after an error
	return x
}
