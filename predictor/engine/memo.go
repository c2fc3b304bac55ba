package engine

import (
	"sync"
	"sync/atomic"
)

// mostMemo is how many answers a view keeps of each kind.
const mostMemo = 1024

// memo keeps what simulations said of a view's requests, which depends on no more than size, limit and place in the queue: many users ask the same.
type memo struct {
	known sync.Map // by question
	n     atomic.Int32
}

// question is a request as a simulation sees it; the limit is -1 for Downey's methods, which do not ask it.
type question struct {
	pool        *poolFacts
	procs, rank int
	limit       float64
}

// ask returns the answer to a question, and works it out where it is not known. A nil memo keeps nothing.
func ask[T any](m *memo, q question, work func() T) T {
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
