package simulator

import (
	"fmt"
	"math"

	"github.com/waitcast/waitcast/internal/quadheap"
)

// Simulator is one machine. Only one goroutine at a time may use it.
type Simulator struct {
	cfg     Config
	now     float64
	seq     int64
	jobs    []Job  // by Ref
	nodes   []node // the simulator's own state of each job, by Ref
	spare   []Ref  // Refs of jobs that have ended, to be reused
	pools   []Pool
	pending quadheap.Heap // by submit time
	running quadheap.Heap // by end, or by expected end if that is earlier
	out     []pendingEvent
	outAt   int      // index of the next event of out to return
	done    Ref      // the job of the last returned Ended event
	due     []ending // with SubmitsFirst: the jobs that end at this instant
	dueAt   int      // index of the next element of due
	drained bool     // true if Arrivals has no more jobs
	ahead   Ref      // the job of Arrivals that is still pending
	owed    int      // with SubmitsFirst: the index of the pool whose policy must schedule next
	owes    Cause    // the cause of that; 0 if no policy must schedule
	failed  error    // error that the next call of Next returns
}

// node is the simulator's own state of a job.
type node struct {
	seq        int64
	plan       float64 // expected runtime in seconds
	expect     float64 // expected end of a running job
	next, prev Ref     // neighbors in the queue
	held       int32
	queue      int16
	pool       int16
	state      uint8
	molded     bool
}

// These are the states of a job.
const (
	coming uint8 = iota // its submission is in the future
	waits
	runs
	gone
)

// pendingEvent is an event that Next will return.
type pendingEvent struct {
	kind Kind
	ref  Ref
}

// ending is a job that ends at this instant, with its pool. The job is None if it has left already.
type ending struct {
	ref  Ref
	pool int
}

// New returns an empty machine at time 0.
func New(cfg Config) (*Simulator, error) {
	s := &Simulator{cfg: cfg, done: None, ahead: None, drained: cfg.Arrivals == nil}
	if cfg.NodeProcs < 0 {
		return nil, fmt.Errorf("simulator: nodes of %d processors", cfg.NodeProcs)
	}
	if err := s.makePools(); err != nil {
		return nil, err
	}
	if err := s.checkQueues(); err != nil {
		return nil, err
	}
	policy := cfg.Policy
	if policy == nil {
		policy = new(FCFS)
	}
	for i := range s.pools {
		p := &s.pools[i]
		p.used = make([]int, len(cfg.Queues))
		p.policy = policy.New()
		p.policy.Attach(p)
		p.advanceCapacity()
	}
	return s, nil
}

// Submit passes a job to the machine, which keeps a copy. Start, End and Killed of the job are ignored. The job's
// submit time may be in the future, but not in the past. Jobs with equal submit times are queued in the order of the
// calls. The error is a *TooLargeError, a *TooLongError or a *PastError, or it wraps ErrBadJob. After an error the
// machine does not have the job.
func (s *Simulator) Submit(job Job) error {
	r, err := s.take(&job)
	if err != nil {
		return err
	}
	s.pending.Push(quadheap.Item{At: job.Submit, Seq: s.nodes[r].seq, ID: int32(r)})
	return nil
}

// take checks and stores a job that will be submitted.
func (s *Simulator) take(job *Job) (Ref, error) {
	r, err := s.store(job)
	if err == nil && job.Submit < s.now {
		s.spare = append(s.spare, r)
		r, err = None, &PastError{ID: job.ID, Submit: job.Submit, Now: s.now}
	}
	return r, err
}

// store copies a job to the simulator's memory, checks the copy and numbers it.
func (s *Simulator) store(job *Job) (Ref, error) {
	var r Ref
	if k := len(s.spare); k > 0 {
		r = s.spare[k-1]
		s.spare = s.spare[:k-1]
	} else {
		r = Ref(len(s.jobs))
		s.jobs = append(s.jobs, Job{})
		s.nodes = append(s.nodes, node{})
	}
	j, n := &s.jobs[r], &s.nodes[r]
	*j, *n = *job, node{}
	j.Start, j.End, j.Killed = math.NaN(), math.NaN(), false
	if err := s.admit(j, n); err != nil {
		s.spare = append(s.spare, r)
		return None, err
	}
	n.seq = s.nextSeq()
	return r, nil
}

func (s *Simulator) nextSeq() int64 {
	s.seq++
	return s.seq
}

// Now returns the instant up to which all events have happened, in seconds.
func (s *Simulator) Now() float64 { return s.now }

// Free returns the number of idle processors of all pools. It takes into account only events that were returned.
func (s *Simulator) Free() int {
	free, _, _ := s.count()
	return free
}

// Running returns the number of running jobs. It takes into account only events that were returned.
func (s *Simulator) Running() int {
	_, running, _ := s.count()
	return running
}

// Queued returns the number of waiting jobs. It takes into account only events that were returned. After Next has
// returned false for until = +Inf, the waiting jobs can never start, because processors are unavailable forever.
func (s *Simulator) Queued() int {
	_, _, queued := s.count()
	return queued
}

// count adds up the pools, without the effects of events that are not returned yet.
func (s *Simulator) count() (free, running, queued int) {
	for i := range s.pools {
		p := &s.pools[i]
		free, running, queued = free+max(0, p.free), running+p.running, queued+p.waiting
	}
	for _, t := range s.out[s.outAt:] {
		held := int(s.nodes[t.ref].held)
		switch t.kind {
		case Submitted:
			queued--
		case Started:
			free, running, queued = free+held, running-1, queued+1
		case Ended:
			free, running = free-held, running+1
		}
	}
	return free, running, queued
}

