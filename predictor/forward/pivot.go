package forward

// In a replica, whatever starts later than now starts at an instant at which something happens: mostly the end of
// another job. If that ran already in the state, it is the pivot of the start. If it was started in the replica itself,
// it ended when it did because it was started when it was, and so the pivot is that of its own start. So, but for ties,
// a pivot that ended a moment sooner would let the start be as much sooner, and the end of no other job that runs would
// move it at all.

// trail is how the starts of a replica hang together.
type trail struct {
	on    bool
	roots []int32 // pivot of each job's start, by the job's number; a job that runs already is its own
	cause int32   // pivot of what starts at this instant
	freed int32   // processors that its end freed; 0 where the cause is no end
}

// follow makes a machine that was reset follow the causes.
func (m *machine) follow() {
	m.trail.on = true
	for i := range m.jobs {
		root := none
		if i < len(m.state.Running) {
			root = int32(i)
		}
		m.trail.roots = append(m.trail.roots, root)
	}
}

// blame records that a job ends at this instant, or reaches its limit. Of several that end the largest counts.
func (m *machine) blame(id int32, t *task) {
	ended, ran := t.end <= m.now, int(id) < len(m.state.Running)
	procs := max(1, t.procs) // one that runs elsewhere may free a limit
	switch {
	case ended && procs > m.trail.freed:
		m.trail.cause, m.trail.freed = m.trail.roots[id], procs
	case !ended && !ran && m.trail.freed == 0: // its limit counts from its start
		m.trail.cause = m.trail.roots[id]
	}
}

// began notes why a job starts at this instant.
func (m *machine) began(id int32) {
	for len(m.trail.roots) <= int(id) {
		m.trail.roots = append(m.trail.roots, none)
	}
	m.trail.roots[id] = m.trail.cause
}

// startRoots returns the pivots of the first n jobs that wait.
func (m *machine) startRoots(n int) []int32 {
	n = min(n, len(m.state.Waiting))
	if n <= 0 {
		return nil
	}
	return append([]int32(nil), m.trail.roots[len(m.state.Running):][:n]...)
}

// Pivots reports what the starts of a request hang on, in the replicas of Waits: it appends to roots[:0], for each of
// them, the index in State.Running of the job that, had it ended a moment sooner, would have let the request start as
// much sooner; -1 where there is none: it starts at once, or when an outage ends, or a limit that ran already is
// reached. Errors are those of Waits.
func (s *Sim) Pivots(state *State, request Request, replicas int, seed uint64, roots []int32) ([]int32, error) {
	roots = roots[:0]
	if err := field(replicas > 0, "replicas", -1, "", float64(replicas), "1 or more"); err != nil {
		return roots, err
	}
	s.scene.plans = false
	if err := s.ready(state, &request); err != nil {
		return roots, err
	}
	s.follows = true
	defer func() { s.follows = false }()
	for i := range replicas {
		if _, err := s.one(&s.machine, &request, i, seed); err != nil {
			return roots[:0], err
		}
		roots = append(roots, s.machine.trail.cause)
	}
	return roots, nil
}

// Pivots appends to dst[:0] what the start of a request of a size and a limit hangs on in every replica, as Sim.Pivots
// has it. Errors are those of Waits.
func (s *Surface) Pivots(procs int, limit float64, dst []int32) ([]int32, error) {
	dst = dst[:0]
	if err := s.check(procs, limit); err != nil {
		return dst, err
	}
	plan := s.policy.plan(limit)
	for _, steps := range s.steps(plan) {
		first := admits(steps, int32(procs), plan)
		if first == nil {
			return dst[:0], &NeverError{Procs: procs, Limit: limit}
		}
		dst = append(dst, first.root)
	}
	return dst, nil
}

// StartPivots appends to dst[:0] the same of the start of a job that waits, by its index in State.Waiting; nothing
// where that is not below SurfaceOptions.Starts. -1 also stands for a job that did not start before every request
// could.
func (s *Surface) StartPivots(waiting int, dst []int32) []int32 {
	dst = dst[:0]
	for _, starts := range s.starts {
		if waiting < 0 || waiting >= len(starts) {
			return dst[:0]
		}
		dst = append(dst, starts[waiting])
	}
	return dst
}
