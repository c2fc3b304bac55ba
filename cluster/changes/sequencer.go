package changes

import (
	"maps"
	"slices"
)

// Sequencer sorts the changes of one instant. Changes of jobs from before that instant (mostly ends) come first. Then
// come the submissions in the order of the log. The starts, and further changes of jobs that were submitted or started
// at that instant, come last, in the order of the log. So a forecast uses all ends of its instant, but no start of its
// instant and no later submission.
//
// T is the type that represents a change. A Sequencer keeps the changes that must wait until the instant is over.
type Sequencer[T any] struct {
	of       func(T) (id uint64, kind Kind)
	deferred []T
	open     map[uint64]bool
}

// NewSequencer returns a Sequencer. `of` returns the id and the kind of a change; only the kinds Submitted and Started
// are treated specially.
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

// Open records that a job is submitted at the open instant, for a caller that keeps the submission itself.
func (q *Sequencer[T]) Open(id uint64) { q.open[id] = true }

// Each calls the function apply with the pending changes, the submissions first, and keeps the changes.
func (q *Sequencer[T]) Each(apply func(T)) {
	for _, submissions := range [...]bool{true, false} {
		for _, change := range q.deferred {
			if _, kind := q.of(change); (kind == Submitted) == submissions {
				apply(change)
			}
		}
	}
}

// EndInstant calls the function apply like Each, drops the pending changes, and begins the next instant.
func (q *Sequencer[T]) EndInstant(apply func(T)) {
	q.Each(apply)
	clear(q.deferred)
	q.deferred = q.deferred[:0]
	clear(q.open)
}

// Len returns the number of pending changes.
func (q *Sequencer[T]) Len() int { return len(q.deferred) }

// State returns the pending changes in the order in which they were added, and the sorted ids of the jobs that were
// submitted or started at the open instant. The caller must not change deferred.
func (q *Sequencer[T]) State() (deferred []T, open []uint64) {
	return q.deferred, slices.Sorted(maps.Keys(q.open))
}

// Restore sets the state that State returned.
func (q *Sequencer[T]) Restore(deferred []T, open []uint64) {
	q.deferred = deferred
	clear(q.open)
	for _, id := range open {
		q.open[id] = true
	}
}
