package changes

import (
	"cmp"
	"maps"
	"slices"
)

// Sequencer sorts the changes of one instant. Changes of jobs from before that instant (mostly ends) come first. Then
// come the submissions in the order of the log. The starts, and further changes of jobs that were submitted or started
// at that instant, come last, in the order of the log. So a forecast uses all ends of its instant, but no start of its
// instant and no later submission.
//
// K is the type of the jobs' ids, and T is the type that represents a change. A Sequencer keeps the changes that must
// wait until the instant is over.
type Sequencer[K cmp.Ordered, T any] struct {
	of       func(T) (id K, kind Kind)
	deferred []T
	open     map[K]bool
}

// NewSequencer returns a Sequencer. `of` returns the id and the kind of a change; only the kinds Submitted and Started
// are treated specially.
func NewSequencer[K cmp.Ordered, T any](of func(T) (id K, kind Kind)) *Sequencer[K, T] {
	return &Sequencer[K, T]{of: of, open: map[K]bool{}}
}

// Add reports whether a change takes effect now. If not, it is kept until the instant is over.
func (q *Sequencer[K, T]) Add(change T) (now bool) {
	id, kind := q.of(change)
	if kind != Submitted && kind != Started && !q.open[id] {
		return true
	}
	q.open[id] = true
	q.deferred = append(q.deferred, change)
	return false
}

// Open records that a job is submitted at the open instant, for a caller that keeps the submission itself.
func (q *Sequencer[K, T]) Open(id K) { q.open[id] = true }

// IsOpen reports whether the job is submitted or started at the open instant.
func (q *Sequencer[K, T]) IsOpen(id K) bool { return q.open[id] }

// Each calls the function apply with the pending changes, the submissions first, and keeps the changes.
func (q *Sequencer[K, T]) Each(apply func(T)) {
	for _, submissions := range [...]bool{true, false} {
		for _, change := range q.deferred {
			if _, kind := q.of(change); (kind == Submitted) == submissions {
				apply(change)
			}
		}
	}
}

// EndInstant calls the function apply like Each, drops the pending changes, and begins the next instant.
func (q *Sequencer[K, T]) EndInstant(apply func(T)) {
	q.Each(apply)
	clear(q.deferred)
	q.deferred = q.deferred[:0]
	if len(q.open) > fewOpen {
		q.open = map[K]bool{}
	}
	clear(q.open)
}

// fewOpen is the number of open jobs up to which their map is kept for the next instant. To clear a larger one would
// take long at each of the following instants.
const fewOpen = 1000

// Len returns the number of pending changes.
func (q *Sequencer[K, T]) Len() int { return len(q.deferred) }

// State returns the pending changes in the order in which they were added, and the sorted ids of the jobs that were
// submitted or started at the open instant. The caller must not change deferred.
func (q *Sequencer[K, T]) State() (deferred []T, open []K) {
	return q.deferred, slices.Sorted(maps.Keys(q.open))
}

// Restore sets the state that State returned.
func (q *Sequencer[K, T]) Restore(deferred []T, open []K) {
	q.deferred = deferred
	clear(q.open)
	for _, id := range open {
		q.open[id] = true
	}
}