// Next returns the next event at or before until, or false if there is none. If it returns false, the clock shows
// until, unless it is already later. Calling Next until it returns false gives every event. With until = +Inf the
// simulation continues until no further event is possible, and the clock shows the last event. There are three causes
// of an error. A job of Config.Arrivals may be refused; the errors are those of Submit, and the job is left out.
// Config.Runtime may return an invalid runtime; the error wraps ErrBadJob, and the job runs for 0 s. Mold.Choose may
// make a job invalid; the job stays unchanged. In the last two cases Next also returns an event. After each error, Next
// may be called again.
func (s *Simulator) Next(until float64) (Event, bool, error) {
	if s.done != None {
		s.spare = append(s.spare, s.done)
		s.done = None
	}
	for s.outAt == len(s.out) {
		s.out, s.outAt = s.out[:0], 0
		if err := s.pull(); err != nil {
			return Event{}, false, err
		}
		if s.now > until || !s.step() && !s.advance(until) {
			return Event{}, false, nil
		}
	}
	t := s.out[s.outAt]
	s.outAt++
	if t.kind == Ended {
		s.done = t.ref
	}
	err := s.failed
	s.failed = nil
	return Event{Kind: t.kind, Time: s.now, Job: &s.jobs[t.ref], Held: int(s.nodes[t.ref].held)}, true, err
}

// Advance calls emit for every event whose instant is at most until, in order. emit may call Submit. Advance stops at
// the first error (see Next).
func (s *Simulator) Advance(until float64, emit func(Event)) error {
	for {
		ev, ok, err := s.Next(until)
		if ok {
			emit(ev)
		}
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
	}
}

// pull reads the next job of Arrivals, so that one of them is always pending.
func (s *Simulator) pull() error {
	for !s.drained && s.ahead == None {
		job, ok := s.cfg.Arrivals()
		if !ok {
			s.drained = true
			return nil
		}
		r, err := s.take(&job)
		switch {
		case err == nil:
			s.ahead = r
			s.pending.Push(quadheap.Item{At: job.Submit, Seq: s.nodes[r].seq, ID: int32(r)})
		case s.cfg.Refused != nil:
			s.cfg.Refused(job, err)
		default:
			return fmt.Errorf("arrivals: %w", err)
		}
	}
	return nil
}

// step performs one action of the present instant. It returns false if there is none.
func (s *Simulator) step() bool {
	switch {
	case s.owes != 0:
		why := s.owes
		s.owes = 0
		s.schedule(&s.pools[s.owed], why)
	case s.running.Due(s.now):
		s.fall(s.running.Pop())
	case s.pending.Due(s.now):
		p := s.join()
		if s.cfg.Order == SubmitsFirst {
			s.owed, s.owes = p.index, BySubmit
		} else {
			p.dirty |= BySubmit
		}
	case s.dueAt < len(s.due):
		d := s.due[s.dueAt]
		s.dueAt++
		if d.ref != None {
			s.pools[d.pool].leave(d.ref)
		}
		s.owed, s.owes = d.pool, ByEnd
	default:
		s.due, s.dueAt = s.due[:0], 0
		for i := range s.pools {
			if p := &s.pools[i]; p.dirty != 0 {
				s.schedule(p, p.dirty)
				return true
			}
		}
		return false
	}
	return true
}

// fall handles a running job whose end or expected end is now.
func (s *Simulator) fall(it quadheap.Item) {
	r := Ref(it.ID)
	n, j := &s.nodes[r], &s.jobs[r]
	p := &s.pools[n.pool]
	switch {
	case j.End > s.now:
		was := n.expect
		n.expect = s.extend(j)
		it.At = min(j.End, n.expect)
		s.running.Push(it)
		p.policy.Overran(p, r, was)
		p.dirty |= ByOverrun
	case s.cfg.Order == EndsFirst:
		p.leave(r)
		p.dirty |= ByEnd
	case n.expect <= s.now: // the job has left the plan and its processors are free; only scheduling must wait
		p.leave(r)
		s.due = append(s.due, ending{None, p.index})
	default:
		s.due = append(s.due, ending{r, p.index})
	}
}

// join moves the next pending job into its queue.
func (s *Simulator) join() *Pool {
	r := Ref(s.pending.Pop().ID)
	if r == s.ahead {
		s.ahead = None
	}
	p := &s.pools[s.nodes[r].pool]
	s.moldSubmitted(p, r)
	s.out = append(s.out, pendingEvent{Submitted, r})
	p.link(r)
	return p
}

// schedule lets the policy of a pool start jobs.
func (s *Simulator) schedule(p *Pool, why Cause) {
	p.dirty &^= why
	if p.waiting > 0 {
		s.moldHead(p, true)
		p.policy.Schedule(p, why)
		if s.moldHead(p, false) { // starts of other jobs have made this job the first
			p.dirty |= BySubmit
		}
	}
	p.wake = math.Inf(1)
	if w := p.policy.Wake(); w > s.now && p.waiting > 0 {
		p.wake = w
	}
}

// advance moves the clock to the next event and returns true. If there is none up to until, it returns false, and moves
// the clock to until unless that is +Inf.
func (s *Simulator) advance(until float64) bool {
	t := min(s.running.First(), s.pending.First())
	for i := range s.pools {
		t = min(t, s.pools[i].wake, s.pools[i].nextChange())
	}
	if t > until || math.IsInf(t, 1) {
		if !math.IsInf(until, 1) {
			s.now = until
		}
		return false
	}
	s.now = t
	for i := range s.pools {
		p := &s.pools[i]
		if p.nextChange() <= t {
			p.advanceCapacity()
			p.dirty |= ByCapacity
		}
		if p.wake <= t {
			p.wake = math.Inf(1)
			p.dirty |= ByWake
		}
	}
	return true
}
