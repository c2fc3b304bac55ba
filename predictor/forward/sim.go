package forward

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/waitcast/waitcast/internal/panics"
)

// Sim simulates one request at a time and reuses its memory. Later calls allocate only the goroutines of Workers. It
// is not safe for concurrent use.
type Sim struct {
	// Workers is the number of goroutines, including the caller's, in which Waits and Futures simulate the replicas of
	// a state with at least sharedJobs jobs. 0 means 1. It does not change the result.
	Workers int

	scene   scene
	machine machine
	helpers []machine // machines of the other workers
	futures []Future  // the results of Waits
	follows bool      // true if the causes of starts are recorded
}

// sharedJobs is the minimum number of jobs of a state for which another goroutine is worth the few microseconds that
// it costs.
const sharedJobs = 20

// Future is the outcome of a request in one replica.
type Future struct {
	// Wait is the wait of the request in seconds. Blocked is the part of it, in seconds, in which the request was not
	// eligible, had to wait for other jobs to end, or was kept from starting by a limit.
	Wait, Blocked float64
	// Soon is the blocked part of the first SoonSeconds of the wait, in seconds.
	Soon float64
}

// SoonSeconds is the length, in seconds, of the first part of a wait to which Future.Soon refers. Schedulers need
// about this long to examine all waiting jobs.
const SoonSeconds = 8

// Futures appends to dst[:0] the outcomes of a request in the given number of replicas of the state, in the order of
// the replicas, and returns it. Equal input gives equal output. A job with the same Key in two states has the same
// random numbers in both.
//
// The error is a *TooLargeError, a *NeverError, a *LawError or wraps ErrBadInput.
func (s *Sim) Futures(state *State, request Request, replicas int, seed uint64, dst []Future) ([]Future, error) {
	dst = dst[:0]
	if err := field(replicas > 0, "replicas", -1, "", float64(replicas), "1 or more"); err != nil {
		return dst, err
	}
	s.scene.plans = false
	if err := s.ready(state, &request); err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, replicas)[:replicas]
	if err := s.all(&request, seed, dst); err != nil {
		return dst[:0], err
	}
	return dst, nil
}

// Waits appends to dst[:0] the sorted waits of a request, in seconds, in the given number of replicas, and returns
// it. See Futures.
func (s *Sim) Waits(state *State, request Request, replicas int, seed uint64, dst []float64) ([]float64, error) {
	dst = dst[:0]
	var err error
	if s.futures, err = s.Futures(state, request, replicas, seed, s.futures); err != nil {
		return dst, err
	}
	for i := range s.futures {
		dst = append(dst, s.futures[i].Wait)
	}
	slices.Sort(dst)
	return dst, nil
}

// all plays one replica for each element of futures. If several replicas fail, the error of the first one counts.
func (s *Sim) all(request *Request, seed uint64, futures []Future) error {
	workers := min(s.Workers, len(futures))
	if len(s.scene.jobs) < sharedJobs || workers <= 1 {
		for i := range futures {
			var err error
			if futures[i], err = s.one(&s.machine, request, i, seed); err != nil {
				return err
			}
		}
		return nil
	}
	for len(s.helpers) < workers-1 {
		s.helpers = append(s.helpers, machine{})
	}
	w := shared{sim: s, request: *request, seed: seed, futures: futures}
	for i := range workers - 1 {
		w.others.Go(func() { w.work(&s.helpers[i]) })
	}
	w.work(&s.machine)
	w.others.Wait()
	return w.err
}

// shared has the replicas of one request that several workers play, with their results.
type shared struct {
	sim     *Sim
	request Request
	seed    uint64
	futures []Future
	next    atomic.Int64 // index of the next replica
	others  panics.Group

	mutex  sync.Mutex
	failed int // index of the replica that failed
	err    error
}

// work plays replicas in order until none is left or one fails.
func (w *shared) work(m *machine) {
	for i := int(w.next.Add(1)) - 1; i < len(w.futures); i = int(w.next.Add(1)) - 1 {
		var err error
		if w.futures[i], err = w.sim.one(m, &w.request, i, w.seed); err != nil {
			w.fail(i, err)
			return
		}
	}
}

// fail records that a replica failed, so that no more begin.
func (w *shared) fail(replica int, err error) {
	w.next.Store(int64(len(w.futures)))
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err == nil || replica < w.failed {
		w.failed, w.err = replica, err
	}
}

// Plan returns the wait of a request, in seconds, that follows from the time limits alone. Every job runs to its
// limit. An unknown limit is State.DefaultLimit (100 years if that is 0, too). A job past its limit runs for another
// minute. Laws and arrivals are not used. Schedulers show this wait (squeue --start). It is usually too long, because
// jobs end before their limits. Errors are those of Waits.
func (s *Sim) Plan(state *State, request Request) (float64, error) {
	s.scene.plans = true
	if err := s.ready(state, &request); err != nil {
		return 0, err
	}
	f, err := s.one(&s.machine, &request, 0, 0)
	return f.Wait, err
}

func (s *Sim) ready(state *State, request *Request) error {
	s.scene.byNode = len(state.Nodes) > 0
	if err := s.scene.prepare(state, request); err != nil {
		return err
	}
	if err := request.Needs.check("request"); err != nil {
		return err
	}
	if err := checkHoldings(request.Holds, len(state.Limits), "request"); err != nil {
		return err
	}
	if err := request.check(s.scene.most, len(state.Waiting)); err != nil {
		return err
	}
	if n := &s.scene.nodes; s.scene.byNode && request.Needs != nil {
		shape := n.shape(request.Needs, int32(request.Procs)) //nolint:gosec // checked
		if n.everFits(&shape) {
			return nil
		}
		return &NeverError{Procs: request.Procs, Limit: request.Limit}
	}
	return nil
}

// one plays one replica with the request, and returns its outcome. It returns a *NeverError if the request never
// starts.
func (s *Sim) one(m *machine, request *Request, replica int, seed uint64) (Future, error) {
	m.reset(&s.scene, replica, seed)
	m.addRequest(request)
	if s.follows {
		m.follow()
	}
	w := m.play()
	switch {
	case m.failed != nil:
		return Future{}, m.failed
	case math.IsInf(w, 1):
		return Future{}, &NeverError{Procs: request.Procs, Limit: request.Limit}
	}
	return Future{w, m.shutFor, m.shutSoon}, nil
}
