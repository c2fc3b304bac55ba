package pools

import (
	"sync"
	"sync/atomic"

	"github.com/waitcast/waitcast/predictor/forward"
)

// mostMemo is the maximum number of answers that the Memo of a view keeps.
const mostMemo = 1024

// Memo caches the simulations and the answers of Downey's methods for requests to one view. Requests with equal
// Questions share them.
type Memo struct {
	known sync.Map // by question
	n     atomic.Int32
	drawn sync.Map // by *Facts: the lifetimes in the futures of its pool
}

// Question is the part of a request on which a simulation depends. For Downey's methods the limit is -1, because they
// ignore limits. For surfaces procs is -1, because they answer for all sizes.
type Question struct {
	pool        *Facts
	procs, rank int
	limit       float64
	queue       string
	user        uint64
	of          limitedBy
	owner       int32
}

// Ask returns the answer to a question, which it computes if it is not cached. A nil Memo caches nothing.
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

// lifetimes returns the cache of the random lifetimes in the futures of a pool from an instant on. A nil Memo has none.
func (m *Memo) lifetimes(f *Facts, at float64) *forward.Lifetimes {
	if m == nil {
		return nil
	}
	if l, ok := m.drawn.Load(f); ok {
		return l.(*forward.Lifetimes)
	}
	var s forward.State
	f.state(&s, at)
	l, _ := m.drawn.LoadOrStore(f, forward.NewLifetimes(&s, replicas, 1))
	return l.(*forward.Lifetimes)
}

// HeadQuestion returns the question of Downey's methods about a request with the given number of processors.
func HeadQuestion(f *Facts, procs int) Question { return Question{pool: f, procs: procs, limit: -1} }
