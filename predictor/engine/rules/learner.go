package rules

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/waitcast/waitcast/predictor/engine/background"
)

const (
	// oneOf is which part of the submissions of a pool become situations: of the newest 1,500, 500.
	oneOf = 3
	// leastMore is after how many new situations a priority is fitted first, and at least again; then when they have
	// grown by growthPart.
	leastMore  = 67
	growthPart = 10
	// lag is after how many more situations a fit comes into force, however long it takes.
	lag = 10
	// mostPending is how many situations may wait for their outcome in all pools, and mostPools how many pools are
	// learnt from.
	mostPending = 1000
	mostPools   = 16
)

// Learner fits the priority of one pool to its newest situations, again and again. A fit begins and comes into force
// after fixed numbers of situations: the same starts give the same forecasts.
type Learner struct {
	submitted uint64
	known     []*Situation // whose outcome is known, in its order
	seen      int          // of them, ever
	fitted    int          // seen at the beginning of the newest fit
	inForce   *Priority
	evidence  *Evidence // for it
	next      *fitting
}

// fitting is a priority in the making.
type fitting struct {
	from, due int
	gates     *Gates
	task      *background.Task
	priority  *Priority // once done
	evidence  *Evidence // for it
}

// Learners are the learners of all pools, by a key that names the pool. They are not safe for concurrent use.
type Learners struct {
	synchronous bool
	cores       int
	pools       map[string]*Learner
	pending     map[uint64]*pending // by job
	closed      *atomic.Bool
	shared      map[*fitting]bool // of other learners, which end them
	// Paused is whether no fit begins; not saved.
	Paused bool
}

// pending is a situation whose outcome is not known.
type pending struct {
	pool string
	*Situation
}

// NewLearners returns learners that know nothing. Synchronous ones fit while the caller waits, with so many cores.
func NewLearners(synchronous bool, cores int) *Learners {
	return &Learners{synchronous: synchronous, cores: max(1, cores), pools: map[string]*Learner{},
		pending: map[uint64]*pending{}, closed: &atomic.Bool{}}
}

// InForce returns the priority of a pool, nil where there is none.
func (l *Learners) InForce(pool string) *Priority {
	if p := l.pools[pool]; p != nil {
		return p.inForce
	}
	return nil
}

// Known is what the learner of a pool knows of the order of its starts.
type Known struct {
	// Situations is how many situations have been seen before the first fit, then how many the newest was made of, and
	// Needed how many there must be for the first.
	Situations, Needed int
	// Priority is the one in force, nil for none, and Evidence what speaks for it. Both are immutable.
	Priority *Priority
	Evidence *Evidence
}

// Known returns what is known of the order of a pool.
func (l *Learners) Known(pool string) Known {
	k := Known{Needed: leastMore}
	if p := l.pools[pool]; p != nil {
		k.Situations, k.Priority, k.Evidence = p.seen, p.inForce, p.evidence
		if p.evidence != nil {
			k.Situations = p.evidence.Situations
		}
	}
	return k
}

// Submitted passes a submission: situation returns the pool as it is, and is called for some of them only.
func (l *Learners) Submitted(pool string, id uint64, situation func() *Situation) {
	p := l.pools[pool]
	if p == nil {
		if len(l.pools) >= mostPools {
			return
		}
		p = &Learner{}
		l.pools[pool] = p
	}
	if p.submitted++; p.submitted%oneOf != 0 || len(l.pending) >= mostPending {
		return
	}
	l.pending[id] = &pending{pool, situation()}
}

// Gone forgets the submission of a job: nothing can be learnt from it.
func (l *Learners) Gone(id uint64) { delete(l.pending, id) }

// Started passes ln(wait + 60 s) of a job, and the gates in force. It reports whether the priority of a pool has
// changed.
func (l *Learners) Started(id uint64, log float64, gates *Gates) bool {
	s := l.pending[id]
	if s == nil {
		return false
	}
	delete(l.pending, id)
	p := l.pools[s.pool]
	if p == nil {
		return false
	}
	known := *s.Situation // a copy of the learners may have it, too
	known.Log = log
	p.known = append(p.known, &known)
	p.seen++
	changed := false
	if p.next != nil && p.seen >= p.next.due {
		p.take()
		changed = true
	}
	if p.next != nil { // its situations stay until it is done
		return changed
	}
	if extra := len(p.known) - Situations; extra > 0 {
		p.known = slices.Delete(p.known, 0, extra)
	}
	if !l.Paused && p.seen-p.fitted >= max(leastMore, p.fitted/growthPart) {
		first := p.inForce == nil
		due := p.seen + lag
		if first {
			due = p.seen
		}
		p.fitted = p.seen
		l.begin(p, p.seen, due, gates)
		if first {
			p.take()
			changed = true
		}
	}
	return changed
}

// begin begins a fit on the situations that there were when so many had been seen.
func (l *Learners) begin(p *Learner, from, due int, gates *Gates) {
	of := slices.Clone(p.known[:len(p.known)-(p.seen-from)])
	f := &fitting{from: from, due: due, gates: gates, task: background.New()}
	p.next = f
	inForce, cores, closed := p.inForce, l.cores, l.closed
	if !l.synchronous && cores > 1 {
		cores--
	}
	f.task.Run(l.synchronous, func() {
		seed := uint64(from) //nolint:gosec // a count
		f.priority, f.evidence = FitWithEvidence(of, inForce, gates, seed, cores, closed)
	})
}

// take waits for a fit and brings it into force.
func (p *Learner) take() {
	p.next.task.Wait()
	if p.next.priority != nil {
		p.inForce, p.evidence = p.next.priority, p.next.evidence
	}
	p.next = nil
}

// Regroup gives the pools that there are now the learners of those that they come from; others are forgotten. from
// returns the key of the pool before, for the key of each one.
func (l *Learners) Regroup(from map[string]string) {
	old := l.pools
	l.pools = map[string]*Learner{}
	for _, pool := range slices.Sorted(maps.Keys(from)) {
		switch p := old[pool]; {
		case len(l.pools) >= mostPools:
		case p != nil:
			l.pools[pool] = p
		case old[from[pool]] != nil:
			l.pools[pool] = old[from[pool]].copy()
		}
	}
	for id, s := range l.pending {
		if l.pools[s.pool] == nil {
			delete(l.pending, id)
		}
	}
}

// copy returns a learner that goes on by itself. It begins without a fit under way.
func (p *Learner) copy() *Learner {
	c := *p
	c.known, c.next = slices.Clone(p.known), nil
	return &c
}

// Close ends the fits under way and waits for them. One that it cuts short begins again where the learners are
// restored.
func (l *Learners) Close() {
	l.closed.Store(true)
	for _, p := range l.pools {
		if p.next != nil && !l.shared[p.next] {
			<-p.next.task.Done
		}
	}
}

// Share takes over what other learners know, and their fits under way. Situations are never written to.
func (l *Learners) Share(of *Learners) {
	l.shared = map[*fitting]bool{}
	for key, p := range of.pools {
		c := p.copy()
		if c.next = p.next; p.next != nil {
			l.shared[p.next] = true
		}
		l.pools[key] = c
	}
	for id, s := range of.pending {
		l.pending[id] = s
	}
}
