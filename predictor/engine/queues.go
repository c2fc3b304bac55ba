package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/qbets"
)

// mostQueues and mostUsers are how many are remembered: of those without a job that waits or runs, the ones seen least recently are forgotten, an eighth at a time.
const (
	mostQueues = 512
	mostUsers  = 8192
)

// similarFacts is what is known of the jobs of one queue and size class.
type similarFacts struct {
	oldest    float64 // when the one was submitted that has waited longest, NaN for none
	recent    recent
	lastStart float64
	lastWait  float64 // its logarithm
	newest    newest
	learnt    int
	lately    []float64 // the newest waits in rising order, as logarithms; never changed
}

// newest is the job submitted last of those that have started.
type newest struct{ submit, wait float64 }

// similar is similarFacts as they change.
type similar struct {
	similarFacts
	waiting line
	latest  latest
	frozen  *similarFacts
}

// latest is the newest waits of a queue and size class, as logarithms.
type latest struct {
	waits []float64
	next  int
}

// latestWaits is how many of the newest waits are looked at.
const latestWaits = 100

func (l *latest) add(z float64) {
	if len(l.waits) < latestWaits {
		l.waits = append(l.waits, z)
		return
	}
	l.waits[l.next] = z
	l.next = (l.next + 1) % latestWaits
}

func newSimilar() *similar {
	nan := math.NaN()
	return &similar{similarFacts: similarFacts{oldest: nan, lastStart: nan, lastWait: nan, newest: newest{nan, nan}}}
}

// freeze returns the facts as they are, not to be changed.
func (s *similar) freeze() *similarFacts {
	if s.frozen == nil {
		if s.lately == nil {
			s.lately = slices.Sorted(slices.Values(s.latest.waits))
		}
		f := s.similarFacts
		f.oldest = s.waiting.oldest()
		s.frozen = &f
	}
	return s.frozen
}

// queueFacts is what is known of a queue.
type queueFacts struct {
	name     string
	code     int
	oldest   float64
	running  amount
	recent   recent
	runtimes mean
	tally    *tally // of what waits
	sizes    [sizeClasses]*similarFacts
	bounds   [qbetsSizes + 1][]float64 // QBETS's, by its size class, the last of all sizes
}

// queue is queueFacts as they change.
type queue struct {
	queueFacts
	waiting tally
	line    line
	similar [sizeClasses]*similar
	series  [qbetsSizes + 1]*bounds
	live    int    // jobs that wait or run
	seen    uint64 // when it was last
	pool    *pool  // nil where that is not known
	frozen  *queueFacts
}

func (q *queue) of(size int) *similar {
	if q.similar[size] == nil {
		q.similar[size] = newSimilar()
	}
	return q.similar[size]
}

// freeze returns the facts as they are, not to be changed.
func (q *queue) freeze(levels []float64) *queueFacts {
	if q.frozen == nil {
		f := q.queueFacts
		t := q.waiting
		f.tally, f.oldest = &t, q.line.oldest()
		for i, s := range q.similar {
			if s != nil {
				f.sizes[i] = s.freeze()
			}
		}
		for i, b := range q.series {
			f.bounds[i] = b.at(levels)
		}
		q.frozen = &f
	}
	return q.frozen
}

// queue returns the queue of a name, a new one where there is none.
func (e *Engine) queue(name string) *queue {
	q := e.queues[name]
	if q == nil {
		if len(e.queues) >= mostQueues {
			e.forgetQueues()
		}
		q = &queue{queueFacts: queueFacts{name: name, code: e.codes, oldest: math.NaN()}}
		e.codes++
		e.queues[name] = q
		e.inOrder = append(e.inOrder, q)
		q.pool = e.pools.of[name]
		if e.learner.models != nil { // before, all are new
			e.watch.raised = append(e.watch.raised, alarm{queue: name, reason: NewQueue})
		}
		e.frozen.index = nil
	}
	e.seen++
	q.seen = e.seen
	return q
}

func (e *Engine) forgetQueues() {
	for _, q := range idle(e.inOrder, func(q *queue) (uint64, bool) { return q.seen, q.live == 0 }) {
		delete(e.queues, q.name)
		delete(e.watch.queues, q.name)
	}
	e.inOrder = slices.DeleteFunc(e.inOrder, func(q *queue) bool { return e.queues[q.name] != q })
}

// idle returns, of those that may be forgotten, the eighth seen least recently, at least one.
func idle[T any](all []T, state func(T) (seen uint64, idle bool)) []T {
	var out []T
	for _, v := range all {
		if _, ok := state(v); ok {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b T) int {
		x, _ := state(a)
		y, _ := state(b)
		return cmp.Compare(x, y)
	})
	return out[:min(len(out), max(1, len(all)/8))]
}

// addBounds takes a wait into the histories of QBETS.
func (e *Engine) addBounds(j *tracked, wait float64) {
	for _, b := range [...]**bounds{&j.queue.series[qbets.Size(j.Procs)], &j.queue.series[qbetsSizes], &e.bounds} {
		if *b == nil {
			*b = newBounds(e.cfg.Levels)
		}
		(*b).add(wait)
	}
	if e.learner.seen%1000 == 0 {
		e.thinBounds()
	}
}

// thinBounds halves the longest histories as long as there are too many waits in all.
func (e *Engine) thinBounds() {
	const most = 200_000
	for {
		total, longest := len(e.bounds.waits), e.bounds
		for _, q := range e.inOrder {
			for _, b := range q.series {
				if b == nil {
					continue
				}
				total += len(b.waits)
				if len(b.waits) > len(longest.waits) {
					longest = b
				}
			}
		}
		if total <= most {
			return
		}
		longest.halve()
	}
}
