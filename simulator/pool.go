package simulator

import (
	"fmt"
	"iter"
	"math"

	"github.com/waitcast/waitcast/internal/byend"
	"github.com/waitcast/waitcast/internal/quadheap"
)

// PoolConfig describes a set of processors that only the pool's queues use.
type PoolConfig struct {
	Name    string
	Procs   int
	Outages []Outage // processors that are unavailable for a time
}

// Pool is a set of processors with its running and waiting jobs, as its policy sees them. Waiting jobs are in order
// of submission.
type Pool struct {
	s        *Simulator
	name     string
	index    int
	procs    int
	free     int // negative if the capacity has become smaller than the number of processors in use
	waiting  int
	running  int
	first    Ref
	last     Ref
	used     []int // by queue: processors in use
	policy   Policy
	dirty    Cause
	wake     float64
	outages  []Outage
	changes  []change // changes of the capacity, by time
	upcoming int      // index of the next element of changes
}

// Name returns the pool's name. It is empty if there is only one pool.
func (p *Pool) Name() string { return p.name }

// Now returns the instant of the simulation, in seconds.
func (p *Pool) Now() float64 { return p.s.now }

// Procs returns the number of processors of the pool, including unavailable ones.
func (p *Pool) Procs() int { return p.procs }

// Free returns the number of idle processors. It is negative while an outage needs more processors than the running
// jobs leave free.
func (p *Pool) Free() int { return p.free }

// Waiting returns the number of jobs that wait.
func (p *Pool) Waiting() int { return p.waiting }

// First returns the waiting job that was submitted first. It returns None if no job waits.
func (p *Pool) First() Ref { return p.first }

// After returns the waiting job that follows the waiting job r in the order of submission. It returns None if r is the
// last.
func (p *Pool) After(r Ref) Ref { return p.s.nodes[r].next }

// Job returns a job that waits or runs. It is valid until the simulator continues, and must not be changed.
func (p *Pool) Job(r Ref) *Job { return &p.s.jobs[r] }

// Held returns the number of processors that the job uses: the requested number, or the processors of whole nodes.
func (p *Pool) Held(r Ref) int { return int(p.s.nodes[r].held) }

// Seq returns a number that is larger for jobs that the simulator received later, by a call of Submit or from
// Config.Arrivals.
func (p *Pool) Seq(r Ref) int64 { return p.s.nodes[r].seq }

// Estimate returns the expected duration of the job in seconds, from its start. It is +Inf if the job is not expected
// to end.
func (p *Pool) Estimate(r Ref) float64 { return p.s.nodes[r].plan }

// Expected returns the instant at which a running job is expected to end. It is never in the past.
func (p *Pool) Expected(r Ref) float64 { return p.s.nodes[r].expect }

// item returns a running job as an item of the list by expected ends.
func (p *Pool) item(r Ref) byend.Item {
	n := &p.s.nodes[r]
	return byend.Item{At: n.expect, ID: int32(r), Held: n.held}
}

// Queue returns the index of the job's queue in Config.Queues. It returns -1 if no queues are configured.
func (p *Pool) Queue(r Ref) int { return int(p.s.nodes[r].queue) }

// Running returns the jobs that run in the pool. Their order is the same for the same history.
func (p *Pool) Running() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for i := range p.s.running {
			if r := Ref(p.s.running[i].ID); int(p.s.nodes[r].pool) == p.index && !yield(r) {
				return
			}
		}
		for _, d := range p.s.due[p.s.dueAt:] { // jobs that end at this instant but have not been handled yet
			if r := d.ref; r != None && int(p.s.nodes[r].pool) == p.index && !yield(r) {
				return
			}
		}
	}
}

// Start starts a waiting job now. If the job does not wait, or needs more processors than its queue may use now (see
// Room), Start returns false and changes nothing.
func (p *Pool) Start(r Ref) bool {
	s := p.s
	n := &s.nodes[r]
	if n.state != waits || int(n.held) > p.Room(int(n.queue)) {
		return false
	}
	p.unlink(n)
	j := &s.jobs[r]
	s.drawRuntime(j)
	j.Start, j.End = s.now, s.now+j.Runtime
	p.hold(r)
	s.out = append(s.out, pendingEvent{Started, r})
	return true
}

// hold starts a job whose start and end are set.
func (p *Pool) hold(r Ref) {
	s := p.s
	n, j := &s.nodes[r], &s.jobs[r]
	n.state = runs
	p.running++
	p.free -= int(n.held)
	if n.queue >= 0 {
		p.used[n.queue] += int(n.held)
	}
	n.expect = j.Start + n.plan
	// true only for a job that was running in the state of Load, or for an estimate of 0; any other expected end is in
	// the future
	for n.expect < s.now || n.expect == s.now && j.End > s.now {
		n.expect = s.extend(j)
	}
	s.running.Push(quadheap.Item{At: min(j.End, n.expect), Seq: s.nextSeq(), ID: int32(r)})
	p.policy.Started(p, r)
}

// leave ends a running job and frees its processors.
func (p *Pool) leave(r Ref) {
	s := p.s
	n := &s.nodes[r]
	n.state = gone
	p.running--
	p.free += int(n.held)
	if n.queue >= 0 {
		p.used[n.queue] -= int(n.held)
	}
	p.policy.Ended(p, r)
	s.out = append(s.out, pendingEvent{Ended, r})
}

// link appends a job to the queue.
func (p *Pool) link(r Ref) {
	n := &p.s.nodes[r]
	n.state, n.prev, n.next = waits, p.last, None
	if p.last == None {
		p.first = r
	} else {
		p.s.nodes[p.last].next = r
	}
	p.last = r
	p.waiting++
	p.policy.Submitted(p, r)
}

func (p *Pool) unlink(n *node) {
	if n.prev == None {
		p.first = n.next
	} else {
		p.s.nodes[n.prev].next = n.next
	}
	if n.next == None {
		p.last = n.prev
	} else {
		p.s.nodes[n.next].prev = n.prev
	}
	p.waiting--
}

// drawRuntime determines the runtime of a job that starts, and cuts it at the limit.
func (s *Simulator) drawRuntime(j *Job) {
	if s.cfg.Runtime != nil {
		if j.Runtime = s.cfg.Runtime(j); !isTime(j.Runtime) {
			s.failed = fmt.Errorf("%w: job %d was given runtime %v at its start, need a finite number from 0",
				ErrBadJob, j.ID, j.Runtime)
			j.Runtime = 0
		}
	}
	if s.cfg.Kill && j.Limit > 0 && j.Runtime > j.Limit {
		j.Runtime, j.Killed = j.Limit, true
	}
}

// extend returns a new expected end, in the future, for a job that has run longer than expected. It is +Inf if
// Config.Overrun returns no number above 0.
func (s *Simulator) extend(j *Job) float64 {
	more := math.Max(60, s.now-j.Start)
	if s.cfg.Overrun != nil {
		more = s.cfg.Overrun(j)
	}
	if t := s.now + more; t > s.now {
		return t
	}
	return math.Inf(1)
}
