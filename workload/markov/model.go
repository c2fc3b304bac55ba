// Package markov models the jobs of a queue as two Markov chains, one of processors and one of runtimes, and draws
// new jobs from them.
//
// It follows B. Song, C. Ernemann and R. Yahyapour, "Parallel computer workload modeling with Markov chains", JSSPP
// 2004. The states of a chain are powers of two (eq. 1-3). Its transitions are counted in the order of submission
// (eq. 4, 5). Three rules connect the processors' chain with the runtimes' chain (sec. 4.2). [Model] counts jobs as
// they are submitted and end. [Chains] has what was learnt at one moment. [Generator] draws jobs.
package markov

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// states is the number of different powers of two, 2^0 to 2^39 (17,000 years in seconds).
const states = 40

// MaxValue is the smallest number of processors, and the smallest runtime in seconds, that is too large to be
// counted: 2^40.
const MaxValue = 1 << states

var (
	// ErrValue is returned for an impossible number of processors or runtime.
	ErrValue = errors.New("not a job")
	// ErrKnown is returned if a submitted job has the key of a job that has not ended.
	ErrKnown = errors.New("job is known already")
	// ErrUnknown is returned if a job ends or is removed that was not submitted or was resolved before.
	ErrUnknown = errors.New("job is not known")
)

// point is the state of one job, as exponents of two.
type point struct{ procs, runtime uint8 }

// A Model counts the jobs of one queue in the order of their submission.
//
// A job counts once it has ended. A pair of neighbors counts once both have ended. Jobs that never ran leave the
// sequence, so that their neighbors become neighbors of each other. The memory is limited by the number n of jobs
// that have neither ended nor been removed: at most 2n+2 further jobs are kept.
//
// Only one goroutine may use a Model; several may use the [Chains] that it returns. Create a Model with [New].
type Model struct {
	counts
	sequence
}

// New returns an empty model. With every counted job, the weight of all earlier jobs is multiplied by 1 - forget. If
// forget is 0, nothing is forgotten and counts are exact. A forget outside [0, 1) is an error.
func New(forget float64) (*Model, error) {
	if !(forget >= 0 && forget < 1) {
		return nil, fmt.Errorf("markov: forgetting factor %v: must be at least 0 and below 1", forget)
	}
	return &Model{counts: newCounts(forget), sequence: newSequence()}, nil
}

// Empty returns an empty model with the same forget.
func (m *Model) Empty() *Model { return &Model{counts: newCounts(m.forget), sequence: newSequence()} }

// Submitted adds a job to the end of the sequence. The caller chooses the key; no other unresolved job may have it,
// or the error wraps [ErrKnown]. The key is kept until the job is resolved. If it is a part of a larger text, clone
// it first.
func (m *Model) Submitted(key string) error {
	if _, ok := m.open[key]; ok {
		return fmt.Errorf("markov: job %q submitted: %w", key, ErrKnown)
	}
	at := m.push(node{key: key})
	m.open[key] = at
	return nil
}

// Ended counts a submitted job, and the pairs that it completes. procs is at least 1. The runtime in seconds is
// rounded down to whole seconds; a runtime below 1 s counts as 1 s. The error wraps [ErrUnknown], or [ErrValue];
// after [ErrValue] the job stays unresolved.
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

// NeverRan removes a submitted job from the sequence. The error wraps [ErrUnknown].
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

// Append does the same as Submitted and Ended together. It is for ended jobs that are read in the order of
// submission. The error wraps [ErrValue].
func (m *Model) Append(procs int, runtimeSeconds float64) error {
	v, err := valueOf(procs, runtimeSeconds)
	if err != nil {
		return err
	}
	m.countJob(v)
	p := v.point()
	if last := m.tail; last != none && m.nodes[last].ended && m.pastCounted(last) {
		// This is the usual case in an import. The new job replaces the last one, which is not needed any more.
		m.countPair(m.nodes[last].point, p)
		m.nodes[last].point = p
		return nil
	}
	at := m.push(node{ended: true, point: p})
	m.countAndDrop(m.nodes[at].prev, at)
	return nil
}

// Unresolved returns the number of submitted jobs that have neither ended nor been removed.
func (m *Model) Unresolved() int { return len(m.open) }

// countAndDrop counts the pair of jobs a and b, which are neighbors in the sequence, if both have ended. Then it
// drops nodes that are not needed any more. a or b may be none.
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
