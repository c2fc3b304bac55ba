// Package markov models a queue's stream of jobs as two Markov chains, of processors and of runtime, and draws new
// jobs from them.
//
// It follows B. Song, C. Ernemann and R. Yahyapour, "Parallel computer workload modeling with Markov chains", JSSPP
// 2004: the states of a chain are powers of two (eq. 1-3), its transitions are counted in the order of submission
// (eq. 4, 5), and three rules tie the processors' chain to the runtime's (sec. 4.2). [Model] counts as jobs are
// submitted and end, [Chains] is what has been learned at one moment, [Generator] draws jobs.
package markov

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// states is the number of distinguished powers of two, 2^0 to 2^39 (17,000 years in seconds).
const states = 40

// MaxValue is the first number of processors and the first runtime in seconds that is too large to be counted, 2^40.
const MaxValue = 1 << states

var (
	// ErrValue is returned for processors or a runtime that no job has.
	ErrValue = errors.New("not a job")
	// ErrKnown is returned where a job is submitted whose key belongs to a job that has not ended.
	ErrKnown = errors.New("job is known already")
	// ErrUnknown is returned where a job ends, or is given up, that was not submitted or was resolved before.
	ErrUnknown = errors.New("job is not known")
)

// point is the state of one job, as exponents of two.
type point struct{ procs, runtime uint8 }

// A Model counts the jobs of one queue in the order of their submission.
//
// A job counts once it has ended, a pair of neighbors once both have. Jobs that never ran leave the sequence, so that
// their neighbors become neighbors of each other. The memory is bounded by the jobs that are neither ended nor given
// up (at most twice as many more, plus two, are held beside them).
//
// A Model is for one goroutine; the [Chains] it returns are for any. Create it with [New].
type Model struct {
	counts
	sequence
}

// New returns an empty model. With every job that is counted, the weight of all earlier ones falls by the factor 1 -
// forget; 0 forgets nothing and counts exactly. A forget outside [0, 1) is an error.
func New(forget float64) (*Model, error) {
	if !(forget >= 0 && forget < 1) {
		return nil, fmt.Errorf("markov: forgetting factor %v: must be at least 0 and below 1", forget)
	}
	return &Model{counts: newCounts(forget), sequence: newSequence()}, nil
}

// Empty returns an empty model with the same forget.
func (m *Model) Empty() *Model { return &Model{counts: newCounts(m.forget), sequence: newSequence()} }

// Submitted puts a job at the end of the sequence. The key is the caller's, any string that no other unresolved job
// has; else the error wraps [ErrKnown]. It is kept until the job is resolved: clone it if it is part of a larger
// text.
func (m *Model) Submitted(key string) error {
	if _, ok := m.open[key]; ok {
		return fmt.Errorf("markov: job %q submitted: %w", key, ErrKnown)
	}
	at := m.push(node{key: key})
	m.open[key] = at
	return nil
}

// Ended counts a submitted job, and the pairs it completes. procs is at least 1; the runtime, in seconds, counts in
// whole seconds rounded down, below 1 s as 1 s. The error wraps [ErrValue], and the job stays unresolved, or
// [ErrUnknown].
func (m *Model) Ended(key string, procs int, runtimeSeconds float64) error {
	v, err := valueOf(procs, runtimeSeconds)
	if err != nil {
		return fmt.Errorf("job %q: %w", key, err)
	}
	at, ok := m.open[key]
	if !ok {
		return fmt.Errorf("markov: job %q ended: %w", key, ErrUnknown)
	}
	delete(m.open, key)
	n := &m.nodes[at]
	n.key, n.ended, n.point = "", true, v.point()
	m.countJob(v)
	m.countAndDrop(n.prev, at)
	m.countAndDrop(at, m.nodes[at].next)
	return nil
}

// NeverRan takes a submitted job out of the sequence. The error wraps [ErrUnknown].
func (m *Model) NeverRan(key string) error {
	at, ok := m.open[key]
	if !ok {
		return fmt.Errorf("markov: job %q never ran: %w", key, ErrUnknown)
	}
	delete(m.open, key)
	prev, next := m.nodes[at].prev, m.nodes[at].next
	m.unlink(at)
	m.countAndDrop(prev, next)
	return nil
}

// Append is Submitted and Ended at once, for jobs read in the order of submission after they ended. The error wraps
// [ErrValue].
func (m *Model) Append(procs int, runtimeSeconds float64) error {
	v, err := valueOf(procs, runtimeSeconds)
	if err != nil {
		return err
	}
	m.countJob(v)
	p := v.point()
	if last := m.tail; last != none && m.nodes[last].ended && m.pastCounted(last) {
		// This is the usual case in an import: the new job replaces the last one, which is no longer needed.
		m.countPair(m.nodes[last].point, p)
		m.nodes[last].point = p
		return nil
	}
	at := m.push(node{ended: true, point: p})
	m.countAndDrop(m.nodes[at].prev, at)
	return nil
}

// Unresolved returns the number of jobs that were submitted and have neither ended nor been given up.
func (m *Model) Unresolved() int { return len(m.open) }

// countAndDrop counts the pair of jobs a and b, which are neighbors in the sequence, if both have ended. It drops nodes
// that are no longer needed. a or b may be none.
func (m *Model) countAndDrop(a, b int32) {
	if a != none && b != none && m.nodes[a].ended && m.nodes[b].ended && !m.nodes[a].joined {
		m.countPair(m.nodes[a].point, m.nodes[b].point)
		m.nodes[a].joined = true
	}
	m.drop(a)
	m.drop(b)
}

// value has the values by which a job is counted; each is at least 1 and below MaxValue.
type value struct{ procs, runtime uint64 }

func valueOf(procs int, runtimeSeconds float64) (value, error) {
	if procs < 1 || procs >= MaxValue {
		return value{}, fmt.Errorf("markov: %d processors: %w (1 to 2^%d expected)", procs, ErrValue, states)
	}
	if !(runtimeSeconds >= 0 && runtimeSeconds < MaxValue) {
		return value{}, fmt.Errorf("markov: runtime %v s: %w (0 to 2^%d expected)", runtimeSeconds, ErrValue, states)
	}
	return value{uint64(procs), uint64(math.Max(runtimeSeconds, 1))}, nil
}

func (v value) point() point {
	return point{uint8(bits.Len64(v.procs) - 1), uint8(bits.Len64(v.runtime) - 1)}
}
