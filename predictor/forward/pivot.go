package forward

import "slices"

// In a replica every later start happens at the instant of an event, mostly the end of another job. If that job was
// running in the state, it is the pivot of the start. If the replica itself started that job, the pivot of its start
// is also the pivot of the later start. Except for ties, an earlier end of the pivot would make the start earlier by
// the same time, and an earlier end of any other running job would not change the start.

// trail records which ends caused the starts of a replica.
type trail struct {
	on    bool
	roots []int32 // pivot of each job's start, by the job's number; the pivot of a running job is itself
	cause int32   // the pivot of the starts at this instant
	freed int32   // processors that the cause's end freed; 0 if the cause is no end
	freer int32   // the job that ended
}

// follow makes a machine that was just reset record the causes of starts.
func (m *machine) follow() {
	m.trail.on = true
	m.trail.roots = slices.Grow(m.trail.roots, len(m.jobs))
	for i := range m.jobs {
		root := none
		if i < len(m.state.Running) {
			root = int32(i)
		}
		m.trail.roots = append(m.trail.roots, root)
	}
}

// blame records that a job ends at this instant, or reaches its limit. If several jobs end, the largest one counts, and
// of equally large jobs the one with the smallest number. A reached limit counts only if no job ends, and if the job
// started in the replica.
func (m *machine) blame(id int32, t *task) {
	ended, ran := t.end <= m.now, int(id) < len(m.state.Running)
	procs := max(1, t.procs) // a job in another pool has no processors, but may free a limit
	switch {
	case ended && (procs > m.trail.freed || procs == m.trail.freed && id < m.trail.freer):
		m.trail.cause, m.trail.freed, m.trail.freer = m.trail.roots[id], procs, id
	case !ended && !ran && m.trail.freed == 0: // a job that started in the replica reaches its limit
		m.trail.cause = m.trail.roots[id]
	}
}

// began records why a job starts at this instant.
func (m *machine) began(id int32) {
	for len(m.trail.roots) <= int(id) {
		m.trail.roots = append(m.trail.roots, none)
	}
	m.trail.roots[id] = m.trail.cause
}

// startRoots returns the pivots of the first n waiting jobs.
func (m *machine) startRoots(n int) []int32 {
	n = min(n, len(m.state.Waiting))
	if n <= 0 {
		return nil
	}
	return append([]int32(nil), m.trail.roots[len(m.state.Running):][:n]...)
}

// Pivots returns the pivots of a request in the replicas of Waits. For each replica it appends an index in
// State.Running to roots[:0]. A slightly earlier end of that job would make the request start earlier by the same
// time. The index is -1 if there is no such job: the request starts at once, at the end of an outage, or when a limit
// allows it. Errors are those of Waits.
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

// Pivots appends to dst[:0] the pivots of a request with the given size and limit in all replicas, as in Sim.Pivots.
// Errors are those of Waits.
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

// StartPivots appends the pivots of a waiting job, by its index in State.Waiting, to dst[:0]. It appends nothing if
// the index is not below SurfaceOptions.Starts. -1 also stands for a job that had not started when every request
// could have.
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
