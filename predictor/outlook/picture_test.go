package outlook

import "slices"

// Picture turns the events of jobs into States. It is not safe for concurrent use.
type Picture struct {
	Pools   []Pool
	running map[uint64]*Job
	waiting map[uint64]*Job
	order   map[uint64]int
	seq     int
}

// NewPicture returns a picture of a cluster without jobs.
func NewPicture(pools ...Pool) *Picture {
	return &Picture{Pools: pools, running: map[uint64]*Job{}, waiting: map[uint64]*Job{}, order: map[uint64]int{}}
}

// Submitted records a new job. It replaces a job with the same ID.
func (p *Picture) Submitted(j Job) {
	p.Gone(j.ID)
	p.seq++
	p.order[j.ID], p.waiting[j.ID] = p.seq, &j
}

// Started records that a waiting job started. An unknown ID is ignored.
func (p *Picture) Started(id uint64, at float64) {
	if j, ok := p.waiting[id]; ok {
		j.Start = at
		p.running[id] = j
		delete(p.waiting, id)
	}
}

// Gone records that a job has ended or left the queue. An unknown ID is ignored.
func (p *Picture) Gone(id uint64) {
	delete(p.running, id)
	delete(p.waiting, id)
	delete(p.order, id)
}

// State returns the picture at an instant, with the waiting jobs in the order of submission.
func (p *Picture) State(now float64) State {
	s := State{Now: now, Pools: p.Pools}
	list := func(from map[uint64]*Job) []Job {
		out := make([]Job, 0, len(from))
		for _, j := range from {
			out = append(out, *j)
		}
		slices.SortFunc(out, func(a, b Job) int { return p.order[a.ID] - p.order[b.ID] })
		return out
	}
	s.Running, s.Waiting = list(p.running), list(p.waiting)
	return s
}
