package forward

// dependencies has the jobs that may compete only after the ends of other jobs.
type dependencies struct {
	// next has, for each job by its number, the positions of the waiting jobs that depend on its end. The request's
	// position is the number of waiting jobs. The slice is empty if no job depends on another.
	next [][]int32
	// need has, by position, the number of jobs that must still end.
	need []int32
}

// findDependencies finds the waiting jobs, and the request, that depend on other jobs of the state. It ignores keys of
// jobs that the state does not have. request may be nil.
func (c *scene) findDependencies(request *Request) {
	s, l := c.state, &c.dependencies
	l.next, l.need = l.next[:0], l.need[:0]
	some := request != nil && len(request.After) > 0
	for i := 0; i < len(s.Waiting) && !some; i++ {
		some = len(s.Waiting[i].After) > 0
	}
	if !some {
		return
	}
	numbers := make(map[uint64]int32, len(s.Running)+len(s.Waiting))
	for i := range s.Running {
		numbers[s.Running[i].Key] = int32(i)
	}
	for i := range s.Waiting {
		numbers[s.Waiting[i].Key] = int32(len(s.Running) + i)
	}
	delete(numbers, 0) // jobs without a key have 0
	l.next = resize(l.next, len(s.Running)+len(s.Waiting))
	for i := range l.next {
		l.next[i] = nil
	}
	l.need = resize(l.need, len(s.Waiting)+1)
	clear(l.need)
	add := func(at int, after []uint64) {
		for _, key := range after {
			if id, known := numbers[key]; known {
				l.next[id] = append(l.next[id], int32(at))
				l.need[at]++
			}
		}
	}
	for i := range s.Waiting {
		add(i, s.Waiting[i].After)
	}
	if request != nil {
		add(len(s.Waiting), request.After)
	}
}

// isAwaiting reports whether other jobs must end before the waiting job at a position may compete.
func isAwaiting(need []int32, at int) bool { return len(need) > 0 && need[at] > 0 }

// freeNext lets jobs compete that waited for the end of the given job and for no other.
func (m *machine) freeNext(id int32) {
	if int(id) >= len(m.scene.dependencies.next) {
		return
	}
	for _, at := range m.scene.dependencies.next[id] {
		if m.needNow[at]--; m.needNow[at] > 0 {
			continue
		}
		if int(at) == len(m.state.Waiting) {
			if m.requestID != none {
				m.awaits, m.joinsAt = false, max(m.now, m.eligible)
			}
			continue
		}
		if m.mayCompete(int(at)) && m.state.Waiting[at].Eligible <= m.now {
			m.unlock(int(at))
		}
	}
}
