package forward

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Sim forecasts one request at a time in memory that it keeps: once that has grown, nothing is allocated but for the
// goroutines of Workers. It is not safe for use by several goroutines.
type Sim struct {
	// Workers is how many goroutines Waits plays the replicas of a state with at least sharedJobs jobs in, itself
	// included; 0 is 1. It makes no difference to the answer.
	Workers int

	scene   scene
	machine machine
	helpers []machine // of the other workers
	futures []Future  // of Waits
	follows bool      // the causes of starts
}

// sharedJobs is how many jobs a state must have for its replicas to be worth the few microseconds that another
// goroutine costs.
const sharedJobs = 20

// Future is what becomes of a request in one replica.
type Future struct {
	// Wait is its wait in seconds; for Blocked of them it was not eligible, or a limit kept it from starting.
	Wait, Blocked float64
}

// Futures appends to dst[:0] what becomes of a request in so many replicas of the state, in their order, and returns
// it. Equal input gives equal output, and a job that is in two states with the same Key has the same luck in both.
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

// Waits appends to dst[:0] the waits of a request, in seconds, in so many replicas, sorted, and returns it. See
// Futures.
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

// all plays as many replicas as there is room for futures. Of several errors the first replica's counts.
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

// shared is replicas that several workers play.
type shared struct {
	sim     *Sim
	request Request
	seed    uint64
	futures []Future
	next    atomic.Int64 // replica
	others  sync.WaitGroup

	mutex  sync.Mutex
	failed int // replica
	err    error
}

// work plays replicas, in their order, until there are no more or one fails.
func (w *shared) work(m *machine) {
	for i := int(w.next.Add(1)) - 1; i < len(w.futures); i = int(w.next.Add(1)) - 1 {
		var err error
		if w.futures[i], err = w.sim.one(m, &w.request, i, w.seed); err != nil {
			w.fail(i, err)
			return
		}
	}
}

// fail records that a replica failed: no more are begun.
func (w *shared) fail(replica int, err error) {
	w.next.Store(int64(len(w.futures)))
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err == nil || replica < w.failed {
		w.failed, w.err = replica, err
	}
}

// Plan returns the wait of a request, in seconds, that follows from the time limits alone: every job runs to its limit,
// an unknown one being State.DefaultLimit (100 years, if that is 0 too), one past its limit for another minute. Laws
// and arrivals are not used. This is what schedulers show (squeue --start); as jobs end before their limits, it is
// mostly too late. Errors are those of Waits.
func (s *Sim) Plan(state *State, request Request) (float64, error) {
	s.scene.plans = true
	if err := s.ready(state, &request); err != nil {
		return 0, err
	}
	f, err := s.one(&s.machine, &request, 0, 0)
	return f.Wait, err
}

func (s *Sim) ready(state *State, request *Request) error {
	if err := s.scene.prepare(state); err != nil {
		return err
	}
	if err := checkHoldings(request.Holds, len(state.Limits), "request"); err != nil {
		return err
	}
	return request.check(s.scene.most, len(state.Waiting))
}

// one plays one replica with the request.
func (s *Sim) one(m *machine, request *Request, replica int, seed uint64) (Future, error) {
	m.reset(&s.scene, replica, seed)
	m.ask(request)
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
	return Future{w, m.shutFor}, nil
}
