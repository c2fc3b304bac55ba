package changes

import (
	"maps"
	"slices"
)

// Sequencer puts what happens at one instant into the order in which a forecast may know of it: first what becomes of
// the jobs from before that instant (ends above all), then the submissions in the order of the log, then the starts,
// and last what becomes of jobs that were submitted or started at that very instant. So no forecast knows of a start at
// its own instant, nor of a submission after its own, and it knows of all ends.
//
// T is what stands for a change. A Sequencer keeps what must wait until the instant is over.
type Sequencer[T any] struct {
	of       func(T) (id uint64, kind Kind)
	deferred []T
	open     map[uint64]bool
}

// NewSequencer returns a Sequencer. of returns the job of a change, and its kind; only Submitted and Started differ
// from other kinds.
func NewSequencer[T any](of func(T) (id uint64, kind Kind)) *Sequencer[T] {
	return &Sequencer[T]{of: of, open: map[uint64]bool{}}
}

// Add reports whether a change takes effect now. If not, it is kept until the instant is over.
func (q *Sequencer[T]) Add(change T) (now bool) {
	id, kind := q.of(change)
	if kind != Submitted && kind != Started && !q.open[id] {
		return true
	}
	q.open[id] = true
	q.deferred = append(q.deferred, change)
	return false
}

// Open notes that a job is submitted at the open instant, if its submission is kept elsewhere.
func (q *Sequencer[T]) Open(id uint64) { q.open[id] = true }

// Each calls apply with the changes that are kept, in their order, and goes on keeping them.
func (q *Sequencer[T]) Each(apply func(T)) {
	for _, submissions := range [...]bool{true, false} {
		for _, change := range q.deferred {
			if _, kind := q.of(change); (kind == Submitted) == submissions {
				apply(change)
			}
		}
	}
}

// EndInstant calls apply with the changes that are kept, in their order, and begins the next instant.
func (q *Sequencer[T]) EndInstant(apply func(T)) {
	q.Each(apply)
	clear(q.deferred)
	q.deferred = q.deferred[:0]
	clear(q.open)
}

// Len returns the number of changes that are kept.
func (q *Sequencer[T]) Len() int { return len(q.deferred) }

// State returns the changes that are kept as they came, which the caller must not change, and the jobs that are
// submitted or started at the open instant, rising.
func (q *Sequencer[T]) State() (deferred []T, open []uint64) {
	return q.deferred, slices.Sorted(maps.Keys(q.open))
}

// Restore takes over what State returned.
func (q *Sequencer[T]) Restore(deferred []T, open []uint64) {
	q.deferred = deferred
	clear(q.open)
	for _, id := range open {
		q.open[id] = true
	}
}
