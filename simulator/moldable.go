package simulator

import "fmt"

// Mold chooses the sizes of moldable jobs. A moldable job can run on any number of processors, but the number cannot
// change while the job runs. A. Downey, "Using Queue Time Predictions for Processor Allocation", JSSPP 1997, compares
// the instants at which the size can be chosen.
type Mold struct {
	When MoldTime

	// Choose may change Procs, Runtime, Limit and Estimate of the given job, which is a copy. It must change nothing
	// else. The machine must accept the changed job. Otherwise the job stays unchanged, and Next returns the error.
	Choose func(p *Pool, j *Job)
}

// MoldTime is the time at which a job's size is chosen.
type MoldTime uint8

// These are the times at which a size can be chosen.
const (
	AtSubmit MoldTime = iota // once, when the job is submitted
	AtHead                   // once, when the job becomes the first of its pool's queue, in the policy's order
	// each time the policy schedules while the job is the first, so the size may change until the start
	AtPass
	AtBoth // AtSubmit and AtPass
)

// moldSubmitted chooses the size of a job that is being submitted.
func (s *Simulator) moldSubmitted(p *Pool, r Ref) {
	if m := s.cfg.Mold; m != nil && (m.When == AtSubmit || m.When == AtBoth) {
		job, n := s.jobs[r], s.nodes[r]
		if s.choose(p, &job, &n) {
			s.jobs[r], s.nodes[r] = job, n
		}
	}
}

// moldHead chooses the size of the first job of the queue if it was not chosen yet, or if it may be chosen again. It
// reports whether the size changed.
func (s *Simulator) moldHead(p *Pool, again bool) bool {
	m := s.cfg.Mold
	if m == nil || m.When == AtSubmit || p.waiting == 0 {
		return false
	}
	r := p.policy.Head(p)
	if r == None || s.nodes[r].molded && (m.When == AtHead || !again) {
		return false
	}
	s.nodes[r].molded = true
	job, n := s.jobs[r], s.nodes[r]
	if !s.choose(p, &job, &n) || n == s.nodes[r] && sameShape(&job, &s.jobs[r]) {
		return false
	}
	p.policy.Withdrawn(p, r)
	s.jobs[r], s.nodes[r] = job, n
	p.policy.Submitted(p, r)
	return true
}

// sameShape reports whether molding has changed nothing. It does not compare starts: the start of a waiting job is
// NaN, which is not equal to itself.
func sameShape(a, b *Job) bool {
	return a.Procs == b.Procs && a.Runtime == b.Runtime && a.Limit == b.Limit && a.Estimate == b.Estimate
}

// choose lets Mold.Choose change job, which is a copy of a waiting job, and sets the size and the expected runtime of
// n. It returns false if the machine does not accept the changed job.
func (s *Simulator) choose(p *Pool, job *Job, n *node) bool {
	was := *job
	s.cfg.Mold.Choose(p, job)
	was.Procs, was.Runtime, was.Limit, was.Estimate = job.Procs, job.Runtime, job.Limit, job.Estimate
	was.Start, was.End = job.Start, job.End // as Choose left them; both are NaN before the start
	*job = was
	fresh := node{}
	if err := s.admit(job, &fresh); err != nil {
		s.failed = fmt.Errorf("molded: %w", err)
		return false
	}
	n.held, n.plan = fresh.held, fresh.plan
	return true
}
