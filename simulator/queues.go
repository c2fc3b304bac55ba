package simulator

import (
	"fmt"
	"math"
)

// Queue is a queue of a machine, with its pool and its limits. The jobs of all queues of a pool wait in one common
// order. A job that is blocked by its queue's limit of processors is skipped until its queue has room.
type Queue struct {
	Name    string
	Pool    string // name of the pool; empty means the first pool
	Procs   int    // maximum number of processors that its jobs may use at once; 0 means the whole pool
	MaxSize int    // maximum number of processors of one job; 0 means no limit
	// Maximum time limit of one job in seconds; 0 means no maximum; a job without a time limit exceeds any maximum.
	MaxTime  float64
	Priority float64 // see Priority
}

// TooLongError reports a job that requests more time than its queue allows.
type TooLongError struct {
	ID          int64
	Limit, Most float64 // seconds; Limit is 0 if the job has none
	Queue       string
}

// Error returns a message with the job and both times.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("job %d: time limit of %v s in queue %q, which gives %v s", e.ID, e.Limit, e.Queue, e.Most)
}

// makePools creates the machine's pools, without jobs.
func (s *Simulator) makePools() error {
	pools := s.cfg.Pools
	if len(pools) == 0 {
		pools = []PoolConfig{{Procs: s.cfg.Procs, Outages: s.cfg.Outages}}
	}
	if len(pools) > math.MaxInt16 || len(s.cfg.Queues) > math.MaxInt16 {
		return fmt.Errorf("simulator: %d pools, %d queues", len(pools), len(s.cfg.Queues))
	}
	s.pools = make([]Pool, len(pools))
	for i, c := range pools {
		if unit := max(1, s.cfg.NodeProcs); c.Procs < unit || c.Procs > math.MaxInt32 || c.Procs%unit != 0 {
			return fmt.Errorf("simulator: pool %q of %d processors, need a multiple of %d, at least that", c.Name,
				c.Procs, unit)
		}
		s.pools[i] = Pool{
			s: s, name: c.Name, index: i, procs: c.Procs, free: c.Procs, first: None, last: None, wake: math.Inf(1),
		}
		if err := s.pools[i].setOutages(c.Outages); err != nil {
			return err
		}
	}
	return nil
}

func (s *Simulator) checkQueues() error {
	for i, q := range s.cfg.Queues {
		if s.poolOf(&q) < 0 {
			return fmt.Errorf("simulator: queue %q feeds pool %q, which does not exist", q.Name, q.Pool)
		}
		if s.queueOf(q.Name) != i {
			return fmt.Errorf("simulator: two queues named %q", q.Name)
		}
		if q.Procs < 0 || q.MaxSize < 0 || !(q.MaxTime >= 0) {
			return fmt.Errorf("simulator: queue %q has a negative limit", q.Name)
		}
	}
	return nil
}

func (s *Simulator) poolOf(q *Queue) int {
	for i := range s.pools {
		if q.Pool == "" || s.pools[i].name == q.Pool {
			return i
		}
	}
	return -1
}

func (s *Simulator) queueOf(name string) int {
	for i := range s.cfg.Queues {
		if s.cfg.Queues[i].Name == name {
			return i
		}
	}
	return -1
}

// admit checks whether the machine can run a job, and sets the fields of the job's node.
func (s *Simulator) admit(j *Job, n *node) error {
	if err := j.check(); err != nil {
		return err
	}
	n.queue = -1
	most, room := math.MaxInt32, 0 // maximum of the requested size, and of the size with whole nodes
	if len(s.cfg.Queues) > 0 {
		i := s.queueOf(j.Queue)
		if i < 0 {
			return fmt.Errorf("%w: job %d is for queue %q, which does not exist", ErrBadJob, j.ID, j.Queue)
		}
		q := &s.cfg.Queues[i]
		n.queue, n.pool = int16(i), int16(s.poolOf(q))
		if q.MaxTime > 0 && (j.Limit == 0 || j.Limit > q.MaxTime) {
			return &TooLongError{ID: j.ID, Limit: j.Limit, Most: q.MaxTime, Queue: q.Name}
		}
		most, room = atMost(most, q.MaxSize), q.Procs
	}
	room = atMost(s.pools[n.pool].procs, room)
	if j.Procs > most || j.Procs > room || s.unit(j.Procs) > room {
		return &TooLargeError{ID: j.ID, Procs: j.Procs, Machine: min(most, room)}
	}
	n.held = int32(s.unit(j.Procs))
	n.plan = j.plan()
	if s.cfg.Estimate != nil {
		if n.plan = s.cfg.Estimate(j); !(n.plan >= 0) {
			return fmt.Errorf("%w: job %d was given estimate %v, need 0 or more", ErrBadJob, j.ID, n.plan)
		}
	}
	return nil
}

func atMost(a, limit int) int {
	if limit > 0 {
		return min(a, limit)
	}
	return a
}

// unit rounds a size up to the processors that the job will hold.
func (s *Simulator) unit(procs int) int {
	if u := s.cfg.NodeProcs; u > 1 {
		return (procs + u - 1) / u * u
	}
	return procs
}

// capped reports whether the queue has a limit of processors. Queue -1 has none.
func (p *Pool) capped(queue int) bool {
	return queue >= 0 && p.s.cfg.Queues[queue].Procs > 0
}

// Room returns the number of processors that a job of the queue may use now. That is the number of free processors,
// or fewer if the queue has a limit of processors. Queue -1 has no limit.
func (p *Pool) Room(queue int) int {
	if !p.capped(queue) {
		return p.free
	}
	return min(p.free, p.QueueRoom(queue))
}

// QueueRoom returns how many more processors the queue may use by its limit, whether they are free or not. Without a
// limit it returns the pool's processors.
func (p *Pool) QueueRoom(queue int) int {
	if !p.capped(queue) {
		return p.procs
	}
	return p.s.cfg.Queues[queue].Procs - p.used[queue]
}

// roomBeside returns the number of processors that a job of the queue may use now if it overtakes head. It leaves
// enough of the limit of head's queue for head.
func (p *Pool) roomBeside(queue int, head Ref) int {
	room := p.Room(queue)
	if p.capped(queue) && p.Queue(head) == queue {
		room = min(room, p.QueueRoom(queue)-p.Held(head))
	}
	return room
}
