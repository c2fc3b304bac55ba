package simulator

import "fmt"

// Mold chooses the sizes of moldable jobs: those that can run on any number of processors, as long as it does not
// change while they run. A. Downey, "Using Queue Time Predictions for Processor Allocation", JSSPP 1997, compares the
// instants at which that may be done.
type Mold struct {
	When MoldTime

	// Choose may change Procs, Runtime, Limit and Estimate of the job it is given, which is a copy, and nothing else.
	// The changed job must be admissible; else the job stays unchanged, and Next returns the error.
	Choose func(p *Pool, j *Job)
}

// MoldTime is the time at which a job's size is chosen.
type MoldTime uint8

// When a size is chosen.
const (
	AtSubmit MoldTime = iota // once, when the job is submitted
	AtHead                   // once, when the job becomes the first of its pool's queue, in the policy's order
	// whenever the policy schedules while the job is the first; so it can change its mind until it starts
	AtPass
	AtBoth // AtSubmit and AtPass
)

// moldSubmitted lets a job that is being submitted choose its size.
func (s *Simulator) moldSubmitted(p *Pool, r Ref) {
	if m := s.cfg.Mold; m != nil && (m.When == AtSubmit || m.When == AtBoth) {
		job, n := s.jobs[r], s.nodes[r]
		if s.choose(p, &job, &n) {
			s.jobs[r], s.nodes[r] = job, n
		}
	}
}

// moldHead lets the first job of the queue choose its size, if it has not chosen yet or may choose again. It reports
// whether the size changed.
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

// sameShape reports whether molding has changed nothing. It must not compare starts: that of a waiting job is NaN,
// which equals nothing.
func sameShape(a, b *Job) bool {
	return a.Procs == b.Procs && a.Runtime == b.Runtime && a.Limit == b.Limit && a.Estimate == b.Estimate
}

// choose molds a copy of a job.
func (s *Simulator) choose(p *Pool, job *Job, n *node) bool {
	was := *job
	s.cfg.Mold.Choose(p, job)
	was.Procs, was.Runtime, was.Limit, was.Estimate = job.Procs, job.Runtime, job.Limit, job.Estimate
	was.Start, was.End = job.Start, job.End // otherwise NaN would make them unequal
	*job = was
	fresh := node{}
	if err := s.admit(job, &fresh); err != nil {
		s.failed = fmt.Errorf("molded: %w", err)
		return false
	}
	n.held, n.plan = fresh.held, fresh.plan
	return true
}
