package simulator

import (
	"fmt"
	"math"
	"slices"
)

// Outage is a time during which processors are unavailable: maintenance, a reservation, or a drained node. No policy
// starts a job that would need these processors during that time, by its estimate. A job that nevertheless uses them
// keeps them to its end: no job is killed.
type Outage struct {
	From, Until float64 // seconds; Until may be +Inf
	Procs       int
}

// change is a change of a pool's capacity at an instant.
type change struct {
	at    float64
	procs int // number of processors that return; negative if they leave
}

func (p *Pool) setOutages(outages []Outage) error {
	for _, o := range outages {
		if !(o.From < o.Until) || o.Procs < 0 || o.Procs > p.procs {
			return fmt.Errorf("simulator: pool %q of %d processors: bad outage %+v", p.name, p.procs, o)
		}
		p.changes = append(p.changes, change{o.From, -o.Procs})
		if !math.IsInf(o.Until, 1) {
			p.changes = append(p.changes, change{o.Until, o.Procs})
		}
	}
	p.outages = outages
	slices.SortStableFunc(p.changes, func(a, b change) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return b.procs - a.procs // increases first
	})
	return nil
}

// Outages returns all outages of the pool, including past ones.
func (p *Pool) Outages() []Outage { return p.outages }

// nextChange returns the instant of the next change of capacity. It returns +Inf if there is none.
func (p *Pool) nextChange() float64 {
	if p.upcoming == len(p.changes) {
		return math.Inf(1)
	}
	return p.changes[p.upcoming].at
}

// advanceCapacity applies the changes that are due.
func (p *Pool) advanceCapacity() {
	for p.nextChange() <= p.s.now {
		p.free += p.changes[p.upcoming].procs
		p.upcoming++
	}
}

// Steady reports whether the capacity never changes from now on, so that only starts reduce the free processors.
func (p *Pool) Steady() bool { return p.upcoming == len(p.changes) }

// Fits reports whether a waiting job could start now. Enough processors must be free, and its queue must have room.
// No outage that begins before the job's expected end may need processors that the job would then use.
func (p *Pool) Fits(r Ref) bool {
	n := &p.s.nodes[r]
	held := int(n.held)
	if held > p.Room(int(n.queue)) {
		return false
	}
	if p.Steady() {
		return true
	}
	capacity := p.free
	for i := p.upcoming; i < len(p.changes); i++ {
		c := p.changes[i]
		if c.at >= p.s.now+n.plan {
			break
		}
		capacity += c.procs
		if i+1 < len(p.changes) && p.changes[i+1].at == c.at {
			continue
		}
		if c.procs < 0 && capacity+p.freedBy(c.at) < held {
			return false
		}
	}
	return true
}

// freedBy returns the number of processors of the jobs that are expected to end by t.
func (p *Pool) freedBy(t float64) int {
	sum := 0
	for r := range p.Running() {
		if p.s.nodes[r].expect <= t {
			sum += int(p.s.nodes[r].held)
		}
	}
	return sum
}
