package forward

import "math"

// luck has the inputs of random lifetimes that are the same in all replicas.
type luck struct {
	aged   []aged  // the laws of the running jobs, by index
	group  []int32 // index of each job's group, or none if it has no group
	groups int
	index  map[uint64]int32 // by group
	slots  []int32          // index of each job in State.Lifetimes, or none; empty without a cache
}

// aged is the law of a running job, with the part that depends only on its age. The law is nil if this part cannot be
// separated.
type aged struct {
	law  AgingLaw
	part float64
}

// prepare reads a state that is simulated with random lifetimes. If plans is set, the state is simulated by the time
// limits alone, and prepare does nothing.
func (l *luck) prepare(s *State, plans bool) {
	l.aged, l.group, l.groups, l.slots = l.aged[:0], l.group[:0], 0, l.slots[:0]
	if plans {
		return
	}
	l.prepareSlots(s)
	for i := range s.Running {
		r := &s.Running[i]
		var a aged
		if law, ok := r.Law.(AgingLaw); ok {
			a = aged{law, law.Aged(r.Age)}
		}
		l.aged = append(l.aged, a)
	}
	if s.Rho == 0 {
		return
	}
	if l.index == nil {
		l.index = map[uint64]int32{}
	}
	clear(l.index)
	for i := range s.Running {
		l.group = append(l.group, l.indexOf(s.Running[i].Group))
	}
	for i := range s.Waiting {
		l.group = append(l.group, l.indexOf(s.Waiting[i].Group))
	}
	l.groups = len(l.index)
}

func (l *luck) indexOf(group uint64) int32 {
	if group == 0 {
		return none
	}
	i, ok := l.index[group]
	if !ok {
		i = int32(len(l.index)) //nolint:gosec // at most the jobs
		l.index[group] = i
	}
	return i
}

// resetLuck forgets the scores of the groups in the previous replica.
func (m *machine) resetLuck() {
	m.scores = resize(m.scores, m.luck.groups)
	for i := range m.scores {
		m.scores[i] = math.NaN()
	}
}

// quantile returns the result of the function quantile for a job of the state in this replica. It computes the score of
// a group once per replica.
func (m *machine) quantile(id int32, key, group uint64) float64 {
	rho := m.state.Rho
	if len(m.luck.group) == 0 || m.luck.group[id] == none {
		return quantile(m.stream, key, group, rho)
	}
	score := &m.scores[m.luck.group[id]]
	if *score != *score {
		*score = groupScore(m.stream, group, rho)
	}
	return mixed(*score, uniform(m.stream, key), rho)
}
