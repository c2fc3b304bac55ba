package simulator

import (
	"fmt"
	"math"
	"reflect"
	"slices"
)

// State is the state of a machine at an instant, from which a simulation continues.
type State struct {
	Now float64 // seconds

	// Running are the running jobs. Each has its Start, which gives its age, and its Runtime, counted from the start.
	// A job that should have ended before Now ends at Now. Simulator.Redraw changes the ends.
	Running []Job

	// Waiting are the waiting jobs in the order of the queue. Their Submit, which may be before Now, does not
	// determine the order.
	Waiting []Job
}

// Load sets the state of an empty machine at time 0. Only later events are returned. An error names the invalid job;
// then the machine cannot be used any more.
func (s *Simulator) Load(state State) error {
	if s.seq != 0 || s.now != 0 {
		return fmt.Errorf("simulator: state loaded into a machine that is not new")
	}
	if !isTime(state.Now) {
		return fmt.Errorf("%w: a state at %v s, need a finite number from 0", ErrBadJob, state.Now)
	}
	s.now = state.Now
	for i := range s.pools {
		s.pools[i].advanceCapacity()
	}
	for i := range state.Running {
		if err := s.loadRunning(state.Running[i]); err != nil {
			return err
		}
	}
	for i := range state.Waiting {
		r, err := s.store(&state.Waiting[i])
		if err != nil {
			return err
		}
		p := &s.pools[s.nodes[r].pool]
		p.link(r)
		p.dirty |= BySubmit
	}
	return nil
}

func (s *Simulator) loadRunning(job Job) error {
	r, err := s.store(&job)
	if err != nil {
		return err
	}
	if !(job.Start >= 0 && job.Start <= s.now) {
		return fmt.Errorf("%w: job %d runs at %v s since %v s", ErrBadJob, job.ID, s.now, job.Start)
	}
	n := &s.nodes[r]
	p := &s.pools[n.pool]
	if int(n.held) > p.free {
		return fmt.Errorf("%w: job %d runs on %d processors, %d of %d are free", ErrBadJob, job.ID, n.held,
			p.free, p.procs)
	}
	j := &s.jobs[r]
	j.Start, j.End = job.Start, math.Max(s.now, job.Start+job.Runtime)
	p.hold(r)
	return nil
}

// Redraw gives every running job a new residual lifetime in seconds from now. The order of the calls of residual is
// the same for the same history. A residual that is negative or not finite does not change the job's end.
func (s *Simulator) Redraw(residual func(*Job) float64) {
	for i := range s.running {
		it := &s.running[i]
		j := &s.jobs[it.ID]
		if x := residual(j); isTime(x) {
			j.End = s.now + x
			j.Runtime = j.End - j.Start
			it.At = min(j.End, s.nodes[it.ID].expect)
		}
	}
	s.running.Build()
}

// SetRuntime replaces Config.Runtime. A copy needs this if it has its own random generator.
func (s *Simulator) SetRuntime(f func(*Job) float64) { s.cfg.Runtime = f }

// SetArrivals replaces Config.Arrivals. One job of the old stream that was already read will still be submitted.
func (s *Simulator) SetArrivals(f Source) { s.cfg.Arrivals, s.drained = f, f == nil }

// Clone returns a copy. Both machines are independent, but they share the functions of the configuration.
func (s *Simulator) Clone() *Simulator {
	c := &Simulator{}
	c.CopyFrom(s)
	return c
}

// CopyFrom makes this machine a copy of src, as Clone does, and reuses its memory. After a first copy it allocates
// only if src has grown, and for its policy.
func (s *Simulator) CopyFrom(src *Simulator) {
	old := *s
	*s = *src
	s.jobs = append(old.jobs[:0], src.jobs...)
	s.nodes = append(old.nodes[:0], src.nodes...)
	s.spare = append(old.spare[:0], src.spare...)
	s.pending = append(old.pending[:0], src.pending...)
	s.running = append(old.running[:0], src.running...)
	s.out = append(old.out[:0], src.out...)
	s.due = append(old.due[:0], src.due...)
	s.pools = slices.Grow(old.pools[:0], len(src.pools))[:len(src.pools)]
	for i := range s.pools {
		p, from := &s.pools[i], &src.pools[i]
		used, policy := p.used, p.policy
		*p = *from
		p.s = s
		p.used = append(used[:0], from.used...)
		if p.policy = policy; !sameType(policy, from.policy) {
			p.policy = from.policy.New()
			p.policy.Attach(p)
		}
		p.policy.CopyFrom(from.policy)
	}
}

func sameType(a, b Policy) bool {
	return a != nil && reflect.TypeOf(a) == reflect.TypeOf(b)
}
