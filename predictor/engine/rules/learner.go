package rules

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/waitcast/waitcast/predictor/engine/background"
)

const (
	// One in oneOf submissions of a pool becomes a situation. So 500 situations cover the newest 1,500 submissions.
	oneOf = 3
	// leastMore is the number of situations before the first fit, and the minimum number of new ones between fits.
	// Later fits also wait until the number of situations has grown by 1/growthPart.
	leastMore  = 67
	growthPart = 10
	// lag is the number of further situations after which a fit takes effect, however long it takes. The first fit
	// takes effect at once.
	lag = 10
	// mostPending is the maximum number of situations without an outcome in all pools. mostPools is the maximum
	// number of learnt pools.
	mostPending = 1000
	mostPools   = 16
)

// Learner repeatedly fits the priority of one pool to its newest situations. A fit begins and takes effect after
// fixed numbers of situations. So the same starts give the same forecasts.
type Learner struct {
	submitted uint64
	known     []*Situation // situations with a known outcome, in the order of their outcomes
	seen      int          // number of situations with a known outcome so far
	fitted    int          // the value of seen at the beginning of the newest fit
	Fitted
	next *fitting
}

// fitting is a running fit of a priority.
type fitting struct {
	from, due int // numbers of situations seen when it began, and when its result takes effect
	unseen    int // number of newest situations that the previous fit did not have
	gates     *Gates
	task      *background.Task
	out       *Fitted // the result, once the fit is done
}

// Learners are the learners of all pools, by the key of the pool. They are not safe for concurrent use.
type Learners struct {
	synchronous bool
	cores       int
	pools       map[string]*Learner
	pending     map[uint64]*pending // by id of the job
	closed      *atomic.Bool
	shared      map[*fitting]bool // running fits that belong to other learners, which alone may cancel them
	// If Paused is true, no fit begins. It is not saved.
	Paused bool
}

// pending is a situation whose outcome is not known yet.
type pending struct {
	pool string
	*Situation
}

// NewLearners returns new learners. Synchronous ones fit while the caller waits, on the given number of cores.
func NewLearners(synchronous bool, cores int) *Learners {
	return &Learners{synchronous: synchronous, cores: max(1, cores), pools: map[string]*Learner{},
		pending: map[uint64]*pending{}, closed: &atomic.Bool{}}
}

// InForce returns the priority of a pool, nil if there is none.
func (l *Learners) InForce(pool string) *Priority {
	if p := l.pools[pool]; p != nil {
		return p.Priority
	}
	return nil
}

// Known is the present knowledge of the order of starts of a pool.
type Known struct {
	// Situations is the number of situations: the present number before the first fit, then the number of the newest
	// fit. Needed is the number of situations for the first fit.
	Situations, Needed int
	// Priority is the priority in force, nil for none. Evidence is the evidence for it. Both are immutable.
	Priority *Priority
	Evidence *Evidence
}

// Known returns the present knowledge of the order of a pool.
func (l *Learners) Known(pool string) Known {
	k := Known{Needed: leastMore}
	if p := l.pools[pool]; p != nil {
		k.Situations, k.Priority, k.Evidence = p.seen, p.Priority, p.Evidence
		if p.Evidence != nil {
			k.Situations = p.Evidence.Situations
		}
	}
	return k
}

// Submitted records a submission. situation returns the present pool; it is called only for some submissions.
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

// Gone drops the situation of a job from which nothing can be learnt.
func (l *Learners) Gone(id uint64) { delete(l.pending, id) }

// Started records ln(wait + 60 s) of a job that starts. gates are those in force, for a fit that may begin now. It
// reports whether the priority of a pool may have changed, because a fit took effect.
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
	known := *s.Situation // not changed in place, because a copy of the learners may share it
	known.Log = log
	p.known = append(p.known, &known)
	p.seen++
	changed := false
	if p.next != nil && p.seen >= p.next.due {
		p.take()
		changed = true
	}
	if p.next != nil { // the situations of a running fit stay until it is done
		return changed
	}
	if extra := len(p.known) - Situations; extra > 0 {
		p.known = slices.Delete(p.known, 0, extra)
	}
	if !l.Paused && p.seen-p.fitted >= max(leastMore, p.fitted/growthPart) {
		first := p.Priority == nil
		f := &fitting{from: p.seen, due: p.seen + lag, unseen: p.seen - p.fitted, gates: gates}
		if first {
			f.due = p.seen
		}
		p.fitted = p.seen
		l.begin(p, f)
		if first {
			p.take()
			changed = true
		}
	}
	return changed
}

// begin begins the fit f on the situations that were known when f.from situations had been seen.
func (l *Learners) begin(p *Learner, f *fitting) {
	of := slices.Clone(p.known[:len(p.known)-(p.seen-f.from)])
	f.task = background.New()
	p.next = f
	before, cores, closed := p.Fitted, l.cores, l.closed
	if !l.synchronous && cores > 1 {
		cores--
	}
	f.task.Run(l.synchronous, func() {
		seed := uint64(f.from) //nolint:gosec // a count
		f.out = before.Refit(of, f.unseen, f.gates, seed, cores, closed)
	})
}

// take waits for a fit and puts it into force.
func (p *Learner) take() {
	p.next.task.Wait()
	if p.next.out != nil {
		p.Fitted = *p.next.out
	}
	p.next = nil
}

// Regroup assigns the learners of earlier pools to the present pools, and drops the other learners. from has, by the
// key of each present pool, the key of the earlier pool.
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

// copy returns a learner that continues independently. It has no running fit.
func (p *Learner) copy() *Learner {
	c := *p
	c.known, c.next = slices.Clone(p.known), nil
	return &c
}

// Close ends the running fits and waits for them, but not for those shared with other learners. An interrupted fit
// starts again when the learners are restored.
func (l *Learners) Close() {
	l.closed.Store(true)
	for _, p := range l.pools {
		if p.next != nil && !l.shared[p.next] {
			<-p.next.task.Done
		}
	}
}

// Share copies the state of other learners, including their running fits. Both share the situations, which are
// immutable.
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
