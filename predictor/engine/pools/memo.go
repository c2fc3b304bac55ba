package pools

import (
	"sync"
	"sync/atomic"
)

// mostMemo is how many answers a view keeps of each kind.
const mostMemo = 1024

// Memo caches the simulations and Downey's answers of a view's requests, which depend only on size, limit and place in
// the queue: many users ask the same.
type Memo struct {
	known sync.Map // by question
	n     atomic.Int32
}

// Question is a request as a simulation sees it; the limit is -1 for Downey's methods, which do not ask it.
type Question struct {
	pool        *Facts
	procs, rank int
	limit       float64
	queue       string
	user        uint64
	of          limitedBy
}

// Ask returns the answer to a question, and works it out where it is not known. A nil memo keeps nothing.
func Ask[T any](m *Memo, q Question, work func() T) T {
	if m == nil {
		return work()
	}
	if v, ok := m.known.Load(q); ok {
		return v.(T)
	}
	v := work()
	if m.n.Load() < mostMemo {
		if _, known := m.known.LoadOrStore(q, v); !known {
			m.n.Add(1)
		}
	}
	return v
}

// HeadQuestion returns the question of Downey's methods about a request of so many processors: they know no limit.
func HeadQuestion(f *Facts, procs int) Question { return Question{pool: f, procs: procs, limit: -1} }
